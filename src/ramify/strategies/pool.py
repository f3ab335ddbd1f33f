"""Pool: what may be asked, and how to look at it, in this process or by the workers of an engine."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ramify.engine import stream
from ramify.labels import Labels
from ramify.labels.part import PartLabels
from ramify.labels.store import Store
from ramify.learners.base import Learner, at_once
from ramify.learners.cache import Cache
from ramify.learners.warm import answered_items
from ramify.noise import sample
from ramify.parcels import packed, unpacked
from ramify.progress import Report
from ramify.taxonomy import Index

Result = TypeVar("Result")

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
    engine: str = "serial"
    """How looks at all items are spread (``ramify.engine``)."""
    report: Report | None = None
    """Told how many items were looked at."""

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
        done = 0
        for part in self._parts():
            start = time.monotonic()
            items, concepts = self.entries(part)
            if len(items):
                yield items, concepts
            done += len(part)
            self._tell(done)
            self.rest(time.monotonic() - start)

    def each(self, look: Callable[[Index, Index], Result]) -> Iterator[Result]:
        """What ``look`` makes of all questions (their items and concepts), block by block, by the pool's engine.

        Of labels it may ask about the items of its block only, and what it returns should be small.
        """
        if self.engine == "serial":
            for items, concepts in self.blocks():
                yield look(items, concepts)
            return

        def look_at(part: Index) -> list[Result]:
            items, concepts = self.entries(part)
            return [look(items, concepts)] if len(items) else []

        for found in self.over(self._parts(), look_at):
            yield from found

    def over(self, parts: Iterable[Index], look: Callable[[Index], Result]) -> Iterator[Result]:
        """What ``look`` makes of items, each part (in ascending order) for itself, by the pool's engine."""
        if self.engine == "serial":
            yield from map(look, parts)
            return
        done, sizes = 0, []

        def tasks() -> Iterator[tuple[Index, Store]]:
            for part in parts:
                sizes.append(len(part))
                yield part, self.labels.take(part).cells

        for result in stream(_Look(look, self), tasks(), self.engine, _named):
            done += sizes.pop(0)
            self._tell(done)
            yield result

    def _tell(self, done: int) -> None:
        if self.report is not None:
            self.report("Looking at items", done, len(self))

    def _parts(self) -> Iterator[Index]:
        size = min(self.rows or ROWS, at_once(len(self.labels.taxonomy)))
        for first in range(0, len(self), size):
            last = min(first + size, len(self))
            yield np.arange(first, last) if self.items is None else self.items[first:last]


class _Look:
    """A look at items, for workers: it is unpacked once, and the labels of its items come with each task."""

    def __init__(self, look: Callable[[Index], Any], pool: Pool) -> None:
        self._content = packed(look, {"labels": pool.labels, "report": pool.report})
        self._labels = PartLabels(pool.labels.taxonomy)
        self._look: Callable[[Index], Any] | None = None

    def __call__(self, task: tuple[Index, Store]) -> Any:
        self._labels.show(*task)
        if self._look is None:
            parts = {"labels": self._labels, "report": None}
            self._look, self._content = unpacked(self._content, parts), b""
        return self._look(task[0])


def _named(task: tuple[Index, Store]) -> str:
    return f"items {task[0][0]} to {task[0][-1]}"
