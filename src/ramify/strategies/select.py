"""Selecting: the best of a stream of scores, with memory for no more than those, and ties broken by a seed."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.noise import noise
from ramify.strategies.pool import Pool
from ramify.taxonomy import Index

Scored: TypeAlias = tuple[Index, Index, NDArray[np.floating]]
"""Items, concepts and scores."""
Ranked: TypeAlias = tuple[Index, Index, NDArray[np.float64]]
"""The same, the highest first."""
Score: TypeAlias = Callable[[Index, Index], NDArray[np.floating]]
"""The scores of some questions, by their items and concepts."""

AT_ONCE = 1 << 16  # scores looked at together: they and what is found stay in the cache


def check_numbers(scores: NDArray[np.floating]) -> None:
    """Refuse scores that are not numbers."""
    if np.isnan(scores).any():
        raise RamifyError("a score is not a number: the learner predicts NaN; fit it again on clean features")


def by_weight(weights: NDArray[np.float64], chances: NDArray[np.float64]) -> Index:
    """The places to which chances from 0 to 1 lead, each place having a share in proportion to its weight.

    >>> by_weight(np.array([0.0, 1.0, 3.0, 0.0]), np.array([0.0, 0.2, 0.3, 1.0]))
    array([1, 1, 2, 2])
    """
    total = np.cumsum(weights)
    last = np.searchsorted(total, total[-1])  # rounding must not lead to a weight of 0
    places: Index = np.minimum(np.searchsorted(total, chances * total[-1], side="right"), last)
    return places


class Best:
    """The ``count`` entries with the highest scores among all that were offered.

    >>> best = Best(2, seed=0)
    >>> best.offer(np.array([0.1, 0.9]), np.array([0, 0]), np.array([5, 6]))
    >>> best.offer(np.array([0.5, 0.2]), np.array([1, 1]), np.array([5, 6]))
    >>> best.ranked()
    (array([0, 1]), array([6, 5]), array([0.9, 0.5]))
    """

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.seed = count, seed
        self.least = -np.inf  # what a score must reach to be among the best so far
        self._kept: list[tuple[Index, Index, NDArray[np.float64]]] = []
        self._waiting = 0

    def offer(self, scores: NDArray[np.floating], items: Index, concepts: Index) -> None:
        """Take a block of scored entries into account."""
        for first in range(0, len(scores), AT_ONCE):
            reach = ~(scores[first : first + AT_ONCE] < self.least)  # NaN does, to be found
            where = first + np.flatnonzero(reach)
            if len(where):
                self._kept.append((items[where], concepts[where], np.asarray(scores[where], np.float64)))
                self._waiting += len(where)
                if self._waiting > 2 * self.count + 1024:
                    self._settle()

    def ranked(self) -> Ranked:
        """Items, concepts and scores of the best, the highest first."""
        self._settle()
        return self._kept[0]

    def _settle(self) -> None:
        empty = np.empty(0, np.intp)
        parts = zip(*[(empty, empty, np.empty(0)), *self._kept], strict=True)
        items, concepts, scores = (np.concatenate(part) for part in parts)
        check_numbers(scores)
        if len(scores) > self.count:
            reached = np.partition(scores, -self.count)[-self.count]
            near = np.flatnonzero(scores >= reached)  # more than enough only where scores are equal
            items, concepts, scores = items[near], concepts[near], scores[near]
        order = np.lexsort((noise(self.seed, items, concepts), scores))[::-1][: self.count]
        self._kept = [(items[order], concepts[order], scores[order])]
        self._waiting = len(order)
        if len(order) == self.count:
            self.least = float(scores[order[-1]])


def best_of(pool: Pool, score: Score, count: int, seed: int) -> Ranked:
    """The so many best questions of a pool."""

    def look(items: Index, concepts: Index) -> Scored:
        return worth_sending(pool, (items, concepts, score(items, concepts)), count, seed)

    best = Best(count, seed)
    for items, concepts, scores in pool.each(look):
        best.offer(scores, items, concepts)
    return best.ranked()


def worth_sending(pool: Pool, scored: Scored, count: int, seed: int) -> Scored:
    """What of some scored entries may be among the so many best: a worker sends no more."""
    items, concepts, scores = scored
    if pool.engine == "serial" or len(scores) <= count:
        return scored
    best = Best(count, seed)
    best.offer(scores, items, concepts)
    return best.ranked()
