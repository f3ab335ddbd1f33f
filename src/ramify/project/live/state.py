"""State: what a served project is right now. One lock guards all of it, and is held for milliseconds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock, RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.labels.guarded import GuardedLabels
from ramify.project.live.model import Model
from ramify.project.store.items import Contents
from ramify.project.store.store import Store
from ramify.taxonomy import Index


@dataclass(frozen=True)
class Snapshot:
    """Parts that belong together, whatever other processes add or change meanwhile."""

    contents: Contents
    labels: Labels
    features: Any
    model: Model


class State:
    """Taxonomy, items, labels and model of a project; labels are read under the lock, one block at a time."""

    def __init__(self, store: Store, *, until_loaded: Model | None = None) -> None:
        """``until_loaded`` stands for the model until ``load_model_once``; without it, it is loaded at once."""
        self.store, self.lock, self._loading = store, RLock(), Lock()
        self.opened = 0
        """How often there were questions that had not been there: by answers, by undo, where a flag was lifted."""
        self.load(until_loaded)

    def load(self, until_loaded: Model | None = None) -> None:
        """Everything from disk."""
        with self.lock:
            self._seen, self._own = self.store.last_event(), set[int]()  # before the labels: nothing is missed between
            while True:
                self._contents = self.store.contents
                self.features = self.store.features()
                self.claims, labels = self.store.consensus.claims_and_known()
                if self.store.contents is self._contents:
                    break
            self.labels = GuardedLabels(labels, self.lock)
            self.loaded, self._answered = False, set[int]()
            if until_loaded is None:
                self._take_first(self.load_model())
            else:
                self.model = until_loaded

    def reload(self) -> bool:
        """Take up what another process added or changed; says whether there was anything."""
        with self.lock:
            self.store.refresh()
            if self.store.contents is self._contents:  # whoever reads a file that was replaced refreshes it as well
                return False
            self.load()
            return True

    def note_own(self, seqs: Iterable[int]) -> None:
        """These events are applied by who wrote them, in this process."""
        with self.lock:
            self._own.update(seqs)

    def others(self) -> tuple[list[tuple[int, int]], int]:
        """The entries that other processes have answered, and the newest event: see ``have_seen``."""
        events = self.store.events(after=self._seen)
        with self.lock:
            entries = {(event.item, event.concept): None for event in events if event.seq not in self._own}
        return list(entries), events[-1].seq if events else self._seen

    def have_seen(self, newest: int) -> None:
        """All events up to this one are applied."""
        with self.lock:
            self._seen = newest
            self._own = {seq for seq in self._own if seq > newest}

    def load_model(self) -> Model:
        """The newest model on disk."""
        return Model.load(self.store, self.features, self.labels, self.store.answered_items())

    def load_model_once(self) -> None:
        """Load the model, where another stands for it; who comes while it is loaded waits for it."""
        with self._loading:
            if not self.loaded:
                self._take_first(self.load_model())

    def _take_first(self, model: Model) -> None:
        learned = None if model.learner is None else model.learner.learned_items()
        if learned is None:  # to look for them goes through all labels; most models remember them
            from ramify.learners.warm import answered_items

            learned = answered_items(self.labels)
        with self.lock:
            self._answered.update(learned.tolist())
            self.model, self.loaded = model, True

    def snapshot(self) -> Snapshot:
        """Contents, labels, features and model of one moment."""
        with self.lock:
            return Snapshot(self._contents, self.labels, self.features, self.model)

    def answered(self) -> Index:
        """The items of which anything fine is known."""
        with self.lock:
            return np.array(sorted(self._answered), np.intp)

    def outdated(self) -> bool:
        """Whether there are features to learn from that the model has not seen, or other concepts than it knows."""
        with self.lock:
            learner = self.model.learner
            if self.features is None:
                return False
            return learner is None or learner.stands_in or self.model.upto < len(self.features)

    def apply(self, entries: Sequence[tuple[int, int]]) -> "Change":
        """Bring the labels of some entries (items and stable concept ids) in line with the answers on disk."""
        items, ids = np.array(entries, np.intp).T
        with self.lock:  # labels and numbers of concepts change together; what was said last is applied last
            agreement = self.store.consensus.about(items)
            touched = np.unique(items)
            before = self._states_of(touched)
            items, concepts, values = self.store.consensus.look_again(
                self._contents, self.labels, self.claims, agreement, items, ids
            )
            after, taxonomy = self._states_of(touched), self.labels.taxonomy
            fine = np.s_[:, : len(taxonomy.leaves)]
            settled = int((before[fine] == UNKNOWN).sum()) - int((after[fine] == UNKNOWN).sum())
            parents = taxonomy.parents[concepts]
            self._answered.update(items[(parents >= 0) | (concepts < len(taxonomy.leaves))].tolist())
            self.opened += _opens(before, after, len(taxonomy.leaves))
        return Change(items, concepts, values, parents, max(0, settled - int((values != UNKNOWN).sum())))

    def note_opened(self) -> None:
        """There are questions that had not been there, though no label has changed."""
        with self.lock:
            self.opened += 1

    def _states_of(self, items: Index) -> NDArray[np.int8]:
        return self.labels.states(items, np.arange(len(self.labels.taxonomy)))


@dataclass(frozen=True)
class Change:
    """What answers changed."""

    items: Index
    concepts: Index
    values: NDArray[np.int8]
    parents: Index
    deduced: int
    """Entries that are known now although nobody was asked."""


def _opens(before: NDArray[np.int8], after: NDArray[np.int8], leaves: int) -> bool:
    """Whether something may be asked now that could not be before: what is unknown again, or lies below a yes.

    >>> known, asked = np.array([[-1, 0, 1]]), np.array([[1, 0, 1]])
    >>> _opens(known, asked, 2), _opens(asked, known, 2), _opens(known, known, 2)
    (False, True, False)
    >>> _opens(np.array([[-1, -1, -1]]), np.array([[-1, -1, 1]]), 2)
    True
    """
    unknown = (after == UNKNOWN) & (before != UNKNOWN)
    applies = (after == RELEVANT) & (before != RELEVANT)
    return bool(unknown.any() or applies[:, leaves:].any())
