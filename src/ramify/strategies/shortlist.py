"""Shortlists: the questions most worth asking, from which a query, a loop, a file and the page take theirs."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.strategies.pool import Pool
from ramify.taxonomy import Index

ENTRIES = 8192  # single entries in a list, at least: of a shorter one, grids of one concept would have a tile or two
LOW = 64  # with fewer questions left a list is worth making again, if there are more than it holds


class Query(NamedTuple):
    """The chosen questions, the most wanted first, and how much each is wanted."""

    items: Index
    """The item of each, by number."""
    concepts: Index
    """The concept of each, by number: fine, or the first unknown one above."""
    scores: NDArray[np.float64]
    """How much each is wanted; higher is more."""

    def some(self, places: Index | slice) -> "Query":
        """Some of them."""
        return Query(self.items[places], self.concepts[places], self.scores[places])

    @property
    def item_views(self) -> int:
        """How many items a person has to look at: one shown with several questions is looked at once."""
        return len(np.unique(self.items))


def still_asked(labels: Labels, items: Index, siblings: Index) -> NDArray[np.bool_]:
    """Which questions, items x siblings, are still ones: unknown, below a relevant parent or none.

    >>> from ramify.taxonomy import Taxonomy
    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [-1]])
    >>> still_asked(labels, np.array([0, 1]), np.array([0, 1])).tolist()
    [[True, True], [False, False]]
    """
    parent = int(labels.taxonomy.parents[siblings[0]])
    states = labels.states(items, np.append(siblings, max(parent, 0)))  # one look: each waits for its turn
    asked: NDArray[np.bool_] = (states[:, :-1] == UNKNOWN) & ((parent < 0) | (states[:, -1:] == RELEVANT))
    return asked


class Shortlist(Protocol):
    """Questions in the order in which they should be asked. What is taken is gone; what became known is passed over."""

    def take(self, count: int) -> Query:
        """The next entries, one by one."""

    def take_group(self) -> tuple[int, Index] | None:
        """An item and the children of one concept to ask of it on one screen; None when nothing is left."""

    def take_entries(self, count: int) -> tuple[Index, int] | None:
        """Up to so many items and one concept to ask of all of them; None when nothing is left."""

    def first(self, count: int) -> Query:
        """About so many of the next entries, screen after screen, left where they are."""

    def low(self) -> bool:
        """Whether it is nearly used up while more could be asked."""

    def renew(self, parents: Iterable[int]) -> None:
        """Take in what was learned since of the children of some concepts."""


class Entries:
    """A shortlist of single entries, ranked once; where there are more than ``length``, only those."""

    def __init__(self, ranked: Query, pool: Pool, length: int) -> None:
        self.ranked, self.pool = ranked, pool
        self._cut = len(ranked.items) >= length
        self._left = np.ones(len(ranked.items), np.bool_)
        self._first = 0

    def take(self, count: int) -> Query:
        """The next entries."""
        places = np.flatnonzero(self._left)[:count]
        self._left[places] = False
        return self.ranked.some(places)

    def take_group(self) -> tuple[int, Index] | None:
        """The item of the next entry, with its open siblings."""
        items, concepts, _ = self.ranked
        taxonomy = self.pool.labels.taxonomy
        while (place := self._next()) is not None:
            item, parent = int(items[place]), taxonomy.parents[concepts[place]]
            listed = np.flatnonzero(self._left & (items == item) & (taxonomy.parents[concepts] == parent))
            self._left[listed] = False
            _, asked = self.pool.entries(np.array([item]))
            children = asked[taxonomy.parents[asked] == parent]
            still = np.isin(children, concepts[listed])
            if still.any():  # else all became known
                return item, self._asked(children, still)
        return None

    def take_entries(self, count: int) -> tuple[Index, int] | None:
        """The next entry, and the best of the same concept."""
        items, concepts, _ = self.ranked
        while (place := self._next()) is not None:
            concept = int(concepts[place])
            same = np.flatnonzero(self._left & (concepts == concept))
            same = same[still_asked(self.pool.labels, items[same], np.array([concept]))[:, 0]][:count]
            self._left[place] = False
            self._left[same] = False
            if len(same):
                return items[same], concept
        return None

    def first(self, count: int) -> Query:
        """The next entries, left where they are."""
        return self.ranked.some(np.flatnonzero(self._left)[:count])

    def low(self) -> bool:
        """Whether little is left of a list that did not hold everything."""
        return self._cut and int(self._left.sum()) < LOW

    def renew(self, parents: Iterable[int]) -> None:
        """Nothing: scores of single entries are made anew with the list."""

    def _asked(self, children: Index, listed: NDArray[np.bool_]) -> Index:
        """All open siblings, listed or not: who looks at an item may answer them too."""
        return children

    def _next(self) -> int | None:
        while self._first < len(self._left) and not self._left[self._first]:
            self._first += 1
        return self._first if self._first < len(self._left) else None


class Parts(Entries):
    """A shortlist that says which children of an item to ask together; their siblings are not asked."""

    def _asked(self, children: Index, listed: NDArray[np.bool_]) -> Index:
        return children[listed]
