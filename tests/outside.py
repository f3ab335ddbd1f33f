"""A learner and a strategy as somebody else would write them, each in one class: neither Refine nor a net."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ramify.labels import RELEVANT
from ramify.learners import Learner
from ramify.strategies.base import EntryStrategy


@dataclass(kw_only=True, eq=False, repr=False)
class Nearest(Learner):
    """Each fine concept as often as among the k nearest of the items of which it is known."""

    name: ClassVar[str] = "nearest"
    k: int = 3
    """Neighbours that are looked at."""

    def fit(self, X, labels, *, names=None, validation=None, truth=None):  # noqa: N803
        features = self._start(X, labels)
        self.inputs_ = self.inputs(features).cpu().numpy()
        self.states_ = labels.states()
        return self

    def partial_fit(self, X, labels, *, items=None):  # noqa: N803
        if not self.is_fitted:
            return self.fit(X, labels)
        self.inputs_ = self.inputs(self._continued(X, labels)).cpu().numpy()
        self.states_ = labels.states()
        return self

    def _probabilities(self, x):
        distances = ((x.cpu().numpy()[:, None] - self.inputs_[None]) ** 2).sum(axis=2)
        columns = []
        for states in self.states_.T:
            known = np.flatnonzero(states >= 0)
            if not len(known):
                columns.append(np.full(len(x), 0.5))
                continue
            nearest = known[np.argsort(distances[:, known], axis=1, kind="stable")[:, : self.k]]
            columns.append((states[nearest] == RELEVANT).mean(axis=1))
        return torch.from_numpy(np.column_stack(columns))

    def _state(self):
        return {"inputs": self.inputs_, "states": self.states_}, {}

    def _restore(self, arrays, rest):
        self.inputs_, self.states_ = arrays["inputs"], arrays["states"]


@dataclass(kw_only=True, eq=False, repr=False)
class Likeliest(EntryStrategy):
    """The questions most probably answered yes: somebody wants positives."""

    name: ClassVar[str] = "likeliest"

    def _score(self, learner, pool, seed):
        def score(items, concepts):
            shown, rows = np.unique(items, return_inverse=True)
            return pool.opinions(learner, shown)[rows, concepts]

        return score
