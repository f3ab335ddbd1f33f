"""Readers: every source of data becomes a Dataset. A new source is one file here and one line in READERS."""

from collections.abc import Callable
from pathlib import Path

from ramify.data import Dataset
from ramify.demo import scenes
from ramify.errors import RamifyError

READERS: dict[str, Callable[..., Dataset]] = {"scenes": scenes.read}
"""Sources that have a name instead of a path; ``name:500`` asks for 500 items."""


def read(source: str | Path, *, exhaustive: bool = True) -> Dataset:
    """Read any supported data: an .npz bundle, a folder that Ramify saved, or ``scenes``, drawn on the spot.

    >>> len(read("scenes:8"))
    8
    """
    name, _, count = str(source).partition(":")
    if name in READERS and not Path(source).exists():
        if not count:
            return READERS[name](exhaustive=exhaustive)
        if not count.isdecimal() or not int(count):
            raise RamifyError(f"{source}: after {name}: comes the number of items, for example {name}:500")
        return READERS[name](int(count), exhaustive=exhaustive)
    return Dataset.load(source, exhaustive=exhaustive)
