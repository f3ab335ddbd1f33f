"""How good the labels of a pool are, answered and predicted together, where the truth is known."""

from typing import Any, NamedTuple

import numpy as np

from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.learners import Learner
from ramify.learners.base import at_once
from ramify.quality.deciding import decide, has_coarse
from ramify.taxonomy import Index

WISHED = 0.95  # the precision at which an entry counts as settled


class PoolQuality(NamedTuple):
    """The labels of a pool as they would be exported, against the truth."""

    pool_f1: float
    """Micro F1 over all fine entries of the pool's items."""
    settled_share: float
    """Of the fine entries that were unknown at first, how many are known by now, or predicted with a probability of
    being right of at least ``WISHED``, by the learner's own word."""
    settled_right: float | None
    """Of those that are settled by prediction alone, how many are right: the learner's word, checked. None where
    there are none."""


def pool_quality(
    learner: Learner, features: Any, labels: Labels, truth: Labels, before: Labels, pool: Index
) -> PoolQuality:
    """The quality of what is known and predicted now of the ``pool``, of which ``before`` is what was known at first.

    >>> from ramify.learners import CoarsePrior
    >>> from ramify.taxonomy import Taxonomy
    >>> pets = Taxonomy({"animal": ["cat", "dog"]})
    >>> before, truth = Labels(pets, [[1], [1], [0]]), Labels.from_matrix(pets, [[1, 0], [0, 1], [0, 0]])
    >>> labels = before.take(None)
    >>> labels.record([0, 0], ["cat", "dog"], [1, 0], "annotated")
    >>> learner = CoarsePrior(steps=1).fit(np.eye(3), labels)
    >>> pool_quality(learner, np.eye(3), labels, truth, before, np.arange(3))  # nothing is found out of the second
    PoolQuality(pool_f1=0.6666666666666666, settled_share=0.5, settled_right=None)
    """
    right = claimed = relevant = entries = known = sure = sure_and_right = 0
    above, size = has_coarse(labels), at_once(len(labels.taxonomy))
    for first in range(0, len(pool), size):
        items = pool[first : first + size]
        own, states = labels.take(items), truth.states(items)
        p, chosen = decide(learner, features[items], own, coarse_known=above)
        judged, yes = states != UNKNOWN, states == RELEVANT
        right += int((chosen & yes).sum())
        claimed += int((chosen & judged).sum())
        relevant += int(yes.sum())
        wanted = before.states(items) == UNKNOWN
        answered = wanted & (own.states() != UNKNOWN)
        settled = wanted & ~answered & (np.where(chosen, p, 1 - p) >= WISHED)
        entries += int(wanted.sum())
        known += int(answered.sum())
        sure += int(settled.sum())
        sure_and_right += int((settled & (chosen == yes)).sum())
    return PoolQuality(
        2 * right / (claimed + relevant) if claimed + relevant else 0.0,
        (known + sure) / entries if entries else 1.0,
        sure_and_right / sure if sure else None,
    )
