"""Labels of a few items among many, for workers: they are sent what they look at, not everything."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ramify.labels.labels import Labels
from ramify.labels.store import Store
from ramify.labels.words import UNKNOWN
from ramify.taxonomy import Index, Taxonomy


class PartLabels(Labels):
    """The labels of some items, under the numbers that these have among all.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> everything = Labels(taxonomy, [[0], [1], [-1]])
    >>> part = PartLabels(taxonomy).show(np.array([1, 2]), everything.take([1, 2]).cells)
    >>> part.questions(np.array([2])), part.states(np.array([1, 2]), "animal").tolist()
    ((array([2]), array([2])), [[1], [-1]])
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy

    def show(self, numbers: Index, cells: Store) -> Self:
        """Be the labels of these items, in ascending order, from now on."""
        self._take_over(self.taxonomy, cells)
        self._numbers = numbers
        return self

    def states(self, items: Any = None, concepts: Any = None) -> NDArray[np.int8]:
        """As for all labels."""
        return super().states(self._places(items), concepts)

    def sources(self, items: Any = None, concepts: Any = None) -> NDArray[np.int8]:
        """As for all labels."""
        return super().sources(self._places(items), concepts)

    def unknown(self, items: Any = None) -> tuple[Index, Index]:
        """As for all labels."""
        rows, concepts = np.nonzero(self.states(items) == UNKNOWN)
        return self._numbers[self._places(items)[rows]], concepts

    def questions(self, items: Any = None) -> tuple[Index, Index]:
        """As for all labels."""
        places, concepts = super().questions(self._places(items))
        return self._numbers[places], concepts

    def take(self, items: Any) -> Labels:
        """As for all labels."""
        return super().take(self._places(items))

    def _places(self, items: Any) -> Index:
        if items is None:
            return np.arange(len(self._numbers))
        wanted = np.atleast_1d(np.asarray(items, np.intp))
        places: Index = np.searchsorted(self._numbers, wanted)
        if not np.array_equal(np.append(self._numbers, -1)[places], wanted):
            raise IndexError(f"of {len(self._numbers)} items only is anything known here, not of all that is asked for")
        return places
