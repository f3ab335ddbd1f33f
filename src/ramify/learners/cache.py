"""Cache: what a learner keeps of all items beside its model, so that asking and browsing need not run a net."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.files import new_array, read_npy
from ramify.progress import Report
from ramify.taxonomy import Index

Arrays = dict[str, NDArray[Any]]

ROWS = 2048  # items computed at once: memory for more would be fetched from the system each time
COUNT = "count"  # the array that says how many items there are


class ToKeep(NamedTuple):
    """What a learner wants to be kept: some arrays as they are, and some with a row for each item."""

    common: Arrays
    """What is kept as it is, by name."""
    rows: Callable[[Index], Arrays]
    """The rows of some items."""


class Cache:
    """Arrays by name, memory-mapped from a folder; those by item have a row for each that the model was trained with.

    >>> import tempfile
    >>> kept = ToKeep({"directions": np.eye(2)}, lambda items: {"predictions": items[:, None] / np.float16(4)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache.write(Path(folder), kept, 3)
    ...     len(cache), cache["predictions"].tolist(), cache["directions"].shape
    (3, [[0.0], [0.25], [0.5]], (2, 2))
    """

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def __len__(self) -> int:
        return int(self._arrays[COUNT][0])

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    @classmethod
    def load(cls, folder: Path) -> "Cache":
        """What ``write`` wrote."""
        cache = cls({path.stem: read_npy(path) for path in folder.glob("*.npy")})
        if COUNT not in cache:
            raise RamifyError("it was trained by an earlier version")
        return cache

    @classmethod
    def write(cls, folder: Path, kept: ToKeep, n_items: int, report: Report | None = None) -> "Cache":
        """Compute what is to be kept, block by block, into a folder; ``report`` is told how far it is."""
        for name, array in {**kept.common, COUNT: np.array([n_items])}.items():
            np.save(folder / f"{name}.npy", array)
        files: dict[str, Any] = {}
        for first in range(0, max(1, n_items), ROWS):
            items = np.arange(first, min(first + ROWS, n_items))
            for name, block in kept.rows(items).items():
                if name not in files:
                    shape = (n_items, *block.shape[1:])
                    files[name] = new_array(folder / f"{name}.npy", block.dtype, shape)
                files[name][items] = block
            if report is not None:
                report("all items", first + len(items), n_items)
        for file in files.values():
            file.flush()
        return cls.load(folder)
