"""Readers: every source of data becomes a Dataset, or items for a project. A new format is one line in ``formats``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ramify.data import Dataset
from ramify.data.shards import read_features
from ramify.demo import scenes
from ramify.errors import RamifyError
from ramify.readers.columns import Layout
from ramify.readers.folder import read_folder
from ramify.readers.formats import format_of, read_source
from ramify.readers.guessing import folder_concepts, guess_layout, table_concepts
from ramify.readers.items import Items
from ramify.readers.rows import read_rows
from ramify.readers.table import read_items
from ramify.taxonomy import Taxonomy

__all__ = ["READERS", "Items", "Layout", "guess", "propose", "read", "read_for", "read_told"]


class Reader(Protocol):
    """A source of data."""

    def __call__(self, count: int = ..., *, exhaustive: bool) -> Dataset:
        """The first so many items, or as many as the source has when nobody says how many."""


READERS: dict[str, Reader] = {"scenes": scenes.read}
"""Sources that have a name instead of a path; ``name:500`` asks for 500 items."""


def read(
    source: str | Path,
    *,
    exhaustive: bool = True,
    taxonomy: Taxonomy | str | Path | None = None,
    features: Any = None,
) -> Dataset:
    """Read any supported data: a bundle, a folder that Ramify saved, a file of another tool, a table, or ``scenes``.

    Concepts are those of the source, or of a ``taxonomy`` that has the same names. In a table, a list that names a fine
    concept names all that apply. ``features`` (an array, an .npy file, or shards) has a row for each item of the
    source; those of which nothing is known are left out.

    >>> len(read("scenes:8"))
    8
    """
    return read_told(source, exhaustive=exhaustive, taxonomy=taxonomy, features=features)[0]


def read_told(
    source: str | Path, *, exhaustive: bool, taxonomy: Taxonomy | str | Path | None, features: Any
) -> tuple[Dataset, tuple[str, ...]]:
    """What ``read`` gives, and sentences on what of it was read otherwise than one may think, or not at all."""
    name, _, count = str(source).partition(":")
    if name in READERS and not Path(source).exists():
        if not count:
            return READERS[name](exhaustive=exhaustive), ()
        if not count.isdecimal() or not int(count):
            raise RamifyError(f"{source}: after {name}: comes the number of items, for example {name}:500")
        return READERS[name](int(count), exhaustive=exhaustive), ()
    path = Path(source)
    if path.suffix == ".npz" or (path / "dataset.json").is_file() or not (path.exists() or format_of(source)):
        data = Dataset.load(source, exhaustive=exhaustive)
        if taxonomy is not None:
            raise RamifyError(f"{source} has concepts of its own: leave --taxonomy out")
        return (data if features is None else replace(data, features=_rows(features, data.ids.tolist()))), ()
    if taxonomy is None:
        taxonomy, layout = propose(source)
    else:
        taxonomy = taxonomy if isinstance(taxonomy, Taxonomy) else Taxonomy.load(taxonomy)
        layout = guess(source, taxonomy)
    items = read_for(source, taxonomy, replace(layout, complete=True))
    data = _dataset(items.with_annotations(everyone=True), features, exhaustive)
    lost = len(items.ids) - len(data)
    unknown = (f"{lost} of {len(items.ids)} items are left out, since nothing is known of them",) if lost else ()
    return data, (*items.notes, *unknown)


def read_for(source: Any, taxonomy: Taxonomy, layout: Layout | None = None) -> Items:
    """The items of any source, with labels about the concepts of a taxonomy.

    >>> read_for({"id": ["a"], "labels": ["cat"]}, Taxonomy({"animal": ["cat"]})).ids
    ['a']
    """
    if isinstance(source, str | Path):
        if format_of(source) is not None:
            items = read_source(source)
            if layout is not None and layout.partial:
                items = replace(items, annotations=tuple(said.chosen() for said in items.annotations))
            return items.with_annotations(everyone=False).under(taxonomy)
        if Path(source).is_dir():
            return read_folder(source, taxonomy, layout)
    return read_items(source, taxonomy, layout)


def propose(source: str | Path, **columns: Any) -> tuple[Taxonomy, Layout]:
    """The concepts that a source names, and which column of it seems to be what where it is a table.

    ``columns`` are those that need no guess, as ``guess_layout`` takes them.
    """
    if format_of(source) is not None:
        return read_source(source).labels.taxonomy, Layout()
    if Path(source).is_dir():
        return folder_concepts(Path(source)), Layout()
    rows = read_rows(source)
    layout = guess_layout(rows, **columns)
    return table_concepts(rows, layout), layout


def guess(source: str | Path, taxonomy: Taxonomy, **columns: Any) -> Layout:
    """Which column of a source seems to be what, where it is a table."""
    if format_of(source) is not None or Path(source).is_dir():
        return Layout()
    return guess_layout(read_rows(source), taxonomy, **columns)


def _dataset(items: Items, features: Any, exhaustive: bool) -> Dataset:
    rows = items.features if features is None else _rows(features, items.ids)
    shown = items.texts if any(items.texts) else items.pictures
    payload = [text or "" for text in shown] if any(shown) else None
    data = Dataset(items.labels, rows, items.ids, payload, items.split)
    known = items.known()
    if not len(known):
        raise RamifyError("nothing is known of any item of this source: its labels are missing")
    data = data if len(known) == len(data) else data.take(known)
    return data if exhaustive else data.not_exhaustive()


def _rows(features: Any, ids: Sequence[str]) -> Any:
    return read_features(features, ids=ids) if isinstance(features, str | Path) else features
