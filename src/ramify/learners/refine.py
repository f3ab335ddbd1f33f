"""Refine: the default. P(c | x) from all coarse labels, times P(f | c, x) in closed form from the fine ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from torch import Tensor

from ramify.data import Dataset, NameVectors
from ramify.labels import RELEVANT, Labels
from ramify.learners.base import ROWS, Logits
from ramify.learners.cache import Cache, ToKeep
from ramify.learners.coarse_learner import CoarseLearner
from ramify.learners.coarse_stage import CoarseStage
from ramify.learners.evidence import (
    FOR_DIRECTIONS,
    LEAST,
    Evidence,
    Floats,
    Looks,
    doubles,
    leading,
    parents_relevant,
    spread,
)
from ramify.learners.factored import path_products
from ramify.learners.fine_stage import FineStage
from ramify.learners.warm import answered_items
from ramify.metrics import precision_at_k
from ramify.nets import pick_device
from ramify.noise import sample as draw
from ramify.taxonomy import Index

Stages: TypeAlias = tuple[Floats, Tensor, Tensor]
"""Features along some directions, P(c | x), and P(f | parent, x)."""

KEPT_DIRECTIONS = 128  # of the features, in a cache: opinions are then .012 off on the mean (docs/design.md)
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
    _platt: tuple[float, float] | None = field(default=None, init=False)

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
        """Train both stages; neither needs a validation part."""
        features = self._start(X, labels)
        self.names_ = names
        self.coarse_ = self._train_coarse(features, labels)
        return self._fit_fine(features, labels)

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
        self._platt = None
        return self

    def _fit_fine(self, features: Any, labels: Labels) -> Self:
        items = answered_items(labels)
        self.fine_ = FineStage(self.taxonomy_, self.shrinkage)
        states = labels.states(items, np.arange(len(self.taxonomy_)))
        self.fine_.fit(items, *self._look_at(features, items), states)
        self._platt = None
        return self

    def learned_items(self) -> Index:
        """The items that the fine stage remembers."""
        return self.fine_.items

    def changed_items(self, labels: Labels, items: Index) -> Index:
        """Which of these and of the items it learned from are known differently now: comparing is quick."""
        learned = self.fine_.items
        same = (labels.states(learned, np.arange(len(self.taxonomy_))) == self.fine_.known_states).all(axis=1)
        return np.concatenate([learned[~same], np.setdiff1d(items, learned)])

    def _look_at(self, features: Any, items: Index) -> tuple[Any, Any]:
        """What the fine stage remembers of training items besides their states: phi, and out-of-fold P(c | x)."""
        x = self.inputs(features, items)
        # An item that came after the coarse stage was trained was seen by no net: any of them will do.
        folds = self.coarse_.folds[np.where(items < len(self.coarse_.folds), items, 0)]
        coarse = self.coarse_.out_of_fold(x, folds)
        return self.coarse_.features(x).cpu().numpy(), coarse.double().cpu().numpy()

    # -- predicting ----------------------------------------------------------------------------------------------------

    def _probabilities(self, x: Tensor) -> Tensor:
        coarse, given = self._both_stages(x)
        return self._calibrated(self._scores(coarse, given)).sigmoid()

    def _both_stages(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights = torch.from_numpy(self.fine_.weights.T).to(x)
        coarse, products = self.coarse_.apply(x, weights)
        return coarse, products + torch.from_numpy(self.fine_.biases).to(x)

    def _scores(self, coarse: Tensor, given: Tensor) -> Tensor:
        """The ranking score of every fine concept, from P(c | x) and the regressions' P(f | parent, x)."""
        joint = path_products(self._given_parent(coarse, given), self.taxonomy_)
        return joint[:, : len(self.taxonomy_.leaves)]

    def _given_parent(self, coarse: Tensor, given: Tensor) -> Tensor:
        """P(concept | its parent, x) of all concepts; where children are exhaustive, given that there is one."""
        taxonomy = self.taxonomy_
        given_parent = coarse.new_ones((len(coarse), len(taxonomy)))
        given_parent[:, taxonomy.roots] = coarse
        given_parent[:, self.fine_.concepts] = given.to(coarse).clamp(LEAST, 1.0)
        children, parents = (torch.from_numpy(part).to(given_parent.device) for part in self.fine_.one_is_relevant)
        p = given_parent[:, children]
        # The product of all (1 - p) below each parent at once; log(0) is meant where a child is certain.
        none = p.new_zeros((len(p), len(taxonomy))).index_add_(1, parents, torch.log1p(-p)).exp()
        given_parent[:, children] = p / (1 - none[:, parents])
        return given_parent

    def _calibrated(self, scores: Tensor) -> Tensor:
        """Logits that may be thresholded: one monotone map for all entries, learned from left-out scores."""
        if self._platt is None:
            self._platt = _platt(*self._left_out())
        slope, intercept = self._platt
        return slope * scores.clamp(1e-6, 1 - 1e-6).logit() + intercept

    def differentiable(self) -> tuple[dict[str, Tensor], Logits]:
        """The regressions' weights, over features that stay as they are."""
        parts = {"weights": self.fine_.weights, "biases": self.fine_.biases}
        parameters = {name: torch.from_numpy(part).to(pick_device(self.device)).float() for name, part in parts.items()}

        def logits(theta: dict[str, Tensor], x: Tensor) -> Tensor:
            phi = self.coarse_.features(x, exact=False)
            given = phi @ theta["weights"].to(x.dtype).T + theta["biases"].to(x.dtype)
            return self._calibrated(self._scores(self.coarse_.probabilities(x), given))

        return parameters, logits

    def opinions(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every fine entry given what is known of coarser concepts, whatever its own label says.

        Much better than ``predict_proba`` where coarse labels are known: what is an animal need not be found out.
        """
        self.check_fitted()
        features = self._continued(X, labels)
        blocks = [np.empty((0, len(self.taxonomy_.leaves)), np.float32)]
        for first in range(0, len(labels), ROWS):
            items = np.arange(first, min(first + ROWS, len(labels)))
            given_parent = self._given_parent(*self._both_stages(self.inputs(features, items))).cpu()
            blocks.append(self._given_coarser(given_parent, labels.states(items, self._coarser)).float().numpy())
        return np.concatenate(blocks)

    @property
    def _coarser(self) -> Index:
        return np.arange(len(self.taxonomy_.leaves), len(self.taxonomy_))

    def _given_coarser(self, given_parent: Tensor, states: NDArray[np.int8]) -> Tensor:
        """The product along each path, with what is known of concepts above the leaves put in."""
        known = torch.from_numpy(states)
        above = torch.where(known >= 0, known.to(given_parent), given_parent[:, self._coarser])
        leaves = len(self.taxonomy_.leaves)
        return path_products(torch.cat([given_parent[:, :leaves], above], dim=1), self.taxonomy_)[:, :leaves]

    # -- estimates -----------------------------------------------------------------------------------------------------

    def leave_one_out(self) -> tuple[Index, NDArray[np.float64]]:
        """The completely known items and their scores, each by regressions and a net that did not see it.

        Items that a strategy chose are not a fair sample: an estimate from them is biased.
        """
        slots = self.fine_.complete()
        items = self.fine_.items[slots]
        coarse = torch.from_numpy(self.fine_.coarse[slots])
        return items, self._scores(coarse, torch.from_numpy(self.fine_.leave_one_out(slots))).numpy()

    def _left_out(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        slots = self.fine_.complete()
        return self.fine_.states[slots][:, self.taxonomy_.leaves], self.leave_one_out()[1]

    def left_out(self, *, coarse_known: bool) -> tuple[NDArray[np.int8], Floats]:
        """States and probabilities of the completely known items, each by a model that did not see it."""
        if not coarse_known:
            states, scores = self._left_out()
            return states, doubles(self._calibrated(torch.from_numpy(scores)).sigmoid())
        slots = self.fine_.complete()
        states, coarse = self.fine_.states[slots], torch.from_numpy(self.fine_.coarse[slots])
        given = self._given_parent(coarse, torch.from_numpy(self.fine_.leave_one_out(slots)))
        return states[:, self.taxonomy_.leaves], doubles(self._given_coarser(given, states[:, self._coarser]))

    def estimate(self) -> dict[str, float]:
        """Precision@1, 3 and 5 by leave-one-out: no held-out data needed. Empty where no item is completely known."""
        states, scores = self._left_out()
        ks = [k for k in (1, 3, 5) if k <= states.shape[1]] if len(states) else []
        return {f"p@{k}": precision_at_k(states, scores, k) for k in ks}

    def variance(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The posterior variance of every fine concept given its parent; the prior's is 1 + lambda."""
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
            leaves = self.taxonomy_.leaves
            given_parent = self._given_parent(coarse, given)
            joint = doubles(path_products(given_parent, self.taxonomy_))[:, self.taxonomy_.parents[leaves]]
            surprise = 4 * spread(doubles(given_parent[:, leaves]))
            # Of a concept that is not learned from answers (a root, an only child) more knowledge matters nowhere.
            matters = np.where(np.isin(leaves, self.fine_.concepts), joint * surprise, 0)
            return Looks(phi, self.fine_.lam / (surprise * parents_relevant(labels, items, joint)), matters)

        return Evidence(look, PRIOR_VARIANCE)

    def _stages_along(self, X: Any, sample: Index, directions: int) -> Callable[[Index], Stages]:  # noqa: N803
        """How to compute the features along their leading directions, P(c | x), and P(f | parent, x)."""
        columns = self._leading(X, sample, directions).float()
        weights = torch.cat([torch.from_numpy(self.fine_.weights.T).to(columns), columns], dim=1)
        learned = len(self.fine_.concepts)

        def stages(items: Index) -> Stages:
            x = self.inputs(X, items)
            coarse, products = self.coarse_.apply(x, weights.to(x))
            given = products[:, :learned] + torch.from_numpy(self.fine_.biases).to(x)
            return doubles(products[:, learned:]), coarse, given

        return stages

    def _leading(self, X: Any, sample: Index, directions: int) -> Tensor:  # noqa: N803
        parts = np.array_split(sample[:FOR_DIRECTIONS], 8)
        return leading(torch.cat([self.coarse_.features(self.inputs(X, part)).float() for part in parts]), directions)

    def to_cache(self, X: Any, labels: Labels) -> ToKeep:  # noqa: N803
        """Features along their leading directions, P(c | x), and opinions."""
        columns = self._leading(X, np.sort(draw(0, X.shape[0], FOR_DIRECTIONS)), KEPT_DIRECTIONS)

        def rows(items: Index) -> dict[str, NDArray[Any]]:
            x = self.inputs(X, items)
            coarse, phi = (part.cpu().numpy() for part in self.coarse_.apply(x, columns.to(x)))
            opinions = self._kept_opinions(X, labels, items)
            return {"phi": phi.astype(np.float16), "coarse": coarse, "predictions": opinions}

        return ToKeep({"directions": doubles(columns)}, rows)

    def _kept_stages(self, cache: Cache, items: Index) -> Stages:
        phi = cache["phi"][items].astype(np.float64)
        along = [phi, cache["directions"].T, self.fine_.weights.T]  # multiplied in the cheapest order
        given = torch.from_numpy(np.linalg.multi_dot(along) + self.fine_.biases)
        return phi, torch.from_numpy(cache["coarse"][items].astype(np.float64)), given

    def cached_opinions(self, cache: Cache, labels: Labels, items: Index) -> Floats:
        """``opinions`` with all that was learned since, from what is kept."""
        _, coarse, given = self._kept_stages(cache, items)
        states = labels.states(items, self._coarser)
        return doubles(self._given_coarser(self._given_parent(coarse, given), states))

    def guesses(self, cache: Cache, items: Index) -> Floats:
        """P(concept | its parent, x) of all concepts, from what is kept."""
        _, coarse, given = self._kept_stages(cache, items)
        return doubles(self._given_parent(coarse, given))

    # -- saving --------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return {**self.coarse_.arrays(), **self.fine_.arrays()}, {}

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self.coarse_ = CoarseStage.from_arrays(arrays, pick_device(self.device))
        self.fine_ = FineStage(self.taxonomy_, self.shrinkage)
        self.fine_.fit(*(arrays[f"fine.{name}"] for name in ("items", "features", "coarse", "states")))
        self._platt = None


def _platt(states: NDArray[np.int8], scores: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and intercept of a logistic map from scores to probabilities; with little data, close to no change."""
    if not states.size:
        return 1.0, 0.0
    clipped = np.clip(scores, 1e-6, 1 - 1e-6)
    z, y = np.log(clipped / (1 - clipped)).ravel(), (states == RELEVANT).ravel()

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        slope = np.exp(theta[0])
        logits = slope * z + theta[1]
        miss = expit(logits) - y
        value = np.logaddexp(0, logits).sum() - logits[y].sum() + 0.5 * theta @ theta
        return float(value), np.array([slope * miss @ z, miss.sum()]) + theta

    theta = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B").x
    return float(np.exp(theta[0])), float(theta[1])
