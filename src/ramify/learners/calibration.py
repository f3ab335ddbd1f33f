"""Calibration: one logistic map from scores to probabilities, learned from left-out scores."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit
from torch import Tensor

Floats = NDArray[np.float64]

LEAST = 1e-6
PRIOR = 3.0  # how firmly the map is held to no change: few items make any map look right


class Calibration:
    """sigmoid(slope logit(score) + intercept), so that the ranking stays.

    Learned from left-out scores and what was true; with little data close to no change, with none there is no change.

    >>> learned = Calibration(np.array([1, 0, 0, 0] * 500), np.array([0.5] * 2000))
    >>> round(learned(torch.tensor([0.5])).item(), 2)
    0.25
    """

    def __init__(self, truth: NDArray[np.int8], scores: Floats) -> None:
        self.slope, self.intercept = 1.0, 0.0
        if not len(scores):
            return
        z, y = logit(np.clip(scores, LEAST, 1 - LEAST)), truth == 1

        def loss(theta: Floats) -> tuple[float, Floats]:
            slope = np.exp(theta[0])
            logits = slope * z + theta[1]
            miss = expit(logits) - y
            value = np.logaddexp(0, logits).sum() - logits[y].sum() + 0.5 * PRIOR * theta @ theta
            return float(value), np.array([slope * miss @ z, miss.sum()]) + PRIOR * theta

        from scipy.optimize import minimize  # it takes a while to load, and a model that only predicts needs none

        theta = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B").x
        self.slope, self.intercept = float(np.exp(theta[0])), float(theta[1])

    def logits(self, scores: Tensor) -> Tensor:
        """The calibrated probabilities' logits."""
        return self.slope * scores.clamp(LEAST, 1 - LEAST).logit() + self.intercept

    def __call__(self, scores: Tensor) -> Tensor:
        """Calibrated probabilities; what is certain stays so."""
        return torch.where((scores > 0) & (scores < 1), self.logits(scores).sigmoid(), scores)
