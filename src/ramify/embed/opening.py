"""Opening the files of pictures, and what all embedders of pictures have in common."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from PIL import Image, ImageOps

from ramify.embed.base import Floats
from ramify.errors import RamifyError

__all__ = ["PictureFiles", "as_png", "as_rgb", "open_picture", "picture_key", "read_pictures"]

Turned = TypeVar("Turned")

HUGE = 20_000_000  # pixels: several such pictures at once could take more memory than there is
ONE_AT_A_TIME = Lock()
SPARE = 2  # times as many pixels as are enough along each side: more are thrown away before anything else is done


def open_picture(path: str | Path, side: int | None = None) -> Image.Image:
    """A picture as people see it: as RGB, turned as the camera was held, of an animation the first frame.

    A ``side`` says how many pixels are enough along each side.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("L", (8, 6), "white").save(Path(folder, "white.png"))
    ...     open_picture(Path(folder, "white.png")).getpixel((0, 0))
    (255, 255, 255)
    """
    with Image.open(path) as picture:
        if side is not None:
            picture.draft("RGB", (side, side))  # a large JPEG need not be decoded in full
        with ONE_AT_A_TIME if picture.width * picture.height > HUGE else nullcontext():
            picture.load()
            try:
                upright = ImageOps.exif_transpose(picture)
            except Exception:  # a note on the camera that cannot be read: the picture itself can
                upright = picture
            many = 1 if side is None else min(upright.size) // (SPARE * side)
            return as_rgb(upright.reduce(many) if many > 1 and upright.mode in ("RGB", "RGBA") else upright)


def as_rgb(picture: Image.Image) -> Image.Image:
    """A picture of any mode as RGB: what is transparent is white, as on paper or a page.

    Greys of more than 8 bits are stretched from their lowest to their highest: most come from instruments that use a
    small part of their 65 536 steps (an X-ray has 4 096), and by the steps themselves those would all be black.

    >>> as_rgb(Image.new("RGBA", (1, 1), (255, 0, 0, 0))).getpixel((0, 0))
    (255, 255, 255)
    """
    if picture.mode.startswith("I") or picture.mode == "F":
        picture = _stretched(picture)
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    paper = Image.new("RGBA", picture.size, "white")
    paper.alpha_composite(picture.convert("RGBA"))
    return paper.convert("RGB")


def _stretched(picture: Image.Image) -> Image.Image:
    values = np.asarray(picture).astype(np.float64)
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    if low == high:  # one grey: there is nothing to stretch
        low, high = 0.0, 1.0 if picture.mode == "F" else 65535.0
    return Image.fromarray((np.nan_to_num((values - low) / (high - low)).clip(0, 1) * 255).round().astype(np.uint8))


def as_png(picture: Image.Image) -> bytes:
    """A picture as the content of a .png file, which every browser shows.

    >>> as_png(Image.new("RGB", (1, 1)))[1:4]
    b'PNG'
    """
    content = BytesIO()
    picture.save(content, "png")
    return content.getvalue()


def picture_key(path: str) -> str:
    """The path, with the size and date of the file: a picture that was mended is embedded again.

    >>> picture_key("no such file.png")
    'no such file.png'
    """
    try:
        file = Path(path).stat()
    except OSError:
        return path
    return f"{path} {file.st_size} {file.st_mtime_ns}"


def read_pictures(
    paths: Sequence[str], turn: Callable[[Image.Image], Turned], side: int | None = None
) -> tuple[list[Turned], dict[int, str]]:
    """What ``turn`` makes of each picture that can be read, in order, and for each other one (by its place) why not.

    Each core reads one after the other, so that only what is made of them is held. ``turn`` refuses one by a
    RamifyError.

    >>> read_pictures(["no such file.png"], lambda picture: picture.size)
    ([], {0: 'there is no such file'})
    """

    def read(path: str) -> tuple[list[Turned], str]:
        try:
            picture = open_picture(path, side)
        except FileNotFoundError:
            return [], "there is no such file"
        except Image.DecompressionBombError:
            most = 2 * (Image.MAX_IMAGE_PIXELS or 0) // 1_000_000
            return [], f"the picture is too large: make it smaller, {most} million pixels at most"
        except Exception:  # a damaged file makes decoders raise many kinds
            return [], "this is not a whole picture of a kind that can be read"
        try:
            return [turn(picture)], ""
        except RamifyError as error:
            return [], str(error)

    # The filter of warnings is one for all threads, so it is set here and not where a picture is opened.
    with warnings.catch_warnings(), ThreadPoolExecutor(cpu_count()) as pool:
        warnings.simplefilter("ignore")  # odd metadata, or many pixels: all that counts is that it can be read
        try:
            results = list(pool.map(read, paths))
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C waits for the pictures that are being read, not for all
    return [one for made, _ in results for one in made], {
        place: why for place, (made, why) in enumerate(results) if not made
    }


class PictureFiles:
    """An embedder of the files of pictures, but for its ``name``, ``fingerprint``, ``pixels`` and ``features``."""

    reads, batch, fits = "picture", 32, False
    templates: tuple[str, ...] = ()
    side: int | None = None
    """How many pixels of a picture are enough along each side; None for all."""
    columns = 0
    """Those of its rows, where they are known before the first."""

    @property
    def reads_names(self) -> bool:
        """It knows pictures only, unless it says otherwise."""
        return False

    def pixels(self, picture: Image.Image) -> Any:
        """What ``features`` needs of one RGB picture."""
        raise NotImplementedError

    def features(self, pixels: list[Any]) -> Floats:
        """A row for each picture, of at least one."""
        raise NotImplementedError

    def fit(self, values: Sequence[str]) -> None:
        """Nothing is fitted."""

    def key(self, value: str) -> str:
        """A picture that was mended is embedded again."""
        return picture_key(value)

    def rows(self, values: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """The features of each file that holds a picture."""
        self.fit(values)  # what has to be loaded is loaded once, before several threads want it
        pixels, wrong = read_pictures(values, self.pixels, self.side)
        return (self.features(pixels) if pixels else np.empty((0, self.columns), np.float32)), wrong

    def names(self, texts: Sequence[str]) -> Floats:
        """It knows pictures only."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """There is nothing to write."""
