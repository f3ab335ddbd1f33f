"""What an embedder is, and how many items are embedded: batch by batch, each finished one kept on disk."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ramify.engine import stream
from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz

Floats: TypeAlias = NDArray[np.float32]
Progress: TypeAlias = Callable[[int, int], None]

NAMED = 60  # letters of an input that are told


class Embedder(Protocol):
    """Turns texts, or the files of pictures, into rows of features; the same input always gives the same row."""

    name: str
    """What ``--embed`` calls it."""
    reads: str
    """``text`` or ``picture``."""
    batch: int
    """How many are embedded at once."""
    fits: bool
    """Whether it learns from the first items."""
    templates: tuple[str, ...]
    """What names are put into, besides standing alone, where the user says nothing else: texts with ``{}``."""

    @property
    def reads_names(self) -> bool:
        """Whether it reads texts, such as the names of concepts, into the space of the items."""

    def fit(self, values: Sequence[str]) -> None:
        """Learn from the first items, or at least make sure that the embedder can be used."""

    def fingerprint(self) -> str:
        """Text that is the same exactly where the rows are."""

    def key(self, value: str) -> str:
        """Text that changes when the row of this input may."""

    def rows(self, values: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """A row for each input that can be read, in order, and for each other one (by its place) why it cannot."""

    def names(self, texts: Sequence[str]) -> Floats:
        """A row for each text, in the space of the items; only where it reads names."""

    def save(self, folder: Path) -> None:
        """Write what later items need, if anything."""


def digest(*parts: str | bytes) -> str:
    """A short name for texts or bytes, the same on every machine.

    >>> digest("a", "b") == digest("a", "b"), digest("a", "b") == digest("ab")
    (True, False)
    """
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(hashlib.blake2b(content, digest_size=16).digest())
    return total.hexdigest()


def embed(
    embedder: Embedder, values: Sequence[str], folder: Path, progress: Progress | None = None, how: str = "serial"
) -> tuple[Floats, dict[int, str]]:
    """A row of features for each input (zeros where it cannot be read), and why some cannot be read.

    Each finished batch is kept in the folder and found again after an interruption, also when inputs were mended,
    removed or added meanwhile; a folder is for one embedder. The same input is embedded once. ``how`` is the engine:
    each of its workers loads the model for itself, once.
    """
    folder.mkdir(parents=True, exist_ok=True)
    keys = [digest(embedder.key(value)) for value in values]
    kept = _kept(folder)
    todo = list(dict.fromkeys(key for key in keys if key not in kept))
    value_of = dict(zip(keys, values, strict=True))
    unreadable: dict[str, str] = {}
    parts = [todo[first : first + embedder.batch] for first in range(0, len(todo), embedder.batch)]
    work = embedder.rows if how == "serial" else unloaded(embedder).rows
    batches = stream(work, ([value_of[key] for key in part] for part in parts), how, _named)
    done = len(keys) - len(todo)
    for part in parts:
        if progress is not None:
            progress(done, len(keys))
        rows, wrong = next(batches)
        done += len(part)
        unreadable.update((part[place], reason) for place, reason in wrong.items())
        good = [key for place, key in enumerate(part) if place not in wrong]
        if good:
            path = folder / f"{good[0]}.npz"
            write_npz(path, {"keys": np.array(good), "rows": rows})
            kept.update((key, (path, place)) for place, key in enumerate(good))
    if progress is not None:
        progress(len(keys), len(keys))
    return _gathered(keys, kept), {n: unreadable[key] for n, key in enumerate(keys) if key in unreadable}


def unloaded(embedder: Embedder) -> Embedder:
    """The embedder without the models that it has loaded: whoever uses it loads them again."""
    light = copy(embedder)
    for name in [*vars(light)]:
        if isinstance(getattr(type(light), name, None), cached_property):
            del light.__dict__[name]
    return light


def _named(values: Sequence[str]) -> str:
    first, last = (repr(text if len(text) <= NAMED else f"{text[:NAMED]}...") for text in (values[0], values[-1]))
    return f"embedding {first} to {last}" if len(values) > 1 else f"embedding {first}"


def _kept(folder: Path) -> dict[str, tuple[Path, int]]:
    """Where the row of each input that was embedded before stands."""
    places: dict[str, tuple[Path, int]] = {}
    for path in sorted(folder.glob("[!.]*.npz")):
        try:
            keys = read_npz(path, ("keys", "rows"))["keys"].tolist()
        except RamifyError:  # damaged by something else than us: embed these again
            continue
        places.update((key, (path, place)) for place, key in enumerate(keys))
    return places


def _gathered(keys: Sequence[str], kept: Mapping[str, tuple[Path, int]]) -> Floats:
    by_file: dict[Path, list[tuple[int, int]]] = {}
    for number, key in enumerate(keys):
        if key in kept:
            path, place = kept[key]
            by_file.setdefault(path, []).append((number, place))
    gathered: Floats | None = None
    for path, pairs in by_file.items():
        rows = read_npz(path, ("rows",))["rows"]
        if gathered is None:
            gathered = np.zeros((len(keys), rows.shape[1]), np.float32)
        numbers, places = zip(*pairs, strict=True)
        gathered[list(numbers)] = rows[list(places)]
    return np.zeros((len(keys), 0), np.float32) if gathered is None else gathered
