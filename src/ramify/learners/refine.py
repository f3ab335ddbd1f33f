"""Refine: the default. P(c | x) from all coarse labels, times P(f | c, x) in closed form from the fine ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ramify.data import Dataset, NameVectors
from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.learners.base import ROWS, RUN, Logits, at_once
from ramify.learners.cache import Cache, ToKeep
from ramify.learners.calibration import Calibration
from ramify.learners.coarse_learner import CoarseLearner
from ramify.learners.coarse_stage import CoarseStage, by_unseen
from ramify.learners.evidence import (
    FOR_DIRECTIONS,
    Evidence,
    Floats,
    Looks,
    doubles,
    leading,
    parents_relevant,
    spread,
)
from ramify.learners.fine_stage import FineStage, Solution
from ramify.learners.fine_stage import Looks as Remembered
from ramify.learners.forest import Forest, Given, dense
from ramify.learners.inner import with_inner
from ramify.learners.lessons import probable
from ramify.learners.names import Names
from ramify.learners.tree import path_products
from ramify.learners.warm import answered_items
from ramify.metrics import precision_at_k
from ramify.nets import pick_device
from ramify.noise import sample as draw
from ramify.taxonomy import Index

Stages: TypeAlias = tuple[Floats, Tensor, Tensor]
"""Features along some directions, P(c | x), and P(f | parent, x)."""

KEPT_DIRECTIONS = 128  # of the features, in a cache: opinions are then .012 off on the mean (docs/design.md)
FEWEST = 10  # completely known items from which precision is estimated: one or two would say 0 or 1
MOST_NEW = 1000  # items with new coarse labels that correct the coarse stage, until it is trained again
PRIOR_VARIANCE = 1.0  # of what is learned of a concept, in the regressions' own units


@dataclass(kw_only=True, eq=False, repr=False)
class Refine(CoarseLearner):
    """Two stages: nets for the coarse concepts, trained once; exact ridge regressions for the fine ones.

    It needs no validation data and no tuning, takes in an answer in milliseconds, and learns from any set of known
    entries (not only whole items), or from none.
    """

    name: ClassVar[str] = "refine"
    learns_at_once: ClassVar[bool] = True
    uses_names: ClassVar[bool] = True
    shrinkage: float | None = None
    """Shrinks each concept's own rate towards that of its siblings by so many pseudo-answers; by default the siblings'
    common rate is used alone, which measured as well or better."""
    use_names: bool = True
    """Whether names teach, where ``fit`` is given their vectors."""
    _calibrations: dict[bool, Calibration] = field(default_factory=dict, init=False)
    _ready: tuple[Solution, Tensor, Tensor] | None = field(default=None, init=False)

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        *,
        names: NameVectors | None = None,
        validation: Dataset | None = None,
        truth: Labels | None = None,
    ) -> Self:
        """Train both stages; neither needs a validation part. ``names`` teach before any answer does."""
        features = self._matched(X, labels)
        if names is not None:
            names.check(labels.taxonomy, features.shape[1])
        self._start(features, labels)
        self.coarse_ = self._train_coarse(features, labels)
        self.trained_ = np.packbits(labels.states(concepts=self.taxonomy_.roots) >= 0, axis=1)
        self.names_ = self._read_names(features, labels, names) if names is not None and self.use_names else None
        return self._fit_fine(features, labels)

    def fit_again(self, X: Any, labels: Labels) -> Self:  # noqa: N803
        """Fit anew, with everything but the labels as it was."""
        return self.fit(X, labels, names=None if self.names_ is None else self.names_.source)

    def partial_fit(self, X: Any, labels: Labels, *, items: ArrayLike | None = None) -> Self:  # noqa: N803
        """Keep the coarse stage and take in what is known now.

        ``items`` says whose labels changed: each then costs milliseconds. Without it the fine stage is fitted again.
        """
        if not hasattr(self, "coarse_"):
            return self.fit(X, labels)
        if items is None:
            return self._fit_fine(self._continued(X, labels), labels)
        changed = np.atleast_1d(np.asarray(items, np.intp))
        features = self._continued(X, labels, rows=changed)
        states = labels.states(changed, np.arange(len(self.taxonomy_)))
        self.fine_.update(changed, states, partial(self._look_at, features))
        self._calibrations = {}
        return self

    def _fit_fine(self, features: Any, labels: Labels) -> Self:
        items = np.union1d(answered_items(labels), self._newly_coarse(labels))
        self.fine_ = self._new_fine_stage()
        states = labels.states(items, np.arange(len(self.taxonomy_)))
        self.fine_.fit(items, self._look_at(features, items), states)
        self._calibrations = {}
        return self

    def _new_fine_stage(self) -> FineStage:
        trained = np.unpackbits(self.trained_, axis=1, count=len(self.taxonomy_.roots))
        return FineStage(self.taxonomy_, self.shrinkage, self.names_, trained.sum(axis=0, dtype=np.intp))

    def _newly_coarse(self, labels: Labels) -> Index:
        """Items of which more roots are known than the coarse stage was taught; some of them, where they are many.

        A regression over all items that were added would take memory by the square of their number; some correct the
        coarse stage well enough until it is trained again.
        """
        found = [np.empty(0, np.intp)]
        for first in range(0, len(labels), ROWS):
            items = np.arange(first, min(first + ROWS, len(labels)))
            known = labels.states(items, self.taxonomy_.roots) >= 0
            found.append(items[(known & ~self._trained(items)).any(axis=1)])
        new = np.concatenate(found)
        return new if len(new) <= MOST_NEW else new[np.linspace(0, len(new) - 1, MOST_NEW).astype(np.intp)]

    def _trained(self, items: Index) -> NDArray[np.bool_]:
        """The roots that the coarse stage was taught of some items: items x roots."""
        trained = np.zeros((len(items), len(self.taxonomy_.roots)), np.bool_)
        there = items < len(self.trained_)  # others came after it was trained
        trained[there] = np.unpackbits(self.trained_[items[there]], axis=1, count=trained.shape[1]).astype(np.bool_)
        return trained

    def _read_names(self, features: Any, labels: Labels, names: NameVectors) -> Names:
        def look(items: Index) -> tuple[Tensor, Tensor, Tensor]:
            x = self.inputs(features, items)
            states = labels.states(items, np.arange(len(self.taxonomy_)))
            there = probable(self.taxonomy_, states, doubles(self.coarse_.probabilities(x)))
            return self.scaler_.raw(x), self.coarse_.features(x, exact=False), torch.from_numpy(there).to(x)

        return Names.fitted(names, self.taxonomy_, look, len(labels))

    def learned_items(self) -> Index:
        """The items that the fine stage remembers."""
        return self.fine_.items

    def changed_items(self, labels: Labels, items: Index) -> Index:
        """Which of these and of the items it learned from are known differently now: comparing is quick."""
        learned = self.fine_.items
        same = (labels.states(learned, np.arange(len(self.taxonomy_))) == self.fine_.known_states).all(axis=1)
        return np.concatenate([learned[~same], np.setdiff1d(items, learned)])

    def _look_at(self, features: Any, items: Index) -> Remembered:
        """What the fine stage remembers of training items besides their states."""
        x = self.inputs(features, items)
        coarse = self.coarse_.out_of_fold(x, self.coarse_.folds_of(items))
        phi = doubles(self.coarse_.features(x))
        named = np.zeros((len(items), 0, len(self.taxonomy_)))
        if self.names_ is not None:
            named = self.names_.features(doubles(self._likeness(x.double())), phi)
        return Remembered(phi, doubles(coarse), named, self._trained(items))

    def _likeness(self, x: Tensor) -> Tensor:
        """How alike items are to the names of all concepts; of no width where the names do not say."""
        if self.names_ is None or not self.names_.source.shared:
            return x.new_zeros((len(x), 0))
        return self.names_.likeness(self.scaler_.raw(x))

    # -- predicting ----------------------------------------------------------------------------------------------------

    def _probabilities(self, x: Tensor) -> Tensor:
        return self._calibration(coarse_known=False)(self._forest.scores(*self._both_stages(x)))

    @property
    def _forest(self) -> Forest:
        return self.fine_.forest

    def _both_stages(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """P(c | x), and P(f | parent, x) of all learned concepts as the regressions have it."""
        coarse, z = self.coarse_.see(x)
        return coarse, self._given(x, z)(slice(None), slice(None))

    def _given(self, x: Tensor, z: Tensor) -> Given:
        """P(f | parent, x) of the learned concepts as the regressions have it, from what the coarse stage sees."""
        solution = self.fine_.solution
        if self._ready is None or self._ready[0] is not solution:  # many blocks are multiplied with the same
            weights, biases = (torch.from_numpy(part).to(x) for part in (solution.weights, solution.biases))
            self._ready = solution, self.coarse_.along(weights.T).T.contiguous(), biases
        return self._product(x, z, *self._ready[1:])

    def _product(self, x: Tensor, z: Tensor, along: Tensor, biases: Tensor) -> Given:
        coefficient = self.fine_.solution.likeness
        likeness = coefficient * self._likeness(x)[:, self.fine_.concepts] if coefficient else None

        def given(rows: Tensor | slice, places: Index | slice) -> Tensor:
            found = torch.addmm(biases[places], z[rows], along[places].T)
            return found if likeness is None else found + likeness[rows][:, places]

        return given

    def _calibration(self, *, coarse_known: bool) -> Calibration:
        """The map that makes probabilities of scores, learned from left-out ones.

        Opinions by all answers below relevant concepts, predictions by the items that are completely known.
        """
        if coarse_known not in self._calibrations:
            slots = np.arange(len(self.fine_.items)) if coarse_known else self.fine_.complete()
            states, scores = self._left_out(slots, coarse_known=coarse_known)
            parents = self.taxonomy_.parents[self.taxonomy_.leaves]
            fine = states[:, self.taxonomy_.leaves]
            below = (parents >= 0) & (states[:, parents] == RELEVANT) & (fine != UNKNOWN)
            told = below if coarse_known else np.ones_like(scores, np.bool_)
            self._calibrations[coarse_known] = Calibration(fine[told], scores[told])
        return self._calibrations[coarse_known]

    def differentiable(self) -> tuple[dict[str, Tensor], Logits]:
        """The regressions' weights, over features that stay as they are; logits of opinions."""
        parts = {"weights": self.fine_.weights, "biases": self.fine_.biases}
        parameters = {name: torch.from_numpy(part).to(pick_device(self.device)).float() for name, part in parts.items()}

        def logits(theta: dict[str, Tensor], x: Tensor, states: Tensor) -> Tensor:
            coarse, z = self.coarse_.see(x)
            along = self.coarse_.along(theta["weights"].to(x.dtype).T).T
            given = self._product(x, z, along, theta["biases"].to(x.dtype))
            opinions = self._opinions(coarse, given, states)
            return opinions[:, : len(self.taxonomy_.leaves)].logit(eps=1e-6)

        return parameters, logits

    def opinions(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every concept given all that is known of the item, fine ones first.

        Of a known concept, given what is known of those above it, whatever its own label says. Much better than
        ``predict_proba`` where coarse labels are known: what is an animal need not be found out.
        """
        self.check_fitted()
        features = self._continued(X, labels)
        everything = np.arange(len(self.taxonomy_))
        blocks = [np.empty((0, len(everything)), np.float32)]
        size = min(RUN, at_once(len(everything)))
        for first in range(0, len(labels), size):
            items = np.arange(first, min(first + size, len(labels)))
            x = self.inputs(features, items)
            coarse, z = self.coarse_.see(x)
            states = torch.from_numpy(labels.states(items, everything)).to(x.device)
            blocks.append(self._opinions(coarse, self._given(x, z), states).float().cpu().numpy())
        return np.concatenate(blocks)

    def _opinions(self, coarse: Tensor, given: Given, states: Tensor) -> Tensor:
        return self._forest.opinions(coarse, given, states, self._calibration(coarse_known=True))

    # -- estimates -----------------------------------------------------------------------------------------------------

    def leave_one_out(self) -> tuple[Index, NDArray[np.float64]]:
        """The completely known items and their scores, each by regressions and a net that did not see it.

        Items that a strategy chose are not a fair sample: an estimate from them is biased.
        """
        slots = self.fine_.complete()
        return self.fine_.items[slots], self._left_out(slots, coarse_known=False)[1]

    def _left_out(self, slots: Index, *, coarse_known: bool) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """All states and the fine scores of remembered items, each answer by a model that did not see it."""
        leaves, states = self.taxonomy_.leaves, self.fine_.known_states[slots]
        coarse, given = (torch.from_numpy(p) for p in (self.fine_.coarse[slots], self.fine_.leave_one_out(slots)))
        if not coarse_known:
            return states, doubles(self._forest.scores(coarse, given))
        above = torch.from_numpy(states.copy())
        above[:, leaves] = UNKNOWN
        return states, doubles(self._forest.opinions(coarse, dense(given), above)[:, leaves])

    def left_out(self, items: Index, states: NDArray[np.int8], *, coarse_known: bool) -> Floats:
        """What regressions and a net that did not see an item's own answers say of it, given some states."""
        slots, rows = np.unique([self.fine_.slot_of[item] for item in items.tolist()], return_inverse=True)
        slots = slots.astype(np.intp)
        coarse, given = (torch.from_numpy(p[rows]) for p in (self.fine_.coarse[slots], self.fine_.leave_one_out(slots)))
        if coarse_known:
            return doubles(self._opinions(coarse, dense(given), torch.from_numpy(states)))
        fine = self._calibration(coarse_known=False)(self._forest.scores(coarse, given))
        return with_inner(doubles(fine), self.taxonomy_)

    def estimate(self) -> dict[str, float]:
        """Precision@1, 3 and 5 by leave-one-out, without held-out data; empty where few items are completely known."""
        states, scores = self._left_out(self.fine_.complete(), coarse_known=False)
        states = states[:, self.taxonomy_.leaves]
        ks = [k for k in (1, 3, 5) if k <= states.shape[1]] if len(states) >= FEWEST else []
        estimate = {f"p@{k}": precision_at_k(states, scores, k) for k in ks}
        return {**estimate, "items": len(states)} if estimate else {}

    def variance(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The posterior variance of every fine concept given its parent; the prior's is 1.1 + lambda."""
        phi = self.coarse_.features(self.inputs(self._checked(X))).cpu().numpy()
        variances = np.zeros((len(phi), len(self.taxonomy_)))
        variances[:, self.fine_.concepts] = self.fine_.variances(phi)
        return variances[:, self.taxonomy_.leaves]

    # -- what it tells of items ----------------------------------------------------------------------------------------

    def evidence(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        sample: Index,
        directions: int,
        cache: Cache | None = None,
    ) -> Evidence:
        """Its own features, regressions and probabilities; from a cache as far as the kept directions tell."""
        stages = partial(self._kept_stages, cache) if cache is not None else self._stages_along(X, sample, directions)

        def look(items: Index) -> Looks:
            phi, coarse, given = stages(items)
            phi = phi[:, :directions]
            given_parent = self._forest.given_parent(coarse, given)
            joint = doubles(path_products(given_parent, self.taxonomy_))
            surprise = 4 * spread(doubles(given_parent))
            # Of a concept that is not learned from answers (an only child) more knowledge matters nowhere.
            parents = self.taxonomy_.parents
            learned = np.isin(np.arange(len(parents)), self.fine_.concepts)
            matters = np.where(learned, np.where(parents < 0, 1.0, joint[:, parents]) * surprise, 0)
            return Looks(phi, self.fine_.lam / (surprise * parents_relevant(labels, items, joint)), matters)

        return Evidence(look, PRIOR_VARIANCE)

    def _stages_along(self, X: Any, sample: Index, directions: int) -> Callable[[Index], Stages]:  # noqa: N803
        """How to compute the features along their leading directions, P(c | x), and P(f | parent, x)."""
        columns = self.coarse_.along(self._leading(X, sample, directions).float())

        def stages(items: Index) -> Stages:
            x = self.inputs(X, items)
            coarse, z = self.coarse_.see(x)
            return doubles(z @ columns.to(x)), coarse, self._given(x, z)(slice(None), slice(None))

        return stages

    def _leading(self, X: Any, sample: Index, directions: int) -> Tensor:  # noqa: N803
        parts = np.array_split(sample[:FOR_DIRECTIONS], 8)
        return leading(
            torch.cat([self.coarse_.features(self.inputs(X, part), exact=False) for part in parts]), directions
        )

    def to_cache(self, X: Any, labels: Labels) -> ToKeep:  # noqa: N803
        """Features along their leading directions, and P(c | x), also by the net that did not see the item."""
        columns = self._leading(X, np.sort(draw(0, X.shape[0], FOR_DIRECTIONS)), KEPT_DIRECTIONS)
        along = self.coarse_.along(columns)

        def rows(items: Index) -> dict[str, NDArray[Any]]:
            x = self.inputs(X, items)
            by_net, z = self.coarse_.see_apart(x)
            kept = {
                "phi": (z @ along.to(x)).cpu().numpy().astype(np.float16),
                "coarse": by_net.mean(0).cpu().numpy(),
                "unseen": by_unseen(by_net, self.coarse_.folds_of(items)).cpu().numpy(),
            }
            likeness = self._likeness(x)
            return {**kept, "likeness": likeness.cpu().numpy().astype(np.float16)} if likeness.shape[1] else kept

        return ToKeep({"directions": doubles(columns)}, rows)

    def _kept_stages(self, cache: Cache, items: Index) -> Stages:
        phi, solution = cache["phi"][items].astype(np.float64), self.fine_.solution
        along = [phi, cache["directions"].T, solution.weights.T]  # multiplied in the cheapest order
        given = np.linalg.multi_dot(along) + solution.biases
        if solution.likeness:
            given += solution.likeness * cache["likeness"][items][:, self.fine_.concepts]
        return phi, torch.from_numpy(cache["coarse"][items].astype(np.float64)), torch.from_numpy(given)

    def cached_opinions(self, cache: Cache, labels: Labels, items: Index) -> Floats:
        """``opinions`` with all that was learned since, from what is kept."""
        _, coarse, given = self._kept_stages(cache, items)
        states = torch.from_numpy(labels.states(items, np.arange(len(self.taxonomy_))))
        return doubles(self._opinions(coarse, dense(given), states))

    def unseen(self, cache: Cache, items: Index, states: NDArray[np.int8]) -> Floats | None:
        """What nets and regressions say of items whose own labels they did not see; of fine ones by leave-one-out."""
        if "unseen" not in cache:  # trained by an earlier version
            return None
        _, _, given = self._kept_stages(cache, items)
        coarse, slot_of = torch.from_numpy(cache["unseen"][items].astype(np.float64)), self.fine_.slot_of
        rows = np.array([row for row, item in enumerate(items.tolist()) if item in slot_of], np.intp)
        if len(rows):
            slots = np.array([slot_of[item] for item in items[rows].tolist()], np.intp)
            coarse[rows] = torch.from_numpy(self.fine_.coarse[slots])
            given[rows] = torch.from_numpy(self.fine_.leave_one_out(slots))
        return doubles(self._opinions(coarse, dense(given), torch.from_numpy(states)))

    def guesses(self, cache: Cache, items: Index) -> Floats:
        """P(concept | its parent, x) of all concepts, from what is kept."""
        _, coarse, given = self._kept_stages(cache, items)
        return doubles(self._forest.given_parent(coarse, given))

    # -- saving --------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        names = {} if self.names_ is None else self.names_.arrays()
        return {**self.coarse_.arrays(), **self.fine_.arrays(), **names, "trained": self.trained_}, {
            "taught": self.taught_
        }

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self.coarse_ = CoarseStage.from_arrays(arrays, pick_device(self.device))
        self.trained_, self.taught_ = arrays["trained"], rest["taught"]
        self.names_ = Names.from_arrays(arrays, self.taxonomy_)
        self.fine_ = self._new_fine_stage()
        self.fine_.fit_again(arrays)
        self._calibrations = {}
