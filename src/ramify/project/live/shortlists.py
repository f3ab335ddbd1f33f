"""The shortlist of a project: made by its strategy, and made again while people take questions from it."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from sklearn.base import clone

from ramify.noise import sample
from ramify.progress import Report
from ramify.project.limits import MODES
from ramify.project.live.state import Snapshot, State
from ramify.project.store.leases import Entry, Leases
from ramify.strategies import Pool, RandomItems, Shortlist, Strategy, strategy_class
from ramify.taxonomy import Index

SAMPLE = 8192  # items from which the first list is made
ROWS = 2048  # items that are looked at together: others wait for the labels meanwhile
LENGTH = 512  # questions in a list, or groups of each parent: what one question costs grows with it
TRIES = 100  # screens passed over because the annotator skipped them, before another list is looked for

Rest: TypeAlias = Callable[[float], None]


def make_strategy(name: str) -> Strategy:
    """A strategy for people who wait: of each parent it considers fewer groups.

    >>> make_strategy("expected-gain").considered
    512
    """
    strategy = strategy_class(name)()
    if "considered" in strategy.get_params():
        strategy.set_params(considered=LENGTH)
    return strategy


class Questions:
    """What is asked next: a shortlist of a sample of the items at first, of all items a little later.

    With an ``engine`` all items are looked at from the first list on, by its workers; ``report`` is told how far it is.
    """

    def __init__(
        self,
        state: State,
        leases: Leases,
        strategy: Strategy,
        engine: str | None = None,
        report: Report | None = None,
    ) -> None:
        self.state, self.leases, self.strategy = state, leases, strategy
        self.engine, self.report = engine, report
        self._seed = 0
        self.make(everything=engine is not None)

    def make(self, *, everything: bool, rest: Rest = lambda seconds: None) -> None:
        """A new list, from a sample, which is quick, or from all items; what is out with somebody is not on it.

        ``rest`` is called now and then, with the seconds that it worked since: answers come first.
        """
        taken = self.leases.taken()
        now = self.state.snapshot()
        with self.state.lock:
            self._seed += 1
            changes = self.state.changes
            strategy = clone(self._strategy(now)).set_params(random_state=self._seed)  # other threads make lists too
        size = len(now.labels) if now.model.learner is None else now.model.upto
        everything = everything or size <= SAMPLE
        items = np.arange(size) if everything else np.sort(sample(self._seed, size, SAMPLE))
        answered = self.state.answered()
        pool = Pool(
            now.features,
            now.labels,
            _keys(now, *taken),
            items=None if len(items) == len(now.labels) else items,
            cache=now.model.cache,
            known_answered=answered[answered < size],
            rows=ROWS,
            rest=rest,
            engine=self.engine or "serial",
            report=self.report,
        )
        shortlist = strategy.shortlist(now.model.learner, pool, LENGTH)
        with self.state.lock:
            if now.contents is self.state.store.contents:  # else another process added or split: a new one is coming
                self.shortlist: Shortlist = shortlist
                self.complete, self._changes = everything, changes

    def _strategy(self, now: Snapshot) -> Strategy:
        """The project's own, or random items while there is no model that it could ask with."""
        return RandomItems() if self.strategy.needs_learner and now.model.learner is None else self.strategy

    def outdated(self) -> bool:
        """Whether answers were given since the list was made: there may be new questions, below what was asked."""
        return self._changes != self.state.changes

    def take(self, mode: str, skipped: set[Entry]) -> list[Entry] | None:
        """Entries that belong on one screen, as items and stable concept ids; None when nothing is left.

        What the annotator skipped is passed over: it comes back at the end.
        """
        for remedy in ("sample", "everything", "nothing"):
            with self.state.lock:
                for _ in range(TRIES):
                    entries = self._next(mode)
                    if entries is None:
                        break
                    entries = [entry for entry in entries if entry not in skipped]
                    if entries:
                        return entries
                if self.complete:
                    return None
            if remedy != "nothing":  # a sample was used up before all items were looked at
                self.make(everything=remedy == "everything")
        return None

    def _next(self, mode: str) -> list[Entry] | None:
        id_of = self.state.store.id_of
        if mode == "group":
            group = self.shortlist.take_group()
            return None if group is None else [(group[0], int(id_of[concept])) for concept in group[1]]
        screen = self.shortlist.take_entries(MODES[mode])
        return None if screen is None else [(int(item), int(id_of[screen[1]])) for item in screen[0]]


def _keys(now: Snapshot, items: Index, ids: Index) -> Index:
    """Entries as strategies exclude them, from items and stable concept ids."""
    numbers = now.contents.numbers(ids)
    known = numbers >= 0
    return np.unique(items[known] * len(now.labels.taxonomy) + numbers[known])
