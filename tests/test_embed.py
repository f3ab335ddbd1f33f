"""Embed: one fixed function of a picture, whatever its size and mode, and however many pictures come along."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from ramify.embed import FEATURES, embed_pictures
from ramify.embed.pictures import _patterns


def disc(size=(128, 128), mode="RGB") -> Image.Image:
    picture = Image.new("RGB", size, "navy")
    width, height = size
    ImageDraw.Draw(picture).ellipse((width // 4, height // 4, width // 2, height // 2), fill="gold")
    return picture.convert(mode)


def likeness(one: Image.Image, two: Image.Image) -> float:
    """The cosine of two pictures' features."""
    a, b = embed_pictures([one, two])
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "1", "P", "CMYK", "I", "F"])
def test_every_mode_is_accepted(mode):
    features = embed_pictures([disc(mode=mode)])
    assert features.shape == (1, FEATURES)
    assert features.dtype == np.float32
    assert np.isfinite(features).all()


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (128, 128), (500, 333)])
def test_every_size_is_accepted(size):
    assert np.isfinite(embed_pictures([disc(size)])).all()


def test_no_pictures_give_no_rows():
    assert embed_pictures([]).shape == (0, FEATURES)


def test_a_picture_gives_the_same_row_alone_and_in_company():
    pictures = [disc(), Image.new("RGB", (64, 64), "white"), disc((90, 60))]
    together = embed_pictures(iter(pictures))
    alone = [embed_pictures([picture])[0] for picture in pictures]
    assert np.array_equal(together, alone)


def test_the_patterns_are_always_the_same():
    before = _patterns().copy()
    _patterns.cache_clear()
    np.random.default_rng().random()
    assert np.array_equal(_patterns(), before)
    assert len(np.unique(before, axis=0)) == len(before) == FEATURES // 2


def test_the_same_view_in_another_size_stays_alike_and_another_view_does_not():
    square = Image.new("RGB", (128, 128), "white")
    ImageDraw.Draw(square).rectangle((70, 60, 110, 120), fill="green")
    assert likeness(disc(), disc((256, 256))) > 0.99
    assert likeness(disc(), square) < 0.95


def test_an_opaque_picture_is_the_same_with_and_without_its_alpha():
    assert np.array_equal(embed_pictures([disc()]), embed_pictures([disc(mode="RGBA")]))
