"""Refine: the default. P(c | x) from all coarse labels, times P(f | c, x) in closed form from the fine ones."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import load_file, save_file
from scipy.optimize import minimize
from torch import Tensor

from ramify.files import whole_file
from ramify.labels import RELEVANT, Labels
from ramify.learners.base import ROWS, Inputs, Learner, Logits, answered_items, fingerprint
from ramify.learners.coarse_stage import CoarseStage
from ramify.learners.factored import path_products
from ramify.learners.fine_stage import LEAST, FineStage
from ramify.metrics import precision_at_k
from ramify.nets import pick_device
from ramify.taxonomy import Index, Taxonomy


@dataclass(kw_only=True, eq=False, repr=False)
class Refine(Learner):
    """Two stages: nets for the coarse concepts, trained once; exact ridge regressions for the fine ones.

    It needs no validation data and no tuning, takes in an answer in milliseconds, and learns from any set of known
    entries (not only whole items), or from none. ``memory`` names a folder where trained coarse stages are kept and
    found again for the same data and seed. ``shrinkage`` shrinks each concept's own rate towards that of its siblings
    by so many pseudo-answers; by default the siblings' common rate is used alone, which measured as well or better.
    """

    name: ClassVar[str] = "refine"
    shrinkage: float | None = None
    memory: str | None = None
    verbose: bool = False
    _platt: tuple[float, float] | None = field(default=None, init=False)

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, labels: Labels) -> Self:  # noqa: N803
        """Train both stages."""
        features = self._start(X, labels)
        self.coarse_ = coarse_stage(self, features, labels)
        return self._fit_fine(features, labels)

    def partial_fit(self, X: Any, labels: Labels, *, items: ArrayLike | None = None) -> Self:  # noqa: N803
        """Keep the coarse stage and take in what is known now.

        ``items`` says whose labels changed: each then costs milliseconds. Without it the fine stage is fitted again.
        """
        if not hasattr(self, "coarse_"):
            return self.fit(X, labels)
        if items is None:
            return self._fit_fine(self._go_on(X, labels), labels)
        changed = np.atleast_1d(np.asarray(items, np.intp))
        features = self._go_on(X, labels, rows=changed)
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

    def _look_at(self, features: Any, items: Index) -> tuple[Any, Any]:
        """What the fine stage remembers of training items besides their states: phi, and out-of-fold P(c | x)."""
        x = self._scaled(features[items])
        # An item that came after the coarse stage was trained was seen by no net: any of them will do.
        folds = self.coarse_.folds[np.where(items < len(self.coarse_.folds), items, 0)]
        coarse = self.coarse_.out_of_fold(x, folds)
        return self.coarse_.features(x).cpu().numpy(), coarse.double().cpu().numpy()

    def _scaled(self, features: Any) -> Tensor:
        return torch.from_numpy(self.scaler_.transform(features)).to(pick_device(self.device))

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
        found = coarse.new_ones((len(coarse), len(taxonomy)))
        found[:, taxonomy.roots] = coarse
        found[:, self.fine_.concepts] = given.to(coarse).clamp(LEAST, 1.0)
        children, parents = self._one_is_relevant
        mine = found[:, children]
        # The product of all (1 - p) below each parent at once; log(0) is meant where a child is certain.
        none = mine.new_zeros((len(mine), len(taxonomy))).index_add_(1, parents, torch.log1p(-mine)).exp()
        found[:, children] = mine / (1 - none[:, parents])
        return found

    @cached_property
    def _one_is_relevant(self) -> tuple[Tensor, Tensor]:
        """The concepts one of which is relevant whenever their parent is, and these parents."""
        taxonomy = self.taxonomy_
        size = np.bincount(taxonomy.parents[taxonomy.parents >= 0], minlength=len(taxonomy))
        chosen = (taxonomy.parents >= 0) & (taxonomy.exhaustive & (size > 1))[taxonomy.parents]
        device = pick_device(self.device)
        return (
            torch.from_numpy(np.flatnonzero(chosen)).to(device),
            torch.from_numpy(taxonomy.parents[chosen].astype(np.int64)).to(device),
        )

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

    def beliefs(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every entry given all labels: the known ones as they are."""
        states = labels.states()
        return np.where(states >= 0, states, self.opinions(X, labels)).astype(np.float32)

    def opinions(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every fine entry given what is known of coarser concepts, whatever its own label says.

        Much better than ``predict_proba`` where coarse labels are known: what is an animal need not be found out.
        """
        self._check_fitted()
        features = self._go_on(X, labels)
        blocks = [np.empty((0, len(self.taxonomy_.leaves)), np.float32)]
        for first in range(0, len(labels), ROWS):
            items = np.arange(first, min(first + ROWS, len(labels)))
            found = self._given_parent(*self._both_stages(self._scaled(features[items]))).cpu()
            blocks.append(self._given_coarser(found, labels.states(items, self._coarser)).float().numpy())
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
        items = np.array(list(self.fine_.slot_of), np.intp)[slots]
        coarse = torch.from_numpy(self.fine_.coarse[slots])
        return items, self._scores(coarse, torch.from_numpy(self.fine_.leave_one_out(slots))).numpy()

    def _left_out(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        slots = self.fine_.complete()
        return self.fine_.states[slots][:, self.taxonomy_.leaves], self.leave_one_out()[1]

    def left_out_probabilities(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """States and calibrated probabilities of the completely known items, each by a model that did not see it."""
        states, scores = self._left_out()
        return states, self._calibrated(torch.from_numpy(scores)).sigmoid().numpy()

    def left_out_opinions(self) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """States and ``opinions`` of the completely known items, each by a model that did not see it."""
        slots = self.fine_.complete()
        states, coarse = self.fine_.states[slots], torch.from_numpy(self.fine_.coarse[slots])
        given = self._given_parent(coarse, torch.from_numpy(self.fine_.leave_one_out(slots)))
        return states[:, self.taxonomy_.leaves], self._given_coarser(given, states[:, self._coarser]).numpy()

    def estimate(self) -> dict[str, float]:
        """Precision@1, 3 and 5 by leave-one-out: no held-out data needed. Empty where no item is completely known."""
        states, scores = self._left_out()
        ks = [k for k in (1, 3, 5) if k <= states.shape[1]] if len(states) else []
        return {f"p@{k}": precision_at_k(states, scores, k) for k in ks}

    def variance(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The posterior variance of every fine concept given its parent; the prior's is 1 + lambda."""
        phi = self.coarse_.features(self._scaled(self._checked(X))).cpu().numpy()
        found = np.zeros((len(phi), len(self.taxonomy_)))
        found[:, self.fine_.concepts] = self.fine_.variances(phi)
        return found[:, self.taxonomy_.leaves]

    # -- saving --------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        n = len(self.fine_.slot_of)
        fine: dict[str, NDArray[Any]] = {
            "fine.items": np.array(list(self.fine_.slot_of), np.int64),
            "fine.features": self.fine_.features[:n],
            "fine.coarse": self.fine_.coarse[:n],
            "fine.states": self.fine_.states[:n],
        }
        return {**self.coarse_.arrays(), **fine}, {}

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self.coarse_ = CoarseStage.from_arrays(arrays, pick_device(self.device))
        self.fine_ = FineStage(self.taxonomy_, self.shrinkage)
        self.fine_.fit(*(arrays[f"fine.{name}"] for name in ("items", "features", "coarse", "states")))
        self._platt = None


def coarse_stage(learner: Any, features: Any, labels: Labels) -> CoarseStage:
    """The coarse stage for these data and this seed: from the learner's memory folder, or trained and kept there."""
    taxonomy: Taxonomy = labels.taxonomy
    device = pick_device(learner.device)
    seed = learner._draw_seed()
    inputs = Inputs(features, learner.scaler_, device)
    states = labels.states(concepts=taxonomy.roots)
    if learner.memory is None or learner.random_state is None:
        return CoarseStage.fitted(inputs, states, seed, verbose=learner.verbose)
    key = fingerprint(features, states, seed, str(features.dtype))
    path = Path(learner.memory, f"coarse-{key}.safetensors")
    if path.exists():
        return CoarseStage.from_arrays(load_file(path), device)
    stage = CoarseStage.fitted(inputs, states, seed, verbose=learner.verbose)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        save_file({name: np.ascontiguousarray(value) for name, value in stage.arrays().items()}, draft)
    return stage


def _platt(states: NDArray[np.int8], scores: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and intercept of a logistic map from scores to probabilities; with little data, close to no change."""
    if not states.size:
        return 1.0, 0.0
    clipped = np.clip(scores, 1e-6, 1 - 1e-6)
    z, y = np.log(clipped / (1 - clipped)).ravel(), (states == RELEVANT).ravel()

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        slope = np.exp(theta[0])
        logits = slope * z + theta[1]
        miss = 1 / (1 + np.exp(-logits)) - y
        value = np.logaddexp(0, logits).sum() - logits[y].sum() + 0.5 * theta @ theta
        return float(value), np.array([slope * miss @ z, miss.sum()]) + theta

    theta = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B").x
    return float(np.exp(theta[0])), float(theta[1])
