"""Scenes: demo data drawn on the spot, pictures of a few icons that go together, with their labels."""

from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

from ramify.data import Dataset
from ramify.data.bundle import known_labels
from ramify.data.dataset import TEST, TRAIN
from ramify.demo.icons import Colour, Pen, draw_icon, mix
from ramify.embed import FEATURES, embed_pictures
from ramify.engine import run
from ramify.taxonomy import Taxonomy

__all__ = ["SIDE", "TAXONOMY", "contact_sheet", "draw", "read", "render"]

TAXONOMY: dict[str, list[str]] = {
    "animal": ["cat", "dog", "fish", "bird"],
    "food": ["apple", "banana", "cherry", "carrot"],
    "vehicle": ["car", "bus", "boat", "plane"],
    "plant": ["tree", "flower", "cactus", "mushroom"],
    "sky": ["sun", "moon", "star", "cloud"],
}
FINE = [name for names in TAXONOMY.values() for name in names]

SIDE = 128  # pixels of a scene
SHARPNESS = 2  # pixels drawn for each pixel of a scene, along one side
BATCH = 64  # scenes drawn and embedded by one task
MANY = 1000  # from so many on, starting workers takes less time than they save

Backdrop: TypeAlias = tuple[Colour, Colour, Colour]

# How often each theme occurs, the top and the horizon of its sky and its ground, and what is seen there how often.
THEMES: dict[str, tuple[float, Backdrop, dict[str, float]]] = {
    "garden": (
        0.30,
        ((150, 206, 240), (222, 240, 246), (160, 204, 128)),
        {"tree": 9, "flower": 5, "bird": 3, "cat": 2.5, "dog": 2.5, "sun": 3, "cloud": 4, "apple": 1.5, "mushroom": 1},
    ),
    "street": (
        0.26,
        ((176, 206, 230), (232, 232, 236), (158, 158, 166)),
        {"car": 9, "bus": 3, "tree": 6, "dog": 2.5, "cloud": 4, "cat": 1, "sun": 1.5, "bird": 1, "plane": 0.8},
    ),
    "harbour": (
        0.14,
        ((120, 184, 232), (236, 232, 214), (86, 154, 196)),
        {"boat": 6, "fish": 4, "bird": 4, "cloud": 4, "sun": 3, "car": 1, "plane": 1.5},
    ),
    "kitchen": (
        0.15,
        ((248, 232, 206), (244, 218, 184), (206, 168, 130)),
        {"apple": 5, "banana": 3.5, "carrot": 3, "cherry": 2, "fish": 2, "cat": 2, "flower": 2, "mushroom": 1.2},
    ),
    "night": (
        0.12,
        ((32, 38, 76), (74, 78, 124), (52, 66, 76)),
        {"moon": 5, "star": 6, "cat": 2.5, "cloud": 2, "car": 2, "tree": 2.5, "plane": 1.2},
    ),
    "desert": (
        0.03,
        ((246, 210, 150), (250, 232, 196), (222, 180, 118)),
        {"cactus": 6, "sun": 4, "bird": 1.5, "car": 1, "star": 1, "plane": 1},
    ),
}
STRAY = 0.05  # the share of icons that come from no theme: anything can be seen anywhere, rarely
ICON_COUNTS = (0.06, 0.14, 0.24, 0.26, 0.18, 0.12)  # shares of scenes with 1, 2, ... icons


def read(count: int = 4000, *, seed: int = 0, exhaustive: bool = True) -> Dataset:
    """Scenes as a data set, fully known; the last quarter is for tests.

    >>> read(4).labels
    <Labels: 4 items, 5 coarse and 20 fine concepts, 0 unknown of ... open entries>
    """
    features, fine = render(seed, count)
    taxonomy = Taxonomy({name: {"children": finer, "exhaustive": exhaustive} for name, finer in TAXONOMY.items()})
    split = np.where(np.arange(count) >= count - count // 4, TEST, TRAIN)
    return Dataset(known_labels(taxonomy, fine), features, [f"scene-{n}" for n in range(count)], split=split)


def draw(seed: int, number: int) -> tuple[Image.Image, list[str]]:
    """The scene of a number and the sorted names of what it shows, the same for the same seed.

    >>> picture, names = draw(seed=0, number=3)
    >>> picture.size, names
    ((128, 128), [...])
    """
    random = np.random.default_rng([seed, number])
    shares, backdrops, contents = zip(*THEMES.values(), strict=True)
    theme = random.choice(len(shares), p=shares)
    names = _contents(random, contents[theme])
    # A third of the scenes has another theme's backdrop, or the backdrop alone would tell the concepts.
    backdrop = backdrops[theme if random.random() < 2 / 3 else random.choice(len(shares), p=shares)]
    picture = _draw_backdrop(random, backdrop)
    canvas = ImageDraw.Draw(picture)
    for name, (x, y, size) in zip(names, _places(random, names), strict=True):
        pen = Pen(canvas, (x, y), size, tilt=random.uniform(-30, 30), mirrored=random.random() < 0.5)
        draw_icon(name, pen, random)
    return picture.reduce(SHARPNESS), sorted(set(names))


def _contents(random: np.random.Generator, contents: dict[str, float]) -> list[str]:
    """What is seen in a scene, in drawing order; a concept may occur twice."""
    count = 1 + random.choice(len(ICON_COUNTS), p=ICON_COUNTS)
    weights = np.array([contents.get(name, 0.0) for name in FINE])
    weights = (1 - STRAY) * weights / weights.sum() + STRAY / len(FINE)
    return [FINE[chosen] for chosen in random.choice(len(FINE), count, p=weights)]


def _places(random: np.random.Generator, names: list[str]) -> list[tuple[float, float, float]]:
    """Where the icons lie and how large they are, in drawn pixels: of a few random places the one least covered."""
    placed: list[tuple[float, float, float]] = []
    for name in names:
        size = random.uniform(28, 52) * SHARPNESS
        low, high = size * 0.45, SIDE * SHARPNESS - size * 0.45
        tries = random.uniform(low, high, (8, 2))
        if name in TAXONOMY["sky"]:
            tries[:, 1] = low + (tries[:, 1] - low) * 0.6
        room = [min((np.hypot(x - a, y - b) / (size + other) for a, b, other in placed), default=1) for x, y in tries]
        x, y = tries[int(np.argmax(room))].tolist()
        placed.append((x, y, size))
    return placed


def _draw_backdrop(random: np.random.Generator, backdrop: Backdrop) -> Image.Image:
    """Sky over ground with a few pale blots, in drawn pixels."""
    side = SIDE * SHARPNESS
    top, horizon, ground = (_varied(random, colour) for colour in backdrop)
    column = Image.linear_gradient("L").resize((1, side))
    picture = ImageOps.colorize(column, top, horizon).resize((side, side))
    canvas = ImageDraw.Draw(picture)
    left, right = random.uniform(0.55, 0.85, 2) * side
    canvas.polygon([(0, left), (side, right), (side, side), (0, side)], fill=ground)
    for _ in range(random.integers(0, 7)):
        x, y = random.uniform(0, side, 2)
        radius = random.uniform(0.03, 0.14) * side
        colour = mix(ground if y > (left + right) / 2 else horizon, _varied(random, (128, 128, 128), 60), 0.15)
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    return picture


def _varied(random: np.random.Generator, colour: Colour, spread: float = 14) -> Colour:
    red, green, blue = np.clip(colour + random.normal(0, spread, 3), 0, 255).astype(int).tolist()
    return red, green, blue


def contact_sheet(seed: int, count: int = 24) -> Image.Image:
    """The first scenes of a seed in a grid, six in a row, with their names below.

    >>> contact_sheet(seed=0, count=8).size
    (840, 348)
    """
    wide, high, columns = SIDE + 12, SIDE + 46, 6
    sheet = Image.new("RGB", (columns * wide, -(-count // columns) * high), "white")
    canvas, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    for number in range(count):
        picture, names = draw(seed, number)
        x, y = number % columns * wide + 6, number // columns * high + 6
        sheet.paste(picture, (x, y))
        lines = [", ".join(names[first : first + 3]) for first in (0, 3)]
        canvas.multiline_text((x, y + SIDE + 2), "\n".join(lines), fill="black", font=font)
    return sheet


def render(seed: int, count: int) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """The features and the fine labels (columns in the order of ``TAXONOMY``) of a seed's first scenes.

    >>> features, labels = render(seed=0, count=3)
    >>> len(features), labels.shape
    (3, (3, 20))
    """
    batches = [range(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
    work = partial(_render_batch, seed)
    rendered = run(work, batches) if count > MANY else list(map(work, batches))  # workers take a while to start
    empty = np.empty((0, FEATURES), np.float32), np.empty((0, len(FINE)), np.uint8)
    features, labels = (np.concatenate(parts) for parts in zip(empty, *rendered, strict=True))
    return features, labels


def _render_batch(seed: int, numbers: range) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    pictures, names = zip(*(draw(seed, number) for number in numbers), strict=True)
    labels = np.array([[name in shown for name in FINE] for shown in names], np.uint8)
    return embed_pictures(pictures), labels
