"""Bulk answers: a table of ids, concepts and answers, taken in as a whole; the same file again changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ramify.embed.base import digest
from ramify.errors import RamifyError
from ramify.labels import ANSWERS, RELEVANT, WORDS
from ramify.project.limits import LONGEST_KEY, LONGEST_NAME
from ramify.project.store.answers import Request, Revision, revised
from ramify.project.store.schema import UNDO
from ramify.project.store.store import Store
from ramify.project.transfer.choices import as_entries
from ramify.readers.rows import Rows, as_rows, as_text, is_empty
from ramify.readers.table import yes_or_no

__all__ = ["Answered", "answer_from_table"]

KNOWN = ("id", "concept", "answer", "annotator", "key", "model", "settles", "undone")
EVENTS = ("gone", "seq", "undoes")  # what an export of all events has besides; ``undone`` says what ``undoes`` does
SHOWN = ("group", "label", "doubt", "content")  # what ``suggest`` and ``suspects`` write for those who answer


@dataclass(frozen=True)
class Answered:
    """What a file of answers changed."""

    saved: int
    repeated: int
    """Answers that an earlier reading of the file gave already."""
    open: int
    """Rows without an answer."""
    ignored: tuple[str, ...]
    """Columns with other names."""
    undone: int = 0
    """Rows of answers that were taken back, or that take one back."""
    gone: int = 0
    """Rows about concepts that were not there any more where they were written."""

    def told(self) -> list[str]:
        """Sentences on what was done.

        >>> Answered(3, 1, 0, ("mood",)).told()
        ["Ignored: 'mood'.", 'Saved 3 answers, 1 were there already.']
        """
        ignored = [f"Ignored: {', '.join(map(repr, self.ignored))}."] if self.ignored else []
        repeated = f", {self.repeated} were there already" if self.repeated else ""
        left = f", {self.open} questions have none yet" if self.open else ""
        undone = [f"{self.undone} rows are left out: those answers were taken back."] if self.undone else []
        gone = [f"{self.gone} rows are left out: they are about concepts that are gone."] if self.gone else []
        return [*ignored, *undone, *gone, f"Saved {self.saved} answers{repeated}{left}."]


@dataclass(frozen=True)
class _Request:
    """All rows that are recorded at once: alike in who answered, what asked and whether they settle, or of one key."""

    annotator: str
    key: str | None
    model: int | None
    settles: bool
    rows: dict[tuple[int, int], tuple[int, str]]
    """By item and concept, the row and the answer."""


def answer_from_table(store: Store, table: Any, *, annotator: str | None = None) -> Answered:
    """Record the answers of a file or of a table in memory, with the columns ``id``, ``concept`` and ``answer``.

    An answer is yes, no or skip (or 1, 0, true, false); rows without one are left open. With ``choices`` in place of
    ``concept`` a row asks about several, and its answer names those that apply, or none. A column ``annotator`` may
    name who answered (an ``annotator`` that is given outranks it), ``key`` which request a row belongs to, ``model``
    which model asked, and yes in ``settles`` that the answer outranks what others say. With a column ``undone``, as an
    export of all events has it, only answers that stand are taken, about concepts that are not ``gone``, and those from
    Label Studio as what they are there.
    Everything is checked before anything is recorded.
    """
    rows = as_entries(as_rows(table), store.taxonomy)
    missing = [name for name in KNOWN[:3] if name not in rows.columns]
    if missing:
        raise RamifyError(
            f"{rows.path}: there is no column {missing[0]!r}: answers need the columns id, concept and answer"
        )
    requests, left = _requests(store, rows, annotator)
    said = [_said(key, request, events="undone" in rows.columns) for key, request in requests.items()]
    used = _check_keys(store, rows, {one.key: requests[one.key] for one in said if isinstance(one, Request)}, left)
    saved = store.answers.take(one for one in said if not (isinstance(one, Request) and one.key in used & left.parted))
    given = sum(len(request.rows) for request in requests.values())
    events = EVENTS if "undone" in rows.columns else ()
    ignored = tuple(name for name in rows.columns if name not in (*KNOWN, *SHOWN, *events))
    return Answered(saved, given - saved, left.open, ignored, left.undone, left.gone)


@dataclass
class _Left:
    """How many rows of a file are left out, as ``Answered`` has them."""

    open: int = 0
    undone: int = 0
    gone: int = 0
    parted: set[str | None] = field(default_factory=set)
    """The keys of requests of which rows are gone."""


def _said(key: str, request: _Request, *, events: bool) -> Request | Revision:
    """A request, of an export of all ``events`` also what was said in another tool: by its key it is known there."""
    answers = [(*entry, answer) for entry, (_, answer) in request.rows.items()]
    named = revised(key) if events else None
    items = {item for item, _ in request.rows}
    if named is None or len(items) > 1:
        return Request(key, request.annotator, answers, request.model, request.settles)
    return Revision(*named, request.annotator, items.pop(), answers, request.settles)


def _requests(store: Store, rows: Rows, answered_by: str | None) -> tuple[Mapping[str, _Request], _Left]:
    """The requests of a file by their keys, and what is left out."""
    number_of = {name: number for number, name in enumerate(store.all_ids().tolist())}
    taxonomy, id_of = store.taxonomy, store.id_of
    concept_of: dict[str, int] = {}
    requests: dict[tuple[str, ...] | tuple[str | None, int | None, bool], _Request] = {}
    left, events = _Left(), "undone" in rows.columns
    columns = {name: rows.columns.get(name, [None] * len(rows)) for name in (*KNOWN, "gone")}
    for row, (identity, name, said, who, key, asked_by, outranks, undone, gone) in enumerate(
        zip(*columns.values(), strict=True)
    ):
        if is_empty(said):
            left.open += 1
            continue
        if events and (said == UNDO or _answer(undone) == WORDS[RELEVANT]):
            left.undone += 1
            continue
        if events and _answer(gone) == WORDS[RELEVANT]:
            left.gone += 1
            left.parted.add(as_text(key))
            continue
        item = number_of.get(as_text(identity) or "")
        if item is None:
            there_is = f"there is no item {as_text(identity)!r} in {store.folder}"
            wrong = "the id is missing" if is_empty(identity) else there_is
            raise RamifyError(f"{rows.where(row, 'id')}: {wrong}: correct the id")
        path = as_text(name) or ""
        if path not in concept_of:
            try:
                concept_of[path] = int(id_of[taxonomy.index(path)])
            except RamifyError as error:
                raise RamifyError(f"{rows.where(row, 'concept')}: {error}") from None
        answer = _answer(said)
        if answer is None:
            raise RamifyError(f"{rows.where(row, 'answer')}: {said!r} is neither yes, no nor skip (nor empty)")
        annotator = answered_by or as_text(who) or "file"
        group = as_text(key)
        for column, given, longest in (("annotator", annotator, LONGEST_NAME), ("key", group or "-", LONGEST_KEY)):
            if len(given) > longest or not given.isprintable():
                raise RamifyError(
                    f"{rows.where(row, column)}: {given!r} is not printable text of 1 to {longest} letters"
                )
        settles = _answer(outranks) == WORDS[RELEVANT]
        model = int(text) if (text := as_text(asked_by) or "").isdecimal() else None
        alike = (group,) if group else (annotator, model, settles)
        request = requests.setdefault(alike, _Request(annotator, group, model, settles, {}))
        if request.annotator != annotator:
            raise RamifyError(
                f"{rows.where(row, 'key')}: the key {group!r} belongs to {request.annotator!r} already: "
                "a key stands for the answers of one annotator"
            )
        earlier, before = request.rows.setdefault((item, concept_of[path]), (row, answer))
        if before != answer:
            raise RamifyError(
                f"{rows.where(row)}: {path!r} of {as_text(identity)!r} is answered {before} in row "
                f"{rows.numbers[earlier]} and {answer} here: keep one"
            )
    return {_key(store, request): request for request in requests.values()}, left


def _answer(said: object) -> str | None:
    """Yes, no or skip, however it is written; None for anything else."""
    word = str(said).strip().lower()
    value = yes_or_no(said)
    if value is None:
        return word if word in ANSWERS else None
    return WORDS[value]


def _key(store: Store, request: _Request) -> str:
    """The key that the file gives, or else one for its answers: the same as before while these still stand."""
    if request.key is not None:
        return request.key
    said = sorted((item, concept, answer) for (item, concept), (_, answer) in request.rows.items())
    entries = (f"{item} {concept} {answer}" for item, concept, answer in said)
    key = "file " + digest(request.annotator, *(["settles"] if request.settles else []), *entries)
    events = store.events(annotator=request.annotator)
    used, undone = {event.key for event in events}, {event.undoes for event in events}
    standing = {(e.item, e.concept): e.answer for e in events if e.undoes is None and e.seq not in undone}
    if key not in used or all(standing.get(entry) == answer for entry, (_, answer) in request.rows.items()):
        return key
    return next(again for n in count(2) if (again := f"{key} {n}") not in used)  # given, changed, and given again


def _check_keys(store: Store, rows: Rows, requests: Mapping[str, _Request], left: _Left) -> set[str | None]:
    """Refuse a key that was used for other answers, before anything is recorded; returns those that were used.

    Where rows of a request are gone, the others are a part of what was answered under its key.
    """
    if "key" not in rows.columns:
        return set()
    used: dict[str, set[tuple[str, int, int, str]]] = {}
    for event in store.events():
        if event.key in requests:
            used.setdefault(event.key, set()).add((event.annotator, event.item, event.concept, event.answer))
    for key, said in used.items():
        request = requests[key]
        given = {(request.annotator, *entry, answer) for entry, (_, answer) in request.rows.items()}
        if not (given <= said if key in left.parted else given == said):
            first = next(iter(request.rows.values()))[0]
            raise RamifyError(
                f"{rows.where(first, 'key')}: the key {key!r} was used for other answers before: use a new one"
            )
    return set(used)
