"""Coarse times prior: P(c | x), times how often each finer concept is relevant where its parent is."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ramify.data import Dataset, NameVectors
from ramify.labels import Labels
from ramify.learners.coarse_learner import CoarseLearner
from ramify.learners.coarse_stage import CoarseStage
from ramify.learners.tree import path_products
from ramify.learners.warm import sibling_rates
from ramify.nets import pick_device


@dataclass(kw_only=True, eq=False, repr=False)
class CoarsePrior(CoarseLearner):
    """No fine features at all: the floor that every learner must beat, and with ten warm items often the winner."""

    name: ClassVar[str] = "coarse-prior"

    def fit(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        *,
        names: NameVectors | None = None,
        validation: Dataset | None = None,
        truth: Labels | None = None,
    ) -> Self:
        """Train the coarse stage and count."""
        self.coarse_ = self.train_coarse(X, labels)
        self.rates_ = sibling_rates(labels)
        return self

    def partial_fit(self, X: Any, labels: Labels, *, items: ArrayLike | None = None) -> Self:  # noqa: N803
        """Count again; the coarse stage stays."""
        if not hasattr(self, "coarse_"):
            return self.fit(X, labels)
        self._continued(X, labels)
        self.rates_ = sibling_rates(labels)
        return self

    def _probabilities(self, x: Tensor) -> Tensor:
        given_parent = torch.from_numpy(self.rates_).to(x).repeat(len(x), 1)
        given_parent[:, self.taxonomy_.roots] = self.coarse_.probabilities(x)
        return path_products(given_parent, self.taxonomy_)[:, : len(self.taxonomy_.leaves)]

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return {**self.coarse_.arrays(), "rates": self.rates_}, {"taught": self.taught_}

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self.coarse_ = CoarseStage.from_arrays(arrays, pick_device(self.device))
        self.rates_, self.taught_ = np.asarray(arrays["rates"]), rest["taught"]
