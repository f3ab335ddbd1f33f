"""What follows from the answers that stand: values, labels, disagreements, counts."""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.labels import Labels
from ramify.project.store.agreement import agreement_of_annotators
from ramify.project.store.items import Contents, HasContents
from ramify.project.store.ledger import Ledger
from ramify.taxonomy import Index


class HasStanding(HasContents):
    """The part of a store that says what the answers mean; items are numbers, concepts stable ids."""

    def __init__(self) -> None:
        self._ledger = Ledger.empty()
        self._reading = Lock()

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
        with self.database.read() as connection:
            agreement = Ledger.about(connection, np.unique(flat).tolist()).agreement
        return agreement.values_of(flat, np.ravel(of_concepts)).reshape(wanted.shape)

    def labels(self) -> Labels:
        """Imported labels and all answers that stand; an answer outranks what was imported of the same entry."""

        def loaded(contents: Contents) -> Labels:
            labels, found = self._imported(contents), self.ledger().agreement
            # What was added or split since these contents belongs to labels of the next contents.
            known = (found.items < contents.items) & np.isin(found.concepts, contents.id_of) & (found.values >= 0)
            order = np.argsort(contents.id_of)
            place = np.searchsorted(contents.id_of, found.concepts[known], sorter=order)
            _record(labels, found.items[known], order[place], found.values[known])
            return labels

        return self._from_files(loaded)

    def disagreements(self) -> list[tuple[int, int, dict[str, int]]]:
        """The entries that annotators disagree about and nobody settled: item, concept, what each says."""
        ledger = self.ledger()
        return [
            (item, concept, {ledger.names[who]: value for who, value in said.items()})
            for item, concept, said in ledger.agreement.disagreements()
        ]

    def refused_coarse(self) -> list[tuple[int, int, str]]:
        """Every answer that says no to a concept with finer ones and that nobody settled: item, concept, annotator."""
        contents, ledger = self.contents, self.ledger()
        inner = contents.id_of[len(contents.taxonomy.leaves) :]
        said, settled = ledger.agreement.opinions, ledger.agreement.settled[ledger.agreement.lines]
        said = said.some(np.flatnonzero((said.values == 0) & np.isin(said.concepts, inner) & ~settled))
        listed = zip(said.items.tolist(), said.concepts.tolist(), said.annotators.tolist(), strict=True)
        return [(item, concept, ledger.names[who]) for item, concept, who in listed]

    def answered_items(self) -> Index:
        """The items about which an answer yes or no stands."""
        return np.unique(self.ledger().live.items)

    def count_answers(self) -> int:
        """How many answers yes and no stand."""
        return self.ledger().count

    def annotators(self) -> list[dict[str, Any]]:
        """For each annotator by name: answers yes, no and skip that stand, answers undone, agreement with others."""
        ledger = self.ledger()
        agreement = agreement_of_annotators(ledger.live)
        kinds = np.where(ledger.undone, 3, np.array([1, 0, 2])[ledger.said.values])  # yes, no, skip, undone
        counts = np.zeros((len(ledger.names), 4), np.intp)
        np.add.at(counts, (ledger.said.annotators, kinds), 1)
        found = [
            {"name": name, **dict(zip(("yes", "no", "skip", "undone"), counts[who].tolist(), strict=True))}
            | {"agreement": agreement.get(who)}
            for who, name in enumerate(ledger.names)
        ]
        return sorted(found, key=lambda one: str(one["name"]))


def _record(labels: Labels, items: Index, concepts: Index, values: NDArray[np.int8]) -> None:
    """Record answers; what was imported of the very same entries and says otherwise was wrong."""
    said = labels.assertions(np.unique(items))
    imported = said.items * len(labels.taxonomy) + said.concepts
    order = np.argsort(imported)
    answered = items * len(labels.taxonomy) + concepts
    place = np.searchsorted(imported, answered, sorter=order)
    found = np.append(imported[order], -1)[place] == answered
    wrong = found & (np.append(said.values[order], -1)[place] != values)
    labels.retract(items[wrong], concepts[wrong], "imported")
    labels.record(items, concepts, values, "annotated")
