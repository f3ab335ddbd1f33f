"""Choosing by exact left-out error: lambda, which features by names to use, and where their coefficients begin.

With u the row of A^-1 Z of an answer and G = sum Z' A^-1 Z + (.03 / lambda) I over all concepts,

    beta = G^-1 (sum Z' A^-1 (y - m) + (.03 / lambda) beta0),   left-out residual = alpha / ((A^-1)_ii - u' G^-1 u),

alpha = A^-1 (y - m - Z beta): exact, with beta learned again without the answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.learners.ridge import Ridge
from ramify.learners.rows import LAMBDAS

Floats = NDArray[np.float64]

PRIOR = 0.03  # the precision of beta around beta0, in units of lambda
USUAL = 2  # the place of the lambda that a few answers mostly choose
AGAINST = 0.95  # names as they are believed at first are left only for a model with less than this part of their error
WORTH = 0.99  # one more feature must lower the left-out error to this part of it


class Model(NamedTuple):
    """Which features by names take part, and where their coefficients begin."""

    features: tuple[int, ...]
    """Their places."""
    start: tuple[float, ...]
    """beta0."""


NAMELESS = Model((), ())
ALIKE = (Model((0, 1), (0.0, 1.0)), Model((0, 1), (0.0, 0.0)))
ALSO_NEAR = {
    NAMELESS: Model((2,), (0.0,)),
    ALIKE[0]: Model((0, 1, 2), (0.0, 1.0, 0.0)),
    ALIKE[1]: Model((0, 1, 2), (0.0, 0.0, 0.0)),
}


class Answers(NamedTuple):
    """All answers to all concepts, side by side: what choosing needs of them."""

    solutions: Floats
    """A^-1 (y - m): lambdas x answers, m as a left-out answer sees it."""
    of_features: Floats
    """A^-1 Z: lambdas x features x answers."""
    diagonal: Floats
    """Of A^-1: lambdas x answers."""
    features: Floats
    """Z: features x answers."""
    weights: Floats
    """How much each answer counts."""

    @classmethod
    def of(cls, ridges: Sequence[Ridge], offsets: Sequence[Floats]) -> "Answers":
        """Of some regressions, with the offset that each answer sees when it is left out."""
        solutions = np.concatenate([ridge.solutions for ridge in ridges], axis=2)
        ones = np.concatenate([ridge.of_ones for ridge in ridges], axis=1)
        return cls(
            solutions[:, 0] - np.concatenate(offsets) * ones,
            solutions[:, 1:],
            np.concatenate([ridge.diagonal for ridge in ridges], axis=1),
            np.concatenate([ridge.rights[1:] for ridge in ridges], axis=1),
            np.concatenate([ridge.weights for ridge in ridges]),
        )

    def coefficients(self, model: Model) -> tuple[Floats, Floats]:
        """beta and G^-1 of a model, for every lambda."""
        used = list(model.features)
        features, prior = self.features[used], (PRIOR / LAMBDAS)[:, None]
        g = self.of_features[:, used] @ features.T + prior[..., None] * np.eye(len(used))
        inverse = np.asarray(np.linalg.inv(g), np.float64)
        right = self.solutions @ features.T + prior * np.array(model.start)
        return (inverse @ right[..., None])[..., 0], inverse

    def residuals(self, model: Model) -> Floats:
        """The exact left-out residual of every answer, for every lambda."""
        if not model.features:
            return self.solutions / self.diagonal
        beta, inverse = self.coefficients(model)
        u = self.of_features[:, list(model.features)]
        residuals: Floats = self.solutions - (beta[:, None] @ u)[:, 0]
        residuals /= self.diagonal - (u * (inverse @ u)).sum(axis=1)
        return residuals

    def errors(self, model: Model) -> Floats:
        """The sum of squared left-out residuals, for every lambda."""
        residuals = self.residuals(model)
        errors: Floats = np.square(residuals, out=residuals) @ self.weights
        return errors


def choose(answers: Answers) -> tuple[int, Model]:
    """The place of the best lambda, and the best model.

    Names are believed until answers speak clearly against them, and nearness only where it is worth it.
    """
    count = len(answers.features)
    plain = [NAMELESS] if count < 3 else [*ALIKE, NAMELESS]
    errors = {model: answers.errors(model) for model in plain}
    best = min(plain, key=lambda model: errors[model].min())
    if errors[best].min() > AGAINST * errors[plain[0]].min():  # a few answers make any model look right
        best = plain[0]
    if count:
        near = Model((0,), (0.0,)) if count == 1 else ALSO_NEAR[best]
        errors[near] = answers.errors(near)
        if errors[near].min() < WORTH * errors[best].min():
            best = near
    as_good = np.flatnonzero(errors[best] <= errors[best].min() * (1 + 1e-9) + 1e-12)
    # With no answer, or a first one, all are equal but for rounding, which must not choose.
    return int(as_good[np.argmin(np.abs(as_good - USUAL))]), best
