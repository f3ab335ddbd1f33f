"""The shortlist of a project: made by its strategy, and made again while people take questions from it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ramify.noise import sample
from ramify.progress import Report
from ramify.project.limits import MODES
from ramify.project.live.kept import KeptList, keep
from ramify.project.live.state import Snapshot, State
from ramify.project.store.leases import Entry, Leases
from ramify.taxonomy import Index

if TYPE_CHECKING:  # strategies take seconds to load: the first questions are asked without (``kept.py``)
    from ramify.learners import Learner
    from ramify.strategies import Shortlist, Strategy

SAMPLE = 8192  # items from which the first list is made
ROWS = 2048  # items that are looked at together: others wait for the labels meanwhile
KEPT = 1024  # entries for a server that is started later: screens for some people for some seconds
LENGTH = 512  # questions in a list, or groups of each parent: what one question costs grows with it
TRIES = 100  # screens passed over because the annotator skipped them, before another list is looked for

Rest: TypeAlias = Callable[[float], None]


def make_strategy(name: str) -> "Strategy":
    """A strategy for people who wait: of each parent it considers fewer groups.

    >>> make_strategy("expected-gain").considered
    512
    """
    from ramify.strategies import strategy_class

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
        strategy: str,
        engine: str | None = None,
        report: Report | None = None,
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        """With questions that were ``kept`` none are chosen now: somebody will call ``make``."""
        self.state, self.leases, self.strategy = state, leases, strategy
        self.engine, self.report = engine, report
        self._seed = 0
        if kept is None:
            self.make(everything=engine is not None)
        else:
            items, ids = np.array(kept["entries"], np.intp).T
            self._of = state.store.contents
            concepts = self._of.numbers(ids)
            self.shortlist: Shortlist | KeptList = KeptList(state.labels, items, concepts)
            self.complete, self._opened = False, state.opened

    def make(self, *, everything: bool, rest: Rest = lambda seconds: None) -> None:
        """A new list, from a sample, which is quick, or from all items; what is out with somebody is not on it.

        ``rest`` is called now and then, with the seconds that it worked since: answers come first.
        """
        from ramify.strategies import Pool

        self.state.load_model_once()
        taken = self.leases.taken()
        now = self.state.snapshot()
        with self.state.lock:
            self._seed += 1
            opened = self.state.opened
            strategy = self._strategy(now).set_params(random_state=self._seed)
        learner = _asking(now)
        size = len(now.labels) if learner is None else now.model.upto
        everything = everything or size <= SAMPLE
        items = np.arange(size) if everything else np.sort(sample(self._seed, size, SAMPLE))
        answered = self.state.answered()
        pool = Pool(
            now.features,
            now.labels,
            _keys(now, *taken),
            items=None if len(items) == len(now.labels) else items,
            cache=None if learner is None else now.model.cache,
            known_answered=answered[answered < size],
            rows=ROWS,
            rest=rest,
            engine=self.engine or "serial",
            report=self.report,
        )
        shortlist = strategy.shortlist(learner, pool, LENGTH)
        first = shortlist.first(KEPT)
        with self.state.lock:
            if now.contents is self.state.store.contents:  # else another process added or changed: a new one is coming
                self.shortlist, self._of = shortlist, now.contents
                self.complete, self._opened = everything, opened
        if learner is not None:
            keep(self.state.store, now.contents, self.strategy, now.model.version, first)

    def _strategy(self, now: Snapshot) -> "Strategy":
        """The project's own, or random items while there is no model that it could ask with."""
        from ramify.strategies import RandomItems

        own, learner = make_strategy(self.strategy), _asking(now)
        return RandomItems() if own.needs_learner and (learner is None or learner.stands_in) else own

    def outdated(self) -> bool:
        """Whether there may be questions that are not on the list: answers since then have opened them."""
        return self._opened != self.state.opened

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
                    there = self.state.store.number_of  # the list may be older than the taxonomy
                    entries = [entry for entry in entries if entry not in skipped and entry[1] in there]
                    if entries:
                        return entries
                if self.complete:
                    return None
            if remedy != "nothing":  # a sample was used up before all items were looked at
                self.make(everything=remedy == "everything")
        return None

    def _next(self, mode: str) -> list[Entry] | None:
        id_of = self._of.id_of
        if mode == "group":
            group = self.shortlist.take_group()
            return None if group is None else [(group[0], int(id_of[concept])) for concept in group[1]]
        screen = self.shortlist.take_entries(MODES[mode])
        return None if screen is None else [(int(item), int(id_of[screen[1]])) for item in screen[0]]


def _asking(now: Snapshot) -> "Learner | None":
    """The learner to ask with; none that has seen less than half of the items, as it asks about no others."""
    return now.model.learner if 2 * now.model.upto >= len(now.labels) else None


def _keys(now: Snapshot, items: Index, ids: Index) -> Index:
    """Entries as strategies exclude them, from items and stable concept ids."""
    numbers = now.contents.numbers(ids)
    known = numbers >= 0
    return np.unique(items[known] * len(now.labels.taxonomy) + numbers[known])
