"""Uncertainty sampling: ask where the learner's own opinion is closest to a coin toss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from ramify.learners.base import Learner
from ramify.strategies.base import EntryStrategy
from ramify.strategies.pool import Pool
from ramify.strategies.select import Score
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class Uncertainty(EntryStrategy):
    """The questions whose answers are most uncertain to the learner, given what is known of their items."""

    name: ClassVar[str] = "uncertainty"

    def _score(self, learner: Learner, pool: Pool, seed: int) -> Score:
        def score(items: Index, concepts: Index) -> NDArray[np.floating]:
            shown, rows = np.unique(items, return_inverse=True)
            return entropy(pool.opinions(learner, shown)[rows, concepts])

        return score


def entropy(p: NDArray[np.floating]) -> NDArray[np.floating]:
    """The entropy of yes/no answers that are yes with probability p.

    >>> entropy(np.array([0.5, 1.0])).round(3)
    array([0.693, 0.   ])
    """
    entropies: NDArray[np.floating] = entr(p) + entr(1 - p)
    return entropies
