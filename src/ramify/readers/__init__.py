"""Readers: every source of data becomes a Dataset. A new source is one file and one line in READERS."""

from pathlib import Path
from typing import Protocol

from ramify.data import Dataset
from ramify.demo import scenes
from ramify.errors import RamifyError


class Reader(Protocol):
    """A source of data."""

    def __call__(self, count: int = ..., *, exhaustive: bool) -> Dataset:
        """The first so many items, or as many as the source has when nobody says how many."""


READERS: dict[str, Reader] = {"scenes": scenes.read}
"""Sources that have a name instead of a path; ``name:500`` asks for 500 items."""


def read(source: str | Path, *, exhaustive: bool = True) -> Dataset:
    """Read any supported data: an .npz bundle, a folder that Ramify saved, or ``scenes``, drawn on the spot.

    >>> len(read("scenes:8"))
    8
    """
    name, _, count = str(source).partition(":")
    if name not in READERS or Path(source).exists():
        return Dataset.load(source, exhaustive=exhaustive)
    if not count:
        return READERS[name](exhaustive=exhaustive)
    if not count.isdecimal() or not int(count):
        raise RamifyError(f"{source}: after {name}: comes the number of items, for example {name}:500")
    return READERS[name](int(count), exhaustive=exhaustive)
