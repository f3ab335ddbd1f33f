"""What a strategy is: it chooses the next questions, (item, concept) pairs that a person should settle."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.data.features import as_features
from ramify.engine import check
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.base import Learner
from ramify.noise import noise
from ramify.parameters import Parameters
from ramify.strategies.pool import Pool
from ramify.strategies.select import Best, Score, best_of
from ramify.strategies.shortlist import ENTRIES, Entries, Query, Shortlist
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class Strategy(Parameters):
    """The part that all strategies share: from a learner and a pool to a shortlist, from which questions are taken.

    A new strategy needs ``_shortlist``, or ``_score`` where it scores each question for itself (``EntryStrategy``).
    """

    random_state: int | None = None
    """The seed, which also puts equal scores in order; None draws another one for each query."""

    name: ClassVar[str]
    """How the command line calls this strategy."""
    needs_learner: ClassVar[bool] = True
    begins: ClassVar[bool] = False
    """Whether it asks by its own design while nothing fine is known yet (with a fitted learner, where it needs one);
    others ask about random items."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Its parameters that are whole numbers from 1 on."""

    def query(
        self,
        learner: Learner | None,
        X: Any,  # noqa: N803
        labels: Labels,
        batch_size: int,
        *,
        exclude: tuple[ArrayLike, ArrayLike] | None = None,
        engine: str = "serial",
    ) -> Query:
        """Choose ``batch_size`` questions, or all where there are fewer.

        A question is the first unknown concept on a way down (``Labels.questions``). ``exclude`` names some, as (items,
        concepts), that must not be chosen: they are out with somebody. While no fine label is known at all, most ask
        about random items and need no learner; those that ``begin`` ask by their own design. All items are looked at,
        block by block, by an ``engine``: ``serial`` (this process), ``processes``, ``ray`` or ``ray:ADDRESS``.
        """
        check(engine)
        if not is_count(batch_size):
            raise RamifyError(f"the batch size is a whole number from 1 on, not {batch_size!r}")
        features = as_features(X, check=False)
        if features.shape[0] != len(labels):
            raise RamifyError(f"{features.shape[0]} rows of features for {len(labels)} labelled items: they must agree")
        pool = Pool(features, labels, _keys(labels, exclude), engine=engine)
        return self.shortlist(learner, pool, int(batch_size)).take(int(batch_size))

    def shortlist(self, learner: Learner | None, pool: Pool, length: int) -> Shortlist:
        """The questions most worth asking, so many at least where there are as many, to be taken one after another."""
        for name in self.counts:
            if not is_count(value := getattr(self, name)):
                raise RamifyError(f"{name} of {self.name} is a whole number from 1 on, not {value!r}")
        seed = int(np.random.SeedSequence().generate_state(1)[0] if self.random_state is None else self.random_state)
        can_begin = self.begins and (not self.needs_learner or (learner is not None and learner.is_fitted))
        if not len(pool.answered) and not can_begin:
            return whole_items(pool, length, seed)
        if self.needs_learner:
            if learner is None:
                raise RamifyError(f"{self.name} asks by what a learner knows: give one that is fitted")
            learner.check_fitted()
            if learner.taxonomy_ != pool.labels.taxonomy:
                raise RamifyError("these labels have another taxonomy than the learner was fitted with: fit it again")
            learner.check_width(pool.features)
        return self._shortlist(learner, pool, length, seed)

    def _shortlist(self, learner: Any, pool: Pool, length: int, seed: int) -> Shortlist:
        """The questions, where everything was checked."""
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class EntryStrategy(Strategy):
    """A strategy that scores each question for itself; the best ones are chosen."""

    def _score(self, learner: Any, pool: Pool, seed: int) -> Score:
        """How questions are scored, by their items and concepts, once all that takes the whole pool is done."""
        raise NotImplementedError

    def _shortlist(self, learner: Any, pool: Pool, length: int, seed: int) -> Shortlist:
        length = max(length, ENTRIES)
        return Entries(self._ranked(learner, pool, length, seed), pool, length)

    def _ranked(self, learner: Any, pool: Pool, length: int, seed: int) -> Query:
        """The best questions, so many where there are as many."""
        return Query(*best_of(pool, self._score(learner, pool, seed), length, seed))


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 1 on."""
    return isinstance(value, int | np.integer) and bool(value >= 1)


def whole_items(pool: Pool, length: int, seed: int) -> Shortlist:
    """All open questions of random items, item after item."""
    return in_order(pool, *random_items(pool, length, seed), length)


def random_items(pool: Pool, count: int, seed: int) -> tuple[Index, NDArray[np.float64]]:
    """So many random items that have open questions, or all of them, and the noise that put them in this order."""
    best = Best(count, seed)
    for items, _ in pool.blocks():  # by no engine: there is nothing to compute
        shown = np.unique(items)
        best.offer(noise(seed, shown), shown, np.zeros_like(shown))
    order, _, scores = best.ranked()
    return order, scores


def in_order(pool: Pool, order: Index, scores: NDArray[np.float64], length: int) -> Shortlist:
    """All open questions of these items, item after item."""
    ascending = np.argsort(order)
    items, concepts = pool.entries(np.sort(order))
    place = ascending[np.searchsorted(order[ascending], items)]
    by_place = np.argsort(place, kind="stable")[:length]
    return Entries(Query(items[by_place], concepts[by_place], scores[place[by_place]]), pool, length)


def _keys(labels: Labels, exclude: tuple[ArrayLike, ArrayLike] | None) -> Index:
    if exclude is None:
        return np.empty(0, np.intp)
    try:
        items, concepts = (np.atleast_1d(np.asarray(part)) for part in exclude)
    except ValueError:
        raise RamifyError("exclude takes two arrays of the same length, items and concepts") from None
    if items.shape != concepts.shape or items.ndim != 1:
        raise RamifyError("exclude takes two arrays of the same length, items and concepts")
    numbers = labels.taxonomy.indices(concepts)
    return np.unique(items.astype(np.intp) * len(labels.taxonomy) + numbers)
