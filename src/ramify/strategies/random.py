"""Random questions: one by one, or all of an item together. Every other strategy is measured against them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ramify.noise import noise
from ramify.strategies.base import EntryStrategy, Strategy, whole_items
from ramify.strategies.pool import Pool
from ramify.strategies.shortlist import Shortlist
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class Random(EntryStrategy):
    """Any question, each as likely as any other."""

    name: ClassVar[str] = "random"
    needs_learner: ClassVar[bool] = False

    def _scores(self, learner: Any, pool: Pool, seed: int) -> Iterator[tuple[Index, Index, NDArray[np.float64]]]:
        for items, concepts in pool.blocks():
            yield items, concepts, noise(seed, items, concepts)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomItems(Strategy):
    """All questions about a random item, then those of the next: far fewer items to look at."""

    name: ClassVar[str] = "random-items"
    needs_learner: ClassVar[bool] = False

    def _shortlist(self, learner: Any, pool: Pool, length: int, seed: int) -> Shortlist:
        return whole_items(pool, length, seed)
