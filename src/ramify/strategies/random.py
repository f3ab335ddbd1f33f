"""Random questions: one by one, or all of an item together. Every other strategy is measured against them."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ramify.noise import noise
from ramify.strategies.base import EntryStrategy, Strategy, whole_items
from ramify.strategies.pool import Pool
from ramify.strategies.select import Score
from ramify.strategies.shortlist import Shortlist


@dataclass(kw_only=True, eq=False, repr=False)
class Random(EntryStrategy):
    """Any question, each as likely as any other."""

    name: ClassVar[str] = "random"
    needs_learner: ClassVar[bool] = False

    def _score(self, learner: Any, pool: Pool, seed: int) -> Score:
        return partial(noise, seed)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomItems(Strategy):
    """All questions about a random item, then those of the next: far fewer items to look at."""

    name: ClassVar[str] = "random-items"
    needs_learner: ClassVar[bool] = False

    def _shortlist(self, learner: Any, pool: Pool, length: int, seed: int) -> Shortlist:
        return whole_items(pool, length, seed)
