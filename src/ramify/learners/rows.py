"""Rows of ridge regressions, one for each answered item: only ever added, and shared by all who begin with them."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtrs

Floats: TypeAlias = NDArray[np.float64]

LAMBDAS = np.array([0.03, 0.1, 0.3, 1, 3, 10, 100])
BIASES = LAMBDAS + 0.1  # the prior variance of b for each lambda, in units of a weight's


class Rows:
    """Slots, weights and features, with room for more: rows are added and never change."""

    def __init__(self, slots: Sequence[int] | NDArray[np.intp], weights: Floats, features: Floats) -> None:
        self.count = len(slots)
        self.slots, self.weights, self.features = np.array(slots, np.intp), weights, features
        self.make_room()

    def append(self, slot: int, weight: float, features: Floats) -> None:
        """One more."""
        if self.count == len(self.slots):
            self.make_room()
        n = self.count
        self.slots[n], self.weights[n], self.features[n] = slot, weight, features
        self.count += 1

    def make_room(self) -> None:
        """For a quarter more."""
        room = self.count + self.count // 4 + 8
        self.slots, self.weights = with_room(self.slots, (room,)), with_room(self.weights, (room,))
        self.features = with_room(self.features, (room,))


class Kept:
    """Some rows: the first ones up to an end, but those that are gone."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.end = rows, rows.count
        self.gone: list[int] = []  # ascending

    def span(self, n: int) -> int:
        """How many rows hold the first n that are left."""
        if n == self.end - len(self.gone):
            return self.end
        span = n
        for place in self.gone:
            if place >= span:
                break
            span += 1
        return span

    def left(self, n: int) -> NDArray[np.intp] | slice:
        """The places of the first n that are left."""
        span = self.span(n)
        return np.delete(np.arange(span), self.gone[: span - n]) if span > n else slice(n)

    def slots(self, n: int) -> NDArray[np.intp]:
        """The first n."""
        slots: NDArray[np.intp] = self.rows.slots[self.left(n)]
        return slots

    def weights(self, n: int) -> Floats:
        """Of their answers."""
        weights: Floats = self.rows.weights[self.left(n)]
        return weights

    def features(self, n: int) -> Floats:
        """Phi: their rows."""
        features: Floats = self.rows.features[self.left(n)]
        return features

    def along(self, n: int, alphas: Floats) -> Floats:
        """alphas Phi."""
        along: Floats = self.spread(n, alphas) @ self.rows.features[: self.span(n)]
        return along

    def spread(self, n: int, part: Floats) -> Floats:
        """Values of the rows that are left, with zeros where one is gone."""
        if (span := self.span(n)) == n:
            return part
        spread = np.zeros((*part.shape[:-1], span))
        spread[..., self.left(n)] = part
        return spread


class Triangle(Rows):
    """Rows, and the Cholesky factor of their A for every lambda."""

    def __init__(self, slots: Sequence[int] | NDArray[np.intp], weights: Floats, features: Floats) -> None:
        n = len(slots)
        self.lower = np.zeros((len(LAMBDAS), n, n))
        if n:
            gram = features @ features.T
            for lower, lam, bias in zip(self.lower, LAMBDAS, BIASES, strict=True):
                lower[:] = cholesky(gram + bias + lam * np.diag(1 / weights), lower=True, check_finite=False)
        super().__init__(slots, weights, features)

    def append(self, slot: int, weight: float, features: Floats) -> None:
        """One more."""
        n = self.count
        super().append(slot, weight, features)
        row = self.features[: n + 1] @ features
        for number, (lam, bias) in enumerate(zip(LAMBDAS, BIASES, strict=True)):
            across = self.solve(number, row[:n] + bias)
            self.lower[number, n, :n] = across
            self.lower[number, n, n] = np.sqrt(row[n] + bias + lam / weight - across @ across)

    def make_room(self) -> None:
        """For a quarter more."""
        super().make_room()
        self.lower = with_room(self.lower, (len(LAMBDAS), len(self.weights), len(self.weights)))

    def solve(self, number: int, right: Floats, *, transposed: bool = False) -> Floats:
        """L^-1 right, or L'^-1 right, of the first rows."""
        if not (n := len(right)):
            return right
        # The factor lies row by row, which LAPACK reads as its transpose, an upper triangle: no copy is made of it.
        solution: Floats = dtrtrs(self.lower[number, :n].T, right, lower=0, trans=0 if transposed else 1)[0]
        return solution


def with_room(part: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """A larger array that begins with another; axes that are not named stay as they are."""
    larger = np.zeros((*shape, *part.shape[len(shape) :]), part.dtype)
    larger[tuple(map(slice, part.shape))] = part
    return larger
