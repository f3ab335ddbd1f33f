"""Ridge regression for one finer concept f of c, P(f | c, x), in closed form and answer by answer.

Over the items where c is relevant and f is known, minimise

    sum (y - m - b - w.phi)^2 + lambda |w|^2 + b^2,      A = Phi Phi' + lambda (1 1' + I)

in the dual: alpha = A^-1 (y - m 1), w = Phi' alpha, b = lambda sum alpha. The offset m only scales a second solution:
alpha = A^-1 y - m A^-1 1, and both are kept. The exact leave-one-out residual is alpha_i / (A^-1)_ii, for every lambda
of a grid. One more answer adds one row to the Cholesky factor of A: O(n^2), and equal to starting again.
"""

from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri, dtrtrs

Floats = NDArray[np.float64]

LAMBDAS = np.array([0.03, 0.1, 0.3, 1, 3, 10, 100])


class Factors:
    """The Cholesky factors of A for an ordered list of slots (items), for every lambda; rows can be added at the end.

    Siblings that were answered for the same items share one of these; each uses as many of its rows as it has answers.
    """

    def __init__(self, slots: list[int], gram: Floats) -> None:
        self.slots = slots
        n = len(slots)
        room = n + n // 4 + 8
        self.gram = np.zeros((room, room))
        self.lower = np.zeros((len(LAMBDAS), room, room))
        self.gram[:n, :n] = gram
        for number, lam in enumerate(LAMBDAS):
            if n:
                self.lower[number, :n, :n] = cholesky(gram + lam * (1 + np.eye(n)), lower=True, check_finite=False)

    def add(self, slot: int, row: Floats) -> None:
        """One more slot, with its inner products with all slots so far and itself."""
        n = len(self.slots)
        if n == len(self.gram):
            room = n + n // 4 + 8
            for name in ("gram", "lower"):
                old = getattr(self, name)
                new = np.zeros((*old.shape[:-2], room, room))
                new[..., :n, :n] = old[..., :n, :n]
                setattr(self, name, new)
        self.gram[n, : n + 1] = self.gram[: n + 1, n] = row
        for number, lam in enumerate(LAMBDAS):
            lower = self.lower[number]
            across = solve(lower[:n, :n], row[:n] + lam)
            lower[n, :n] = across
            lower[n, n] = np.sqrt(row[n] + 2 * lam - across @ across)
        self.slots.append(slot)

    def first(self, n: int) -> "Factors":
        """A copy of the first n rows, to be continued differently."""
        other = copy(self)
        other.slots, other.gram, other.lower = self.slots[:n], self.gram.copy(), self.lower.copy()
        return other


def solve(lower: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """L^-1 right, or L'^-1 right."""
    if not len(lower):
        return right
    # The factor lies row by row, which LAPACK reads as its transpose: an upper triangle.
    found: Floats = dtrtrs(lower.T, right, lower=0, trans=0 if transposed else 1)[0]
    return found


class Ridge:
    """What was answered of one concept, and the two solutions for every lambda."""

    def __init__(self, factors: Factors, values: list[float], sibling: "Ridge | None" = None) -> None:
        self.factors = factors
        self.of_ones: Floats  # A^-1 1, lambdas x answers
        self.diagonal: Floats  # of A^-1
        if sibling is None:
            self.of_ones, self.diagonal = self._without_values(len(values))
        else:  # answered for the same items
            self.of_ones, self.diagonal = sibling.of_ones, sibling.diagonal
        self.revalue(values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def slots(self) -> list[int]:
        """The slots of the items that were answered."""
        return self.factors.slots[: len(self)]

    def revalue(self, values: list[float]) -> None:
        """Take other answers for the same items."""
        self.values = values
        n = len(values)
        self.of_values: Floats = np.zeros((len(LAMBDAS), n))  # A^-1 y
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            self.of_values[number] = solve(lower, solve(lower, np.array(values)), transposed=True)
        self._sum_up()

    def add(self, slot: int, value: float, row: Floats) -> None:
        """One more answer; the row holds the inner products with all answered slots and itself."""
        n = len(self)
        if len(self.factors.slots) > n and self.factors.slots[n] != slot:
            self.factors = self.factors.first(n)
        if len(self.factors.slots) == n:
            self.factors.add(slot, row)
        of_values, of_ones, diagonal = (np.empty((len(LAMBDAS), n + 1)) for _ in range(3))
        for number, lam in enumerate(LAMBDAS):
            lower = self.factors.lower[number]
            u = solve(lower[:n, :n], lower[n, :n], transposed=True)  # A^-1 k, with k the new row of A
            rest = lower[n, n] ** 2  # the new answer's variance given the others
            k = row[:n] + lam
            for new, old, right in ((of_values, self.of_values, value), (of_ones, self.of_ones, 1.0)):
                new[number, n] = (right - k @ old[number]) / rest
                new[number, :n] = old[number] - u * new[number, n]
            diagonal[number, :n] = self.diagonal[number] + np.square(u) / rest
            diagonal[number, n] = 1 / rest
        self.of_values, self.of_ones, self.diagonal = of_values, of_ones, diagonal
        self.values.append(value)
        self._sum_up()

    def without(self, slot: int) -> "Ridge":
        """The same without one answer."""
        n, gone = len(self), self.slots.index(slot)
        keep = [place for place in range(n) if place != gone]
        fewer = copy(self)
        fewer.factors = Factors([self.slots[place] for place in keep], self.factors.gram[np.ix_(keep, keep)])
        fewer.values = [self.values[place] for place in keep]
        fewer.of_values, fewer.of_ones, fewer.diagonal = (
            np.delete(part, gone, axis=1) for part in (self.of_values, self.of_ones, self.diagonal)
        )
        unit = np.eye(n)[gone]
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            u = solve(lower, solve(lower, unit), transposed=True)  # the column of A^-1 that goes
            rest, u = u[gone], u[keep]
            fewer.of_values[number] -= u * (self.of_values[number, gone] / rest)
            fewer.of_ones[number] -= u * (self.of_ones[number, gone] / rest)
            fewer.diagonal[number] -= np.square(u) / rest
        fewer._sum_up()
        return fewer

    def residuals(self, number: int, offsets: Floats) -> Floats:
        """Exact leave-one-out residuals for one lambda, given the offset that each left-out answer would see."""
        found: Floats = (self.of_values[number] - offsets * self.of_ones[number]) / self.diagonal[number]
        return found

    def variances(self, number: int, products: Floats) -> Floats:
        """The posterior variance for new items, from their inner products with the answered ones (answers x items)."""
        lam, n = LAMBDAS[number], len(self)
        explained = solve(self.factors.lower[number, :n, :n], products + lam)
        found: Floats = 1 + lam - np.square(explained).sum(axis=0)
        return found

    def _without_values(self, n: int) -> tuple[Floats, Floats]:
        of_ones, diagonal = np.zeros((2, len(LAMBDAS), n))
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            if n:
                diagonal[number] = np.square(dtrtri(lower, lower=1)[0]).sum(axis=0)
            of_ones[number] = solve(lower, solve(lower, np.ones(n)), transposed=True)
        return of_ones, diagonal

    def _sum_up(self) -> None:
        """What the squared residuals need for any offset: lambdas x (no, yes) x three sums."""
        y, one = self.of_values / self.diagonal, self.of_ones / self.diagonal
        yes = np.array(self.values) > 0.5
        terms = np.stack([y * y, y * one, one * one], axis=-1)
        self.sums = np.stack([terms[:, ~yes].sum(axis=1), terms[:, yes].sum(axis=1)], axis=1)
