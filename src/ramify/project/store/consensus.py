"""What follows from the answers that stand: values, labels, disagreements, counts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import Connection, bindparam, select

from ramify.labels import ANSWERS, IRRELEVANT, RELEVANT, UNKNOWN, Labels, Source
from ramify.project.store.agreement import (
    Agreement,
    Opinions,
    agreed,
    agreement_of_annotators,
    alphas,
    right_answers,
)
from ramify.project.store.claims import Claims, own_values
from ramify.project.store.database import among, quickly
from ramify.project.store.items import Contents, Items
from ramify.project.store.merged import put_merged
from ramify.project.store.schema import events
from ramify.project.store.troubles import intact
from ramify.taxonomy import Index

READ = select(*(events.c[name] for name in ("seq", "annotator", "item", "concept", "answer", "settles", "undoes")))
ABOUT = READ.where(events.c.item.in_(among("items"))).order_by(events.c.seq)
SINCE = READ.where(events.c.seq > bindparam("after")).order_by(events.c.seq)


def apply_answers(labels: Labels, imported: Labels, items: Index, concepts: Index, values: NDArray[np.int8]) -> None:
    """Bring labels in line with what people say of some entries: 1, 0, or -1 where they say nothing or disagree.

    An answer outranks the import: what was imported of the very same entry and says otherwise counts only again when
    the answer is taken back. ``imported`` is what was imported, without any answer; ``labels`` themselves where no
    answer was applied to them yet.

    >>> from ramify.taxonomy import Taxonomy
    >>> imported, labels = (Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]]) for _ in range(2))
    >>> item, animal = np.array([0]), np.array([2])
    >>> apply_answers(labels, imported, item, animal, np.array([0]))
    >>> labels.states(0, ["animal", "cat"]).tolist()
    [[0, 0]]
    >>> apply_answers(labels, imported, item, animal, np.array([-1]))
    >>> labels == imported
    True
    """
    before = own_values(imported, items, concepts)
    answered = values != UNKNOWN
    wrong = answered & (before != UNKNOWN) & (before != values)
    right = (before != UNKNOWN) & ~wrong
    labels.retract(items[~answered], concepts[~answered], Source.ANNOTATED)
    labels.retract(items[wrong], concepts[wrong], Source.IMPORTED)
    labels.record(items[right], concepts[right], before[right], Source.IMPORTED)
    labels.record(items[answered], concepts[answered], values[answered], Source.ANNOTATED)


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
        with intact("the list of answers"):
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
                np.append(old.values, np.array([ANSWERS[word] for word in words], np.int8)),
                np.append(old.settles, np.array(settles, np.bool_)),
            )
            all_seqs = np.append(self.seqs, np.array(seqs, np.intp))
            undone = np.append(self.undone, np.zeros(len(answers), np.bool_))
            undone[np.searchsorted(all_seqs, [row[6] for row in rows if row[6] is not None])] = True
            return Ledger(all_seqs, said, undone, tuple(numbers), rows[-1][0])

    @property
    def count(self) -> int:
        """How many answers yes and no stand."""
        return len(self.live.items)

    @cached_property
    def live(self) -> Opinions:
        """The answers yes and no that stand."""
        return self.said.some(np.flatnonzero((self.said.values != UNKNOWN) & ~self.undone))

    @cached_property
    def agreement(self) -> Agreement:
        """What follows from them, entry by entry."""
        return agreed(self.live)


def imported_of(contents: Contents, claims: Claims) -> Labels:
    """What claims say without any answer: their own labels, or others where concepts were merged."""
    labels = claims.labels.copy() if contents.merged_now else claims.labels
    put_merged(contents, labels, claims, Ledger.empty().agreement)
    return labels


class Consensus:
    """The part of a store that says what the answers mean; items are numbers, concepts stable ids.

    All answers are kept in memory, as arrays; only events that came since are read from the database.
    """

    def __init__(self, items: Items) -> None:
        self.items, self.database = items, items.database
        self._ledger = Ledger.empty()
        self._reading = Lock()
        self._known: tuple[str | None, Labels] | None = None  # what was imported, and the name of its file

    def ledger(self) -> Ledger:
        """All answers so far, as arrays."""
        with self._reading, self.database.read() as connection:
            self._ledger = self._ledger.with_new(connection)
            return self._ledger

    def values(self, items: ArrayLike, concepts: ArrayLike) -> NDArray[np.int8]:
        """1, 0 or -1 (nobody answered, or people disagree) for each entry, from answers alone.

        Items and concepts are single or arrays of the same length. The latest settling answer wins; else each
        annotator's latest answer counts, and all must agree.
        """
        wanted, of_concepts = np.broadcast_arrays(np.asarray(items, np.intp), np.asarray(concepts, np.intp))
        flat = np.ravel(wanted)
        return self.about(flat).values_of(flat, np.ravel(of_concepts)).reshape(wanted.shape)

    def labels(self) -> Labels:
        """Imported labels and all answers that stand; an answer outranks what was imported of the same entry."""

        def loaded(contents: Contents) -> Labels:
            return self.known(contents, self.items.claims_of(contents))

        return self.items.from_files(loaded)

    def imported(self) -> Labels:
        """What was imported of all items, without any answer; the caller may change these labels."""

        def loaded(contents: Contents) -> Labels:
            return imported_of(contents, self.items.claims_of(contents))

        return self.items.from_files(loaded)

    def claims(self) -> Claims:
        """What was imported, by concept."""
        return self.items.claims()

    def claims_and_known(self) -> tuple[Claims, Labels]:
        """What was imported, and labels with all answers that stand; the file is read once."""

        def loaded(contents: Contents) -> tuple[Claims, Labels]:
            claims = self.items.claims_of(contents)
            return claims, self.known(contents, claims.with_labels(claims.labels.copy()))

        return self.items.from_files(loaded)

    def known(self, contents: Contents, claims: Claims) -> Labels:
        """The claims' labels, which are changed, with all answers that stand, as they are with these contents."""
        agreement, labels = self.ledger().agreement, claims.labels
        if contents.merged_now:  # what was imported is looked at again
            labels = labels.copy()
        # What was added or split since these contents belongs to labels of the next contents.
        there = (agreement.items < contents.items) & np.isin(agreement.concepts, contents.id_of)
        known = there & (agreement.values != UNKNOWN)
        order = np.argsort(contents.id_of)
        place = np.searchsorted(contents.id_of, agreement.concepts[known], sorter=order)
        apply_answers(labels, labels, agreement.items[known], order[place], agreement.values[known])
        put_merged(contents, labels, claims, agreement)
        return labels

    def look_again(
        self, contents: Contents, labels: Labels, claims: Claims, agreement: Agreement, items: Index, ids: Index
    ) -> tuple[Index, Index, NDArray[np.int8]]:
        """Bring labels of some contents in line with what people say of some entries now, given by stable ids.

        Returns the entries that count for a concept which is there, with its number, and what is said of it.
        """
        counting = [(item, contents.counts_for.get(about, -1)) for item, about in zip(items, ids.tolist(), strict=True)]
        entries = np.array(sorted({entry for entry in counting if entry[1] >= 0}), np.intp).reshape(-1, 2)
        items, concepts = entries.T
        values = agreement.values_of(items, contents.id_of[concepts])
        apply_answers(labels, claims.labels, items, concepts, values)
        joined = np.isin(contents.id_of[concepts], contents.merged_now)
        if joined.any():
            put_merged(contents, labels, claims, agreement, np.unique(items[joined]))
            values[joined] = [labels.states(i, n)[0, 0] for i, n in entries[joined].tolist()]
        return items, concepts, values

    def about(self, items: Index) -> Agreement:
        """What people say of some items, read afresh."""
        with self.database.read() as connection:
            return Ledger.about(connection, np.unique(items).tolist()).agreement

    def disagreements(self) -> list[tuple[int, int, dict[str, int]]]:
        """The entries that annotators disagree about and nobody settled: item, concept, what each says.

        Of concepts that are there.
        """
        ledger, there = self.ledger(), self.items.contents.number_of
        return [
            (item, concept, {ledger.names[who]: value for who, value in said.items()})
            for item, concept, said in ledger.agreement.disagreements()
            if concept in there
        ]

    def refused_coarse(self) -> list[tuple[int, int, str]]:
        """Every coarser label that was imported and that an answer, which nobody settled, calls wrong.

        Item, concept, annotator. A no to a coarser concept that nobody had claimed is an answer like any other.
        """
        contents, ledger = self.items.contents, self.ledger()
        inner = contents.id_of[len(contents.taxonomy.leaves) :]
        said, settled = ledger.agreement.opinions, ledger.agreement.settled[ledger.agreement.lines]
        said = said.some(np.flatnonzero((said.values == IRRELEVANT) & np.isin(said.concepts, inner) & ~settled))
        said = said.some(np.flatnonzero(self._imported_yes(contents, said)))
        listed = zip(said.items.tolist(), said.concepts.tolist(), said.annotators.tolist(), strict=True)
        return [(item, concept, ledger.names[who]) for item, concept, who in listed]

    def _imported_yes(self, contents: Contents, said: Opinions) -> NDArray[np.bool_]:
        """Which of some answers are about what was imported as relevant."""
        if not len(said.items):
            return np.empty(0, np.bool_)
        if self._known is None or self._known[0] != contents.imported:
            self._known = contents.imported, self.imported()
        there = said.items < len(self._known[1])
        columns = np.array([contents.number_of[concept] for concept in said.concepts.tolist()], np.intp)
        items, rows = np.unique(said.items[there], return_inverse=True)
        concepts, places = np.unique(columns[there], return_inverse=True)
        claims = self._known[1]
        yes = np.zeros(len(said.items), np.bool_)
        yes[there] = (
            (claims.states(items, concepts) == RELEVANT) & (claims.sources(items, concepts) == Source.IMPORTED)
        )[rows, places]
        return yes

    def answered_items(self) -> Index:
        """The items about which an answer yes or no stands."""
        return np.unique(self.ledger().live.items)

    def count_answers(self) -> int:
        """How many answers yes and no stand."""
        return self.ledger().count

    def alphas(self) -> dict[int, float]:
        """Krippendorff's alpha of each concept that several people answered for the same items: see ``agreement``."""
        return alphas(self.ledger().live)

    def annotators(self) -> list[dict[str, Any]]:
        """For each annotator by name: answers yes, no and skip that stand, answers undone, agreement with others, and
        how many gold questions they were asked and answered right.
        """
        ledger = self.ledger()
        agreement, right = agreement_of_annotators(ledger.live), right_answers(ledger.live)
        column_of = {word: value % len(ANSWERS) for word, value in ANSWERS.items()} | {"undone": len(ANSWERS)}
        columns = np.where(ledger.undone, column_of["undone"], ledger.said.values % len(ANSWERS))
        counts = np.zeros((len(ledger.names), len(column_of)), np.intp)
        np.add.at(counts, (ledger.said.annotators, columns), 1)
        rows = [
            {"name": name, **{word: int(counts[who, column]) for word, column in column_of.items()}}
            | {"agreement": agreement.get(who)}
            | dict(zip(("right", "gold"), right.get(who, (0, 0)), strict=True))
            for who, name in enumerate(ledger.names)
        ]
        return sorted(rows, key=lambda row: str(row["name"]))
