"""The fine stage: a ridge regression for every concept given its parent, what they have in common, and their estimates.

A root's regression corrects the coarse stage: it learns y - P(c | x) from roots that became known since. As the coarse
stage was taught n states of that root, each of these counts 1 / n: few answers must not outvote many.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.learners.choice import Answers, Model, choose
from ramify.learners.factors import factors_of
from ramify.learners.forest import Forest
from ramify.learners.lessons import lessons
from ramify.learners.names import Names
from ramify.learners.ridge import Ridge, add, remove
from ramify.learners.rows import BIASES, LAMBDAS, Floats, with_room
from ramify.learners.warm import only_children
from ramify.taxonomy import Index, Taxonomy

FIRST_GROUPS = 5.0  # groups with one relevant child before any answer: one odd group must not speak for all
_LOCK = RLock()  # somebody may ask for the solution while another takes in an answer


class Looks(NamedTuple):
    """What is remembered of items besides their states."""

    features: Floats
    """phi."""
    coarse: Floats
    """P(c | x) of the roots, by a net that did not see the item."""
    named: Floats
    """What the names say of the items, z: items x features x concepts."""
    trained: NDArray[np.bool_]
    """The roots that the coarse stage was taught of: items x roots."""

    def some(self, rows: slice) -> "Looks":
        """Some rows of all."""
        return Looks(self.features[rows], self.coarse[rows], self.named[rows], self.trained[rows])

    def with_room(self, n: int) -> "Looks":
        """The same, with room for n rows."""
        features, coarse, named = (_with_room(part, n) for part in (self.features, self.coarse, self.named))
        return Looks(features, coarse, named, _with_room(self.trained, n))


@dataclass(frozen=True)
class Solution:
    """What all answers say: P(f | parent, x) = weights phi + biases + likeness a, for the learned concepts."""

    number: int
    """The place of lambda."""
    model: Model
    """Which features by names take part."""
    weights: Floats
    biases: Floats
    likeness: float
    """The coefficient of a, the same for all concepts."""
    beta: Floats
    """The coefficients of all features that take part."""

    @property
    def lam(self) -> float:
        """The lambda that was chosen."""
        return float(LAMBDAS[self.number])


class FineStage:
    """P(f | parent, x) for all concepts, learned from any set of known entries.

    It remembers of every answered item its features, the states of all concepts and the out-of-fold coarse
    probabilities, so that leave-one-out estimates need nothing else. Where children are exhaustive, an only child
    follows its parent and is not learned.

    The offset m of a concept is its own rate, shrunk towards its siblings' common one by ``shrinkage`` pseudo-answers;
    None takes the common rate alone. ``taught`` is how many states of each root the coarse stage was taught.
    """

    def __init__(
        self, taxonomy: Taxonomy, shrinkage: float | None, names: Names | None = None, taught: Index | None = None
    ) -> None:
        if shrinkage is not None and not shrinkage > 0:
            raise RamifyError(f"the shrinkage is a number of pseudo-answers above 0, or None, not {shrinkage}")
        self.taxonomy, self.shrinkage, self.names = taxonomy, shrinkage, names
        self.root_weights = 1 / np.maximum(np.zeros(len(taxonomy.roots)) if taught is None else taught, 1)
        follows = only_children(taxonomy)
        self.concepts = np.flatnonzero(~follows)
        self.parents = taxonomy.parents[self.concepts]
        self.forest = Forest(taxonomy, self.concepts)
        self.slot_of: dict[int, int] = {}
        self.ridges: list[Ridge] = []

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, items: Index, looks: Looks, states: NDArray[np.int8]) -> None:
        """Learn from the beginning: everything known of some items."""
        with _LOCK:
            self.slot_of = {item: slot for slot, item in enumerate(items.tolist())}
            self.looks, self.states = looks, states
            self.targets, self.lesson_weights = self._lessons(looks, states)
            self.ridges = []
            alike: dict[tuple[tuple[int, float], ...], Ridge] = {}
            for place, concept in enumerate(self.concepts):
                weights = self.lesson_weights[:, place]
                slots = np.flatnonzero(weights)
                key = tuple(zip(slots.tolist(), weights[slots].tolist(), strict=True))
                sibling = alike.get(key)
                rows = looks.features[slots]
                factors = factors_of(slots.tolist(), weights[slots], rows) if sibling is None else sibling.factors
                rights = np.concatenate([self.targets[None, slots, place], looks.named[slots, :, concept].T])
                alike[key] = Ridge(factors, rights, sibling)
                self.ridges.append(alike[key])
            self._along, self._along_number = np.zeros((0, 0, 0)), -1
            self._stale: set[int] = set()
            self._solution: Solution | None = None

    def update(self, items: Index, states: NDArray[np.int8], look: Callable[[Index], Looks]) -> None:
        """Take in what is now known of some items; equal to fitting everything again.

        ``look`` gives what is to be remembered of those that are new.
        """
        new = np.array([item for item in dict.fromkeys(items.tolist()) if item not in self.slot_of], np.intp)
        looked = look(new) if len(new) else None
        with _LOCK:
            if looked is not None:
                first, last = len(self.slot_of), len(self.slot_of) + len(new)
                self.slot_of.update(zip(new.tolist(), range(first, last), strict=True))
                self.looks = self.looks.with_room(last)
                self.states, self.targets, self.lesson_weights = (
                    _with_room(part, last) for part in (self.states, self.targets, self.lesson_weights)
                )
                self.states[first:last] = -1
                for part, rows in zip(self.looks, looked, strict=True):
                    part[first:last] = rows
            for item, row in zip(items.tolist(), states, strict=True):
                self._take_in(self.slot_of[item], row)
            self._solution = None

    def _lessons(self, looks: Looks, states: NDArray[np.int8]) -> tuple[Floats, Floats]:
        """What some items teach the learned concepts, y (the roots y - P(c | x)), and how much it counts."""
        guesses = None if self.names is None else self.names.guesses(looks.named)
        values, weights = lessons(self.taxonomy, states, looks.coarse, guesses)
        roots = self.taxonomy.roots
        weights[:, roots] *= self.root_weights * ~(looks.trained & (states[:, roots] >= 0))  # what the nets know
        targets = values.astype(np.float64)
        targets[:, roots] -= looks.coarse
        return targets[:, self.concepts], weights[:, self.concepts]

    def _take_in(self, slot: int, states: NDArray[np.int8]) -> None:
        """Let all regressions that an item matters to know of it."""
        self.states[slot] = states
        looks = self.looks.some(slice(slot, slot + 1))
        (targets,), (weights,) = self._lessons(looks, states[None])
        was, said = self.lesson_weights[slot].copy(), self.targets[slot].copy()
        self.lesson_weights[slot], self.targets[slot] = weights, targets
        same = was == weights
        for place in np.flatnonzero(same & (was > 0) & (said != targets)):
            self.ridges[place].revalue(slot, targets[place])
        gone = np.flatnonzero(~same & (was > 0))
        for place, fewer in zip(gone, remove([self.ridges[place] for place in gone], slot), strict=True):
            self.ridges[place] = fewer
        new = np.flatnonzero(~same & (weights > 0))
        if len(new):
            rights = np.concatenate([targets[None, new], looks.named[0][:, self.concepts[new]]]).T
            add([self.ridges[n] for n in new], slot, weights[new].tolist(), rights, looks.features[0])
        self._stale |= set(np.flatnonzero(~same | ((was > 0) & (said != targets))).tolist())

    # -- what follows --------------------------------------------------------------------------------------------------

    @property
    def solution(self) -> Solution:
        """What all answers say together; computed when it is first asked for after an answer."""
        with _LOCK:
            if self._solution is None:
                self._solution = self._solve()
            return self._solution

    @property
    def weights(self) -> Floats:
        """Of phi: learned concepts x features."""
        return self.solution.weights

    @property
    def biases(self) -> Floats:
        """Of the learned concepts."""
        return self.solution.biases

    @property
    def lam(self) -> float:
        """The lambda that was chosen."""
        return self.solution.lam

    def _solve(self) -> Solution:
        offsets, left_out = self._offsets()
        answers = self._answers(left_out)
        number, model = choose(answers)
        beta = answers.coefficients(model)[0][number]
        count = 0 if self.names is None else self.names.count
        coefficients = np.zeros(count)
        coefficients[list(model.features)] = beta
        along = self._solutions_along(number)
        combined = along[:, 0] - offsets[:, None] * along[:, -1]
        if count:
            combined -= np.einsum("f,cfd->cd", coefficients, along[:, 1:-1])
        weights, biases = np.ascontiguousarray(combined[:, :-1]), combined[:, -1] + offsets
        if self.names is None:
            return Solution(number, model, weights, biases, 0.0, beta)
        biases += coefficients[-1] * self.names.nearness[self.concepts]
        if self.names.student is not None:
            weights += coefficients[1] * self.names.student[:-1, self.concepts].T
            biases += coefficients[1] * self.names.student[-1, self.concepts]
        return Solution(number, model, weights, biases, float(coefficients[0]) if count == 3 else 0.0, beta)

    def _answers(self, left_out: Floats) -> Answers:
        """All answers, each with the offset that it sees when it is left out."""
        seen = [left_out[place, (ridge.values > 0.5).astype(int)] for place, ridge in enumerate(self.ridges)]
        return Answers.of(self.ridges, seen)

    def _solutions_along(self, number: int) -> Floats:
        """Every solution as weights of phi and a bias: concepts x (y, features by names, 1) x (phi, 1)."""
        if self._along_number != number:  # another lambda: all solutions are others
            shape = len(self.ridges), self._n_rights() + 1, self.looks.features.shape[1] + 1
            self._along, self._stale, self._along_number = np.zeros(shape), set(range(len(self.ridges))), number
        for place in self._stale:
            ridge = self.ridges[place]
            alphas = np.concatenate([ridge.solutions[number], ridge.of_ones[number][None]])
            self._along[place, :, :-1] = ridge.factors.along(len(ridge), alphas)
            self._along[place, :, -1] = BIASES[number] * alphas.sum(axis=1)
        self._stale = set()
        return self._along

    def _n_rights(self) -> int:
        return 1 if self.names is None else 1 + self.names.count

    def _offsets(self) -> tuple[Floats, Floats]:
        """The offset of each concept, and the one that a left-out answer (no, yes) sees: concepts x 2."""
        roots = self.parents < 0
        answers = np.array([ridge.weights.sum() for ridge in self.ridges])
        yes = np.array([ridge.weights @ ridge.values for ridge in self.ridges])
        parents, n = self.parents[~roots], len(self.taxonomy)
        size = np.bincount(parents, minlength=n)
        yes_of = np.bincount(parents, yes[~roots], minlength=n)
        answers_of = np.bincount(parents, answers[~roots], minlength=n) / np.maximum(size, 1)
        relevant_children = (yes_of.sum() + FIRST_GROUPS) / (answers_of.sum() + FIRST_GROUPS)
        common = (yes_of + relevant_children) / ((answers_of + 1) * np.maximum(size, 1))
        least = 1 / np.maximum(size, 1)
        # A single child that need not be relevant: neither its prior nor its least rate may be 1.
        single = size == 1
        common[single], least[single] = (yes_of[single] + 0.5) / (answers_of[single] + 1), 0.0
        pooled = np.where(roots, 0.0, np.clip(common, least, 1.0)[self.parents])
        if self.shrinkage is None:
            return pooled, np.stack([pooled, pooled], axis=1)
        prior = self.shrinkage * pooled
        left = np.maximum(answers - 1, 0) + self.shrinkage
        own = np.stack([yes + prior, yes - 1 + prior], 1) / left[:, None]
        return np.where(roots, 0.0, (yes + prior) / (answers + self.shrinkage)), np.where(roots[:, None], 0.0, own)

    # -- estimates -----------------------------------------------------------------------------------------------------

    @property
    def items(self) -> Index:
        """The items that were answered, by slot."""
        return np.array(list(self.slot_of), np.intp)

    @property
    def known_states(self) -> NDArray[np.int8]:
        """What was known of them: slots x concepts."""
        return self.states[: len(self.slot_of)]

    @property
    def coarse(self) -> Floats:
        """P(c | x) of them, by a net that did not see the item: slots x roots."""
        return self.looks.coarse[: len(self.slot_of)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that ``fit`` needs to learn the same again, by name."""
        n = len(self.slot_of)
        looks = {f"fine.{name}": part[:n] for name, part in self.looks._asdict().items()}
        return {"fine.items": self.items.astype(np.int64), "fine.states": self.known_states, **looks}

    def fit_again(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Learn from what ``arrays`` gave."""
        looks = Looks(**{name: arrays[f"fine.{name}"] for name in Looks._fields})
        self.fit(arrays["fine.items"], looks, arrays["fine.states"])

    def complete(self) -> Index:
        """The slots of the items whose fine entries are all known."""
        return np.flatnonzero((self.known_states[:, self.taxonomy.leaves] >= 0).all(axis=1))

    def predicted(self, slots: Index) -> Floats:
        """What is said of remembered items: slots x learned concepts, P(f | parent, x), of roots the correction."""
        solution, looks = self.solution, self.looks
        predicted = looks.features[slots] @ solution.weights.T + solution.biases
        if solution.likeness:
            predicted += solution.likeness * looks.named[slots, 0][:, self.concepts]
        return predicted

    def leave_one_out(self, slots: Index) -> Floats:
        """The same, each by the regression without its own answer."""
        predicted, solution = self.predicted(slots), self.solution
        place_of = {slot: place for place, slot in enumerate(slots.tolist())}
        residuals = self._answers(self._offsets()[1]).residuals(solution.model)[solution.number]
        first = 0
        for place, ridge in enumerate(self.ridges):
            left_out = ridge.values - residuals[first : first + len(ridge)]
            first += len(ridge)
            for slot, value in zip(ridge.slots, left_out, strict=True):
                if slot in place_of:
                    predicted[place_of[slot], place] = value
        return predicted

    def variances(self, features: Floats) -> Floats:
        """The posterior variance of P(f | parent, x), in units of the prior's, for every concept: items x concepts."""
        number = self.solution.number
        variances = np.empty((len(features), len(self.ridges)))
        for place, ridge in enumerate(self.ridges):
            variances[:, place] = ridge.variances(number, features)
        return variances


def _with_room(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array, with room for n rows."""
    return array if n <= len(array) else with_room(array, (n + n // 4 + 16,))
