"""Pool: what may be asked, and how to look at it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.labels import Labels
from ramify.learners.base import Learner, at_once
from ramify.learners.cache import Cache
from ramify.learners.warm import answered_items
from ramify.noise import sample
from ramify.taxonomy import Index

ROWS = 8192  # items looked at together


@dataclass
class Pool:
    """The questions: the first unknown concept on every way down, without those that are out with somebody.

    Who asks in the background gives more: ``items``, where not all are to be looked at; a learner's ``cache``, so that
    no net is run; how many items are looked at together, and ``rest``, called between two such blocks with the seconds
    that they took.
    """

    features: Any
    """Items x columns, as learners take them."""
    labels: Labels
    """What is known: it says what can be asked (``Labels.questions``)."""
    excluded: Index
    """Excluded questions as item * number of concepts + concept, ascending."""
    items: Index | None = None
    """The items that may be asked about, ascending; None for all."""
    cache: Cache | None = None
    """What the learner computed of all items before."""
    known_answered: Index | None = None
    """The items with fine labels, where they are known already: to look for them goes through all labels."""
    rows: int | None = None
    """Items looked at together; None for the default."""
    rest: Callable[[float], None] = lambda seconds: None
    """Called between two blocks with the seconds that the last one took."""

    def __len__(self) -> int:
        return len(self.labels) if self.items is None else len(self.items)

    @cached_property
    def answered(self) -> Index:
        """The items of which anything fine is known."""
        return answered_items(self.labels) if self.known_answered is None else self.known_answered

    def opinions(self, learner: Learner, items: Index) -> NDArray[np.floating]:
        """A learner's opinions on some items, items x all concepts, given what is known of them."""
        if self.cache is not None:
            return learner.cached_opinions(self.cache, self.labels, items)
        return learner.opinions(self.features[items], self.labels.take(items))

    def sample(self, seed: int, size: int) -> Index:
        """Some of the items, drawn by a seed."""
        drawn = sample(seed, len(self), size)
        return drawn if self.items is None else self.items[drawn]

    def entries(self, items: Index | slice) -> tuple[Index, Index]:
        """What may be asked of some items."""
        owners, concepts = self.labels.questions(items)
        if len(self.excluded):
            free = ~np.isin(owners * len(self.labels.taxonomy) + concepts, self.excluded)
            owners, concepts = owners[free], concepts[free]
        return owners, concepts

    def blocks(self) -> Iterator[tuple[Index, Index]]:
        """All questions that may be asked, item by item, in blocks of items."""
        size = min(self.rows or ROWS, at_once(len(self.labels.taxonomy)))
        for first in range(0, len(self), size):
            start = time.monotonic()
            last = min(first + size, len(self))
            items, concepts = self.entries(slice(first, last) if self.items is None else self.items[first:last])
            if len(items):
                yield items, concepts
            self.rest(time.monotonic() - start)
