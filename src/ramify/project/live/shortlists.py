"""Asking one by one: short lists of the best groups, from which questions are taken while people answer."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ramify.labels import UNKNOWN, Labels
from ramify.strategies.base import Pool
from ramify.strategies.evidence import Evidence
from ramify.strategies.groups import Groups, Knowledge, Turns, list_groups
from ramify.strategies.select import noise
from ramify.taxonomy import Index

SAMPLE = 8192  # items from which the first lists are made, and from which it is estimated where answers matter
BLOCK = 2048  # items that are looked at together: others wait for the labels meanwhile
LENGTH = 512  # groups of each parent in a list
LOW = 64  # with fewer left a list is renewed

Rest: TypeAlias = Callable[[float], None]


class SharedLabels(Labels):
    """Labels that one thread changes while others read: every read waits for the lock, for one block at a time."""

    def __init__(self, labels: Labels, lock: RLock) -> None:
        self._take_over(labels.taxonomy, labels._store)
        self._lock = lock

    def states(self, items: Any = None, concepts: Any = None) -> NDArray[np.int8]:
        """As for all labels."""
        with self._lock:
            return super().states(items, concepts)

    def unknown(self, items: Any = None) -> tuple[Index, Index]:
        """As for all labels."""
        with self._lock:
            return super().unknown(items)

    def take(self, items: Any) -> Labels:
        """As for all labels; what is taken belongs to nobody else."""
        with self._lock:
            return super().take(items)


@dataclass
class Lists:
    """The best groups of each parent, and whose turn it is."""

    groups: dict[int, Groups]
    turns: Turns
    complete: bool
    """Made from the whole pool, not from a sample of it."""

    @classmethod
    def made(
        cls,
        told: Evidence,
        labels: Labels,
        answered: Index,
        excluded: Index,
        seed: int,
        *,
        everything: bool,
        upto: int,
        rest: Rest = lambda worked: None,
    ) -> "Lists":
        """From a sample of the items, which is quick, or from all; the model knows the first ``upto`` items.

        Excluded are entries as item * number of concepts + concept. ``rest`` is called now and then, with the seconds
        that it worked since: answers come first.
        """
        numbers = np.arange(upto)
        sample = np.sort(numbers[np.argsort(noise(seed, numbers))[:SAMPLE]])
        pool = Pool(None, labels, np.unique(excluded))
        knowledge = Knowledge.of(told, labels, sample, answered[answered < upto])
        blocks: Iterable[tuple[Index, Index]] = _blocks(pool, upto, rest) if everything else [pool.entries(sample)]
        groups = list_groups(told, knowledge, pool, LENGTH, seed, (b for b in blocks if len(b[0])))
        turns = Turns({parent: each.count for parent, each in groups.items()}, seed)
        return cls(groups, turns, everything or upto <= SAMPLE)

    def low(self) -> bool:
        """Whether some parent's list is nearly used up while more of its groups are open."""
        return any(len(each) < min(LOW, each.count) for each in self.groups.values())

    def group(self, labels: Labels) -> tuple[int, Index] | None:
        """An item and the children to ask of it, those that are still unknown."""
        while (parent := self._turn()) is not None:
            item, children, _ = self.groups[parent].take_best()
            children = children[labels.states(item, children)[0] == UNKNOWN]
            if len(children):
                return item, children
        return None

    def entries(self, labels: Labels, count: int) -> tuple[Index, int] | None:
        """Some items and one concept to ask of all of them."""
        while (parent := self._turn()) is not None:
            items, child = self.groups[parent].take_entries(count)
            items = items[labels.states(items, child)[:, 0] == UNKNOWN]
            if len(items):
                return items, child
        return None

    def renew_noise(self, told: Evidence, parent: int) -> None:
        """Take in what was learned since: foreseen answers teach less."""
        if parent in self.groups:
            groups = self.groups[parent]
            groups.noise = told.look(groups.items).noise[:, groups.children]

    def _turn(self) -> int | None:
        while self.turns.at:
            parent = self.turns.next()
            if len(self.groups[parent]):
                return parent
            del self.turns.at[parent]
        return None


def _blocks(pool: Pool, upto: int, rest: Rest) -> Iterator[tuple[Index, Index]]:
    for first in range(0, upto, BLOCK):
        start = time.monotonic()
        yield pool.entries(slice(first, min(first + BLOCK, upto)))
        rest(time.monotonic() - start)
