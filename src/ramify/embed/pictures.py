"""Pictures as features, with nothing to download and nothing fitted."""

from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image, ImageDraw

from ramify.embed.base import Floats
from ramify.embed.opening import PictureFiles, as_rgb

__all__ = ["FEATURES", "PictureEmbedder", "embed_pictures"]

SIDE = 128  # pixels that a picture is resized to, along one side
CELL = 4  # pixels of a cell, along one side
DIRECTIONS = 8  # of edges; light to dark and dark to light are the same
CHANNELS = DIRECTIONS + 3
WINDOW = 6  # cells that a filter sees, along one side
STRIDE = 2  # cells from one window to the next
FILTERS = 384
FEATURES = 2 * FILTERS
COLOUR = 0.4  # the weight of colours against edges
SHARP = np.float32(0.7)  # an edge counts for directions whose cosine to its own is larger than this
FAINT = 0.3  # windows with less contrast than this count less


class PictureEmbedder(PictureFiles):
    """Embeds the files of pictures by ``embed_pictures``."""

    name, batch, side, columns = "pictures", 64, 2 * SIDE, FEATURES

    def fingerprint(self) -> str:
        """The extractor never changes within a version."""
        return f"pictures 2 {FEATURES}"

    def pixels(self, picture: Image.Image) -> Floats:
        """The row itself: there is nothing to gain by many at once."""
        return _features(picture)

    def features(self, pixels: list[Floats]) -> Floats:
        """The rows."""
        return np.stack(pixels)


def embed_pictures(pictures: Iterable[Image.Image]) -> Floats:
    """One row of features for each picture, of any size and mode; the same picture always gives the same row.

    A feature is how well the picture matches one of many random patterns: where it does best, and on average.

    >>> pictures = [Image.new("RGB", (40, 30), "red"), Image.new("L", (200, 200))]
    >>> embed_pictures(pictures).shape == (2, FEATURES)
    True
    """
    rows = [_features(picture) for picture in pictures]
    return np.stack(rows) if rows else np.empty((0, FEATURES), np.float32)


def _features(picture: Image.Image) -> Floats:
    matches = np.maximum(_windows(picture) @ _patterns().T, 0)
    return np.concatenate([matches.max(axis=0), matches.mean(axis=0)])


def _windows(picture: Image.Image) -> Floats:
    """The windows of cells, each as a row of length one (shorter where it is faint)."""
    windows = sliding_window_view(_cells(picture), (WINDOW, WINDOW), axis=(0, 1))[::STRIDE, ::STRIDE]
    rows = windows.reshape(-1, CHANNELS * WINDOW * WINDOW)
    unit: Floats = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + np.float32(FAINT))
    return unit


def _cells(picture: Image.Image) -> Floats:
    """The edges in several directions and the three opponent colours of each cell."""
    small = as_rgb(picture).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    pixels = np.ascontiguousarray(np.moveaxis(np.asarray(small), 2, 0), np.float32) / 255
    down, right = np.zeros_like(pixels), np.zeros_like(pixels)
    down[:, 1:-1] = pixels[:, 2:] - pixels[:, :-2]
    right[:, :, 1:-1] = pixels[:, :, 2:] - pixels[:, :, :-2]
    strength = np.sqrt(down * down + right * right)
    # Where red, green and blue disagree about the edge, the one that sees the strongest is right.
    for other in (1, 2):
        stronger = strength[other] > strength[0]
        for part in (strength, down, right):
            np.copyto(part[0], part[other], where=stronger)
    edges = [
        np.maximum(np.abs(right[0] * np.cos(angle) + down[0] * np.sin(angle)) - SHARP * strength[0], 0)
        for angle in np.arange(DIRECTIONS, dtype=np.float32) * np.float32(np.pi / DIRECTIONS)
    ]
    red, green, blue = pixels
    colours = [(red + green + blue) / 3, red - green, (red + green) / 2 - blue]
    return np.concatenate([np.sqrt(_pooled(edges)), _pooled(colours) * COLOUR], axis=2, dtype=np.float32)


def _pooled(channels: list[Floats]) -> Floats:
    """The mean of each channel in each cell: rows x columns x channels."""
    split = np.stack(channels).reshape(len(channels), SIDE // CELL, CELL, SIDE // CELL, CELL)
    return np.moveaxis(split.mean(axis=(2, 4)), 0, 2)


@cache
def _patterns() -> Floats:
    """Windows from pictures of random overlapping shapes: always the same ones, and made without any data."""
    random = np.random.default_rng(0)
    pictures = 24
    chosen: list[Floats] = []
    for _ in range(pictures):
        windows = _windows(_random_shapes(random))
        chosen.append(random.choice(windows, FILTERS // pictures, replace=False))
    return np.concatenate(chosen)


def _random_shapes(random: np.random.Generator) -> Image.Image:
    """A picture full of ellipses and polygons of any size and colour."""
    picture = Image.new("RGB", (SIDE, SIDE))
    canvas = ImageDraw.Draw(picture)
    for _ in range(80):
        (x, y), size, corners = random.uniform(0, SIDE, 2), random.uniform(3, 18), random.integers(3, 9)
        red, green, blue = random.integers(0, 256, 3).tolist()
        if random.random() < 0.4:
            width, height = size * random.uniform(0.4, 1, 2)
            canvas.ellipse((x - width, y - height, x + width, y + height), fill=(red, green, blue))
        else:
            angles, reach = np.sort(random.uniform(0, 2 * np.pi, corners)), size * random.uniform(0.5, 1, corners)
            outline = zip(x + reach * np.cos(angles), y + reach * np.sin(angles), strict=True)
            canvas.polygon([(float(a), float(b)) for a, b in outline], fill=(red, green, blue))
    return picture
