"""Adding items, and other features for them, all or nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sqlalchemy import select

from ramify.data.features import as_features
from ramify.errors import RamifyError
from ramify.files import disk_troubles, let_go, new_array, whole_file
from ramify.labels import Labels, Source
from ramify.project.store.database import chunks, quickly
from ramify.project.store.items import Items, put, put_setting, sound
from ramify.project.store.models import LAST, OUTGROWN
from ramify.project.store.revisions import OutdatedError, measure, name_files, new_number, next_contents
from ramify.project.store.schema import items as table
from ramify.project.store.troubles import intact
from ramify.taxonomy import Index

BLOCK = 1 << 22  # numbers copied or compared at once
INSERTED = 20_000  # items sent to the database at once
ADD = table.insert()
CLOSE = 1e-5  # embedding the same thing twice may differ in the last digits

Row: TypeAlias = tuple[str, str | None, str | None]
"""An item's id, text and picture."""


class Counts(NamedTuple):
    """Of items that were to be added."""

    new: int
    present: int
    """Those that were there already."""
    changed: int
    """Of these, those of which something else is known by import than before."""


def add(
    items: Items,
    ids: Iterable[str],
    texts: Sequence[str | None] | None,
    pictures: Sequence[str | None] | None,
    features: Any,
    labels: Labels,
) -> Counts:
    """Add items with what is known of them, all or nothing; returns how many.

    An item that is there already, with the same text, picture and features (or without saying them again), stays
    as it is; what the labels say of it replaces what was imported of the same entries before.
    """
    names = [str(name) for name in ids]
    rows = list(zip(names, _column(names, texts, "texts"), _column(names, pictures, "pictures"), strict=True))
    _check_rows(rows, items.database.unkept)
    features = None if features is None else as_features(features)
    _check_length("sets of labels", len(labels), names)
    if features is not None:
        _check_length("rows of features", features.shape[0], names)
    while True:
        items.refresh()
        with suppress(OutdatedError), disk_troubles(items.folder, "nothing was changed"):
            return _add(items, rows, features, labels)


def _add(items: Items, rows: list[Row], features: Any, labels: Labels) -> Counts:
    contents = items.contents
    if labels.taxonomy != contents.taxonomy:
        raise RamifyError("the labels are of another taxonomy than the project: read them with the project's own")
    place = _places(items, rows)
    old, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
    kept, claims = items.features(), items.claims()
    if items.contents is not contents or place.max(initial=-1) >= contents.items:
        raise OutdatedError
    _check_features(items, kept, features, place)
    merged, changed = _merged(claims.labels, labels, place)
    rewrite = features is not None and (len(new) or kept is None) and len(rows)
    if merged is None and not rewrite:
        return Counts(0, len(old), 0)
    with new_number(items) as number:
        named: dict[str, str] = {}
        if merged is not None:
            named["imported"] = f"imported-{number}.npz"
            claims.with_labels(merged).save(items.folder / named["imported"])
        if rewrite:
            named["features"] = f"features-{number}.npy"
            added = np.concatenate([old[np.argsort(place[old])], new]) if kept is None else new
            _write_features(items.folder / named["features"], kept, features, added)
        sums = measure(items, named)
        with next_contents(items, contents) as connection:
            for part in chunks(new.tolist(), INSERTED):
                first = contents.items + int(np.searchsorted(new, part[0]))
                new_rows = ((item, *rows[row]) for item, row in enumerate(part, start=first))
                quickly(connection, ADD, *(dict(zip(table.c.keys(), row, strict=True)) for row in new_rows))
            put(connection, "items", contents.items + len(new))
            name_files(connection, named, sums)
    return Counts(len(new), len(old), changed)


def _places(items: Items, rows: list[Row]) -> Index:
    """The number of each item that is there already, -1 for a new one; refuses another text or picture."""
    place = np.full(len(rows), -1, np.intp)
    row_of = {name: number for number, (name, *_) in enumerate(rows)}
    there = select(table.c.id, table.c.number, table.c.text, table.c.picture)
    queries = [there]  # all items at once, where most of them would be looked up anyway
    if len(rows) < len(items) // 10:
        queries = [there.where(table.c.id.in_(part)) for part in chunks(list(row_of))]
    with items.database.read() as connection:
        for query in queries:
            with connection.execution_options(yield_per=INSERTED).execute(query) as listed:
                for name, number, *shown in listed:
                    row = row_of.get(name)
                    if row is not None:
                        with intact("the list of items"):
                            place[row] = number
                        for what, said, kept in zip(("text", "picture"), rows[row][1:], shown, strict=True):
                            if said is not None and said != kept:
                                raise _another(name, f"another {what}")
    return place


def _check_features(items: Items, kept: NDArray[Any] | None, features: Any, place: Index) -> None:
    old = np.flatnonzero(place >= 0)
    if features is None:
        if kept is not None and len(old) < len(place):
            raise RamifyError(f"the items of the project have {kept.shape[1]} features: give the new ones as many")
    elif kept is None:
        if len(old) < len(items):
            raise RamifyError(
                f"the {len(items)} items of the project have no features: leave them out for the new ones too, "
                "or add all of them again, with theirs"
            )
    elif kept.shape[1] != features.shape[1]:
        raise RamifyError(
            f"the new items have {features.shape[1]} features, those of the project {kept.shape[1]}: give as many"
        )
    else:
        for numbers in chunks(old.tolist(), _rows_at_once(kept.shape[1])):
            part = np.array(numbers, np.intp)
            there, said = kept[place[part]], _dense(features[part])
            close = np.abs(there - said) <= CLOSE * np.abs(there).max(axis=1, keepdims=True, initial=1e-9)
            if not close.all():
                raise _another(items.items(place[part[np.argmin(close.all(axis=1))]])[0].id, "other features")


def replace_features(items: Items, features: Any, settings: Mapping[str, Any]) -> None:
    """Give all items other features and keep some settings with them, all or nothing; answers and labels stay.

    Models that learned from the old features are not used any more. Refused by OutdatedError where the items are not
    those that ``items`` shows.
    """
    contents, rows = items.contents, as_features(features)
    _check_length("rows of features", rows.shape[0], range(contents.items))
    with disk_troubles(items.folder, "nothing was changed"), new_number(items) as number:
        name = f"features-{number}.npy"
        _write_features(items.folder / name, None, rows, np.arange(contents.items))
        sums = measure(items, {"features": name})
        with next_contents(items, contents) as connection:
            put(connection, OUTGROWN, int(connection.execute(LAST).scalar_one()))
            name_files(connection, {"features": name}, sums)
            for key, value in settings.items():
                put_setting(connection, key, value)


def _column(ids: list[str], values: Sequence[str | None] | None, what: str) -> Sequence[str | None]:
    if values is None:
        return [None] * len(ids)
    _check_length(what, len(values), ids)
    return values


def _check_length(what: str, count: int, ids: Sized) -> None:
    if count != len(ids):
        raise RamifyError(f"{count} {what} for {len(ids)} items: give one for each")


def _check_rows(rows: list[Row], unkept: str) -> None:
    seen: dict[str, int] = {}
    for number, (name, *shown) in enumerate(rows):
        if not name.strip() or "\0" in name or not sound(name):
            raise RamifyError(f"row {number}: {name!r} cannot be an id: give readable text that is not empty")
        if name in seen:
            raise RamifyError(f"rows {seen[name]} and {number} have the same id {name!r}: give each item its own")
        seen[name] = number
        for text in shown:
            if text is not None and not (isinstance(text, str) and sound(text)):
                raise RamifyError(
                    f"the item {name!r} has a text or picture that is not readable text: mend its encoding"
                )
            if text and unkept and unkept in text:
                raise RamifyError(f"the item {name!r} holds {unkept!r}, which PostgreSQL cannot keep: take it out")


def _another(name: str, what: str) -> RamifyError:
    return RamifyError(
        f"the item {name!r} is in the project already, with {what}: give the new one another id, or leave it out"
    )


def _merged(imported: Labels, labels: Labels, place: Index) -> tuple[Labels | None, int]:
    """The imported labels with those of new items behind them and new ones of old items, or None if nothing changes;
    and of how many old items they change."""
    old, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
    before = imported.take(place[old])
    if before != labels.take(old):
        said = labels.assertions(old)
        imported.record(place[said.items], said.concepts, said.values, "imported")
    after, changed = imported.take(place[old]), 0
    if after != before:
        parts = chunks(range(len(old)), INSERTED)
        changed = sum(int((after.states(part) != before.states(part)).any(axis=1).sum()) for part in parts)
    if len(new):
        return Labels.joined([imported, _as_imported(labels.take(new))]), changed
    return None if after == before else imported, changed


def _as_imported(labels: Labels) -> Labels:
    """The labels as if all that is asserted had been imported."""
    parts = (labels.assertions(part) for part in chunks(range(len(labels)), INSERTED))
    if all((part.sources == Source.IMPORTED).all() for part in parts):
        return labels
    said = labels.assertions()
    imported = Labels(labels.taxonomy, np.full((len(labels), len(labels.taxonomy.roots)), -1, np.int8))
    imported.record(said.items, said.concepts, said.values, "imported")
    return imported


def _write_features(path: Path, kept: NDArray[Any] | None, features: Any, added: Index) -> None:
    """The features so far and, behind them, some rows of others, in one file, copied block by block.

    What is given in half precision is kept in it, as long as all is.
    """
    before = 0 if kept is None else len(kept)
    halves = features.dtype == np.float16 and (kept is None or kept.dtype == np.float16)
    dtype = np.dtype(np.float16 if halves else np.float32)
    with whole_file(path) as draft:
        new_array(draft, dtype, (before + len(added), features.shape[1]))  # a full disk is found out here
        with draft.open("r+b") as file:  # not by the map: what is written would stay in memory
            file.seek(draft.stat().st_size - (before + len(added)) * features.shape[1] * dtype.itemsize)
            for block in _blocks(kept, features, added):
                file.write(np.ascontiguousarray(block, dtype).data)


def _blocks(kept: NDArray[Any] | None, features: Any, added: Index) -> Iterator[NDArray[Any]]:
    size = _rows_at_once(features.shape[1])
    for first in range(0, 0 if kept is None else len(kept), size):
        assert kept is not None
        yield kept[first : first + size]
        let_go(kept)
    for first in range(0, len(added), size):
        yield _dense(features[added[first : first + size]])
        let_go(features)


def _rows_at_once(columns: int) -> int:
    return max(1, BLOCK // max(1, columns))


def _dense(block: Any) -> NDArray[np.float32]:
    return np.asarray(block.toarray() if scipy.sparse.issparse(block) else block, np.float32)
