"""Pace: how long people take for screens. A screen shows one item with some concepts, or one concept for some items.

    seconds = screen + item * items on it + concept * concepts on it

One item with many concepts is read once; a grid of one concept over many items asks for one look at each. The defaults
are a guess, not a measurement: 1.5 s to find one's place and go on, 2 s to read an item, half a second to decide on a
concept of an item that was read. So a single question takes 4 s, seven children of one item 7 s, a grid of twelve 26 s.
``Pace.fitted`` takes them from recorded times instead.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.errors import RamifyError

GRID = 12  # items on one screen of one concept
FEWEST = 10  # screens of which times are fitted

Counts = NDArray[np.intp]


class Screens(NamedTuple):
    """How many items and how many concepts each screen shows."""

    items: Counts
    concepts: Counts


@dataclass(frozen=True)
class Pace:
    """Seconds for a screen, for each item on it, and for each concept on it."""

    screen: float = 1.5
    item: float = 2.0
    concept: float = 0.5

    def __post_init__(self) -> None:
        for name in ("screen", "item", "concept"):
            if not 0 <= getattr(self, name) < np.inf:
                raise RamifyError(f"the seconds for each {name} are a number from 0 on, not {getattr(self, name)}")

    @classmethod
    def fitted(cls, items: ArrayLike, concepts: ArrayLike, seconds: ArrayLike) -> "Pace":
        """From recorded screens: how many items and concepts each showed, and the active seconds it took.

        Least squares without negative numbers: what a day takes is a sum of screens, so their mean counts, not a
        median. Where all screens are alike in a number, it cannot be told from the rest; then the time for a screen
        has it.

        >>> pace = Pace.fitted([1, 1, 12, 12] * 5, [3, 7, 1, 1] * 5, [5.0, 7.0, 26.0, 26.0] * 5)
        >>> [round(seconds, 3) for seconds in (pace.screen, pace.item, pace.concept)]
        [1.5, 2.0, 0.5]
        """
        shown = [np.asarray(part, np.float64) for part in (items, concepts, seconds)]
        if len({part.shape for part in shown}) > 1 or shown[0].ndim != 1:
            raise RamifyError("items, concepts and seconds of screens are three lists of one length")
        if len(shown[0]) < FEWEST:
            raise RamifyError(f"only {len(shown[0])} screens with times: a pace is fitted from {FEWEST} on")
        if not all(np.isfinite(part).all() and (part >= 0).all() for part in shown):
            raise RamifyError("items, concepts and seconds of screens are numbers from 0 on")
        varied = [part if np.ptp(part) else np.zeros_like(part) for part in shown[:2]]
        from scipy.optimize import nnls  # it takes a while to load, and most need only GRID

        found, _ = nnls(np.stack([np.ones_like(shown[0]), *varied], axis=1), shown[2])
        return cls(*map(float, found))

    @classmethod
    def of_answers(cls, keys: ArrayLike, items: ArrayLike, concepts: ArrayLike, seconds: ArrayLike) -> "Pace":
        """From answers as ``ramify export`` writes them: those of one key were given on one screen, in its seconds.

        Answers without seconds (NaN) were given elsewhere, and are left out.

        >>> keys, items = np.repeat(np.arange(10), 2), np.repeat(np.arange(10), 2)
        >>> pace = Pace.of_answers(keys, items, ["cat", "dog"] * 10, [4.0] * 20)
        >>> round(pace.screen, 6), pace.item, pace.concept
        (4.0, 0.0, 0.0)
        """
        times = np.asarray(seconds, np.float64)
        timed = ~np.isnan(times)
        names, first, screens = np.unique(np.asarray(keys)[timed], return_index=True, return_inverse=True)

        def shown(parts: ArrayLike) -> Counts:
            numbers = np.unique(np.asarray(parts)[timed], return_inverse=True)[1]
            pairs = np.unique(np.stack([screens, numbers], axis=1), axis=0)
            return np.bincount(pairs[:, 0], minlength=len(names))

        return cls.fitted(shown(items), shown(concepts), times[timed][first])

    def seconds(self, screens: Screens) -> NDArray[np.float64]:
        """What each screen takes.

        >>> Pace().seconds(Screens(np.array([1, 1, 12]), np.array([1, 7, 1]))).tolist()
        [4.0, 7.0, 26.0]
        """
        times: NDArray[np.float64] = self.screen + self.item * screens.items + self.concept * screens.concepts
        return times

    def arrange(self, items: Any, concepts: Any, parents: Any) -> Screens:
        """The screens on which questions are quickest answered: the children of each parent by item, or by concept.

        Whoever asks single entries at random is so given grids, and whoever asks groups is given whole items.
        ``parents`` are those of the taxonomy.

        >>> parents = np.array([2, 2, -1])
        >>> Pace().arrange([0, 0, 1, 1], [0, 1, 0, 1], parents)  # two concepts of two items: 2 * 4.5 s, not 2 * 6 s
        Screens(items=array([1, 1]), concepts=array([2, 2]))
        >>> Pace().arrange([0, 1, 2], [0, 0, 1], parents)
        Screens(items=array([2, 1]), concepts=array([1, 1]))
        """
        items, concepts = np.asarray(items, np.intp), np.asarray(concepts, np.intp)
        above = np.asarray(parents)[concepts]
        chosen = [Screens(np.empty(0, np.intp), np.empty(0, np.intp))]
        for parent in np.unique(above):
            own = above == parent
            ways = _by_item(items[own]), _by_concept(concepts[own])
            chosen.append(min(ways, key=lambda way: float(self.seconds(way).sum())))
        return Screens(*(np.concatenate(parts) for parts in zip(*chosen, strict=True)))


GUESSED = Pace()
"""The defaults."""


def _by_item(items: Counts) -> Screens:
    """One screen for each item, with all that is asked of it."""
    asked = np.unique(items, return_counts=True)[1]
    return Screens(np.ones_like(asked), asked)


def _by_concept(concepts: Counts) -> Screens:
    """Grids of each concept; the last one of each may not be full."""
    sizes = [
        min(GRID, asked - first)
        for asked in np.unique(concepts, return_counts=True)[1].tolist()
        for first in range(0, asked, GRID)
    ]
    return Screens(np.array(sizes, np.intp), np.ones(len(sizes), np.intp))
