"""Finding: the items that people look for, by what is known or believed of a concept, and by id or text."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import RELEVANT, STATES
from ramify.project.live.shapes import SORTS
from ramify.project.live.state import State
from ramify.taxonomy import Index

DISPUTED = "disputed"  # unknown because annotators disagree
DISAGREEMENT = "disagreement"  # the order by it
DOUBTED = "doubted"  # known, and a model that did not see it says the opposite; the most doubtful come first
ROWS = 2048  # items that are looked at together


class Finding:
    """Looks for items."""

    def __init__(self, state: State) -> None:
        self.state = state

    def find(
        self,
        *,
        concept: int | None = None,
        state: str | None = None,
        low: float = 0.0,
        high: float = 1.0,
        query: str = "",
        sort: str = "",
    ) -> tuple[Index, int | None]:
        """The items, in their order, and the number of the concept in the taxonomy."""
        store = self.state.store
        number = self.number(concept) if concept is not None else None
        fine = number is not None and number < len(store.taxonomy.leaves)
        if state not in (None, DISPUTED, DOUBTED, *STATES):
            raise RamifyError(f"a state is {', '.join(STATES)}, {DISPUTED} or {DOUBTED}, not {state!r}")
        if state in STATES and number is None:
            raise RamifyError("a state is that of one concept: choose one, or leave the state out")
        if not (0 <= low <= 1 and 0 <= high <= 1):
            raise RamifyError("probabilities go from 0 to 1")
        if low > high:
            raise RamifyError(
                f"nothing lies from {low:.0%} to {high:.0%}: the lower end must not be above the upper one"
            )
        if sort and sort not in SORTS:
            raise RamifyError(f"items are sorted by {', '.join(SORTS)}, not {sort!r}")
        by_probability = low > 0 or high < 1
        if (by_probability or sort not in ("", DISAGREEMENT)) and not fine:
            raise RamifyError("probabilities are those of a fine concept: choose one, or leave low, high and sort out")
        items = store.search(query) if query else np.arange(len(self.state.labels))
        if state == DISPUTED:
            torn = [item for item, about, _ in store.disagreements() if concept in (None, about)]
            items = np.intersect1d(items, np.array(torn, np.intp))
        if number is not None and state in STATES:
            items = items[self._states(items, number) == STATES[state]]
        if number is not None and by_probability:
            p = self._probabilities(items, number)
            items = items[(p >= low) & (p <= high)]
        if state == DOUBTED:
            from ramify.project.live.suspecting import suspects_of  # torch: the first question comes before it

            doubted = suspects_of(self.state, items, number)
            items = doubted.items[np.sort(np.unique(doubted.items, return_index=True)[1])]
        if sort == DISAGREEMENT:
            items = items[np.argsort(-self._apart(concept)[items], kind="stable")]
        elif number is not None and sort:
            items = items[np.argsort(self._worth(sort, items, number), kind="stable")]
        return items, number

    def number(self, concept: int) -> int:
        """The number of a concept, by its stable id."""
        if concept not in self.state.store.number_of:
            raise RamifyError(f"there is no concept {concept}: see the taxonomy for their ids")
        return self.state.store.number_of[concept]

    def _worth(self, sort: str, items: Index, number: int) -> NDArray[np.float64]:
        """What items are sorted by, the smallest first; those of which the model says nothing come last."""
        p = self._probabilities(items, number)
        worth = {"likely": -p, "unlikely": p, "unsure": np.abs(p - 0.5)}[sort]
        return np.where(np.isnan(worth), np.inf, worth)

    def _apart(self, concept: int | None) -> NDArray[np.float64]:
        """How far people are apart about each item: the share of those who say otherwise than most, over its entries.

        Of one concept or of all; what somebody settled counts as agreed.
        """
        apart = np.zeros(len(self.state.labels))
        for item, about, said in self.state.store.disagreements():
            if concept in (None, about) and item < len(apart):
                yes = sum(value == RELEVANT for value in said.values())
                apart[item] += min(yes, len(said) - yes) / len(said)
        return apart

    def _states(self, items: Index, number: int) -> NDArray[np.int8]:
        return np.concatenate([np.empty(0, np.int8), *self._blocks(items, self.state.labels.states, number)])

    @staticmethod
    def _blocks(items: Index, look: Callable[[Index, int], NDArray[np.int8]], number: int) -> list[NDArray[np.int8]]:
        return [look(items[n : n + ROWS], number)[:, 0] for n in range(0, len(items), ROWS)]

    def _probabilities(self, items: Index, number: int) -> NDArray[np.float64]:
        """The same that the page shows."""
        now = self.state.snapshot()
        blocks = [now.model.opinions(now.labels, items[n : n + ROWS])[:, number] for n in range(0, len(items), ROWS)]
        return np.round(np.concatenate([np.empty(0), *blocks]), 4)
