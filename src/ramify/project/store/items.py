"""What a project is about: its taxonomy with stable concept ids, its items, and the files with the rest of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import Connection, select, update

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.store.claims import Claims
from ramify.project.store.database import Database, among, quickly
from ramify.project.store.schema import concepts, items, meta
from ramify.project.store.troubles import UnavailableError, intact, of_kinds
from ramify.taxonomy import Index, Taxonomy

Content = TypeVar("Content")

MERGED = "merged"  # the value that keeps what was merged into what
GONE = "; "  # between the last path of a concept that is gone and its id
REVISION = select(meta.c.value).where(meta.c.key == "revision")
SHOWN = select(items).where(items.c.number.in_(among("numbers")))


@dataclass(frozen=True)
class Item:
    """One item: its number from 0 on, the user's own id, and what a person is shown of it."""

    number: int
    id: str
    text: str | None
    picture: str | None


KINDS = (int, str, str | None, str | None)
"""What the columns of an item hold, unless the file is damaged."""


@dataclass(frozen=True)
class Contents:
    """One state of taxonomy, items and files. Adding items or changing the taxonomy makes the next one."""

    revision: int
    items: int
    features: str | None
    imported: str | None
    taxonomy: Taxonomy
    id_of: Index
    merged: Mapping[int, tuple[int, ...]]
    """Of every id that others were merged into, these; some of them may be gone again."""

    @cached_property
    def number_of(self) -> dict[int, int]:
        """The number in the taxonomy of every id that is there."""
        return {stable: number for number, stable in enumerate(self.id_of.tolist())}

    @cached_property
    def merged_now(self) -> list[int]:
        """The ids that are there and that others were merged into."""
        return [stable for stable in self.id_of.tolist() if stable in self.merged]

    @cached_property
    def counts_for(self) -> dict[int, int]:
        """The number of the concept for which what is said of an id counts: its own, or that it was merged into."""
        known = dict(self.number_of)
        waiting = [(part, self.number_of[stable]) for stable in self.merged_now for part in self.merged[stable]]
        while waiting:
            part, number = waiting.pop()
            known[part] = number
            waiting += [(deeper, number) for deeper in self.merged.get(part, ())]
        return known

    def numbers(self, ids: Index) -> Index:
        """The numbers that concepts have in the taxonomy, by their stable ids; -1 for ids that are no longer there."""
        number = np.full(max(int(self.id_of.max(initial=0)), int(ids.max(initial=0))) + 1, -1)
        number[self.id_of] = np.arange(len(self.id_of))
        numbers: Index = number[ids]
        return numbers


class Items:
    """The part of a store that knows taxonomy, items and settings.

    It shows one state of them, so that what a program reads one after the other belongs together. What other processes
    add or change is seen after ``refresh``.
    """

    contents: Contents
    """The state that is shown: all of it at once, for those who use several parts of it beside other threads."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder, database
        self._mapped: tuple[str, NDArray[np.floating[Any]]] | None = None
        with database.read() as connection:
            self.contents = _contents(connection)

    def refresh(self) -> bool:
        """Look whether other processes have added items or changed the taxonomy; says whether they have."""
        with self.database.read() as connection:
            if get_number(connection, "revision") == self.contents.revision:
                return False
            self.contents = _contents(connection)
            return True

    def now(self, connection: Connection) -> Contents:
        """The contents that a transaction sees, whatever is shown."""
        ((text,),) = quickly(connection, REVISION).fetchall()
        return self.contents if text == str(self.contents.revision) else _contents(connection)

    def __len__(self) -> int:
        return self.contents.items

    # -- items ---------------------------------------------------------------------------------------------------------

    def items(self, numbers: ArrayLike) -> list[Item]:
        """The items with these numbers, in their order."""
        wanted = np.atleast_1d(np.asarray(numbers)).tolist()
        with self.database.read() as connection:
            with intact("an item"):
                rows = quickly(connection, SHOWN, {"numbers": json.dumps(wanted)}).fetchall()
                item_of = {row[0]: Item(*of_kinds(row, *KINDS)) for row in rows}
            for number in wanted:
                if number not in item_of:
                    last = get_number(connection, "items") - 1
                    raise RamifyError(f"there is no item {number}: items are numbered 0 to {last}")
        return [item_of[number] for number in wanted]

    def search(self, query: str) -> Index:
        """The numbers of all items whose id or text holds some words, large or small letters alike."""
        if not sound(query) or "\0" in query:
            return np.empty(0, np.intp)
        held = items.c.id.icontains(query, autoescape=True) | items.c.text.icontains(query, autoescape=True)
        with self.database.read() as connection, intact("the list of items"):
            numbers = connection.execute(select(items.c.number).where(held).order_by(items.c.number)).scalars().all()
            return np.array(numbers, np.intp)

    def all_ids(self) -> NDArray[np.str_]:
        """The ids of all items, by number."""
        with self.database.read() as connection, intact("the list of items"):
            ids = connection.execute(select(items.c.id).order_by(items.c.number)).scalars().all()
            if len(ids) < len(self):
                raise ValueError("items are missing")
            return np.array(ids, np.str_)

    # -- files ---------------------------------------------------------------------------------------------------------

    def features(self) -> NDArray[np.floating[Any]] | None:
        """The features of all items as a memory map, items x columns; None where the project has none."""

        def opened(contents: Contents) -> NDArray[np.floating[Any]] | None:
            if contents.features is None:
                return None
            mapped = self._mapped
            if mapped is None or mapped[0] != contents.features:
                mapped = contents.features, _read_features(self.folder / contents.features)
                self._mapped = mapped
            _check_rows(contents, len(mapped[1]))
            return mapped[1]

        return self.from_files(opened)

    def claims(self) -> Claims:
        """What was imported of all items, by concept; the caller may change these labels."""
        return self.from_files(self.claims_of)

    def claims_of(self, contents: Contents) -> Claims:
        """What was imported of all items of some contents, as long as its files are there."""
        if contents.imported is None:
            claims = Claims.of(Labels(contents.taxonomy, np.empty((0, len(contents.taxonomy.roots)), np.int8)))
        elif not (self.folder / contents.imported).exists():
            raise FileNotFoundError(contents.imported)
        else:
            claims = Claims.load(self.folder / contents.imported)
        _check_rows(contents, len(claims.labels))
        return claims

    def from_files(self, open_files: Callable[[Contents], Content]) -> Content:
        """What the current files hold; once more where another process has replaced them in between."""
        while True:
            contents = self.contents
            try:
                return open_files(contents)
            except UnavailableError:  # of the database, not of these files
                raise
            except (OSError, ValueError) as error:
                if not self.refresh() and contents is self.contents:
                    names = " or ".join(name for name in (contents.features, contents.imported) if name)
                    raise RamifyError(
                        f"{self.folder}: {names} is missing or damaged ({error}): restore the project from a backup"
                    ) from None

    # -- settings ------------------------------------------------------------------------------------------------------

    def setting(self, key: str, default: Any = None) -> Any:
        """What was kept under this key."""
        with self.database.read() as connection:
            return get(connection, f"setting {key}", default)

    def set_setting(self, key: str, value: Any) -> None:
        """Keep a value (anything that JSON can say) under a key."""
        with self.database.write() as connection:
            put_setting(connection, key, value)


def _contents(connection: Connection) -> Contents:
    with intact("the taxonomy or the list of files"):
        taxonomy = Taxonomy(get(connection, "taxonomy"))
        ids = {path: number for number, path in connection.execute(select(concepts.c.id, concepts.c.path))}
        id_of = np.array([ids[taxonomy.path(number)] for number in range(len(taxonomy))], np.intp)
        merged = {int(stable): tuple(parts) for stable, parts in get(connection, MERGED, {}).items()}
        for stable, parts in merged.items():
            of_kinds((stable, *parts), *[int] * (1 + len(parts)))
        revision, count = (get_number(connection, key) for key in ("revision", "items"))
        features, imported = (get(connection, key) for key in ("features", "imported"))
        if len(set(id_of.tolist())) < len(id_of) or count < 0 or not all(map(_is_file_name, (features, imported))):
            raise ValueError("ids, numbers and files do not fit together")
        return Contents(revision, count, features, imported, taxonomy, id_of, merged)


def _is_file_name(name: Any) -> bool:
    return name is None or (isinstance(name, str) and Path(name).name == name)


def _read_features(path: Path) -> NDArray[np.floating[Any]]:
    try:
        features: NDArray[np.floating[Any]] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # a damaged header is read as Python, and raises many kinds
        raise ValueError(f"{path.name} is not a whole .npy file") from error
    return features


def _check_rows(contents: Contents, rows: int) -> None:
    if rows != contents.items:
        raise ValueError(f"it has {rows} rows for {contents.items} items")


def get(connection: Connection, key: str, default: Any = None) -> Any:
    """A value of the table meta."""
    value = connection.execute(select(meta.c.value).where(meta.c.key == key)).scalar_one_or_none()
    with intact(f"the value of {key!r}"):
        return default if value is None else json.loads(value)


def get_number(connection: Connection, key: str, default: int | None = None) -> int:
    """A whole number of the table meta."""
    with intact(f"the value of {key!r}"):
        (number,) = of_kinds((get(connection, key, default),), int)
        return int(number)


def put(connection: Connection, key: str, value: Any) -> None:
    """Set a value of the table meta."""
    text = json.dumps(value, ensure_ascii=True)
    if not connection.execute(update(meta).where(meta.c.key == key).values(value=text)).rowcount:
        connection.execute(meta.insert().values(key=key, value=text))


def put_setting(connection: Connection, key: str, value: Any) -> None:
    """Keep a setting."""
    put(connection, f"setting {key}", value)


def put_taxonomy(connection: Connection, taxonomy: Taxonomy, ids: Sequence[int | None]) -> list[int]:
    """Keep the taxonomy, whose concepts have these ids or get new ones; returns all of them."""
    put(connection, "taxonomy", taxonomy.to_dict())
    paths = [taxonomy.path(number) for number in range(len(taxonomy))]
    wanted = {stable: path for stable, path in zip(ids, paths, strict=True) if stable is not None}
    for stable, path in connection.execute(select(concepts.c.id, concepts.c.path)).all():
        if wanted.get(stable) != path and (stable in wanted or GONE not in path):
            # Also what only gets another path: two may exchange theirs.
            connection.execute(update(concepts).where(concepts.c.id == stable).values(path=f"{path}{GONE}{stable}"))
        elif stable in wanted:
            del wanted[stable]
    for stable, path in wanted.items():
        connection.execute(update(concepts).where(concepts.c.id == stable).values(path=path))
    new = [path for stable, path in zip(ids, paths, strict=True) if stable is None]
    if new:
        connection.execute(concepts.insert(), [{"path": path} for path in new])
    id_of = {path: number for number, path in connection.execute(select(concepts.c.id, concepts.c.path))}
    return [int(id_of[path]) for path in paths]


def last_paths(connection: Connection) -> dict[int, str]:
    """The paths of all concepts by their ids; of those that are gone, the last one that they had."""
    with intact("the list of concepts"):
        return {
            int(n): str(path).split(GONE)[0] for n, path in connection.execute(select(concepts.c.id, concepts.c.path))
        }


def no_concept(connection: Connection, concept: object) -> RamifyError:
    """What is said to whoever means a concept, by its id, that is not there."""
    path = last_paths(connection).get(concept) if isinstance(concept, int) else None
    if path is None:
        return RamifyError(f"there is no concept with the id {concept!r} in the project")
    return RamifyError(
        f"{path!r} is no concept any more: somebody has changed the taxonomy; nothing was saved: take the next question"
    )


def sound(text: str) -> bool:
    """Whether text can be kept: half of a surrogate pair, which only broken input has, cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
