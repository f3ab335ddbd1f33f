"""Intervals: a share and how sure it is, from a sample with weights.

Clopper and Pearson's interval is exact for a simple random sample. Ours has weights, and its entries come in bunches
(all open children of a concept of one item), so the interval is that of a simple sample of the size that would vary
as much (Korn and Graubard, 1998), never larger than the sample itself. Two shares are combined by squares: what a
bound of each alone would do to the result, added like the sides of a right angle (Zou and Donner, 2008).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, stdtrit  # scipy.stats has the same, and takes a second to load

Floats = NDArray[np.float64]

LEVEL = 0.95


class Interval(NamedTuple):
    """A value between two bounds."""

    value: float
    low: float
    high: float


def clopper_pearson(hits: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """The bounds of a share of which ``hits`` of ``count`` were seen; neither needs to be whole.

    >>> tuple(round(bound, 3) for bound in clopper_pearson(8, 10))
    (0.444, 0.975)
    >>> clopper_pearson(0, 0)
    (0.0, 1.0)
    """
    hits, miss = max(0.0, min(hits, count)), (1 - level) / 2
    low = float(betaincinv(hits, count - hits + 1, miss)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1 - miss)) if hits < count else 1.0
    return low, high


def chance_of_more(hits: float, count: float, share: float) -> float:
    """How probable at least so many hits are where the share is ``share``: the p-value of "no more than that".

    >>> round(chance_of_more(59, 59, 0.95), 3)
    0.048
    """
    return 1.0 if hits <= 0 else float(betainc(hits, count - hits + 1, share))


class Share(NamedTuple):
    """A share by a weighted sample, and the size of a simple random sample that would say as much."""

    value: float
    size: float

    def bounds(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval; of what is counted, not sampled, no wider than a point."""
        if np.isinf(self.size):
            return self.value, self.value
        return clopper_pearson(self.value * self.size, self.size, level)


def share_of(weights: Floats, hits: Floats, sizes: Floats, less: tuple[float, float] = (0.0, 0.0)) -> Share:
    """The share sum(weights hits) / sum(weights sizes) by bunches, less what is known to lie outside; hits <= sizes.

    ``less`` are totals of hits and sizes to be taken away from both sums.

    >>> share_of(np.ones(4), np.array([1.0, 1, 0, 1]), np.ones(4))
    Share(value=0.75, size=3...)
    """
    total = float(weights @ sizes)
    left = total - less[1]
    if left <= 0 or not total:
        return Share(float("nan"), 0.0)
    value = min(1.0, max(0.0, (float(weights @ hits) - less[0]) / left))
    shrunk = (left / total) ** 2  # what is taken away has no error: all of it is that of the rest
    bunches = sizes > 0
    n = int(bunches.sum())
    even = total**2 / float(np.square(weights * sizes).sum())  # Kish: unequal weights count as fewer
    most = even * float(sizes.sum()) / n * shrunk
    spread = weights * (hits - value * sizes)
    variance = float(spread @ spread) / left**2
    if n < 2 or variance <= 0 or not 0 < value < 1:
        return Share(value, even * shrunk)
    alike = value * (1 - value) / variance * (n - 1) / n
    small = (stdtrit(max(1.0, most - 1), 0.975) / stdtrit(n - 1, 0.975)) ** 2  # few bunches: variance is a guess
    return Share(value, float(min(most, alike * min(1.0, small))))


def sums_by(places: NDArray[np.intp], mask: NDArray[np.bool_], count: int) -> Floats:
    """How often a mask is true at each of ``count`` places.

    >>> sums_by(np.array([0, 1, 1]), np.array([True, True, True]), 3)
    array([1., 2., 0.])
    """
    return np.asarray(np.bincount(places, mask, minlength=count), np.float64)


def combined(function: Callable[[float, float], float], first: Share, second: Share, level: float = LEVEL) -> Interval:
    """A function that grows with the first share and falls with the second, and its interval.

    >>> combined(lambda right, missed: right - missed, Share(0.9, 100.0), Share(0.1, 1000.0))
    Interval(value=0.8, low=0.721..., high=0.854...)
    """
    value = function(first.value, second.value)
    (low, high), (least, most) = first.bounds(level), second.bounds(level)
    down = np.hypot(value - function(low, second.value), value - function(first.value, most))
    up = np.hypot(function(high, second.value) - value, function(first.value, least) - value)
    return Interval(value, max(0.0, value - float(down)), min(1.0, value + float(up)))
