"""A = Phi Phi' + s 1 1' + lambda diag(1 / o) of a ridge regression, kept so that it is solved answer by answer.

``Few`` keeps the Cholesky factor of A itself, answers x answers. ``Many`` keeps, where there are more answers than
features, the inverse of M = lambda I + F' O F, features x features, with F the rows of Phi and a column sqrt(s):

    A^-1 = (O - O F M^-1 F' O) / lambda,      A^-1 k = O F M^-1 f,      f'f - k' A^-1 k = lambda f' M^-1 f

for a new row f with k = F f. One more answer, or one less, changes M by one outer product. Both are kept for every
lambda of a grid.
"""

from copy import copy
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.linalg.lapack import dtrtri, dtrtrs

Floats: TypeAlias = NDArray[np.float64]

LAMBDAS = np.array([0.03, 0.1, 0.3, 1, 3, 10, 100])
BIASES = LAMBDAS + 0.1  # the prior variance of b for each lambda, in units of a weight's
AFRESH = 500  # answers after which the inverses are computed again: rounding must not add up


class Factors(Protocol):
    """A of an ordered list of slots (items). Siblings that were answered for the same items share one."""

    slots: list[int]
    weights: Floats
    """Of the answers; there may be room for more."""
    rows: Floats
    """Phi; there may be room for more."""
    renewed: bool
    """Whether what is kept was just computed afresh."""

    def solve(self, number: int, n: int, right: Floats) -> Floats:
        """A^-1 right (right-hand sides x answers), of the first n slots and one lambda."""

    def diagonal(self, number: int, n: int) -> Floats:
        """Of A^-1."""

    def columns(self, n: int, place: int) -> Floats:
        """The column of A^-1 at a place, for every lambda."""

    def explained(self, number: int, n: int, features: Floats) -> Floats:
        """k' A^-1 k for new items: what the answers explain of their variance."""

    def with_row(self, n: int, slot: int, weight: float, features: Floats) -> "Factors":
        """With one more slot behind the first n."""

    def newest(self, n: int) -> tuple[Floats, Floats, Floats]:
        """Of the row behind the first n, for every lambda: k, A^-1 k, and its variance given those before it."""

    def without(self, n: int, place: int) -> "Factors":
        """The first n without one of them."""


def factors_of(slots: list[int], weights: Floats, rows: Floats) -> Factors:
    """Of some slots, from their features and the weights of their answers."""
    return Many(slots, weights, rows) if len(slots) > rows.shape[1] else Few(slots, weights, rows)


class Few:
    """As many answers as features at most. Who has fewer answers than others uses the first rows of theirs."""

    renewed = False

    def __init__(self, slots: list[int], weights: Floats, rows: Floats) -> None:
        self.slots = slots
        self.found: tuple[Floats, Floats, Floats] | None = None
        n = len(slots)
        room = n + n // 4 + 8
        self.weights, self.rows = np.ones(room), np.zeros((room, rows.shape[1]))
        self.weights[:n] = weights
        self.gram = np.zeros((room, room))
        self.lower = np.zeros((len(LAMBDAS), room, room))
        self.rows[:n] = rows
        self.gram[:n, :n] = rows @ rows.T
        self.factorise(0)

    def solve(self, number: int, n: int, right: Floats) -> Floats:
        """A^-1 right."""
        lower = self.lower[number, :n, :n]
        solution: Floats = solve(lower, solve(lower, right.T), transposed=True).T
        return solution

    def diagonal(self, number: int, n: int) -> Floats:
        """Of A^-1."""
        diagonal: Floats = np.square(dtrtri(self.lower[number, :n, :n], lower=1)[0]).sum(axis=0) if n else np.zeros(0)
        return diagonal

    def columns(self, n: int, place: int) -> Floats:
        """Of A^-1, for every lambda."""
        unit = np.eye(1, n, place)
        return np.concatenate([self.solve(number, n, unit) for number in range(len(LAMBDAS))])

    def explained(self, number: int, n: int, features: Floats) -> Floats:
        """k' A^-1 k."""
        across = solve(self.lower[number, :n, :n], self.rows[:n] @ features.T + BIASES[number])
        explained: Floats = np.square(across).sum(axis=0)
        return explained

    def with_row(self, n: int, slot: int, weight: float, features: Floats) -> Factors:
        """With one more slot; siblings that are in step share it."""
        if n >= len(features):
            return Many(self.slots[:n], self.weights[:n], self.rows[:n]).with_row(n, slot, weight, features)
        if len(self.slots) == n:
            self.append(slot, weight, features)
            return self
        if (self.slots[n], self.weights[n]) == (slot, weight):
            return self
        other = self.first(n)
        other.append(slot, weight, features)
        return other

    def newest(self, n: int) -> tuple[Floats, Floats, Floats]:
        """k, A^-1 k, and the variance."""
        if self.found is None or self.found[0].shape[1] != n:  # siblings ask for the same
            u = [solve(lower[:n, :n], lower[n, :n], transposed=True) for lower in self.lower]
            self.found = self.gram[n, :n] + BIASES[:, None], np.stack(u), self.lower[:, n, n] ** 2
        return self.found

    def without(self, n: int, place: int) -> Factors:
        """Without one of them; what comes before it need not be computed again."""
        fewer = self.first(n)
        del fewer.slots[place]
        fewer.rows[place : n - 1], fewer.weights[place : n - 1] = self.rows[place + 1 : n], self.weights[place + 1 : n]
        keep = [*range(place), *range(place + 1, n)]
        fewer.gram[: n - 1, : n - 1] = self.gram[np.ix_(keep, keep)]
        fewer.factorise(place)
        return fewer

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

    def append(self, slot: int, weight: float, features: Floats) -> None:
        """One more slot, in place."""
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

    def first(self, n: int) -> "Few":
        """A copy of the first n rows, to be continued differently."""
        other = copy(self)
        other.slots, other.found = self.slots[:n], None
        for name in ("weights", "rows", "gram", "lower"):
            setattr(other, name, getattr(self, name).copy())
        return other


class Many:
    """More answers than features. It never changes: siblings that go on differently part."""

    def __init__(self, slots: list[int], weights: Floats, rows: Floats) -> None:
        self.slots, self.weights, self.rows = slots, weights, rows
        self.changes, self.renewed = 0, False
        self.found: tuple[Floats, Floats, Floats] | None = None
        self._invert()

    def _invert(self) -> None:
        n, width = len(self.slots), self.rows.shape[1]
        rows = np.concatenate([self.rows[:n], np.ones((n, 1))], axis=1)
        moments = rows.T @ (self.weights[:n, None] * rows)
        self.inverse = np.empty((len(LAMBDAS), width + 1, width + 1))
        for number, lam in enumerate(LAMBDAS):
            scale = self._f(number, np.ones(width), 1.0)
            scaled = scale[:, None] * moments * scale + lam * np.eye(width + 1)
            self.inverse[number] = cho_solve(cho_factor(scaled, lower=True), np.eye(width + 1))

    def solve(self, number: int, n: int, right: Floats) -> Floats:
        """A^-1 right."""
        weighted = right * self.weights[:n]
        across = self._f(number, weighted @ self.rows[:n], weighted.sum(axis=1)) @ self.inverse[number]
        solution: Floats = (weighted - self._at(number, n, across.T).T * self.weights[:n]) / LAMBDAS[number]
        return solution

    def diagonal(self, number: int, n: int) -> Floats:
        """Of A^-1."""
        weights = self.weights[:n]
        diagonal: Floats = (weights - weights**2 * self._form(number, self.rows[:n])) / LAMBDAS[number]
        return diagonal

    def columns(self, n: int, place: int) -> Floats:
        """Of A^-1, for every lambda."""
        along, _ = self._along(self.rows[place])
        columns: Floats = -self.weights[place] * self.weights[:n] * self._at_rows(n, along)
        columns[:, place] += self.weights[place]
        columns /= LAMBDAS[:, None]
        return columns

    def explained(self, number: int, n: int, features: Floats) -> Floats:
        """k' A^-1 k."""
        explained: Floats = np.square(features).sum(axis=1) + BIASES[number]
        explained -= LAMBDAS[number] * self._form(number, features)
        return explained

    def with_row(self, n: int, slot: int, weight: float, features: Floats) -> Factors:
        """With one more slot."""
        along, form = self._along(features)
        k = self.rows[:n] @ features + BIASES[:, None]
        more = self.changed(along * np.sqrt(weight / (1 + weight * form))[:, None], -1)
        more.found = k, self.weights[:n] * self._at_rows(n, along), LAMBDAS * (1 / weight + form)
        more.slots = [*self.slots[:n], slot]
        if n == len(self.weights) or self.weights[n]:  # no room, or a sibling has used it
            room = np.zeros(n // 4 + 8)
            more.weights = np.concatenate([self.weights[:n], room])
            more.rows = np.concatenate([self.rows[:n], np.zeros((len(room), len(features)))])
        more.rows[n], more.weights[n] = features, weight
        more.refresh()
        return more

    def newest(self, n: int) -> tuple[Floats, Floats, Floats]:
        """k, A^-1 k, and the variance, as they were found when the row was added."""
        assert self.found is not None
        return self.found

    def without(self, n: int, place: int) -> Factors:
        """Without one of them."""
        if n - 1 <= self.rows.shape[1] // 2:  # not at once: an answer taken back is often given again
            keep = [*range(place), *range(place + 1, n)]
            return Few([self.slots[other] for other in keep], self.weights[keep], self.rows[keep])
        weight = self.weights[place]
        along, form = self._along(self.rows[place])
        fewer = self.changed(along * np.sqrt(weight / (1 - weight * form))[:, None], 1)
        fewer.slots = [*self.slots[:place], *self.slots[place + 1 : n]]
        fewer.rows, fewer.weights = (np.delete(part[:n], place, axis=0) for part in (self.rows, self.weights))
        fewer.refresh()
        return fewer

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

    def _at_rows(self, n: int, along: Floats) -> Floats:
        """F along, for every lambda."""
        at: Floats = along[:, :-1] @ self.rows[:n].T + (np.sqrt(BIASES) * along[:, -1])[:, None]
        return at

    @staticmethod
    def _f(number: int, features: Floats, ones: Floats | float) -> Floats:
        """Features with the column of the bias."""
        last = np.sqrt(BIASES[number]) * np.asarray(ones)
        return np.concatenate([features, last[..., None]], axis=-1)

    def _at(self, number: int, n: int, along: Floats) -> Floats:
        """F along."""
        at: Floats = self.rows[:n] @ along[:-1] + np.sqrt(BIASES[number]) * along[-1]
        return at

    def _form(self, number: int, features: Floats) -> Floats:
        """f' M^-1 f of some rows."""
        f = self._f(number, features, np.ones(len(features)))
        form: Floats = ((f @ self.inverse[number]) * f).sum(axis=1)
        return form


def solve(lower: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """L^-1 right, or L'^-1 right."""
    if not len(lower):
        return right
    # The factor lies row by row, which LAPACK reads as its transpose: an upper triangle.
    solution: Floats = dtrtrs(lower.T, right, lower=0, trans=0 if transposed else 1)[0]
    return solution
