"""When to stop: what more answers would bring, by the audit, the curve and the time that answers took."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ramify.quality import FEWEST
from ramify.quality.intervals import Interval

PAUSE = 60.0  # seconds: who does nothing for longer does something else
MINUTES = 30  # that are looked ahead
POINTS, LAST = 4, 10  # of the curve: at least, and at most
GROWTH = 1.2  # times as many answers at its end as at its beginning
NOTHING = 0.01  # of F1: not worth half an hour
LISTED = 5  # concepts that are named

Kind = Literal["early", "worth it", "done"]


class Advice(NamedTuple):
    """Whether to go on."""

    kind: Kind
    said: str
    gain: Interval | None = None
    """What so many minutes would add to F1."""
    minutes: int = MINUTES


def active_seconds(at: NDArray[np.float64], annotators: NDArray[np.intp]) -> float:
    """How long people worked: the time between two answers of the same person, without pauses over a minute.

    >>> active_seconds(np.array([0.0, 10.0, 500.0, 505.0]), np.array([0, 0, 0, 0]))
    15.0
    """
    order = np.lexsort((at, annotators))
    gaps = np.diff(at[order])
    same = np.diff(annotators[order]) == 0
    return float(gaps[same & (gaps <= PAUSE)].sum())


def advise(
    curve: Sequence[tuple[int, float]],
    draws: int,
    seconds: float,
    sure: Sequence[str] = (),
    short: Sequence[str] = (),
    open_: Sequence[str] = (),
    wished: float = 0.95,
) -> Advice:
    """What to do, from answers and estimated F1 so far, answered draws, and seconds that all answers took.

    ``sure``, ``short`` and ``open_`` are the concepts whose precision is as wished for sure, surely is not, and those
    that the audit cannot tell yet.

    >>> advise([(100, 0.6), (150, 0.66), (200, 0.7), (300, 0.76)], 60, 1500.0).said
    'at this pace 30 more minutes bring about +0.11 F1 (+0.11 to +0.12)'
    >>> advise([(100, 0.6)], 12, 500.0).said
    'too early to say: 12 of at least 30 audit answers'
    """
    if sure and not short and not open_:
        return Advice("done", f"done: precision {wished:g} is reached for all {len(sure)} concepts")
    if draws < FEWEST:
        return Advice("early", f"too early to say: {draws} of at least {FEWEST} audit answers")
    by_concept = _by_concept(sure, short, open_, wished)
    gain = _gain(curve, seconds)
    if gain is None:
        return Advice("early", f"too early to say what more answers bring{by_concept}")
    said = f"{gain.value:+.2f} F1 ({gain.low:+.2f} to {gain.high:+.2f})"
    if gain.high < NOTHING:
        return Advice("done", f"done: {MINUTES} more minutes would hardly bring anything ({said}){by_concept}", gain)
    return Advice("worth it", f"at this pace {MINUTES} more minutes bring about {said}{by_concept}", gain)


def _by_concept(sure: Sequence[str], short: Sequence[str], open_: Sequence[str], wished: float) -> str:
    total = len(sure) + len(short) + len(open_)
    if not total:
        return ""
    said = f"; precision {wished:g} is sure for {len(sure)} of {total} concepts"
    if short:
        more = f" and {len(short) - LISTED} more" if len(short) > LISTED else ""
        said += f", {', '.join(short[:LISTED])}{more} fall short"
    return said + (f", {len(open_)} need more audit answers" if open_ else "")


def _gain(curve: Sequence[tuple[int, float]], seconds: float) -> Interval | None:
    """What the next minutes would add to F1, if it goes on growing with the logarithm of the answers."""
    points = np.array([point for point in curve if point[0] > 0][-LAST:], np.float64).reshape(-1, 2)
    if len(np.unique(points[:, 0])) < POINTS or points[-1, 0] < GROWTH * points[0, 0] or seconds <= 0:
        return None
    x, y = np.log(points[:, 0]), points[:, 1]
    answers = points[-1, 0]
    more = float(np.log1p(60 * MINUTES * (answers / seconds) / answers))
    x -= x.mean()
    slope = float(x @ y / (x @ x))
    left = y - y.mean() - slope * x
    error = float(np.sqrt(left @ left / (len(x) - 2) / (x @ x))) * float(stdtrit(len(x) - 2, 0.975))
    most = 1 - float(y[-1])
    bounds = [min(most, max(0.0, (slope + step) * more)) for step in (0.0, -error, error)]
    return Interval(*bounds)
