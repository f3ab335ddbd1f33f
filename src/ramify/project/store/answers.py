"""Answers: events that are only ever added; an answer taken back is one more event."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, bindparam, func, select, text

from ramify.errors import RamifyError
from ramify.labels import ANSWERS
from ramify.project.limits import LONGEST_KEY, LONGEST_NAME
from ramify.project.store.database import chunks, quickly
from ramify.project.store.flags import check_note
from ramify.project.store.items import Items, get_number
from ramify.project.store.leases import end_leases
from ramify.project.store.schema import NOT_UNDONE, UNDO, concepts, events
from ramify.project.store.schema import requests as request_table
from ramify.project.store.troubles import intact, of_kinds

Answered: TypeAlias = tuple[int, int, str]
"""An item, a concept's stable id, and yes, no or skip."""
Request: TypeAlias = tuple[str, str, Sequence[Answered]]
"""A key of its own, the annotator, and answers that are kept together."""

PAGE = 10_000  # events read at once
NEWEST = select(func.coalesce(func.max(events.c.seq), 0))
ADD = events.insert()
ADD_REQUEST = request_table.insert()
GIVEN = ("key", "at", "annotator", "item", "concept", "answer", "undoes", "model", "settles")
OF_KEY = select(events).where(events.c.key == bindparam("wanted")).order_by(events.c.seq)


@dataclass(frozen=True)
class Event:
    """One answer of one annotator about one entry, or the taking back of one; the concept is a stable id."""

    seq: int
    key: str
    at: float
    annotator: str
    item: int
    concept: int
    answer: str
    undoes: int | None
    model: int | None
    settles: bool


KINDS = (int, str, float, str, int, int, str, int | None, int | None, bool)
"""What the columns of an event hold, unless the file is damaged."""


class Answers:
    """The part of a store that keeps answers; items are numbers, concepts stable ids."""

    def __init__(self, items: Items) -> None:
        self.items, self.database = items, items.database

    def record(
        self,
        requests: Iterable[Request],
        *,
        model: int | None = None,
        settles: bool = False,
        seconds: float | None = None,
        flag: str | None = None,
        note: str = "",
    ) -> list[tuple[list[Event], bool]]:
        """Keep the answers of requests, and end the annotators' leases on them: all of it or nothing.

        ``seconds`` is how long the screen took; ``flag`` and ``note`` say why it was skipped: see ``Flags``.

        A request that is sent again under the same key changes nothing and returns the first events. Returns the events
        of every request, and whether they are new.
        """
        about = {"seconds": seconds, "flag": flag, "note": check_note(flag, note)}
        with self.database.write() as connection:
            return [self._record(connection, *request, model, settles, about) for request in requests]

    def _record(
        self,
        connection: Connection,
        key: str,
        annotator: str,
        answers: Sequence[Answered],
        model: int | None,
        settles: bool,
        about: dict[str, Any],
    ) -> tuple[list[Event], bool]:
        _check_names(key, annotator)
        known = _of_key(connection, key)
        if known:
            said = {(event.item, event.concept, event.answer) for event in known}
            if said != set(answers) or any(e.annotator != annotator or e.settles != settles for e in known):
                raise _key_taken(key)
            return known, False
        if not answers:
            return [], False
        self._check_answers(connection, answers)
        common = {"key": key, "at": time.time(), "annotator": annotator, "model": model, "settles": settles}
        _add(connection, common, [{"item": i, "concept": c, "answer": a, "undoes": None} for i, c, a in answers])
        if about["seconds"] is not None or about["flag"] is not None:
            if about["flag"] is not None and any(answer != "skip" for *_, answer in answers):
                raise RamifyError("what is flagged is skipped: a flag goes with no answer yes or no")
            quickly(connection, ADD_REQUEST, {"key": key, **about}, columns=("key", *about))
        end_leases(connection, annotator, [(item, concept) for item, concept, _ in answers])
        return _of_key(connection, key), True

    def undo(self, key: str, annotator: str) -> list[Event]:
        """Take back all answers of the annotator's last request that stands; returns the events that do so.

        What was answered before counts again. The same key again changes nothing and returns the first events.
        """
        _check_names(key, annotator)
        with self.database.write() as connection:
            known = _of_key(connection, key)
            if known:
                if any(event.answer != UNDO or event.annotator != annotator for event in known):
                    raise _key_taken(key)
                return known
            standing = select(events).where(events.c.annotator == annotator, events.c.answer != UNDO, NOT_UNDONE)
            last = connection.execute(standing.order_by(events.c.seq.desc()).limit(1)).one_or_none()
            if last is None:
                return []
            common = {"key": key, "at": time.time(), "annotator": annotator, "model": None, "settles": False}
            undoing = [
                {"item": event.item, "concept": event.concept, "answer": UNDO, "undoes": event.seq}
                for event in _of_key(connection, last.key)
            ]
            _add(connection, common, undoing)
            return _of_key(connection, key)

    # -- events --------------------------------------------------------------------------------------------------------

    def events(self, *, after: int = 0, annotator: str | None = None, last: int | None = None) -> list[Event]:
        """The events after a sequence number, oldest first: all, those of one annotator, or the ``last`` so many."""
        wanted = select(events)
        if annotator is not None:
            wanted = wanted.where(events.c.annotator == annotator)
        listed: list[Event] = []
        with self.database.read() as connection:
            if last is not None:
                newest = wanted.where(events.c.seq > after).order_by(events.c.seq.desc()).limit(last)
                return [_event(row) for row in connection.execute(newest)][::-1]
            while True:
                page = connection.execute(wanted.where(events.c.seq > after).order_by(events.c.seq).limit(PAGE)).all()
                listed.extend(map(_event, page))
                if len(page) < PAGE:
                    return listed
                after = listed[-1].seq

    def at(self, seqs: Iterable[int | None]) -> list[Event]:
        """The events with these sequence numbers, oldest first: what an undo took back, for one."""
        wanted = sorted({seq for seq in seqs if seq is not None})
        with self.database.read() as connection:
            return [
                _event(row)
                for part in chunks(wanted)
                for row in connection.execute(select(events).where(events.c.seq.in_(part)).order_by(events.c.seq))
            ]

    def requests(self) -> dict[str, tuple[float | None, str | None, str]]:
        """What is said of requests as a whole, by their keys: seconds, flag and note."""
        columns = (request_table.c[name] for name in ("key", "seconds", "flag", "note"))
        with self.database.read() as connection, intact("the list of requests"):
            rows = connection.execute(select(*columns)).all()
            for row in rows:
                of_kinds(tuple(row), str, float | None, str | None, str)
            return {key: (seconds, flag, note) for key, seconds, flag, note in rows}

    def seconds(self, count: int) -> list[float]:
        """How long the last so many screens took whose time is known, the newest first."""
        newest = select(request_table.c.seconds, func.max(events.c.seq).label("last"))
        timed = newest.join(events, events.c.key == request_table.c.key).where(request_table.c.seconds.is_not(None))
        last = timed.group_by(request_table.c.key, request_table.c.seconds).order_by(text("last DESC")).limit(count)
        with self.database.read() as connection:
            return [float(seconds) for seconds, _ in connection.execute(last)]

    def about(self, item: int, concept: int) -> list[Event]:
        """All events about one entry, oldest first."""
        of_entry = select(events).where(events.c.item == item, events.c.concept == concept).order_by(events.c.seq)
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(of_entry)]

    def last(self) -> int:
        """The sequence number of the newest event, 0 before the first."""
        with self.database.read() as connection:
            return int(connection.execute(NEWEST).scalar_one())

    def _check_answers(self, connection: Connection, answers: Sequence[Answered]) -> None:
        count, ids = self.items.contents.items, self.items.contents.number_of
        if any(item not in range(count) or concept not in ids for item, concept, _ in answers):
            # Another process may have added them: look into the database.
            count = get_number(connection, "items")
            ids = dict.fromkeys(connection.execute(select(concepts.c.id)).scalars(), -1)
        for item, concept, answer in answers:
            if not isinstance(item, int) or not 0 <= item < count:
                raise RamifyError(f"there is no item {item!r}: items are numbered 0 to {count - 1}")
            if not isinstance(concept, int) or concept not in ids:
                raise RamifyError(f"there is no concept with the id {concept!r} in the project")
            if answer not in ANSWERS:
                raise RamifyError(f"item {item}, concept {concept}: an answer is yes, no or skip, not {answer!r}")
        entries = [(item, concept) for item, concept, _ in answers]
        if len(set(entries)) < len(entries):
            item, concept = next(entry for entry in entries if entries.count(entry) > 1)
            raise RamifyError(f"item {item}, concept {concept} is answered twice in one request: answer it once")


def _add(connection: Connection, common: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    quickly(connection, ADD, *({**common, **row} for row in rows), columns=GIVEN)


def _of_key(connection: Connection, key: str) -> list[Event]:
    return [_event(row) for row in quickly(connection, OF_KEY, {"wanted": key}).fetchall()]


def _event(row: Sequence[Any]) -> Event:
    with intact("an event"):
        event = Event(*of_kinds((*row[:-1], bool(row[-1])), *KINDS))
        if event.answer not in (*ANSWERS, UNDO):
            raise ValueError(f"{event.answer!r} is no answer")
        return event


def _key_taken(key: str) -> RamifyError:
    return RamifyError(f"the key {key!r} was used for another request: each request needs a key of its own")


def _check_names(key: str, annotator: str) -> None:
    for what, name, longest in (
        ("the key of a request", key, LONGEST_KEY),
        ("an annotator's name", annotator, LONGEST_NAME),
    ):
        if not isinstance(name, str) or not name.strip() or len(name) > longest or not name.isprintable():
            raise RamifyError(f"{what} is printable text of 1 to {longest} characters, not {name!r}")
