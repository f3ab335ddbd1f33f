"""Flags: questions that somebody skipped for a reason. Nobody is asked them again until the flag is lifted.

A flag belongs to a request whose answers are skips; it falls when these are undone.
"""

import time
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, select, update

from ramify.errors import RamifyError
from ramify.project.limits import BROKEN, FLAGS, LONGEST_NOTE
from ramify.project.store.database import Database, quickly
from ramify.project.store.schema import NOT_UNDONE, events, requests
from ramify.project.store.troubles import intact, of_kinds

STANDING = (
    select(
        requests.c.key,
        requests.c.flag,
        requests.c.note,
        events.c.annotator,
        events.c.at,
        events.c.item,
        events.c.concept,
    )
    .join(events, events.c.key == requests.c.key)
    .where(requests.c.flag.is_not(None), requests.c.lifted.is_(None), NOT_UNDONE)
    .order_by(events.c.seq)
)
KINDS = (str, str, str, str, float, int, int)

Flagged: TypeAlias = tuple[set[tuple[int, int]], set[int]]
"""Entries that nobody is asked about (items and stable concept ids), and items of which nothing is asked."""


@dataclass(frozen=True)
class Flag:
    """Why some questions about an item are not asked; concepts are stable ids."""

    key: str
    flag: str
    note: str
    annotator: str
    at: float
    item: int
    concepts: tuple[int, ...]


class Flags:
    """The part of a store that keeps flags."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def standing(self) -> list[Flag]:
        """All flags that were not lifted nor undone, oldest first."""
        with self.database.read() as connection, intact("the list of flags"):
            rows: list[tuple[Any, ...]] = [tuple(of_kinds(tuple(row), *KINDS)) for row in connection.execute(STANDING)]
        flags: dict[tuple[str, int], Flag] = {}
        for key, flag, note, annotator, at, item, concept in rows:
            known = flags.get((key, item))
            concepts = (*(known.concepts if known else ()), concept)
            flags[key, item] = Flag(key, flag, note, annotator, at, item, concepts)
        return list(flags.values())

    def lift(self, key: str) -> bool:
        """Let the questions be asked again; says whether there was such a flag."""
        lifting = update(requests).where(
            requests.c.key == key, requests.c.flag.is_not(None), requests.c.lifted.is_(None)
        )
        with self.database.write() as connection:
            return connection.execute(lifting.values(lifted=time.time())).rowcount > 0


def flagged(connection: Connection) -> Flagged:
    """What nobody is asked about."""
    rows = quickly(connection, STANDING).fetchall()
    return {(row[5], row[6]) for row in rows}, {row[5] for row in rows if row[1] == BROKEN}


def check_note(flag: str | None, note: str) -> str:
    """The note of a flag, if it can be kept.

    >>> check_note("broken", " the picture is black ")
    'the picture is black'
    """
    if flag is not None and flag not in FLAGS:
        raise RamifyError(f"a flag is {' or '.join(FLAGS)}, not {flag!r}")
    text = note.strip()
    if flag is None and text:
        raise RamifyError("a note goes with a flag")
    if len(text) > LONGEST_NOTE or "\x00" in text:
        raise RamifyError(f"a note has up to {LONGEST_NOTE} characters")
    return text
