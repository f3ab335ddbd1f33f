"""Ridge regression for one concept f of c, P(f | c, x), in closed form and answer by answer.

Over the answers of f, each with a weight o (1 where it is known that c is relevant), minimise

    sum o (y - m - z.beta - b - w.phi)^2 + lambda |w|^2 + lambda b^2 / s,    A = Phi Phi' + s 1 1' + lambda diag(1 / o),

s = lambda + .1, in the dual: alpha = A^-1 (y - m 1 - Z beta), w = Phi' alpha, b = s sum alpha. (With s = lambda alone b
would hardly move where lambda is small: features that say nothing would cost a concept its own rate.) The offset m and
the coefficients beta only combine solutions: A^-1 y, A^-1 1 and A^-1 Z are kept, for every lambda of a grid. The exact
leave-one-out residual for given m and beta is alpha_i / (A^-1)_ii. One more answer adds one row to the Cholesky factor
of A: O(n^2), and equal to starting again.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri, dtrtrs

Floats = NDArray[np.float64]

LAMBDAS = np.array([0.03, 0.1, 0.3, 1, 3, 10, 100])
BIASES = LAMBDAS + 0.1  # the prior variance of b for each lambda, in units of a weight's


class Factors:
    """The Cholesky factors of A for an ordered list of slots (items), for every lambda; slots can be added at the end.

    Siblings that were answered for the same items share one of these; each uses as many of its rows as it has answers.
    """

    def __init__(self, slots: list[int], weights: Floats, rows: Floats) -> None:
        """From the features of the slots, and the weights of their answers."""
        self.slots = slots
        self.of_newest: tuple[Floats, Floats] | None = None
        n = len(slots)
        room = n + n // 4 + 8
        self.weights, self.rows = np.ones(room), np.zeros((room, rows.shape[1]))
        self.weights[:n] = weights
        self.gram = np.zeros((room, room))
        self.lower = np.zeros((len(LAMBDAS), room, room))
        self.rows[:n] = rows
        self.gram[:n, :n] = rows @ rows.T
        self.factorise(0)

    def factorise(self, first: int) -> None:
        """The factors from some row on; those before it stand."""
        n = len(self.slots)
        if first == n:
            return
        noise = 1 / self.weights[first:n]
        for lower, lam, bias in zip(self.lower, LAMBDAS, BIASES, strict=True):
            if first:
                across = self.gram[first:n, :first] + bias
                lower[first:n, :first] = solve(lower[:first, :first], across.T).T
            corner = self.gram[first:n, first:n] + bias + lam * np.diag(noise)
            before = lower[first:n, :first]
            lower[first:n, first:n] = cholesky(corner - before @ before.T, lower=True, check_finite=False)

    def add(self, slot: int, weight: float, features: Floats) -> None:
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
            self.weights = np.concatenate([self.weights, np.ones(room - n)])
        self.rows[n], self.weights[n] = features, weight
        row = self.rows[: n + 1] @ features
        self.gram[n, : n + 1] = self.gram[: n + 1, n] = row
        for lower, lam, bias in zip(self.lower, LAMBDAS, BIASES, strict=True):
            across = solve(lower[:n, :n], row[:n] + bias)
            lower[n, :n] = across
            lower[n, n] = np.sqrt(row[n] + bias + lam / weight - across @ across)
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
        for name in ("weights", "rows", "gram", "lower"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def without(self, n: int, place: int) -> "Factors":
        """A copy of the first n rows without one of them; what comes before it need not be computed again."""
        fewer = self.first(n)
        del fewer.slots[place]
        fewer.rows[place : n - 1], fewer.weights[place : n - 1] = self.rows[place + 1 : n], self.weights[place + 1 : n]
        keep = [*range(place), *range(place + 1, n)]
        fewer.gram[: n - 1, : n - 1] = self.gram[np.ix_(keep, keep)]
        fewer.factorise(place)
        return fewer


def solve(lower: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """L^-1 right, or L'^-1 right."""
    if not len(lower):
        return right
    # The factor lies row by row, which LAPACK reads as its transpose: an upper triangle.
    solution: Floats = dtrtrs(lower.T, right, lower=0, trans=0 if transposed else 1)[0]
    return solution


class Ridge:
    """What was answered of one concept, and its solutions for every lambda.

    The right-hand sides are the answers y and the features z whose coefficients all concepts share: 1 + features x
    answers. ``solutions`` are A^-1 of them, lambdas x (1 + features) x answers.
    """

    def __init__(self, factors: Factors, rights: Floats, sibling: "Ridge | None" = None) -> None:
        self.factors = factors
        self.of_ones: Floats  # A^-1 1, lambdas x answers
        self.diagonal: Floats  # of A^-1
        if sibling is None:
            self.of_ones, self.diagonal = self._without_values(rights.shape[1])
        else:  # answered for the same items
            self.of_ones, self.diagonal = sibling.of_ones, sibling.diagonal
        self.rights = rights
        self.solutions = np.zeros((len(LAMBDAS), *rights.shape))
        self._solve(slice(None))

    def __len__(self) -> int:
        return int(self.rights.shape[1])

    @property
    def slots(self) -> list[int]:
        """The slots of the items that were answered."""
        return self.factors.slots[: len(self)]

    @property
    def weights(self) -> Floats:
        """The weights of the answers."""
        weights: Floats = self.factors.weights[: len(self)]
        return weights

    @property
    def values(self) -> Floats:
        """The answers."""
        values: Floats = self.rights[0]
        return values

    def revalue(self, slot: int, value: float) -> None:
        """Take another answer for the same item."""
        self.rights = self.rights.copy()
        self.rights[0, self.slots.index(slot)] = value
        self._solve(slice(1))

    def _solve(self, which: slice) -> None:
        n = len(self)
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            self.solutions[number, which] = solve(lower, solve(lower, self.rights[which].T), transposed=True).T

    def without(self, slot: int) -> "Ridge":
        """The same without one answer."""
        n, gone = len(self), self.slots.index(slot)
        keep = [place for place in range(n) if place != gone]
        fewer = copy(self)
        fewer.factors = self.factors.without(n, gone)
        fewer.rights = self.rights[:, keep]
        fewer.solutions, fewer.of_ones, fewer.diagonal = (
            np.delete(part, gone, axis=-1) for part in (self.solutions, self.of_ones, self.diagonal)
        )
        unit = np.eye(n)[gone]
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            u = solve(lower, solve(lower, unit), transposed=True)  # the column of A^-1 that goes
            rest, u = u[gone], u[keep]
            fewer.solutions[number] -= u * (self.solutions[number, :, [gone]].T / rest)
            fewer.of_ones[number] -= u * (self.of_ones[number, gone] / rest)
            fewer.diagonal[number] -= np.square(u) / rest
        return fewer

    def variances(self, number: int, products: Floats) -> Floats:
        """The posterior variance for new items, from their inner products with the answered ones (answers x items)."""
        bias, n = BIASES[number], len(self)
        explained = solve(self.factors.lower[number, :n, :n], products + bias)
        variances: Floats = 1 + bias - np.square(explained).sum(axis=0)
        return variances

    def _without_values(self, n: int) -> tuple[Floats, Floats]:
        of_ones, diagonal = np.zeros((2, len(LAMBDAS), n))
        for number in range(len(LAMBDAS)):
            lower = self.factors.lower[number, :n, :n]
            if n:
                diagonal[number] = np.square(dtrtri(lower, lower=1)[0]).sum(axis=0)
            of_ones[number] = solve(lower, solve(lower, np.ones(n)), transposed=True)
        return of_ones, diagonal


def add(ridges: Sequence[Ridge], slot: int, weights: Sequence[float], rights: Floats, features: Floats) -> None:
    """One more answer to each of some concepts, all about one item; concepts that are in step share the work.

    ``rights`` holds for each the answer and the shared features: concepts x (1 + features).
    """
    together: dict[tuple[int, int, float], list[tuple[Ridge, Floats]]] = {}
    for ridge, weight, right in zip(ridges, weights, rights, strict=True):
        together.setdefault((id(ridge.factors), len(ridge), weight), []).append((ridge, right))
    for (_, n, weight), group in together.items():
        factors = group[0][0].factors
        if len(factors.slots) > n and (factors.slots[n], factors.weights[n]) != (slot, weight):
            factors = factors.first(n)
        if len(factors.slots) == n:
            factors.add(slot, weight, features)
        u, rest = factors.newest(n)
        k = factors.gram[n, :n] + BIASES[:, None]
        first = group[0][0]
        of_ones = _extended(first.of_ones[:, None], k, u, rest, np.ones(1))[:, 0]
        diagonal = np.concatenate([first.diagonal + u**2 / rest[:, None], 1 / rest[:, None]], axis=1)
        for ridge, right in group:
            ridge.solutions = _extended(ridge.solutions, k, u, rest, right)
            ridge.rights = np.concatenate([ridge.rights, right[:, None]], axis=1)
            ridge.factors, ridge.of_ones, ridge.diagonal = factors, of_ones, diagonal


def _extended(solutions: Floats, k: Floats, u: Floats, rest: Floats, right: Floats) -> Floats:
    """Solutions (lambdas x right-hand sides x answers) with one more answer each."""
    last = (right - np.matmul(solutions, k[:, :, None])[..., 0]) / rest[:, None]
    extended = np.empty((*solutions.shape[:2], solutions.shape[2] + 1))
    np.multiply(last[..., None], -u[:, None], out=extended[..., :-1])
    extended[..., :-1] += solutions
    extended[..., -1] = last
    return extended
