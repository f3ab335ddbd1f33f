"""Ridge regression for one finer concept f of c, P(f | c, x), in closed form and answer by answer.

Over the items where c is relevant and f is known, minimise

    sum (y - m - b - w.phi)^2 + lambda |w|^2 + b^2,      A = Phi Phi' + lambda (1 1' + I)

in the dual: alpha = A^-1 (y - m 1), w = Phi' alpha, b = lambda sum alpha. The offset m only scales a second solution:
alpha = A^-1 y - m A^-1 1, and both are kept. The exact leave-one-out residual is alpha_i / (A^-1)_ii, for every lambda
of a grid. One more answer adds one row to the Cholesky factor of A: O(n^2), and equal to starting again.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri, dtrtrs

Floats = NDArray[np.float64]

LAMBDAS = np.array([0.03, 0.1, 0.3, 1, 3, 10, 100])


class Factors:
    """The Cholesky factors of A for an ordered list of slots (items), for every lambda; slots can be added at the end.

    Siblings that were answered for the same items share one of these; each uses as many of its rows as it has answers.
    """

    def __init__(self, slots: list[int], rows: Floats, gram: Floats | None = None) -> None:
        """From the features of the slots, and their inner products where these are known."""
        self.slots = slots
        self.of_newest: tuple[Floats, Floats] | None = None
        n = len(slots)
        room = n + n // 4 + 8
        self.rows = np.zeros((room, rows.shape[1]))
        self.gram = np.zeros((room, room))
        self.lower = np.zeros((len(LAMBDAS), room, room))
        self.rows[:n] = rows
        self.gram[:n, :n] = gram = rows @ rows.T if gram is None else gram
        for number, lam in enumerate(LAMBDAS):
            if n:
                self.lower[number, :n, :n] = cholesky(gram + lam * (1 + np.eye(n)), lower=True, check_finite=False)

    def add(self, slot: int, features: Floats) -> None:
        """One more slot."""
        n = len(self.slots)
        if n == len(self.gram):
            room = n + n // 4 + 8
            for name in ("gram", "lower"):
                old = getattr(self, name)
                new = np.zeros((*old.shape[:-2], room, room))
                new[..., :n, :n] = old[..., :n, :n]
                setattr(self, name, new)
            self.rows = np.concatenate([self.rows, np.zeros((room - n, self.rows.shape[1]))])
        self.rows[n] = features
        row = self.rows[: n + 1] @ features
        self.gram[n, : n + 1] = self.gram[: n + 1, n] = row
        for number, lam in enumerate(LAMBDAS):
            lower = self.lower[number]
            across = solve(lower[:n, :n], row[:n] + lam)
            lower[n, :n] = across
            lower[n, n] = np.sqrt(row[n] + 2 * lam - across @ across)
        self.slots.append(slot)

    def newest(self, n: int) -> tuple[Floats, Floats]:
        """Of row n, A^-1 k with k its row of A, and its variance given the rows before it, for every lambda."""
        if self.of_newest is None or len(self.of_newest[0][0]) != n:  # siblings ask for the same
            u = [solve(lower[:n, :n], lower[n, :n], transposed=True) for lower in self.lower]
            self.of_newest = np.stack(u), self.lower[:, n, n] ** 2
        return self.of_newest

    def first(self, n: int) -> "Factors":
        """A copy of the first n rows, to be continued differently."""
        other = copy(self)
        other.slots, other.of_newest = self.slots[:n], None
        other.rows, other.gram, other.lower = self.rows.copy(), self.gram.copy(), self.lower.copy()
        return other


def solve(lower: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """L^-1 right, or L'^-1 right."""
    if not len(lower):
        return right
    # The factor lies row by row, which LAPACK reads as its transpose: an upper triangle.
    solution: Floats = dtrtrs(lower.T, right, lower=0, trans=0 if transposed else 1)[0]
    return solution


class Ridge:
    """What was answered of one concept, and the two solutions for every lambda."""

    def __init__(self, factors: Factors, values: list[float], sibling: "Ridge | None" = None) -> None:
        self.factors = factors
        self.of_ones: Floats  # A^-1 1, lambdas x answers
        self.sums: Floats
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
        _sum_up([self])

    def without(self, slot: int) -> "Ridge":
        """The same without one answer."""
        n, gone = len(self), self.slots.index(slot)
        keep = [place for place in range(n) if place != gone]
        fewer = copy(self)
        slots = [self.slots[place] for place in keep]
        fewer.factors = Factors(slots, self.factors.rows[keep], self.factors.gram[np.ix_(keep, keep)])
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
        _sum_up([fewer])
        return fewer

    def residuals(self, number: int, offsets: Floats) -> Floats:
        """Exact leave-one-out residuals for one lambda, given the offset that each left-out answer would see."""
        residuals: Floats = (self.of_values[number] - offsets * self.of_ones[number]) / self.diagonal[number]
        return residuals

    def variances(self, number: int, products: Floats) -> Floats:
        """The posterior variance for new items, from their inner products with the answered ones (answers x items)."""
        lam, n = LAMBDAS[number], len(self)
        explained = solve(self.factors.lower[number, :n, :n], products + lam)
        variances: Floats = 1 + lam - np.square(explained).sum(axis=0)
        return variances

    def _without_values(self, n: int) -> tuple[Floats, Floats]:
        of_ones, diagonal = np.zeros((2, len(LAMBDAS), n))
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            if n:
                diagonal[number] = np.square(dtrtri(lower, lower=1)[0]).sum(axis=0)
            of_ones[number] = solve(lower, solve(lower, np.ones(n)), transposed=True)
        return of_ones, diagonal


def add(ridges: Sequence[Ridge], slot: int, values: Sequence[float], features: Floats) -> None:
    """One more answer to each of some concepts, all about one item; concepts that are in step share the work."""
    together: dict[tuple[int, int], list[tuple[Ridge, float]]] = {}
    for ridge, value in zip(ridges, values, strict=True):
        together.setdefault((id(ridge.factors), len(ridge)), []).append((ridge, value))
    for (_, n), group in together.items():
        factors = group[0][0].factors
        if len(factors.slots) > n and factors.slots[n] != slot:
            factors = factors.first(n)
        if len(factors.slots) == n:
            factors.add(slot, features)
        u, rest = factors.newest(n)
        k = factors.gram[n, :n] + LAMBDAS[:, None]
        old = np.stack([group[0][0].of_ones, *(ridge.of_values for ridge, _ in group)])
        right = np.array([1.0, *(value for _, value in group)])
        last = (right[:, None] - np.einsum("ln,mln->ml", k, old)) / rest
        of_ones, *of_values = np.concatenate([old - u * last[:, :, None], last[:, :, None]], axis=2)
        diagonal = np.concatenate([group[0][0].diagonal + u**2 / rest[:, None], 1 / rest[:, None]], axis=1)
        for (ridge, value), solution in zip(group, of_values, strict=True):
            ridge.factors, ridge.of_values, ridge.of_ones, ridge.diagonal = factors, solution, of_ones, diagonal
            ridge.values.append(value)
        _sum_up([ridge for ridge, _ in group])


def _sum_up(ridges: Sequence[Ridge]) -> None:
    """What the squared residuals need for any offset: lambdas x (no, yes) x three sums. All were answered alike."""
    diagonal = ridges[0].diagonal
    y = np.stack([ridge.of_values for ridge in ridges]) / diagonal
    ones = np.broadcast_to(ridges[0].of_ones / diagonal, y.shape)
    yes = np.array([ridge.values for ridge in ridges]) > 0.5
    said = np.stack([~yes, yes], axis=1).astype(np.float64)
    sums = np.stack([np.einsum("mln,mvn->mlv", a, said) for a in (y * y, y * ones, ones * ones)], axis=-1)
    for ridge, ridge_sums in zip(ridges, sums, strict=True):
        ridge.sums = ridge_sums
