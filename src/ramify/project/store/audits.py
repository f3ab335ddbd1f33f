"""Audits: which units (an item and a coarse concept) were drawn at random, and from how many."""

import time
from dataclasses import dataclass

from sqlalchemy import select

from ramify.project.store.answers import NEWEST
from ramify.project.store.items import Items, get_number
from ramify.project.store.schema import audits
from ramify.project.store.troubles import intact, of_kinds


@dataclass(frozen=True)
class Audited:
    """One unit; the concept is a stable id."""

    item: int
    concept: int
    at: float
    drawn_from: int
    """How many units of the concept were open: each was as likely to be drawn."""
    items: int
    """How many items the project had."""
    after: int
    """The newest event before it."""


class Audits:
    """The part of a store that keeps what was drawn; rows are only ever added."""

    def __init__(self, items: Items) -> None:
        self.items, self.database = items, items.database

    def add(self, item: int, concept: int, drawn_from: int) -> Audited | None:
        """Note a unit; None where another process has drawn it already."""
        own = select(audits).where(audits.c.item == item, audits.c.concept == concept)
        with self.database.write() as connection:
            if connection.execute(own).one_or_none() is not None:
                return None
            after = int(connection.execute(NEWEST).scalar_one())
            row = Audited(item, concept, time.time(), drawn_from, get_number(connection, "items"), after)
            connection.execute(audits.insert().values(**vars(row)))
            return row

    def all(self) -> list[Audited]:
        """All of them, oldest first."""
        with self.database.read() as connection, intact("the list of audits"):
            rows = connection.execute(select(audits).order_by(audits.c.after, audits.c.at)).all()
            return [Audited(*of_kinds(row, int, int, float, int, int, int)) for row in rows]
