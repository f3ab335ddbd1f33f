"""Promises: a threshold at which predicted labels are right, or found, as often as wished, with 95 % confidence.

Learn, then test (Angelopoulos and others, 2021): every threshold of a grid is a hypothesis "no, they are not", with a
p-value by the audit. They are tested in a fixed order until one is not rejected, so all that were rejected before
hold together. For precision the order goes down from where the sample is large enough to reject at all; it may depend
on the probabilities of the sample, not on the truth. From two such beginnings it goes down, with half of the risk
each: one that starts early fails by one unlucky label. For recall, which only falls with the threshold, it goes up
from the lowest.
"""

from dataclasses import dataclass
from math import ceil, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.quality.audit import Audit, Entries
from ramify.quality.intervals import Share, chance_of_more, share_of, sums_by
from ramify.taxonomy import Index

Kind = Literal["precision", "recall"]

RISK = 0.05
GRID = 100  # thresholds that are tested
BEGINNINGS = (1.25, 3.0)  # times the sample that rejects where every label is right
MOST = 1_000_000  # answers: more than that is never


@dataclass(frozen=True)
class Promise:
    """What holds of the predicted labels of some concepts."""

    concepts: Index
    """Fine ones, by number."""
    threshold: float | None
    """None where nothing can be promised yet."""
    share: Share
    """The share that was seen at the threshold, and the size of the sample that it rests on."""
    more: int | None
    """Where nothing can be promised: about how many more drawn units it would take; None where no number helps."""


def fewest(target: float, risk: float = RISK) -> int:
    """The smallest sample that can promise a share, if everything in it is right.

    >>> fewest(0.95), fewest(0.9)
    (59, 29)
    """
    return ceil(log(risk) / log(target)) if target < 1 else MOST


def promise(audit: Audit, kind: Kind, target: float) -> list[Promise]:
    """Promises for each concept that has enough of its own, and one for all others together.

    Each of them holds with 95 % confidence: of twenty, one may fail.
    """
    if not 0 < target < 1:
        raise RamifyError(f"a {kind} that can be promised is a share above 0 and below 1, not {target:g}")
    concepts = np.arange(len(audit.of_concept))
    enough = BEGINNINGS[0] * fewest(target)
    own = [c for c in concepts.tolist() if _shares(audit, np.array([c]), kind, np.zeros(1))[0].size >= enough]
    groups = [np.array([c]) for c in own]
    rest = np.setdiff1d(concepts, own)
    return [promise_of(audit, part, kind, target) for part in ([rest, *groups] if len(rest) else groups)]


def promise_of(audit: Audit, concepts: Index, kind: Kind, target: float) -> Promise:
    """One promise, for some concepts together."""
    p = audit.drawn.of(concepts).p
    grid = np.unique(np.quantile(p, np.linspace(0, 1, GRID), method="inverted_cdf")) if len(p) else np.zeros(0)
    shares = _shares(audit, concepts, kind, grid)
    chances = np.array([chance_of_more(share.value * share.size, share.size, target) for share in shares])
    if kind == "recall":
        holds = np.flatnonzero(np.cumprod(chances <= RISK))
        best = int(holds[-1]) if len(holds) else None
    else:
        best = _lowest(np.array([share.size for share in shares]), chances, target)
    if best is not None:
        return Promise(concepts, float(grid[best]), shares[best], None)
    likely = [share for share in shares if share.size > 0 and share.value > target]
    needed = [_needed(share.value, target) / share.size for share in likely]
    top = max(shares, key=lambda share: share.value * (share.size > 0), default=Share(float("nan"), 0.0))
    draws = int(audit.of_concept[concepts].max(initial=0)) if len(concepts) == 1 else audit.draws
    more = None if not needed else max(1, ceil(draws * (min(needed) - 1)))
    return Promise(concepts, None, top, None if more is None or more > MOST else more)


def _lowest(counts: NDArray[np.float64], chances: NDArray[np.float64], target: float) -> int | None:
    """The lowest threshold that is reached from any beginning; the grid ascends, the sample shrinks along it."""
    risk = RISK / len(BEGINNINGS)
    reached: list[int] = []
    for times in BEGINNINGS:
        able = np.flatnonzero(counts >= times * fewest(target, risk))
        if len(able):
            down = chances[: able[-1] + 1][::-1] <= risk
            steps = int(np.cumprod(down).sum())
            if steps:
                reached.append(int(able[-1]) - steps + 1)
    return min(reached, default=None)


def _needed(value: float, target: float) -> float:
    """The sample that would promise a share, if it went on as well as it seems."""
    count = BEGINNINGS[0] * fewest(target, RISK / len(BEGINNINGS))
    while count < MOST and chance_of_more(value * count, count, target) > RISK / len(BEGINNINGS):
        count *= 1.1
    return count


def _shares(audit: Audit, concepts: Index, kind: Kind, grid: NDArray[np.float64]) -> list[Share]:
    """Precision or recall among predicted labels, at each threshold."""
    drawn, gone = audit.drawn.of(concepts), audit.known.of(concepts)
    bunches, places = np.unique(drawn.bunches, return_inverse=True)
    weights = np.zeros(len(bunches))
    weights[places] = drawn.weights

    def parts(entries: Entries, threshold: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        above = entries.p >= threshold
        return above & entries.truth, above if kind == "precision" else entries.truth

    shares = []
    for threshold in grid:
        hits, sizes = (sums_by(places, part, len(bunches)) for part in parts(drawn, threshold))
        less = tuple(float(gone.weights @ part) for part in parts(gone, threshold))
        shares.append(share_of(weights, hits, sizes, (less[0], less[1])))
    return shares
