"""Expected gain on groups: ask on one screen all open children of one concept for one item, where it teaches most."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ramify.learners.base import Learner
from ramify.strategies.base import Pool, Query, Strategy
from ramify.strategies.evidence import evidence
from ramify.strategies.groups import Groups, Knowledge, Turns, list_groups
from ramify.strategies.select import noise

FOR_MATTERS = 8192  # items from which T is estimated where the pool has more


@dataclass(kw_only=True, eq=False, repr=False)
class ExpectedGain(Strategy):
    """The groups (item, parent) whose answers would teach most, shared fairly among the parents.

    ``directions`` of the features are looked at; of each parent the ``shortlist`` best groups are considered when a
    batch is put together.
    """

    name: ClassVar[str] = "expected-gain"
    directions: int = 64
    shortlist: int = 2048

    def _choose(self, learner: Learner, pool: Pool, batch_size: int, seed: int) -> Query:
        everything = np.arange(len(pool.labels))
        sample = everything[np.argsort(noise(seed, everything))[:FOR_MATTERS]]
        told = evidence(learner, pool, sample, self.directions)
        knowledge = Knowledge.of(told, pool.labels, sample)
        return _picked(list_groups(told, knowledge, pool, max(self.shortlist, batch_size), seed), batch_size, seed)


def _picked(listed: dict[int, Groups], batch_size: int, seed: int) -> Query:
    """Group after group until the batch is full."""
    turns = Turns({parent: groups.count for parent, groups in listed.items()}, seed)
    items, concepts, scores = [np.empty(0, np.intp)], [np.empty(0, np.intp)], [np.empty(0)]
    count = 0
    while turns.at and count < batch_size:
        parent = turns.next()
        item, children, score = listed[parent].take_best()
        children = children[: batch_size - count]
        count += len(children)
        items.append(np.full(len(children), item))
        concepts.append(children)
        scores.append(np.full(len(children), score))
        if not len(listed[parent]):
            del turns.at[parent]
    return Query(np.concatenate(items), np.concatenate(concepts), np.concatenate(scores))
