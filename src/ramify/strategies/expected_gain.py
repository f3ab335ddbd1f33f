"""Expected gain on groups: ask on one screen all open children of one concept for one item, where it teaches most."""

from dataclasses import dataclass
from typing import ClassVar

from ramify.learners.base import Learner
from ramify.strategies.base import Strategy, whole_items
from ramify.strategies.groups import GroupList, Knowledge, list_groups
from ramify.strategies.pool import Pool
from ramify.strategies.shortlist import Shortlist

FOR_MATTERS = 8192  # items from which T is estimated where the pool has more


@dataclass(kw_only=True, eq=False, repr=False)
class ExpectedGain(Strategy):
    """The groups (item, parent) whose answers would teach most, shared fairly among the parents.

    It needs no fine label to begin with, only a learner that is fitted: what answers would teach follows from features
    and coarse labels. With a learner that gives no evidence it asks about random items.
    """

    name: ClassVar[str] = "expected-gain"
    begins: ClassVar[bool] = True
    counts: ClassVar[tuple[str, ...]] = ("directions", "considered")
    directions: int = 64
    """The leading directions of the features that are looked at."""
    considered: int = 2048
    """The best groups of each parent that are considered when questions are put together."""

    def _shortlist(self, learner: Learner, pool: Pool, length: int, seed: int) -> Shortlist:
        sample = pool.sample(seed, FOR_MATTERS)
        evidence = learner.evidence(pool.features, pool.labels, sample, self.directions, pool.cache)
        if evidence is None:
            return whole_items(pool, length, seed)
        remembered = evidence.remembering(sample) if pool.cache is None else evidence
        knowledge = Knowledge.of(remembered, pool.labels, sample, pool.answered)
        groups = list_groups(remembered, knowledge, pool, max(self.considered, length), seed)
        return GroupList(groups, evidence, pool.labels, seed)
