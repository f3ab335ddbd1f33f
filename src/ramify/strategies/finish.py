"""Finish: labels for the whole pool in the least time. Teach first, then settle what would still be labelled wrongly.

While less than a tenth of the entries below relevant concepts is known, questions are those of expected gain: a model
that is taught well leaves less to settle. From then on an entry is worth the probability w that its label, as it would
be exported now, is wrong: p where it is not chosen, 1 - p where it is. A screen that asks k children of one item costs
what ``pace.py`` says, so the children of a group are asked, the most doubtful first, up to the k with the highest

    value = (w_1 + ... + w_k) / (screen + item + k concept),

errors that are mended for each second; screens with the highest value come first, the rest of each group later. What
the model is sure of is not asked, though it stands beside what is. Why so, and not in grids of one concept:
docs/results/finish.md.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import RELEVANT, UNKNOWN
from ramify.learners.base import Learner
from ramify.pace import GUESSED, Pace
from ramify.quality.decoding import choose
from ramify.strategies.base import EntryStrategy
from ramify.strategies.expected_gain import ExpectedGain
from ramify.strategies.pool import ROWS, Pool
from ramify.strategies.select import Score
from ramify.strategies.shortlist import ENTRIES, Parts, Shortlist
from ramify.taxonomy import Index

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class Finish(EntryStrategy):
    """Expected gain at first; then the children of an item that are most probably labelled wrongly, for each second."""

    name: ClassVar[str] = "finish"
    begins: ClassVar[bool] = True
    counts: ClassVar[tuple[str, ...]] = ("considered",)
    teach: float = 0.1
    """The share of the entries below relevant concepts that are to be known before doubtful ones are settled."""
    considered: int = 2048
    """As expected gain has it."""

    def _shortlist(self, learner: Learner, pool: Pool, length: int, seed: int) -> Shortlist:
        if not 0 <= self.teach <= 1:
            raise RamifyError(f"teach of finish is a share from 0 to 1, not {self.teach!r}")
        if not is_known(self.teach, pool):
            return ExpectedGain(considered=self.considered, random_state=seed).shortlist(learner, pool, length)
        length = max(length, ENTRIES)
        return Parts(self._ranked(learner, pool, length, seed), pool, length)

    def _score(self, learner: Learner, pool: Pool, seed: int) -> Score:
        def score(items: Index, concepts: Index) -> Floats:
            taxonomy = pool.labels.taxonomy
            shown, rows = np.unique(items, return_inverse=True)
            states = pool.labels.states(shown, np.arange(len(taxonomy)))
            p = np.where(states == UNKNOWN, pool.opinions(learner, shown), states == RELEVANT).astype(np.float64)
            wrong = np.where(choose(p, states, taxonomy), 1 - p, p)[rows, concepts]
            return values(rows * (len(taxonomy) + 1) + taxonomy.parents[concepts] + 1, wrong, GUESSED)

        return score


def is_known(share: float, pool: Pool) -> bool:
    """Whether so large a share is known of the entries below relevant concepts, of those that were or could be asked.

    What could be asked is counted no further than it takes to say so: at first, of a few items only.
    """
    taxonomy = pool.labels.taxonomy
    parents, known = taxonomy.parents, 0
    for first in range(0, len(pool.answered), ROWS):
        states = pool.labels.states(pool.answered[first : first + ROWS], np.arange(len(taxonomy)))
        known += int(((states != UNKNOWN) & (parents >= 0) & (states[:, parents] == RELEVANT)).sum())
    left, scale = 0, len(pool.labels) / max(1, len(pool))
    for items, _ in pool.blocks():
        left += len(items)
        if known < share * (known + scale * left):
            return False
    return True


def values(groups: Index, worth: Floats, pace: Pace) -> Floats:
    """The value of the screen on which each entry is asked: the best part of its group, or the rest of it.

    >>> values(np.array([7, 7, 7, 3]), np.array([0.5, 0.0, 0.5, 0.2]), Pace(1, 1, 1)).round(2).tolist()
    [0.25, 0.0, 0.25, 0.07]
    """
    order = np.lexsort((-worth, groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    group = np.repeat(np.arange(len(starts)), sizes)
    place = np.arange(1, len(order) + 1) - starts[group]
    total = np.cumsum(worth[order])
    total -= (total - worth[order])[starts][group]
    cost = pace.screen + pace.item + pace.concept
    upto = total / (cost + (place - 1) * pace.concept)
    best = np.maximum.reduceat(upto, starts) if len(starts) else upto
    last = np.where(upto >= best[group], place, 0)
    asked = np.maximum.reduceat(last, starts) if len(starts) else last  # of equal ones the longest
    ends = starts + sizes - 1
    rest = total[ends] - total[starts + asked - 1] if len(starts) else total
    later = rest / (cost + np.maximum(sizes - asked - 1, 0) * pace.concept)
    found = np.empty(len(order))
    found[order] = np.where(place <= asked[group], best[group], np.minimum(later, best)[group])
    return found
