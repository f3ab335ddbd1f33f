"""Drawing: which unit is asked about next for the audit, whatever a strategy would ask."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.labels import Labels
from ramify.taxonomy import Index

ROWS = 2048  # items that are looked at together


class Drawn(NamedTuple):
    """A unit, an item and a root of the taxonomy, and how many there were to draw from."""

    item: int
    root: int
    drawn_from: int


class Units:
    """The open units that were not drawn yet.

    >>> from ramify.taxonomy import Taxonomy
    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [1], [0]])
    >>> units = Units(labels)
    >>> units.draw(0.7), units.draw(0.7), units.draw(0.7)
    (Drawn(item=1, root=2, drawn_from=2), Drawn(item=0, root=2, drawn_from=1), None)
    """

    def __init__(
        self,
        labels: Labels,
        drawn: Collection[tuple[int, int]] = (),
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        """All that are open, without those of ``drawn``; ``rest`` is called between two blocks of items."""
        self.roots, self.root_of = labels.taxonomy.roots, labels.taxonomy.root_of
        self._place = np.zeros(len(labels.taxonomy), np.intp)
        self._place[self.roots] = np.arange(len(self.roots))
        self._taken = np.zeros((len(labels), len(self.roots)), np.bool_)
        self.open: NDArray[np.bool_] = self._taken.copy()
        self.drawn = np.zeros(len(self.roots), np.intp)
        for item, root in drawn:
            self.take(item, root)
        for first in range(0, len(labels), ROWS):
            self.look_again(labels, range(first, min(first + ROWS, len(labels))))
            rest()

    def take(self, item: int, root: int) -> None:
        """It is drawn, by whomever."""
        place = self._place[root]
        self.drawn[place] += not self._taken[item, place]
        self._taken[item, place], self.open[item, place] = True, False

    def look_again(self, labels: Labels, items: Iterable[int]) -> None:
        """Answers have changed some items: units without an open question are not drawn, nor counted."""
        looked = np.unique(np.fromiter(items, np.intp))
        owners, concepts = labels.questions(looked)
        self.open[looked] = False
        self.open[owners, self._place[self.root_of[concepts]]] = True
        self.open[looked] &= ~self._taken[looked]

    def taken(self, items: Iterable[int]) -> list[tuple[int, int]]:
        """The units of some items that were drawn."""
        return [(item, int(self.roots[place])) for item in items for place in np.flatnonzero(self._taken[item])]

    def draw(self, chance: float, root: int | None = None) -> Drawn | None:
        """One by a chance from 0 to 1, of a root or of the stratum whose turn it is; None when nothing is left.

        Small strata have more than their part, by the square root of their size: each is to be known, and all together.
        """
        sizes = self.open.sum(axis=0) * (True if root is None else self.roots == root)
        if not sizes.any():
            return None
        turns = np.where(sizes > 0, (self.drawn + 0.5) / np.sqrt(np.maximum(sizes, 1)), np.inf)
        place = int(turns.argmin())
        units: Index = np.flatnonzero(self.open[:, place])
        item, root = int(units[int(chance * len(units))]), int(self.roots[place])
        self.take(item, root)
        return Drawn(item, root, len(units))
