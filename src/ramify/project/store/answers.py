"""Answers: events that are only ever added, and what follows from those that stand."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select

from ramify.errors import RamifyError
from ramify.project.store.database import chunks, quickly
from ramify.project.store.items import HasContents, get
from ramify.project.store.schema import NOT_UNDONE, concepts, events, leases

ANSWERS = ("yes", "no", "skip")
LONGEST = 200  # characters of a key or a name
PAGE = 10_000  # events read at once
NEWEST = select(func.coalesce(func.max(events.c.seq), 0))
ADD = events.insert()
GIVEN = ("key", "at", "annotator", "item", "concept", "answer", "undoes", "model", "settles")
END_OWN = delete(leases).where(
    leases.c.annotator == bindparam("who"), leases.c.item == bindparam("of"), leases.c.concept == bindparam("about")
)
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


class HasAnswers(HasContents):
    """The part of a store that keeps answers; items are numbers, concepts stable ids."""

    def record(
        self,
        key: str,
        annotator: str,
        answers: Sequence[tuple[int, int, str]],
        *,
        model: int | None = None,
        settles: bool = False,
    ) -> list[Event]:
        """Keep answers (item, concept, "yes", "no" or "skip") and end the annotator's leases on them, all or nothing.

        A request that is sent again under the same key changes nothing and returns the first events.
        """
        return self.record_all([(key, annotator, answers)], model=model, settles=settles)[0][0]

    def record_all(
        self,
        requests: Iterable[tuple[str, str, Sequence[tuple[int, int, str]]]],
        *,
        model: int | None = None,
        settles: bool = False,
    ) -> list[tuple[list[Event], bool]]:
        """Keep several requests, each a key, an annotator and answers: all of them or none.

        Returns the events of each, and whether they are new.
        """
        with self.database.write() as connection:
            return [self._record(connection, *request, model, settles) for request in requests]

    def _record(
        self,
        connection: Connection,
        key: str,
        annotator: str,
        answers: Sequence[tuple[int, int, str]],
        model: int | None,
        settles: bool,
    ) -> tuple[list[Event], bool]:
        _check_name("the key of a request", key)
        _check_name("an annotator's name", annotator)
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
        end_leases(connection, annotator, [(item, concept) for item, concept, _ in answers])
        return _of_key(connection, key), True

    def undo(self, key: str, annotator: str) -> list[Event]:
        """Take back all answers of the annotator's last request that stands; returns the events that do so.

        What was answered before counts again. The same key again changes nothing and returns the first events.
        """
        _check_name("the key of a request", key)
        _check_name("an annotator's name", annotator)
        with self.database.write() as connection:
            known = _of_key(connection, key)
            if known:
                if any(event.answer != "undo" or event.annotator != annotator for event in known):
                    raise _key_taken(key)
                return known
            standing = select(events).where(events.c.annotator == annotator, events.c.answer != "undo", NOT_UNDONE)
            last = connection.execute(standing.order_by(events.c.seq.desc()).limit(1)).one_or_none()
            if last is None:
                return []
            common = {"key": key, "at": time.time(), "annotator": annotator, "model": None, "settles": False}
            undoing = [
                {"item": event.item, "concept": event.concept, "answer": "undo", "undoes": event.seq}
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
        found: list[Event] = []
        with self.database.read() as connection:
            if last is not None:
                newest = wanted.where(events.c.seq > after).order_by(events.c.seq.desc()).limit(last)
                return [_event(row) for row in connection.execute(newest)][::-1]
            while True:
                page = connection.execute(wanted.where(events.c.seq > after).order_by(events.c.seq).limit(PAGE)).all()
                found.extend(map(_event, page))
                if len(page) < PAGE:
                    return found
                after = found[-1].seq

    def events_at(self, seqs: Iterable[int | None]) -> list[Event]:
        """The events with these sequence numbers, oldest first: what an undo took back, for one."""
        wanted = sorted({seq for seq in seqs if seq is not None})
        with self.database.read() as connection:
            return [
                _event(row)
                for part in chunks(wanted)
                for row in connection.execute(select(events).where(events.c.seq.in_(part)).order_by(events.c.seq))
            ]

    def events_about(self, item: int, concept: int) -> list[Event]:
        """All events about one entry, oldest first."""
        about = select(events).where(events.c.item == item, events.c.concept == concept).order_by(events.c.seq)
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(about)]

    def last_event(self) -> int:
        """The sequence number of the newest event, 0 before the first."""
        with self.database.read() as connection:
            return int(connection.execute(NEWEST).scalar_one())

    def _check_answers(self, connection: Connection, answers: Sequence[tuple[int, int, str]]) -> None:
        count, ids = self.contents.items, self.contents.number_of
        if any(item not in range(count) or concept not in ids for item, concept, _ in answers):
            # Another process may have added them: look into the database.
            count = get(connection, "items")
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


def end_leases(connection: Connection, annotator: str, entries: Sequence[tuple[int, int]]) -> None:
    """Delete the annotator's leases on some entries."""
    if entries:
        quickly(connection, END_OWN, *({"who": annotator, "of": item, "about": concept} for item, concept in entries))


def _add(connection: Connection, common: dict[str, Any], each: Sequence[dict[str, Any]]) -> None:
    quickly(connection, ADD, *({**common, **one} for one in each), columns=GIVEN)


def _of_key(connection: Connection, key: str) -> list[Event]:
    return [_event_of(row) for row in quickly(connection, OF_KEY, {"wanted": key})]


def _event_of(row: tuple[Any, ...]) -> Event:
    found = Event(*row)
    return replace(found, settles=bool(found.settles))


def _event(row: Any) -> Event:
    return Event(**row._mapping)


def _key_taken(key: str) -> RamifyError:
    return RamifyError(f"the key {key!r} was used for another request: each request needs a key of its own")


def _check_name(what: str, name: str) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST or not name.isprintable():
        raise RamifyError(f"{what} is printable text of 1 to {LONGEST} characters, not {name!r}")
