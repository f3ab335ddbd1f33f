"""A = Phi Phi' + s 1 1' + lambda diag(1 / o) of a ridge regression, kept so that it is solved answer by answer.

``Few`` keeps the Cholesky factor of A itself, answers x answers. ``Many`` keeps, where there are more answers than
features, the inverse of M = lambda I + F' O F, features x features, with F the rows of Phi and a column sqrt(s):

    A^-1 = (O - O F M^-1 F' O) / lambda,      A^-1 k = O F M^-1 f,      f'f - k' A^-1 k = lambda f' M^-1 f

for a new row f with k = F f. One more answer, or one less, changes M by one outer product. Both are kept for every
lambda of a grid.

Rows are only ever added (``rows``), so that siblings share them. An answer that is taken back leaves its row where it
is, marked as gone: M loses one outer product, and of A = L L' the inverse of the part that is left is

    L'^-1 (I - W (W'W)^-1 W') L^-1,      W = L^-1 of the unit vectors of the rows that are gone.

So it costs what it cost to give. When many rows are gone, those that are left are kept anew.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from copy import copy
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri

from ramify.learners.rows import BIASES, LAMBDAS, Floats, Kept, Rows, Triangle

AFRESH = 500  # answers after which the inverses are computed again: rounding must not add up
GONE = 32  # rows that may be gone before the others are kept anew


class Factors(Protocol):
    """A of an ordered list of slots (items). Siblings that were answered for the same items share one."""

    renewed: bool
    """Whether what is kept was just computed afresh."""

    def slots(self, n: int) -> NDArray[np.intp]:
        """The first n."""

    def weights(self, n: int) -> Floats:
        """Of their answers."""

    def features(self, n: int) -> Floats:
        """Phi: their rows."""

    def along(self, n: int, alphas: Floats) -> Floats:
        """alphas Phi, of some alphas (right-hand sides x answers)."""

    def solve(self, number: int, n: int, right: Floats) -> Floats:
        """A^-1 right (right-hand sides x answers), of the first n slots and one lambda."""

    def diagonal(self, number: int, n: int) -> Floats:
        """Of A^-1."""

    def explained(self, number: int, n: int, features: Floats) -> Floats:
        """k' A^-1 k for new items: what the answers explain of their variance."""

    def with_row(self, n: int, slot: int, weight: float, features: Floats) -> "Factors":
        """With one more slot behind the first n."""

    def newest(self, n: int) -> tuple[Floats, Floats, Floats]:
        """Of the row behind the first n, for every lambda: k, A^-1 k, and its variance given those before it."""

    def without(self, n: int, place: int) -> tuple["Factors", Floats]:
        """The first n without one of them, and its column of A^-1 for every lambda."""


def factors_of(slots: Sequence[int] | NDArray[np.intp], weights: Floats, rows: Floats) -> Factors:
    """Of some slots, from their features and the weights of their answers."""
    return Many(slots, weights, rows) if len(slots) > rows.shape[1] else Few(slots, weights, rows)


class Few(Kept):
    """As many answers as features at most. Who has fewer answers than others uses the first rows of theirs."""

    renewed = False
    rows: Triangle

    def __init__(self, slots: Sequence[int] | NDArray[np.intp], weights: Floats, rows: Floats) -> None:
        super().__init__(Triangle(slots, weights, rows))
        self.units = np.zeros((len(LAMBDAS), 0, 0))  # W', with a row for each that is gone
        self.found: tuple[Floats, Floats, Floats] | None = None

    def solve(self, number: int, n: int, right: Floats) -> Floats:
        """A^-1 right."""
        half = self.rows.solve(number, self.spread(n, right).T)
        solution: Floats = self.rows.solve(number, self.projected(number, half), transposed=True).T[:, self.left(n)]
        return solution

    def diagonal(self, number: int, n: int) -> Floats:
        """Of A^-1."""
        if not n:
            return np.zeros(0)
        span = self.span(n)
        halves = dtrtri(self.rows.lower[number, :span, :span], lower=1)[0]
        diagonal: Floats = np.square(self.projected(number, halves)).sum(axis=0)[self.left(n)]
        return diagonal

    def explained(self, number: int, n: int, features: Floats) -> Floats:
        """k' A^-1 k."""
        half = self.rows.solve(number, self.rows.features[: self.span(n)] @ features.T + BIASES[number])
        explained: Floats = np.square(self.projected(number, half)).sum(axis=0)
        return explained

    def with_row(self, n: int, slot: int, weight: float, features: Floats) -> Factors:
        """With one more slot; siblings that are in step share it."""
        if n >= len(features):
            return Many(self.slots(n), self.weights(n), self.features(n)).with_row(n, slot, weight, features)
        newest = n == self.end - len(self.gone)
        if newest and self.end == self.rows.count:
            self.rows.append(slot, weight, features)
        place = self.end if newest else self.span(n + 1) - 1
        if (self.rows.slots[place], self.rows.weights[place]) == (slot, weight):
            self.end += newest
            return self
        return Few(self.slots(n), self.weights(n), self.features(n)).with_row(n, slot, weight, features)

    def newest(self, n: int) -> tuple[Floats, Floats, Floats]:
        """k, A^-1 k, and the variance."""
        if self.found is None or self.found[0].shape[1] != n:  # siblings ask for the same
            place, left = self.span(n + 1) - 1, self.left(n)
            us, rest = [], []
            for number, lower in enumerate(self.rows.lower):
                across = lower[place, :place]
                half = self.projected(number, across)
                us.append(self.rows.solve(number, half, transposed=True)[left])
                rest.append(lower[place, place] ** 2 + across @ across - half @ half)
            k = (self.rows.features[:place] @ self.rows.features[place])[left]
            self.found = k + BIASES[:, None], np.stack(us), np.array(rest)
        return self.found

    def without(self, n: int, place: int) -> tuple[Factors, Floats]:
        """Without one of them: its row is marked as gone."""
        span, left = self.span(n), self.left(n)
        at = int(np.arange(span)[left][place])
        halves, columns = np.zeros((len(LAMBDAS), span)), []
        for number, half in enumerate(halves):
            half[:] = self.rows.solve(number, np.eye(1, span, at)[0])
            columns.append(self.rows.solve(number, self.projected(number, half), transposed=True)[left])
        fewer = copy(self)
        fewer.end, fewer.found, fewer.gone = span, None, self.gone[: span - n]
        fewer.units = np.insert(self.upto(span), bisect_left(fewer.gone, at), halves, axis=1)
        insort(fewer.gone, at)
        if len(fewer.gone) > GONE:
            n -= 1
            fewer = Few(fewer.slots(n), fewer.weights(n), fewer.features(n))
        return fewer, np.stack(columns)

    def projected(self, number: int, half: Floats) -> Floats:
        """(I - W (W'W)^-1 W') half: without the rows that are gone."""
        units = self.upto(len(half))[number]
        if not len(units):
            return half
        projected: Floats = half - units.T @ np.linalg.solve(units @ units.T, units @ half)
        return projected

    def upto(self, span: int) -> Floats:
        """W', of so many rows."""
        known = self.units.shape[2]
        if self.gone and known < span:
            more = np.zeros((len(LAMBDAS), len(self.gone), span))
            more[..., :known] = self.units
            for new, lower in zip(more, self.rows.lower, strict=True):
                for row in range(known, span):
                    new[:, row] = -new[:, :row] @ lower[row, :row] / lower[row, row]
            self.units = more
        count = bisect_left(self.gone, span)
        return self.units[:, :count, :span] if count else np.zeros((len(LAMBDAS), 0, span))


class Many(Kept):
    """More answers than features. It never changes: siblings that go on differently part."""

    def __init__(self, slots: Sequence[int] | NDArray[np.intp], weights: Floats, rows: Floats) -> None:
        super().__init__(Rows(slots, weights, rows))
        self.changes, self.renewed = 0, False
        self.found: tuple[Floats, Floats, Floats] | None = None
        self._invert()

    def _invert(self) -> None:
        n = self.end - len(self.gone)
        width = self.rows.features.shape[1]
        rows = np.concatenate([self.features(n), np.ones((n, 1))], axis=1)
        moments = rows.T @ (self.weights(n)[:, None] * rows)
        self.inverse = np.empty((len(LAMBDAS), width + 1, width + 1))
        for number, lam in enumerate(LAMBDAS):
            scale = self._f(number, np.ones(width), 1.0)
            scaled = scale[:, None] * moments * scale + lam * np.eye(width + 1)
            self.inverse[number] = cho_solve(cho_factor(scaled, lower=True), np.eye(width + 1))

    def solve(self, number: int, n: int, right: Floats) -> Floats:
        """A^-1 right."""
        weights = self.weights(n)
        weighted = right * weights
        across = self._f(number, self.along(n, weighted), weighted.sum(axis=1)) @ self.inverse[number]
        at = across[:, :-1] @ self.rows.features[: self.end].T + (np.sqrt(BIASES[number]) * across[:, -1])[:, None]
        solution: Floats = (weighted - at[:, self.left(n)] * weights) / LAMBDAS[number]
        return solution

    def diagonal(self, number: int, n: int) -> Floats:
        """Of A^-1."""
        weights, form = self.weights(n), self._form(number, self.rows.features[: self.end])
        diagonal: Floats = (weights - weights**2 * form[self.left(n)]) / LAMBDAS[number]
        return diagonal

    def explained(self, number: int, n: int, features: Floats) -> Floats:
        """k' A^-1 k."""
        explained: Floats = np.square(features).sum(axis=1) + BIASES[number]
        explained -= LAMBDAS[number] * self._form(number, features)
        return explained

    def with_row(self, n: int, slot: int, weight: float, features: Floats) -> Factors:
        """With one more slot."""
        along, form = self._along(features)
        k, at = self._at_rows(n, features, along)
        more = self.changed(along * np.sqrt(weight / (1 + weight * form))[:, None], -1)
        more.found = k + BIASES[:, None], self.weights(n) * at, LAMBDAS * (1 / weight + form)
        if self.end < self.rows.count:  # a sibling has gone on
            more.rows, more.end, more.gone = Rows(self.slots(n), self.weights(n), self.features(n)), n, []
        more.rows.append(slot, weight, features)
        more.end += 1
        more.refresh()
        return more

    def newest(self, n: int) -> tuple[Floats, Floats, Floats]:
        """k, A^-1 k, and the variance, as they were found when the row was added."""
        assert self.found is not None
        return self.found

    def without(self, n: int, place: int) -> tuple[Factors, Floats]:
        """Without one of them: its row is marked as gone."""
        at = int(np.arange(self.end)[self.left(n)][place])
        weight = self.rows.weights[at]
        along, form = self._along(self.rows.features[at])
        columns: Floats = -weight * self.weights(n) * self._at_rows(n, self.rows.features[at], along)[1]
        columns[:, place] += weight
        columns /= LAMBDAS[:, None]
        fewer = self.changed(along * np.sqrt(weight / (1 - weight * form))[:, None], 1)
        fewer.gone = self.gone.copy()
        insort(fewer.gone, at)
        n -= 1
        if n <= self.rows.features.shape[1] // 2:  # not at once: an answer taken back is often given again
            return Few(fewer.slots(n), fewer.weights(n), fewer.features(n)), columns
        if len(fewer.gone) > max(GONE, n // 8):
            fewer.rows, fewer.end, fewer.gone = Rows(fewer.slots(n), fewer.weights(n), fewer.features(n)), n, []
        fewer.refresh()
        return fewer, columns

    def changed(self, along: Floats, sign: int) -> "Many":
        """A copy, its inverses changed by an outer product each."""
        other = copy(self)
        other.inverse, other.found, other.changes = self.inverse.copy(), None, self.changes + 1
        for inverse, part in zip(other.inverse, along, strict=True):
            inverse += sign * np.outer(part, part)
        return other

    def refresh(self) -> None:
        """Compute the inverses again, now and then."""
        self.renewed = self.changes >= AFRESH
        if self.renewed:
            self.changes = 0
            self._invert()

    def _along(self, features: Floats) -> tuple[Floats, Floats]:
        """M^-1 f and f' M^-1 f of a row, for every lambda."""
        f = np.stack([self._f(number, features, 1.0) for number in range(len(LAMBDAS))])
        along = np.matmul(self.inverse, f[..., None])[..., 0]
        return along, (along * f).sum(axis=1)

    def _at_rows(self, n: int, features: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Phi of all rows that are left times a row of features, and F along for every lambda."""
        both = np.concatenate([features[None], along[:, :-1]]) @ self.rows.features[: self.end].T
        both[1:] += (np.sqrt(BIASES) * along[:, -1])[:, None]
        both = both[:, self.left(n)]
        return both[0], both[1:]

    @staticmethod
    def _f(number: int, features: Floats, ones: Floats | float) -> Floats:
        """Features with the column of the bias."""
        last = np.sqrt(BIASES[number]) * np.asarray(ones)
        return np.concatenate([features, last[..., None]], axis=-1)

    def _form(self, number: int, features: Floats) -> Floats:
        """f' M^-1 f of some rows."""
        f = self._f(number, features, np.ones(len(features)))
        form: Floats = ((f @ self.inverse[number]) * f).sum(axis=1)
        return form
