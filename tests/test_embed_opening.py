"""Pictures are opened as people see them, whatever kind of file they lie in."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from ramify.embed import embed_pictures
from ramify.embed.opening import as_rgb, open_picture, picture_key, read_pictures
from ramify.embed.pictures import PictureEmbedder
from ramify.errors import RamifyError

BROKEN = "this is not a whole picture of a kind that can be read"


def disc(mode="RGB", size=(64, 48)) -> Image.Image:
    picture = Image.new("RGB", size, "navy")
    ImageDraw.Draw(picture).ellipse((10, 10, 40, 40), fill="gold")
    return picture.convert(mode)


def photo() -> Image.Image:
    """A picture that no encoder makes small."""
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))


def same(one: Image.Image, two: Image.Image, within: int = 0) -> bool:
    apart = np.asarray(one).astype(int) - np.asarray(two).astype(int)
    return one.mode == two.mode == "RGB" and one.size == two.size and abs(apart).max() <= within


def opened(tmp_path, picture: Image.Image, name="p.png", **how) -> Image.Image:
    picture.save(tmp_path / name, **how)
    return open_picture(tmp_path / name)


# -- modes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["png", "bmp", "tif", "webp", "ppm", "gif", "tga", "ico"])
def test_an_opaque_picture_stays_what_it_is(tmp_path, ending):
    how = {"lossless": True} if ending == "webp" else {"sizes": [(64, 48)]} if ending == "ico" else {}
    assert same(opened(tmp_path, disc(), f"p.{ending}", **how), disc(), within=1 if ending == "gif" else 0)


@pytest.mark.parametrize("ending", ["png", "tif", "webp"])
@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_is_white(tmp_path, mode, ending):
    picture = disc().convert(mode)
    picture.putalpha(Image.new("L", picture.size, 0))
    how = {"lossless": True, "exact": True} if ending == "webp" else {}
    assert same(opened(tmp_path, picture, f"p.{ending}", **how), Image.new("RGB", picture.size, "white"))
    half = Image.new("RGBA", (4, 4), (0, 0, 0, 128)).convert(mode)
    assert opened(tmp_path, half, f"half.{ending}", **how).getpixel((0, 0)) == (127, 127, 127)


def test_a_transparent_colour_of_a_palette_is_white(tmp_path):
    picture = Image.new("P", (4, 4), 1)
    picture.putpalette([255, 0, 0, 0, 0, 255])
    picture.putpixel((0, 0), 0)
    for name in ("p.png", "p.gif"):
        seen = opened(tmp_path, picture, name, transparency=0)
        assert [seen.getpixel((place, 0)) for place in (0, 1)] == [(255, 255, 255), (0, 0, 255)]
    several = opened(tmp_path, picture, "several.png", transparency=bytes([255, 0]))
    assert [several.getpixel((place, 0)) for place in (0, 1)] == [(255, 0, 0), (255, 255, 255)]


@pytest.mark.parametrize(("mode", "colour"), [("RGB", (0, 0, 0)), ("L", 0)])
def test_a_colour_that_is_declared_transparent_is_white(tmp_path, mode, colour):
    assert opened(tmp_path, Image.new(mode, (2, 2)), transparency=colour).getpixel((0, 0)) == (255, 255, 255)


def test_a_palette_and_black_and_white_without_transparency(tmp_path):
    assert same(opened(tmp_path, disc("P")), disc("P").convert("RGB"))
    assert same(opened(tmp_path, disc("1")), disc("1").convert("RGB"))


def test_print_colours_are_those_of_the_screen(tmp_path):
    for name in ("p.tif", "p.jpg"):  # JPEG files hold them inverted
        seen = opened(tmp_path, disc("CMYK"), name)
        for place in ((55, 20), (25, 25)):
            assert np.allclose(seen.getpixel(place), disc().getpixel(place), atol=3)


# -- greys of many bits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [4095, 65535])
@pytest.mark.parametrize("name", ["p.png", "p.tif"])
def test_greys_of_16_bits_are_stretched_from_their_lowest_to_their_highest(tmp_path, name, top):
    values = np.array([[0, top // 2, top]], np.uint16) // 2 + 100
    seen = opened(tmp_path, Image.fromarray(values), name)
    assert [seen.getpixel((place, 0))[0] for place in range(3)] == [0, pytest.approx(127, abs=1), 255]


@pytest.mark.parametrize(
    ("values", "grey"),
    [
        (np.full((2, 2), 65535, np.uint16), 255),
        (np.full((2, 2), 0, np.uint16), 0),
        (np.full((2, 2), -70000, np.int32), 0),
        (np.full((2, 2), 0.5, np.float32), 128),
        (np.full((2, 2), np.nan, np.float32), 0),
    ],
)
def test_one_grey_is_not_stretched(tmp_path, values, grey):
    assert opened(tmp_path, Image.fromarray(values), "p.tif").getpixel((0, 0)) == (grey, grey, grey)


def test_32_bits_and_fractions_are_stretched_too(tmp_path):
    for kind in (np.int32, np.float32):
        seen = opened(tmp_path, Image.fromarray(np.array([[-3, 0, 3]], kind)), "p.tif")
        assert [seen.getpixel((place, 0))[0] for place in range(3)] == [0, 128, 255]
    odd = as_rgb(Image.fromarray(np.array([[np.nan, 0, np.inf, 2]], np.float32)))
    assert [odd.getpixel((place, 0))[0] for place in range(4)] == [0, 0, 255, 255]


# -- animations, turned and damaged files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p.gif", "p.webp", "p.png", "p.tif"])
def test_an_animation_is_its_first_frame(tmp_path, name):
    how = {"lossless": True} if name == "p.webp" else {}
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("blue", "red", "white")]
    assert same(opened(tmp_path, frames[0], name, save_all=True, append_images=frames[1:], **how), frames[0])


def test_every_way_a_camera_can_be_held(tmp_path):
    ways = [
        Image.Transpose.FLIP_LEFT_RIGHT,
        Image.Transpose.ROTATE_180,
        Image.Transpose.FLIP_TOP_BOTTOM,
        Image.Transpose.TRANSPOSE,
        Image.Transpose.ROTATE_90,
        Image.Transpose.TRANSVERSE,
        Image.Transpose.ROTATE_270,
    ]
    for orientation, way in enumerate(ways, 2):
        exif = Image.Exif()
        exif[0x0112] = orientation
        held = disc().transpose(way)
        assert same(opened(tmp_path, held, exif=exif), disc())
        assert same(opened(tmp_path, held.convert("RGBA"), exif=exif), disc())
        assert opened(tmp_path, held, "p.jpg", exif=exif).size == disc().size


def test_a_picture_with_a_damaged_note_on_the_camera_is_still_a_picture(tmp_path):
    assert same(opened(tmp_path, disc(), exif=b"Exif\0\0garbage"), disc())


@pytest.mark.parametrize("name", ["p.png", "p.jpg", "p.gif", "p.webp", "p.bmp", "p.tif"])
def test_what_is_cut_off_is_refused(tmp_path, name):
    path = tmp_path / name
    photo().save(path)
    whole = path.read_bytes()
    for share in (0, 0.01, 0.5, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        assert read_pictures([str(path)], lambda picture: picture.size) == ([], {0: BROKEN}), share


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    photo().save(tmp_path / "p.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    wrong = {0: "the picture is too large: make it smaller, 0 million pixels at most"}
    assert read_pictures([str(tmp_path / "p.png")], lambda picture: picture.size) == ([], wrong)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 3000)  # many pixels, which Pillow warns of, are no error
    assert read_pictures([str(tmp_path / "p.png")], lambda picture: picture.size) == ([(64, 64)], {})


# -- many at once ------------------------------------------------------------------------------------------------------


def test_what_is_made_of_each_comes_in_order_and_one_may_be_refused(tmp_path):
    def turn(picture):
        if picture.width == 2:
            raise RamifyError("too small")
        return picture.width

    for width in (1, 2, 3):
        Image.new("RGB", (width, 4)).save(tmp_path / f"{width}.png")
    paths = [str(tmp_path / f"{width}.png") for width in (3, 2, 0, 1)]
    assert read_pictures(paths, turn) == ([3, 1], {1: "too small", 2: "there is no such file"})


def test_a_large_jpeg_is_not_decoded_in_full(tmp_path):
    photo().resize((1600, 1200)).save(tmp_path / "p.jpg")
    width, height = open_picture(tmp_path / "p.jpg", side=256).size
    assert 256 <= height < 600
    assert width / height == pytest.approx(4 / 3, abs=0.01)


def test_a_large_picture_is_made_smaller_before_anything_else(tmp_path):
    """Transparent drawings of many million pixels would take gigabytes otherwise."""
    large = Image.new("RGBA", (2400, 1800), (255, 0, 0, 0))
    large.paste((0, 0, 255, 255), (0, 0, 1200, 1800))
    large.save(tmp_path / "p.png")
    small = open_picture(tmp_path / "p.png", side=64)
    assert small.size == (172, 129)
    assert (small.getpixel((10, 10)), small.getpixel((160, 10))) == ((0, 0, 255), (255, 255, 255))


def test_the_key_of_a_picture_changes_with_its_file(tmp_path):
    path = tmp_path / "p.png"
    Image.new("RGB", (1, 1)).save(path)
    before = picture_key(str(path))
    photo().save(path)
    assert picture_key(str(path)) != before


def test_the_built_in_extractor_sees_transparent_pictures_on_white(tmp_path):
    picture = disc()
    picture.putalpha(Image.new("L", picture.size, 0))
    picture.save(tmp_path / "p.png")
    white = embed_pictures([Image.new("RGB", picture.size, "white")])
    assert np.array_equal(PictureEmbedder().rows([str(tmp_path / "p.png")])[0], white)
    assert np.array_equal(embed_pictures([picture]), white)
