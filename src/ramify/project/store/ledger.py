"""Ledger: all answers in memory, as arrays; only events that came since are read from the database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from ramify.project.store.agreement import Agreement, Opinions, agreed
from ramify.project.store.database import among, quickly
from ramify.project.store.schema import events
from ramify.taxonomy import Index

VALUES = {"yes": 1, "no": 0, "skip": -1}
READ = select(*(events.c[name] for name in ("seq", "annotator", "item", "concept", "answer", "settles", "undoes")))

ABOUT = READ.where(events.c.item.in_(among("items"))).order_by(events.c.seq)
SINCE = READ.where(events.c.seq > bindparam("after")).order_by(events.c.seq)


@dataclass(frozen=True)
class Ledger:
    """The answers up to an event, oldest first, as parallel arrays. It never changes: ``with_new`` makes the next."""

    seqs: Index
    said: Opinions
    """Values are -1 for a skip."""
    undone: NDArray[np.bool_]
    names: tuple[str, ...] = ()
    """The annotators, by their numbers."""
    last: int = 0
    """The newest event, which may be an undo."""

    @classmethod
    def empty(cls) -> "Ledger":
        """Before the first answer."""
        none = np.empty(0, np.intp)
        return cls(none, Opinions(none, none, none, np.empty(0, np.int8), np.empty(0, np.bool_)), np.empty(0, np.bool_))

    @classmethod
    def about(cls, connection: Connection, items: list[int]) -> "Ledger":
        """All answers about some items, read afresh."""
        return cls.empty().with_rows(quickly(connection, ABOUT, {"items": json.dumps(items)}).fetchall())

    def with_new(self, connection: Connection) -> "Ledger":
        """With all events that came since."""
        return self.with_rows(connection.execute(SINCE, {"after": self.last}).all())

    def with_rows(self, rows: Sequence[Sequence[Any]]) -> "Ledger":
        """With some more events."""
        if not rows:
            return self
        answers = [row for row in rows if row[6] is None]
        numbers = {name: number for number, name in enumerate(self.names)}
        for row in answers:
            numbers.setdefault(row[1], len(numbers))
        seqs, names, items, concepts, words, settles, _ = zip(*answers, strict=True) if answers else ((),) * 7
        old = self.said
        said = Opinions(
            np.append(old.annotators, np.array([numbers[name] for name in names], np.intp)),
            np.append(old.items, np.array(items, np.intp)),
            np.append(old.concepts, np.array(concepts, np.intp)),
            np.append(old.values, np.array([VALUES[word] for word in words], np.int8)),
            np.append(old.settles, np.array(settles, np.bool_)),
        )
        all_seqs = np.append(self.seqs, np.array(seqs, np.intp))
        undone = np.append(self.undone, np.zeros(len(answers), np.bool_))
        undone[np.searchsorted(all_seqs, [row[6] for row in rows if row[6] is not None])] = True
        return Ledger(all_seqs, said, undone, tuple(numbers), rows[-1][0])

    @cached_property
    def count(self) -> int:
        """How many answers yes and no stand."""
        return int(((self.said.values >= 0) & ~self.undone).sum())

    @cached_property
    def live(self) -> Opinions:
        """The answers yes and no that stand."""
        return self.said.some(np.flatnonzero((self.said.values >= 0) & ~self.undone))

    @cached_property
    def agreement(self) -> Agreement:
        """What follows from them, entry by entry."""
        return agreed(self.live)
