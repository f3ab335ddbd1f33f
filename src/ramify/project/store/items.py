"""What a project is about: its taxonomy with stable concept ids, its items, and the files with the rest of them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.store.database import Database, among, quickly
from ramify.project.store.schema import concepts, items, meta
from ramify.taxonomy import Index, Taxonomy

Found = TypeVar("Found")

SHOWN = select(items).where(items.c.number.in_(among("numbers")))


@dataclass(frozen=True)
class Item:
    """One item: its number from 0 on, the user's own id, and what a person is shown of it."""

    number: int
    id: str
    text: str | None
    picture: str | None


@dataclass(frozen=True)
class Contents:
    """One state of taxonomy, items and files. Adding items or splitting a concept makes the next one."""

    revision: int
    items: int
    features: str | None
    imported: str | None
    taxonomy: Taxonomy
    id_of: Index
    number_of: dict[int, int]


class HasContents:
    """The part of a store that knows taxonomy, items and settings.

    It shows one state of them, so that what a program reads one after the other belongs together. What other processes
    add or split is seen after ``refresh``.
    """

    folder: Path
    database: Database
    contents: Contents
    """The state that is shown: all of it at once, for those who use several parts of it beside other threads."""
    _mapped: tuple[str, NDArray[np.float32]] | None = None

    def refresh(self) -> bool:
        """Look whether other processes have added items or split a concept; says whether they have."""
        with self.database.read() as connection:
            revision = get(connection, "revision")
            known = getattr(self, "contents", None)
            if known is not None and known.revision == revision:
                return False
            self.contents = _contents(connection, revision)
            return True

    @property
    def taxonomy(self) -> Taxonomy:
        """The concepts; their numbers change when one is split, see ``id_of``."""
        return self.contents.taxonomy

    @property
    def id_of(self) -> Index:
        """The id of each concept number; ids never change."""
        return self.contents.id_of

    @property
    def number_of(self) -> dict[int, int]:
        """The concept number of each id."""
        return self.contents.number_of

    def __len__(self) -> int:
        return self.contents.items

    # -- items ---------------------------------------------------------------------------------------------------------

    def items(self, numbers: ArrayLike) -> list[Item]:
        """The items with these numbers, in their order."""
        wanted = np.atleast_1d(np.asarray(numbers)).tolist()
        found: dict[int, Item] = {}
        with self.database.read() as connection:
            rows = quickly(connection, SHOWN, {"numbers": json.dumps(wanted)})
            found.update((row[0], Item(*row)) for row in rows)
            for number in wanted:
                if number not in found:
                    last = get(connection, "items") - 1
                    raise RamifyError(f"there is no item {number}: items are numbered 0 to {last}")
        return [found[number] for number in wanted]

    def search(self, query: str) -> Index:
        """The numbers of all items whose id or text holds some words, large or small letters alike."""
        if not sound(query):
            return np.empty(0, np.intp)
        held = items.c.id.icontains(query, autoescape=True) | items.c.text.icontains(query, autoescape=True)
        with self.database.read() as connection:
            found = connection.execute(select(items.c.number).where(held).order_by(items.c.number)).scalars().all()
        return np.array(found, np.intp)

    def all_ids(self) -> NDArray[np.str_]:
        """The ids of all items, by number."""
        with self.database.read() as connection:
            found = connection.execute(select(items.c.id).order_by(items.c.number)).scalars().all()
        return np.array(found, np.str_)

    def features(self) -> NDArray[np.float32] | None:
        """The features of all items as a memory map, items x columns; None where the project has none."""

        def opened(contents: Contents) -> NDArray[np.float32] | None:
            if contents.features is None:
                return None
            mapped = self._mapped
            if mapped is None or mapped[0] != contents.features:
                mapped = contents.features, np.load(self.folder / contents.features, mmap_mode="r", allow_pickle=False)
                self._mapped = mapped
            if len(mapped[1]) != contents.items:
                raise ValueError("another number of rows")
            return mapped[1]

        return self._from_files(opened)

    def imported(self) -> Labels:
        """What was imported of all items, without any answer; the caller may change these labels."""
        return self._from_files(self._imported)

    def _imported(self, contents: Contents) -> Labels:
        if contents.imported is None:
            return Labels(contents.taxonomy, np.empty((0, len(contents.taxonomy.roots)), np.int8))
        if not (self.folder / contents.imported).exists():
            raise FileNotFoundError(contents.imported)
        return Labels.load(self.folder / contents.imported)

    def _from_files(self, open_files: Callable[[Contents], Found]) -> Found:
        """What the current files hold; once more where another process has replaced them in between."""
        while True:
            contents = self.contents
            try:
                return open_files(contents)
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
            put(connection, f"setting {key}", value)


def _contents(connection: Connection, revision: int) -> Contents:
    taxonomy = Taxonomy(get(connection, "taxonomy"))
    ids = {path: number for number, path in connection.execute(select(concepts.c.id, concepts.c.path))}
    id_of = np.array([ids[taxonomy.path(number)] for number in range(len(taxonomy))], np.intp)
    number_of = {stable: number for number, stable in enumerate(id_of.tolist())}
    files = {key: get(connection, key) for key in ("items", "features", "imported")}
    return Contents(revision=revision, taxonomy=taxonomy, id_of=id_of, number_of=number_of, **files)


def get(connection: Connection, key: str, default: Any = None) -> Any:
    """A value of the table meta."""
    value = connection.execute(select(meta.c.value).where(meta.c.key == key)).scalar_one_or_none()
    return default if value is None else json.loads(value)


def put(connection: Connection, key: str, value: Any) -> None:
    """Set a value of the table meta."""
    text = json.dumps(value, ensure_ascii=True)
    connection.execute(
        insert(meta).values(key=key, value=text).on_conflict_do_update(index_elements=["key"], set_={"value": text})
    )


def name_concepts(connection: Connection, taxonomy: Taxonomy, paths: Sequence[str]) -> None:
    """Keep the taxonomy and give its new paths their ids."""
    put(connection, "taxonomy", taxonomy.to_dict())
    connection.execute(concepts.insert(), [{"path": path} for path in paths])


def sound(text: str) -> bool:
    """Whether text can be kept: half of a surrogate pair, which only broken input has, cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
