"""Ridge regression for one concept f of c, P(f | c, x), in closed form and answer by answer.

Over the answers of f, each with a weight o (1 where it is known that c is relevant), minimise

    sum o (y - m - z.beta - b - w.phi)^2 + lambda |w|^2 + lambda b^2 / s,    A = Phi Phi' + s 1 1' + lambda diag(1 / o),

s = lambda + .1, in the dual: alpha = A^-1 (y - m 1 - Z beta), w = Phi' alpha, b = s sum alpha. (With s = lambda alone b
would hardly move where lambda is small: features that say nothing would cost a concept its own rate.) The offset m and
the coefficients beta only combine solutions: A^-1 y, A^-1 1 and A^-1 Z are kept, for every lambda of a grid. The exact
leave-one-out residual for given m and beta is alpha_i / (A^-1)_ii. One more answer changes what is kept of A
(``factors``) and all solutions a little, and is equal to starting again.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from ramify.learners.factors import Factors
from ramify.learners.rows import BIASES, LAMBDAS, Floats


class Ridge:
    """What was answered of one concept, and its solutions for every lambda.

    The right-hand sides are the answers y and the features z whose coefficients all concepts share: 1 + features x
    answers. ``solutions`` are A^-1 of them, lambdas x (1 + features) x answers.
    """

    def __init__(self, factors: Factors, rights: Floats, sibling: "Ridge | None" = None) -> None:
        self.factors, self.rights = factors, rights
        self.of_ones: Floats  # A^-1 1, lambdas x answers
        self.diagonal: Floats  # of A^-1
        self.begin(sibling)

    def begin(self, sibling: "Ridge | None" = None) -> None:
        """Compute all solutions; what a sibling has found, if it was answered for the same items, is taken from it."""
        if sibling is None:
            self.of_ones, self.diagonal = self._without_values(len(self))
        else:
            self.of_ones, self.diagonal = sibling.of_ones, sibling.diagonal
        self.solutions = np.zeros((len(LAMBDAS), *self.rights.shape))
        self._solve(slice(None))

    def __len__(self) -> int:
        return int(self.rights.shape[1])

    @property
    def slots(self) -> list[int]:
        """The slots of the items that were answered."""
        slots: list[int] = self.factors.slots(len(self)).tolist()
        return slots

    def place(self, slot: int) -> int:
        """Where the answer about an item stands."""
        return int(np.flatnonzero(self.factors.slots(len(self)) == slot)[0])

    @property
    def weights(self) -> Floats:
        """The weights of the answers."""
        return self.factors.weights(len(self))

    @property
    def values(self) -> Floats:
        """The answers."""
        values: Floats = self.rights[0]
        return values

    def revalue(self, slot: int, value: float) -> None:
        """Take another answer for the same item."""
        self.rights = self.rights.copy()
        self.rights[0, self.place(slot)] = value
        self._solve(slice(1))

    def _solve(self, which: slice) -> None:
        for number in range(len(LAMBDAS)):
            self.solutions[number, which] = self.factors.solve(number, len(self), self.rights[which])

    def without(self, gone: int, factors: Factors, columns: Floats, sibling: "Ridge | None" = None) -> "Ridge":
        """The same without the answer at a place; ``columns`` are those of A^-1 there, for every lambda.

        ``factors`` are what is left of A, which a sibling that lost the same answer shares.
        """
        fewer = copy(self)
        fewer.factors, fewer.rights = factors, np.delete(self.rights, gone, axis=1)
        if factors.renewed:
            fewer.begin(sibling)
            return fewer
        fewer.solutions = _shortened(self.solutions, gone, columns)
        if sibling is not None:
            fewer.of_ones, fewer.diagonal = sibling.of_ones, sibling.diagonal
        else:
            fewer.of_ones = _shortened(self.of_ones[:, None], gone, columns)[:, 0]
            fewer.diagonal = np.delete(self.diagonal - columns**2 / columns[:, gone, None], gone, axis=1)
        return fewer

    def variances(self, number: int, features: Floats) -> Floats:
        """The posterior variance for new items, items x features."""
        variances: Floats = 1 + BIASES[number] - self.factors.explained(number, len(self), features)
        return variances

    def _without_values(self, n: int) -> tuple[Floats, Floats]:
        of_ones, diagonal = np.zeros((2, len(LAMBDAS), n))
        for number in range(len(LAMBDAS)):
            diagonal[number] = self.factors.diagonal(number, n)
            of_ones[number] = self.factors.solve(number, n, np.ones((1, n)))[0]
        return of_ones, diagonal


def add(ridges: Sequence[Ridge], slot: int, weights: Sequence[float], rights: Floats, features: Floats) -> None:
    """One more answer to each of some concepts, all about one item; concepts that are in step share the work.

    ``rights`` holds for each the answer and the shared features: concepts x (1 + features).
    """
    together: dict[tuple[int, int, float], list[tuple[Ridge, Floats]]] = {}
    for ridge, weight, right in zip(ridges, weights, rights, strict=True):
        together.setdefault((id(ridge.factors), len(ridge), weight), []).append((ridge, right))
    for (_, n, weight), group in together.items():
        factors = group[0][0].factors.with_row(n, slot, weight, features)
        k, u, rest = factors.newest(n)
        first = group[0][0]
        of_ones = _extended(first.of_ones[:, None], k, u, rest, np.ones(1))[:, 0]
        diagonal = np.concatenate([first.diagonal + u**2 / rest[:, None], 1 / rest[:, None]], axis=1)
        for ridge, right in group:
            ridge.solutions = _extended(ridge.solutions, k, u, rest, right)
            ridge.rights = np.concatenate([ridge.rights, right[:, None]], axis=1)
            ridge.factors, ridge.of_ones, ridge.diagonal = factors, of_ones, diagonal
            if factors.renewed:  # now and then everything is: rounding must not add up
                ridge.begin(None if ridge is first else first)


def remove(ridges: Sequence[Ridge], slot: int) -> list[Ridge]:
    """The same concepts without their answers about one item; concepts that are in step share the work, and stay so."""
    found: dict[tuple[int, int], tuple[int, Factors, Floats, Ridge]] = {}
    fewer = []
    for ridge in ridges:
        n = len(ridge)
        key = (id(ridge.factors), n)
        if key in found:
            fewer.append(ridge.without(*found[key]))
        else:
            gone = ridge.place(slot)
            factors, columns = ridge.factors.without(n, gone)
            fewer.append(ridge.without(gone, factors, columns))
            found[key] = gone, factors, columns, fewer[-1]
    return fewer


def _extended(solutions: Floats, k: Floats, u: Floats, rest: Floats, right: Floats) -> Floats:
    """Solutions (lambdas x right-hand sides x answers) with one more answer each."""
    last = (right - np.matmul(solutions, k[:, :, None])[..., 0]) / rest[:, None]
    extended = np.empty((*solutions.shape[:2], solutions.shape[2] + 1))
    np.multiply(last[..., None], -u[:, None], out=extended[..., :-1])
    extended[..., :-1] += solutions
    extended[..., -1] = last
    return extended


def _shortened(solutions: Floats, gone: int, columns: Floats) -> Floats:
    """Solutions (lambdas x right-hand sides x answers) without an answer; ``columns`` are those of A^-1 there."""
    share = solutions[..., gone] / columns[:, gone, None]
    shortened = np.empty((*solutions.shape[:2], solutions.shape[2] - 1))
    for new, old in ((slice(gone), slice(gone)), (slice(gone, None), slice(gone + 1, None))):
        np.multiply(share[..., None], -columns[:, None, old], out=shortened[..., new])
        shortened[..., new] += solutions[..., old]
    return shortened
