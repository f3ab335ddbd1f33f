"""What a strategy is: it chooses the next questions, (item, fine concept) entries that a person should settle."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ramify.data.features import as_features
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.base import ROWS, Learner, answered_items
from ramify.strategies.select import Best, noise
from ramify.taxonomy import Index


class Query(NamedTuple):
    """The chosen entries, the most wanted first, and how much each is wanted."""

    items: Index
    concepts: Index
    scores: NDArray[np.float64]

    @property
    def item_views(self) -> int:
        """How many items a person has to look at: one shown with several questions is looked at once."""
        return len(np.unique(self.items))


class Pool(NamedTuple):
    """What may be asked: the unknown entries, without those that are out with somebody."""

    features: Any
    labels: Labels
    excluded: Index
    """Excluded entries as item * number of concepts + concept, ascending."""

    def entries(self, items: Index | slice) -> tuple[Index, Index]:
        """What may be asked of some items."""
        owners, concepts = self.labels.unknown(items)
        if len(self.excluded):
            free = ~np.isin(owners * len(self.labels.taxonomy) + concepts, self.excluded)
            owners, concepts = owners[free], concepts[free]
        return owners, concepts

    def blocks(self) -> Iterator[tuple[Index, Index]]:
        """All entries that may be asked, item by item, in blocks of items."""
        for first in range(0, len(self.labels), ROWS):
            items, concepts = self.entries(slice(first, first + ROWS))
            if len(items):
                yield items, concepts


@dataclass(kw_only=True, eq=False, repr=False)
class Strategy(BaseEstimator):  # type: ignore[misc]
    """The part that all strategies share. Equal scores are put in an order that ``random_state`` draws."""

    random_state: int | None = None

    name: ClassVar[str]
    """How the command line calls this strategy."""
    needs_learner: ClassVar[bool] = True

    def query(
        self,
        learner: Learner | None,
        X: Any,  # noqa: N803
        labels: Labels,
        batch_size: int,
        *,
        exclude: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Query:
        """Choose ``batch_size`` unknown entries, or all where there are fewer.

        ``exclude`` names entries, as (items, concepts), that must not be chosen: they are out with somebody. While no
        fine label is known at all, every strategy asks about random items, and no learner is needed.
        """
        if not isinstance(batch_size, int | np.integer) or batch_size < 1:
            raise RamifyError(f"the batch size is a whole number from 1 on, not {batch_size!r}")
        features = as_features(X, check=False)
        if features.shape[0] != len(labels):
            raise RamifyError(f"{features.shape[0]} rows of features for {len(labels)} labelled items: they must agree")
        pool = Pool(features, labels, _keys(labels, exclude))
        seed = int(np.random.SeedSequence().generate_state(1)[0] if self.random_state is None else self.random_state)
        if not len(answered_items(labels)):
            return whole_items(pool, int(batch_size), seed)
        if self.needs_learner:
            if learner is None:
                raise RamifyError(f"{self.name} asks by what a learner knows: give one that is fitted")
            learner._check_fitted()
            if learner.taxonomy_ != labels.taxonomy:
                raise RamifyError("these labels have another taxonomy than the learner was fitted with: fit it again")
            learner._check_width(features)
        return self._choose(learner, pool, int(batch_size), seed)

    def _choose(self, learner: Any, pool: Pool, batch_size: int, seed: int) -> Query:
        """The questions, where everything was checked."""
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class EntryStrategy(Strategy):
    """A strategy that scores each entry for itself; the best ones are chosen."""

    def _scores(self, learner: Any, pool: Pool, seed: int) -> Iterator[tuple[Index, Index, NDArray[Any]]]:
        """Items, concepts and scores of all entries that may be asked, block by block."""
        raise NotImplementedError

    def _choose(self, learner: Any, pool: Pool, batch_size: int, seed: int) -> Query:
        best = Best(batch_size, seed)
        for items, concepts, scores in self._scores(learner, pool, seed):
            best.offer(scores, items, concepts)
        return Query(*best.ranked())


def whole_items(pool: Pool, batch_size: int, seed: int) -> Query:
    """All open questions of random items, item after item."""
    best = Best(batch_size, seed)
    for items, _ in pool.blocks():
        chosen = np.unique(items)
        best.offer(noise(seed, chosen), chosen, np.zeros_like(chosen))
    order, _, scores = best.ranked()
    ascending = np.argsort(order)
    found = [(np.empty(0, np.intp), np.empty(0, np.intp))]
    for items, concepts in pool.blocks():
        wanted = np.isin(items, order)
        found.append((items[wanted], concepts[wanted]))
    items, concepts = (np.concatenate(part) for part in zip(*found, strict=True))
    place = ascending[np.searchsorted(order[ascending], items)]
    by_place = np.argsort(place, kind="stable")[:batch_size]
    return Query(items[by_place], concepts[by_place], scores[place[by_place]])


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
