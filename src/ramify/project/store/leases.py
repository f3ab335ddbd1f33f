"""Leases: questions that are an annotator's for a while, so that two people do not answer the same one unasked."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from sqlalchemy import BindParameter, ColumnElement, Connection, bindparam, delete, exists, select, tuple_

from ramify.errors import RamifyError
from ramify.labels import UNKNOWN
from ramify.project.store.agreement import Agreement, Opinions, agreed
from ramify.project.store.consensus import Consensus
from ramify.project.store.database import among, quickly
from ramify.project.store.flags import Flagged, flagged
from ramify.project.store.schema import KNOWN, NOT_UNDONE, events, items, leases, live
from ramify.taxonomy import Index

SECONDS = 600.0  # how long a question is somebody's

Entry: TypeAlias = tuple[int, int]
"""An item and a concept's stable id."""


def _not_answered_later() -> ColumnElement[bool]:
    """Of a skip: its annotator has not answered the entry since."""
    later, undoing = events.alias("later"), events.alias("undoing_later")
    return ~exists().where(
        later.c.item == events.c.item,
        later.c.concept == events.c.concept,
        later.c.annotator == events.c.annotator,
        later.c.seq > events.c.seq,
        later.c.answer.in_(KNOWN),
        ~exists().where(undoing.c.undoes == later.c.seq),
    )


# Built once: questions are asked for many times a second.
OF_ITEMS = among("of_items")
ANNOTATOR: BindParameter[str | None] = bindparam("who", None)
TAB: BindParameter[str | None] = bindparam("tab", None)
NOW: BindParameter[float | None] = bindparam("now", None)
END_OWN = delete(leases).where(
    leases.c.annotator == ANNOTATOR, leases.c.item == bindparam("of"), leases.c.concept == bindparam("about")
)
ENTRY = (leases.c.item, leases.c.concept, leases.c.annotator)
# Where several lend at once, each leaves to the others what they are about to end, and the items they are about.
END_EXPIRED = delete(leases).where(
    tuple_(*ENTRY).in_(select(*ENTRY).where(leases.c.until <= NOW).with_for_update(skip_locked=True))
)
LOCK = select(items.c.number).where(items.c.number.in_(OF_ITEMS)).with_for_update(key_share=True, skip_locked=True)
LEASE = leases.insert()
HOLDING = select(*ENTRY).where(leases.c.item.in_(OF_ITEMS))
SAID = live(events.c.item, events.c.concept, events.c.annotator, events.c.settles).where(events.c.item.in_(OF_ITEMS))
HELD = (
    select(leases.c.item, leases.c.concept, leases.c.until)
    .where(leases.c.annotator == ANNOTATOR, leases.c.until > NOW, leases.c.tab.in_([TAB, ""]))
    .order_by(leases.c.until, leases.c.item, leases.c.concept)
)
OF_ANNOTATOR = select(leases.c.item, leases.c.concept).where(leases.c.annotator == ANNOTATOR)
ALL_HELD = select(leases.c.annotator, leases.c.item, leases.c.concept).where(leases.c.until > NOW)
SKIPPED = (
    select(events.c.item, events.c.concept)
    .where(events.c.annotator == ANNOTATOR, events.c.answer == "skip", NOT_UNDONE, _not_answered_later())
    .order_by(events.c.seq.desc())
)


class Leases:
    """Leases on entries, kept in the database: they survive a restart, and end by themselves after some seconds.

    With ``overlap`` k each entry goes to up to k annotators, otherwise to one.

    >>> import tempfile
    >>> from ramify.labels import Labels
    >>> from ramify.project.store.store import Store
    >>> from ramify.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store.create(folder.name, taxonomy) as store:
    ...     _ = store.add(["a", "b"], None, None, None, Labels(taxonomy, [[1], [1]]))
    ...     leases = store.leases()
    ...     leases.lease("ann", [[(0, 1), (0, 2)]]), leases.lease("bob", [[(0, 2)], [(1, 1)]])
    ([True], [False, True])
    >>> folder.cleanup()
    """

    def __init__(
        self, consensus: Consensus, *, overlap: int = 1, seconds: float = SECONDS, now: Callable[[], float] = time.time
    ) -> None:
        if overlap < 1:
            raise RamifyError(f"overlap says how many annotators answer each question, from 1 on, not {overlap}")
        self.consensus, self.database = consensus, consensus.database
        self.overlap, self.seconds, self.now = overlap, seconds, now

    def lease(
        self, annotator: str, groups: Sequence[Sequence[Entry]], *, tab: str = "", gold: bool = False
    ) -> list[bool]:
        """Lease groups of entries to an annotator, in one of their tabs: a group wholly, or not at all.

        A group is refused where this annotator holds or has answered any of its entries, or enough others do or have,
        or it is settled or flagged. With ``gold``, whose answers are known, it is anybody's who has not
        answered them.
        """
        wanted = list(dict.fromkeys(item for group in groups for item, _ in group))
        granted: list[bool] = []
        with self.database.lend() as connection:
            now = self.now()
            ours = {number for (number,) in quickly(connection, LOCK, {"of_items": json.dumps(wanted)}).fetchall()}
            quickly(connection, END_EXPIRED, {"now": now})
            who, closed = self._who(connection, wanted)
            entries, broken = flagged(connection)
            for group in groups:
                free = bool(group) and all(
                    entry[0] in ours
                    and entry[0] not in broken
                    and entry not in entries
                    and annotator not in who[entry]
                    and (gold or (entry not in closed and len(who[entry]) < self.overlap))
                    for entry in group
                )
                granted.append(free)
                for entry in group if free else ():
                    who[entry].add(annotator)
            until = now + self.seconds
            rows = dict.fromkeys(e for group, free in zip(groups, granted, strict=True) if free for e in group)
            if rows:
                common = {"annotator": annotator, "until": until, "tab": tab}
                new = [{"item": i, "concept": c, **common} for i, c in rows]
                quickly(connection, LEASE, *new)
        return granted

    def _who(self, connection: Connection, of_items: Sequence[int]) -> tuple[dict[Entry, set[str]], set[Entry]]:
        """Who holds or has answered each entry of some items, and which entries are settled."""
        who: dict[Entry, set[str]] = defaultdict(set)
        closed: set[Entry] = set()
        asked = {"of_items": json.dumps(of_items)}
        for item, concept, annotator in quickly(connection, HOLDING, asked).fetchall():
            who[item, concept].add(annotator)
        for item, concept, annotator, settles in quickly(connection, SAID, asked).fetchall():
            who[item, concept].add(annotator)
            if settles:
                closed.add((item, concept))
        return who, closed

    def release(self, annotator: str, entries: Iterable[Entry]) -> None:
        """End leases before their time."""
        with self.database.lend() as connection:
            end_leases(connection, annotator, list(entries))

    def own(self, annotator: str, tab: str = "") -> tuple[list[tuple[int, int, float]], set[Entry]]:
        """The leases of a tab that have not ended (item, concept, until when; the oldest first), and what was skipped.

        What the annotator skipped and has not answered since goes to the back.
        """
        with self.database.read() as connection:
            held = quickly(connection, HELD, {"who": annotator, "tab": tab, "now": self.now()}).fetchall()
            skipped = quickly(connection, SKIPPED, {"who": annotator}).fetchall()
        return [(item, concept, until) for item, concept, until in held], {(item, concept) for item, concept in skipped}

    def skipped(self, annotator: str) -> list[Entry]:
        """What an annotator skipped and has not answered since, what they saw last at the end."""
        with self.database.read() as connection:
            rows = quickly(connection, SKIPPED, {"who": annotator}).fetchall()
        return list(dict.fromkeys((item, concept) for item, concept in rows))[::-1]

    def out(self) -> int:
        """How many entries are out with somebody."""
        with self.database.read() as connection:
            return len(quickly(connection, ALL_HELD, {"now": self.now()}).fetchall())

    def flagged(self) -> Flagged:
        """What nobody is asked about until a flag is lifted."""
        with self.database.read() as connection:
            return flagged(connection)

    def taken(self) -> tuple[Index, Index]:
        """The entries that nobody else may get now: enough hold or answered them, or they are settled or flagged."""
        entries, _ = self._out_or_answered()
        closed = (np.bincount(entries.lines, minlength=len(entries.items)) >= self.overlap) | entries.settled
        left_out, broken = self.flagged()
        concepts = self.consensus.items.contents.id_of.tolist()
        more = np.array([*left_out, *((item, concept) for item in broken for concept in concepts)], np.intp)
        items, of = more.reshape(-1, 2).T
        return np.append(entries.items[closed], items), np.append(entries.concepts[closed], of)

    def second_opinions(self, annotator: str, count: int) -> list[Entry]:
        """Entries, the longest waiting first, that others have answered and this annotator may answer as well."""
        if self.overlap < 2:
            return []
        entries, names = self._out_or_answered()
        people = np.bincount(entries.lines, minlength=len(entries.items))
        own = entries.opinions.annotators == names.get(annotator, -1)
        closed = entries.settled | (people >= self.overlap)
        closed[entries.lines[own]] = True
        left_out, broken = self.flagged()
        pairs = zip(entries.items.tolist(), entries.concepts.tolist(), strict=True)
        there = self.consensus.items.contents.number_of
        gone = [pair in left_out or pair[0] in broken or pair[1] not in there for pair in pairs]
        closed |= np.array(gone, np.bool_)
        waiting = entries.lines[(entries.opinions.values != UNKNOWN) & ~closed[entries.lines]]
        first = list(dict.fromkeys(waiting.tolist()))[:count]
        return [(int(entries.items[line]), int(entries.concepts[line])) for line in first]

    def _out_or_answered(self) -> tuple[Agreement, dict[str, int]]:
        """Who holds or has answered each entry (those who only hold it say -1), and the numbers of the annotators."""
        with self.database.read() as connection:
            rows = connection.execute(ALL_HELD, {"now": self.now()}).all()
        ledger = self.consensus.ledger()  # after the leases: an answer ends a lease, and must not be missed between
        numbers = {name: number for number, name in enumerate(ledger.names)}
        holders = [(numbers.setdefault(name, len(numbers)), item, concept, UNKNOWN, 0) for name, item, concept in rows]
        columns = zip(ledger.live.columns(), np.array(holders, np.intp).reshape(-1, 5).T, strict=True)
        return agreed(Opinions(*(np.append(said, more).astype(said.dtype) for said, more in columns))), numbers


def held_by(connection: Connection, annotator: str) -> list[Entry]:
    """The annotator's leases in all tabs, also those that have ended and are still there."""
    return [(item, concept) for item, concept in quickly(connection, OF_ANNOTATOR, {"who": annotator}).fetchall()]


def end_leases(connection: Connection, annotator: str, entries: Sequence[Entry]) -> None:
    """Delete the annotator's leases on some entries."""
    if entries:
        own = ({"who": annotator, "of": item, "about": concept} for item, concept in sorted(entries))
        quickly(connection, END_OWN, *own)  # in one order, so that nobody waits for somebody who waits for them
