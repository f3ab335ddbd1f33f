"""Answers: events that are only ever added; an answer taken back is one more event."""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, func, select, text

from ramify.errors import RamifyError
from ramify.labels import ANSWERS
from ramify.project.limits import LONGEST_KEY, LONGEST_NAME
from ramify.project.store.database import chunks, quickly
from ramify.project.store.flags import check_note
from ramify.project.store.items import Contents, Items, no_concept
from ramify.project.store.leases import Entry, end_leases, held_by
from ramify.project.store.schema import NOT_UNDONE, UNDO, events
from ramify.project.store.schema import requests as request_table
from ramify.project.store.troubles import intact, of_kinds
from ramify.readers.annotations import IN_PART, NOBODY, Mark

Answered: TypeAlias = tuple[int, int, str]
"""An item, a concept's stable id, and yes, no or skip."""


class Request(NamedTuple):
    """Answers that are kept together, under a key of their own."""

    key: str
    annotator: str
    answers: Sequence[Answered]
    model: int | None = None
    """The one that asked."""
    settles: bool = False
    """Whether they outrank what others say."""


class Revision(NamedTuple):
    """What somebody says of an item in another tool, which they may change or take back there."""

    name: str
    """Its own: the keys of its requests are its name, a space, and the version."""
    version: str
    """Which of its states this is: later ones sort later, but for those that begin with ``#``, which just differ."""
    annotator: str
    item: int
    answers: Sequence[Answered]
    """None of them where it was taken back."""
    settles: bool = False
    seconds: float | None = None
    mark: Mark | None = None
    """What a project wrote it with, where one did."""


class Revised(NamedTuple):
    """What revisions changed."""

    saved: int
    """Answers that are new."""
    repeated: int
    """Revisions that changed nothing: they were known, or later ones were."""
    undone: int
    """Answers that were taken back, or replaced."""


RESERVED = "label-studio "  # what the names of revisions begin with: no other request's key does
NAMED = 3  # words of a revision's name: the tool, a number there, and what is unique
TAKEN_BACK = "~"  # the version of what stands no more in the other tool: after all others
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
            recorded = []
            for request in requests:
                _check_own(request.key)
                recorded.append(self._record(connection, request, about))
            return recorded

    def _record(
        self,
        connection: Connection,
        request: Request,
        about: dict[str, Any],
    ) -> tuple[list[Event], bool]:
        key, annotator, answers, model, settles = request
        _check_names(key, annotator)
        known = _of_key(connection, key)
        if known:
            said = {(event.item, event.concept, event.answer) for event in known}
            if said != set(answers) or any(e.annotator != annotator or e.settles != settles for e in known):
                raise _key_taken(key)
            return known, False
        if not answers:
            return [], False
        now = self._check_answers(connection, answers)
        common = {"key": key, "at": time.time(), "annotator": annotator, "model": model, "settles": settles}
        _add(connection, common, [{"item": i, "concept": c, "answer": a, "undoes": None} for i, c, a in answers])
        if about["seconds"] is not None or about["flag"] is not None:
            if about["flag"] is not None and any(answer != "skip" for *_, answer in answers):
                raise RamifyError("what is flagged is skipped: a flag goes with no answer yes or no")
            quickly(connection, ADD_REQUEST, {"key": key, **about}, columns=("key", *about))
        # From the few that are held, not from all that is below: of a request with thousands of answers that is a lot.
        end_leases(connection, annotator, _asked_no_more(now, answers, held_by(connection, annotator)))
        return _of_key(connection, key), True

    def undo(self, key: str, annotator: str) -> list[Event]:
        """Take back all answers of the annotator's last request that stands; returns the events that do so.

        What was answered before counts again. The same key again changes nothing and returns the first events.
        """
        _check_own(key)
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

    def revise(self, revisions: Sequence[Revision]) -> Revised:
        """Keep what people say in another tool, in place of what they said there before: all of it or nothing.

        What is delivered twice counts once, and what is older than what is known changes nothing; neither does what
        this project wrote itself, if it comes back as it was.
        """
        with self.database.write() as connection:
            return self._revise(connection, revisions)

    def take(self, said: Iterable[Request | Revision]) -> int:
        """Keep requests and revisions in the order given: all of it or nothing; returns how many answers are new."""
        saved = 0
        with self.database.write() as connection:
            for revised, some in groupby(said, lambda one: isinstance(one, Revision)):
                if revised:
                    saved += self._revise(connection, [one for one in some if isinstance(one, Revision)]).saved
                for request in () if revised else (one for one in some if isinstance(one, Request)):
                    _check_own(request.key)
                    events, new = self._record(connection, request, {"seconds": None, "flag": None, "note": ""})
                    saved += len(events) if new else 0
        return saved

    def _revise(self, connection: Connection, revisions: Sequence[Revision]) -> Revised:
        saved = repeated = undone = 0
        known = _about(connection, sorted({revision.item for revision in revisions}))
        threads, gone = _by_name(known), {event.undoes for event in known}
        keys: dict[int, set[str]] = {}
        for event in known:
            keys.setdefault(event.item, set()).add(event.key)
        for revision in revisions:
            thread = threads.setdefault(revision.name, [])
            standing = _standing(thread, gone)
            own = not thread and _is_marked(revision, keys.get(revision.item, ()))
            if own or _is_known(revision, thread) or not (standing or revision.answers):
                repeated += 1
                continue
            thread += self._take_back(connection, standing, f"{revision.name} {revision.version} back")
            gone.update(event.seq for event in standing)
            undone += len(standing)
            key = f"{revision.name} {revision.version}"
            again = sum(event.key.startswith(key) for event in thread)  # it said the same once before
            request = Request(f"{key} {again}" if again else key, revision.annotator, revision.answers)
            about = {"seconds": revision.seconds, "flag": None, "note": ""}
            events, _ = self._record(connection, request._replace(settles=revision.settles), about)
            thread += events
            saved += len(events)
        return Revised(saved, repeated, undone)

    def take_back(self, names: Iterable[str]) -> Revised:
        """Take back all that was said under names that begin so: it was deleted in the other tool."""
        repeated = undone = 0
        with self.database.write() as connection:
            for name in names:
                own = events.c.key.startswith(name, autoescape=True)
                threads = _by_name(map(_event, connection.execute(select(events).where(own).order_by(events.c.seq))))
                seqs = select(events.c.seq).where(own)
                undone_here = select(events.c.undoes).where(events.c.undoes.in_(seqs))  # by whichever key
                gone = set(connection.execute(undone_here).scalars())
                standing = {name: kept for name, thread in threads.items() if (kept := _standing(thread, gone))}
                if len(standing) > 1:
                    raise RamifyError(
                        f"{name.strip()!r} was said on two servers that number theirs alike: take it back on the page"
                    )
                for full, kept in standing.items():
                    undone += len(self._take_back(connection, kept, f"{full} {TAKEN_BACK} back"))
                repeated += not standing
        return Revised(0, repeated, undone)

    def _take_back(self, connection: Connection, standing: Sequence[Event], key: str) -> list[Event]:
        if not standing:
            return []
        common = {"key": key, "at": time.time(), "annotator": standing[0].annotator, "model": None, "settles": False}
        undoing = [{"item": e.item, "concept": e.concept, "answer": UNDO, "undoes": e.seq} for e in standing]
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

    def past(self, annotator: str, count: int, before: int | None = None) -> list[tuple[Event, bool]]:
        """An annotator's last answers, all or those before an event, newest first; and whether each was taken back."""
        own = select(events, ~NOT_UNDONE).where(events.c.annotator == annotator, events.c.answer != UNDO)
        own = own if before is None else own.where(events.c.seq < before)
        with self.database.read() as connection:
            rows = connection.execute(own.order_by(events.c.seq.desc()).limit(count))
            return [(_event(row[:-1]), bool(row[-1])) for row in rows]

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

    def screens(self) -> list[tuple[str, float]]:
        """Who answered each screen whose time is known, and how long it took, also where it was taken back later."""
        timed = select(events.c.annotator, request_table.c.seconds)
        timed = timed.join(request_table, events.c.key == request_table.c.key)
        timed = timed.where(request_table.c.seconds.is_not(None))
        each = timed.group_by(request_table.c.key, events.c.annotator, request_table.c.seconds)
        with self.database.read() as connection:
            return [(str(name), float(seconds)) for name, seconds in connection.execute(each)]

    def last_seen(self) -> dict[str, float]:
        """When each annotator answered last, by name."""
        latest = select(events.c.annotator, func.max(events.c.at)).group_by(events.c.annotator)
        with self.database.read() as connection:
            return {str(name): float(at) for name, at in connection.execute(latest)}

    def last_about(self, first: int, last: int) -> dict[tuple[str, int], tuple[str, float]]:
        """What each annotator said last of some items that follow each other: by both, its key and when that was."""
        here = select(events.c.annotator, events.c.item, events.c.key, events.c.at)
        here = here.where(events.c.item.between(int(first), int(last))).order_by(events.c.seq)
        with self.database.read() as connection:
            return {(str(who), int(item)): (str(key), float(at)) for who, item, key, at in connection.execute(here)}

    def about(self, item: int, concept: int) -> list[Event]:
        """All events about one entry, oldest first."""
        of_entry = select(events).where(events.c.item == item, events.c.concept == concept).order_by(events.c.seq)
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(of_entry)]

    def last(self) -> int:
        """The sequence number of the newest event, 0 before the first."""
        with self.database.read() as connection:
            return int(connection.execute(NEWEST).scalar_one())

    def _check_answers(self, connection: Connection, answers: Sequence[Answered]) -> Contents:
        """What the project holds now, if all of them are about it."""
        now = self.items.now(connection)  # another process may have added some, or taken some away
        count, ids = now.items, now.number_of
        for item, concept, answer in answers:
            if not isinstance(item, int) or not 0 <= item < count:
                raise RamifyError(f"there is no item {item!r}: items are numbered 0 to {count - 1}")
            if not isinstance(concept, int) or concept not in ids:
                raise no_concept(connection, concept)
            if answer not in ANSWERS:
                raise RamifyError(f"item {item}, concept {concept}: an answer is yes, no or skip, not {answer!r}")
        entries = [(item, concept) for item, concept, _ in answers]
        if len(set(entries)) < len(entries):
            item, concept = next(entry for entry in entries if entries.count(entry) > 1)
            raise RamifyError(f"item {item}, concept {concept} is answered twice in one request: answer it once")
        return now


def _asked_no_more(now: Contents, answers: Sequence[Answered], held: Iterable[Entry]) -> list[Entry]:
    """What of that held is answered, or below what is not there: if it is no animal, nobody asks which one it is."""
    said = {(item, concept): answer for item, concept, answer in answers}

    def ends(item: int, concept: int) -> bool:
        if (item, concept) in said:
            return True
        above = now.taxonomy.ancestors(now.number_of[concept]).tolist() if concept in now.number_of else []
        return any(said.get((item, int(now.id_of[higher]))) == "no" for higher in above)

    return [entry for entry in held if ends(*entry)]


def _about(connection: Connection, items: Sequence[int]) -> list[Event]:
    """All events about some items, those of each oldest first."""
    return [
        _event(row)
        for part in chunks(items)
        for row in connection.execute(select(events).where(events.c.item.in_(part)).order_by(events.c.seq))
    ]


def _by_name(listed: Iterable[Event]) -> dict[str, list[Event]]:
    """Events by the names of what they belong to."""
    threads: dict[str, list[Event]] = {}
    for event in listed:
        threads.setdefault(" ".join(event.key.split(" ")[:NAMED]), []).append(event)
    return threads


def _standing(thread: Sequence[Event], gone: Collection[int | None]) -> list[Event]:
    """What stands of a thread; ``gone`` is what was undone, there or on the page, which uses keys of its own."""
    return [event for event in thread if event.answer != UNDO and event.seq not in gone]


def _is_known(revision: Revision, thread: Sequence[Event]) -> bool:
    """Whether this state is known, or a later one."""
    keys = [event.key.split(" ") for event in thread]
    versions = [words[NAMED] for words in keys if len(words) > NAMED]
    if revision.version.startswith("#"):
        return versions[-1:] in ([revision.version], [TAKEN_BACK])
    return revision.version <= max(versions, default="")


def _is_marked(revision: Revision, keys: Iterable[str]) -> bool:
    """Whether a project wrote it: this one, when what has one of these keys had been said last, or any, of labels."""
    return revision.mark is not None and any(map(revision.mark.is_of, (NOBODY, IN_PART, *keys)))


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


def revised(key: str) -> tuple[str, str] | None:
    """The name and the version of the revision whose answers have this key, if it is one's.

    >>> revised("label-studio 1/7 f0fc #a 2"), revised("label-studio 1/7"), revised("page 1")
    (('label-studio 1/7 f0fc', '#a'), None, None)
    """
    words = key.split(" ")
    named = key.startswith(RESERVED) and len(words) > NAMED and all(words)
    return (" ".join(words[:NAMED]), words[NAMED]) if named else None


def _check_own(key: str) -> None:
    if isinstance(key, str) and key.startswith(RESERVED):
        raise RamifyError(f"the key {key!r} is kept for an annotation of Label Studio: leave it out, or use another")


def _check_names(key: str, annotator: str) -> None:
    for what, name, longest in (
        ("the key of a request", key, LONGEST_KEY),
        ("an annotator's name", annotator, LONGEST_NAME),
    ):
        if not isinstance(name, str) or not name.strip() or len(name) > longest or not name.isprintable():
            raise RamifyError(f"{what} is printable text of 1 to {longest} characters, not {name!r}")
