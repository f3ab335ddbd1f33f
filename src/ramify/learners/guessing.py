"""Guessing: what learners share that give unknown entries labels of their own.

Of items x concepts only the unknown entries are kept, as flat arrays in one order.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.labels import Labels
from ramify.learners.recovery import recovery
from ramify.learners.training import NetLearner
from ramify.taxonomy import Index

Values = NDArray[np.float32]
PSEUDO = "pseudo-labels"  # beside a net's weights, in a moment of training


@dataclass
class UnknownEntries:
    """The unknown entries of some labels, item by item; what is kept of them are arrays in the same order."""

    items: Index
    concepts: Index

    @classmethod
    def of(cls, labels: Labels) -> "UnknownEntries":
        """All of them."""
        return cls(*labels.unknown())

    def __len__(self) -> int:
        return len(self.items)

    def of_batch(self, items: Index) -> tuple[Index, Index, Index]:
        """Those of some items: their rows in the batch, their concepts and their places in the arrays.

        >>> entries = UnknownEntries(np.array([0, 0, 2]), np.array([1, 3, 0]))
        >>> [part.tolist() for part in entries.of_batch(np.array([2, 1, 0]))]
        [[0, 2, 2], [0, 1, 3], [2, 0, 1]]
        """
        starts = np.searchsorted(self.items, items)
        lengths = np.searchsorted(self.items, items, side="right") - starts
        rows = np.repeat(np.arange(len(items)), lengths)
        before = np.cumsum(lengths) - lengths
        places = np.arange(len(rows)) + np.repeat(starts - before, lengths)
        return rows, self.concepts[places], places

    def read(self, values: Values, items: Index, concepts: Index, otherwise: Values) -> Values:
        """What ``values`` say of other entries, and another value where they are not among these.

        >>> entries = UnknownEntries(np.array([0, 0, 2]), np.array([1, 3, 0]))
        >>> values, otherwise = np.array([0.5, 0.25, 1], np.float32), np.zeros(2, np.float32)
        >>> entries.read(values, np.array([0, 1]), np.array([3, 3]), otherwise).tolist()
        [0.25, 0.0]
        """
        stride = 1 + max(self.concepts.max(initial=0), concepts.max(initial=0))
        keys, own_keys = items * stride + concepts, self.items * stride + self.concepts
        place = np.searchsorted(own_keys, keys)
        same = np.append(own_keys, -1)[place] == keys
        return np.where(same, np.append(values, 0)[place], otherwise).astype(np.float32)


@dataclass(kw_only=True, eq=False, repr=False)
class GuessingLearner(NetLearner):
    """A net-trained learner that labels unknown entries itself; NaN is the label of one that it has not labelled."""

    in_teams: ClassVar[bool] = False
    reset_pseudo_labels: bool = False
    """Whether unknown entries are labelled anew when training goes on after more answers, as Algorithm 2 has it."""
    _entries: UnknownEntries = field(init=False)
    _pseudo: Values = field(init=False)

    def _first_labels(self, labels: Labels, entries: UnknownEntries) -> Values:
        """The labels before the first step: none."""
        return np.full(len(entries), np.nan, np.float32)

    def _prepare(self, labels: Labels) -> None:
        entries = UnknownEntries.of(labels)
        pseudo = self._first_labels(labels, entries)
        if self.history_ and not self.reset_pseudo_labels:  # going on: what is still unknown keeps its label
            pseudo = self._entries.read(self._pseudo, entries.items, entries.concepts, pseudo)
        self._entries, self._pseudo = entries, pseudo

    @property
    def pseudo_labels_(self) -> tuple[Index, Index, Values]:
        """The unknown entries of the last fit, as (items, concepts), and their labels."""
        return self._entries.items, self._entries.concepts, self._pseudo

    def pseudo_labels(self, items: Index, concepts: Index, otherwise: Values) -> Values:
        """The current labels of some entries, and another value where an entry has none."""
        found = self._entries.read(self._pseudo, items, concepts, otherwise)
        return np.where(np.isnan(found), otherwise, found)

    def _progress(self, labels: Labels, truth: Labels | None) -> dict[str, float]:
        if truth is None or not len(self._entries) or np.isnan(self._pseudo).any():
            return {}
        return {"recovery_f1_loss": recovery(truth, *self.pseudo_labels_)}

    def _moment(self) -> dict[str, Tensor]:
        return {**super()._moment(), PSEUDO: torch.from_numpy(self._pseudo.copy())}

    def _return_to(self, moment: dict[str, Tensor]) -> None:
        """The labels too: those of a later moment are not what the net that predicts was taught."""
        self._pseudo = moment[PSEUDO].cpu().numpy()
        super()._return_to({name: value for name, value in moment.items() if name != PSEUDO})

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, rest = super()._state()
        items, concepts, pseudo = self.pseudo_labels_
        return {**arrays, "items": items, "concepts": concepts, "pseudo": pseudo}, rest

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self._entries, self._pseudo = UnknownEntries(arrays["items"], arrays["concepts"]), arrays["pseudo"]
        super()._restore(arrays, rest)
