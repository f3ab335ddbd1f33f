"""The fine stage: a ridge regression for every concept below another, what they have in common, and their estimates."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import RELEVANT
from ramify.learners.ridge import LAMBDAS, Factors, Floats, Ridge, add
from ramify.learners.warm import only_children
from ramify.taxonomy import Index, Taxonomy


class FineStage:
    """P(f | parent, x) for all non-root concepts, learned from any set of known entries.

    It remembers of every answered item its features, the states of all concepts and the out-of-fold coarse
    probabilities, so that leave-one-out estimates need nothing else. Where children are exhaustive, an only child
    follows its parent and is not learned.

    The offset m of a concept is its own rate, shrunk towards its siblings' common one by ``shrinkage`` pseudo-answers;
    None takes the common rate alone.
    """

    def __init__(self, taxonomy: Taxonomy, shrinkage: float | None) -> None:
        if shrinkage is not None and not shrinkage > 0:
            raise RamifyError(f"the shrinkage is a number of pseudo-answers above 0, or None, not {shrinkage}")
        self.taxonomy, self.shrinkage = taxonomy, shrinkage
        follows = only_children(taxonomy)
        self.concepts = np.flatnonzero((taxonomy.parents >= 0) & ~follows)
        self.parents = taxonomy.parents[self.concepts]
        shared = np.flatnonzero((taxonomy.parents >= 0) & taxonomy.exhaustive[taxonomy.parents] & ~follows)
        self.one_is_relevant = shared, taxonomy.parents[shared].astype(np.int64)
        """The concepts one of which is relevant whenever their parent is, and these parents."""
        self.slot_of: dict[int, int] = {}
        self.ridges: list[Ridge] = []

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, items: Index, features: Floats, coarse: Floats, states: NDArray[np.int8]) -> None:
        """Learn from the beginning: everything known of some items."""
        self.slot_of = {item: slot for slot, item in enumerate(items.tolist())}
        self.features, self.coarse, self.states = features, coarse, states
        self.ridges = []
        shared: dict[tuple[int, ...], Ridge] = {}
        known = (states[:, self.parents] == RELEVANT) & (states[:, self.concepts] >= 0)
        for place, concept in enumerate(self.concepts):
            slots = np.flatnonzero(known[:, place])
            key = tuple(slots.tolist())
            sibling = shared.get(key)
            rows = features[slots]
            factors = sibling.factors if sibling else Factors(list(key), rows)
            shared[key] = Ridge(factors, states[slots, concept].astype(float).tolist(), sibling)
            self.ridges.append(shared[key])
        self._weights_of = -1
        self._choose(range(len(self.ridges)))

    def update(self, items: Index, states: NDArray[np.int8], look: Callable[[Index], tuple[Floats, Floats]]) -> None:
        """Take in what is now known of some items; equal to fitting everything again.

        ``look`` gives the features and out-of-fold coarse probabilities of those that are new.
        """
        new = np.array([item for item in dict.fromkeys(items.tolist()) if item not in self.slot_of], np.intp)
        if len(new):
            first, last = len(self.slot_of), len(self.slot_of) + len(new)
            self.slot_of.update(zip(new.tolist(), range(first, last), strict=True))
            self.features, self.coarse, self.states = (
                _with_room(array, last) for array in (self.features, self.coarse, self.states)
            )
            self.states[first:last] = -1
            self.features[first:last], self.coarse[first:last] = look(new)
        changed = [self._take_in(self.slot_of[item], row) for item, row in zip(items.tolist(), states, strict=True)]
        self._choose(np.flatnonzero(np.any(changed, axis=0)).tolist())

    def _take_in(self, slot: int, states: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Let all regressions that an item matters to know of it; says which."""
        was = (self.states[slot, self.parents] == RELEVANT) & (self.states[slot, self.concepts] >= 0)
        now = (states[self.parents] == RELEVANT) & (states[self.concepts] >= 0)
        changed = was != now
        changed |= was & now & (self.states[slot, self.concepts] != states[self.concepts])
        self.states[slot] = states
        for place in np.flatnonzero(changed & was):
            ridge, value = self.ridges[place], float(states[self.concepts[place]])
            if not now[place]:
                self.ridges[place] = ridge.without(slot)
            else:
                where = ridge.slots.index(slot)
                ridge.revalue([*ridge.values[:where], value, *ridge.values[where + 1 :]])
        new = np.flatnonzero(now & ~was)
        add([self.ridges[place] for place in new], slot, states[self.concepts[new]].tolist(), self.features[slot])
        return np.asarray(changed)

    def _choose(self, changed: Sequence[int]) -> None:
        """Offsets, the best lambda, and the weights of all concepts."""
        self.offsets, left_out = self._offsets()
        sums = np.stack([ridge.sums for ridge in self.ridges]) if self.ridges else np.zeros((0, len(LAMBDAS), 2, 3))
        m = left_out[:, None]
        errors = (sums[..., 0] - 2 * m * sums[..., 1] + m**2 * sums[..., 2]).sum(axis=(0, 2))
        # The largest of the best: with a first answer all are equal but for rounding, which must not choose.
        self.best = int(np.flatnonzero(errors <= errors.min() * (1 + 1e-9) + 1e-12)[-1])
        self.lam = float(LAMBDAS[self.best])
        if self._weights_of != self.best:  # another lambda: all solutions are others
            shape = (len(self.ridges), self.features.shape[1] + 1)
            self._of_values, self._of_ones = np.zeros(shape), np.zeros(shape)
            changed, self._weights_of = range(len(self.ridges)), self.best
        for place in changed:
            ridge = self.ridges[place]
            alphas = np.stack([ridge.of_values[self.best], ridge.of_ones[self.best]])
            rows = ridge.factors.rows[: len(ridge)]
            solved = np.concatenate([alphas @ rows, self.lam * alphas.sum(axis=1, keepdims=True)], axis=1)
            self._of_values[place], self._of_ones[place] = solved
        solution = self._of_values - self.offsets[:, None] * self._of_ones
        self.weights, self.biases = np.ascontiguousarray(solution[:, :-1]), solution[:, -1] + self.offsets

    def _offsets(self) -> tuple[Floats, Floats]:
        """The offset of each concept, and the one that a left-out answer (no, yes) sees: concepts x 2."""
        answers = np.array([len(ridge) for ridge in self.ridges], float)
        yes = np.array([sum(ridge.values) for ridge in self.ridges])
        size = np.bincount(self.parents, minlength=len(self.taxonomy))
        yes_of = np.bincount(self.parents, yes, minlength=len(self.taxonomy))
        answers_of = np.bincount(self.parents, answers, minlength=len(self.taxonomy)) / np.maximum(size, 1)
        relevant_children = yes_of.sum() / answers_of.sum() if answers_of.sum() else 1.0
        common = (yes_of + relevant_children) / ((answers_of + 1) * np.maximum(size, 1))
        least = 1 / np.maximum(size, 1)
        # A single child that need not be relevant: neither its prior nor its least rate may be 1.
        single = size == 1
        common[single], least[single] = (yes_of[single] + 0.5) / (answers_of[single] + 1), 0.0
        pooled = np.clip(common, least, 1.0)[self.parents]
        if self.shrinkage is None:
            return pooled, np.stack([pooled, pooled], axis=1)
        prior = self.shrinkage * pooled
        left = np.maximum(answers - 1, 0) + self.shrinkage
        return (yes + prior) / (answers + self.shrinkage), np.stack([yes + prior, yes - 1 + prior], 1) / left[:, None]

    # -- estimates -----------------------------------------------------------------------------------------------------

    @property
    def items(self) -> Index:
        """The items that were answered, by slot."""
        return np.array(list(self.slot_of), np.intp)

    @property
    def known_states(self) -> NDArray[np.int8]:
        """What was known of them: slots x concepts."""
        return self.states[: len(self.slot_of)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that ``fit`` needs to learn the same again, by name."""
        n = len(self.slot_of)
        return {
            "fine.items": self.items.astype(np.int64),
            "fine.features": self.features[:n],
            "fine.coarse": self.coarse[:n],
            "fine.states": self.known_states,
        }

    def complete(self) -> Index:
        """The slots of the items whose fine entries are all known."""
        return np.flatnonzero((self.states[: len(self.slot_of), self.taxonomy.leaves] >= 0).all(axis=1))

    def leave_one_out(self, slots: Index) -> Floats:
        """P(f | parent, x) of remembered items, each by the regression without its own answer: slots x concepts."""
        probabilities = self.features[slots] @ self.weights.T + self.biases
        place_of = {slot: place for place, slot in enumerate(slots.tolist())}
        _, left_out = self._offsets()
        for place, ridge in enumerate(self.ridges):
            values = np.array(ridge.values)
            residuals = ridge.residuals(self.best, left_out[place, (values > 0.5).astype(int)])
            for slot, predicted in zip(ridge.slots, values - residuals, strict=True):
                if slot in place_of:
                    probabilities[place_of[slot], place] = predicted
        return probabilities

    def variances(self, features: Floats) -> Floats:
        """The posterior variance of P(f | parent, x), in units of the prior's, for every concept: items x concepts."""
        variances = np.empty((len(features), len(self.ridges)))
        for place, ridge in enumerate(self.ridges):
            variances[:, place] = ridge.variances(self.best, ridge.factors.rows[: len(ridge)] @ features.T)
        return variances


def _with_room(array: NDArray, n: int) -> NDArray:  # type: ignore[type-arg]
    """The array, with room for n rows."""
    if n <= len(array):
        return array
    return np.concatenate([array, np.zeros((n + n // 4 + 16 - len(array), *array.shape[1:]), array.dtype)])
