"""Metrics: pure functions that compare truth with scores or predictions, all of them items x concepts.

Truth is 1 for relevant, 0 for irrelevant and -1 (or NaN) for unknown. An unknown entry is left out as if the item and
the concept had never met: it is not ranked, not counted, and neither rewards nor punishes. Where scikit-learn has the
same metric, fully known truth gives the same number.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.errors import RamifyError

__all__ = [
    "PrecisionRecall",
    "coverage",
    "curve_auc",
    "f1_macro",
    "f1_micro",
    "mean_average_precision",
    "ndcg_at_k",
    "per_concept",
    "precision_at_k",
    "ranking_loss",
    "recovery_f1_loss",
]

Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]


class PrecisionRecall(NamedTuple):
    """The precision and the recall of every concept, NaN where undefined."""

    precision: Floats
    recall: Floats


# -- how well scores rank the concepts of an item --------------------------------------------------------------------


def precision_at_k(truth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The mean over items of the number of relevant concepts among the k with the best scores, divided by k.

    Of tied concepts the one in the lower column comes first. Unknown entries are not ranked; the k best of the known
    ones count. An item with fewer than k known entries is still divided by k, so the places it cannot fill count as
    misses; an item with no known entry is left out of the mean.

    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.1]], k=2)
    0.5
    >>> precision_at_k([[1, -1, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.1]], k=2)
    0.75
    """
    relevant, known, scored = _ranked_input(truth, scores)
    _check_k(k, concepts=scored.shape[1])
    # One partition is several times faster than a stable sort. It finds the k-th best score but not which of the
    # entries tied with it belong to the best: those in the lowest columns, as many as there is room for.
    ahead = np.where(known, -scored, np.inf)
    last = np.partition(ahead, k - 1, axis=1)[:, k - 1 : k]
    better = ahead < last
    tied = known & (ahead == last)
    room = k - better.sum(axis=1, keepdims=True)
    best = better | (tied & (tied.cumsum(axis=1, dtype=np.int32) <= room))
    return float((best & relevant).sum() / (k * known.any(axis=1).sum()))


def ndcg_at_k(truth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The mean over items of the discounted gain of the k best-scored concepts, divided by the best gain possible.

    A relevant concept at rank r gains 1 / log2(r + 1); tied concepts share their ranks' gains equally. Unknown entries
    are not ranked, neither for the gain nor for the best possible one. An item with known entries but no relevant one
    scores 0; an item with no known entry is left out of the mean.

    >>> ndcg_at_k([[1, 0, 0], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.2, 0.1]], k=1)
    0.75
    """
    relevant, known, scored = _ranked_input(truth, scores)
    _check_k(k, concepts=scored.shape[1])
    ranking = _ranking(relevant, known, scored)
    gain = np.zeros(scored.shape[1] + 1)
    gain[1 : k + 1] = 1 / np.log2(np.arange(2, k + 2))
    gain = gain.cumsum()
    shared = (gain[ranking.last + 1] - gain[ranking.first]) / (ranking.last + 1 - ranking.first)
    gained = (shared * ranking.relevant).sum(axis=1)
    ratios = _ratio(gained, gain[relevant.sum(axis=1)], otherwise=0)
    return float(ratios[known.any(axis=1)].mean())


def coverage(truth: ArrayLike, scores: ArrayLike) -> float:
    """The mean over items of how far one goes down the ranking to meet all relevant concepts (lower is better).

    Tied concepts are all passed. Only known entries are counted on the way. An item with known entries but no relevant
    one counts 0; an item with no known entry is left out of the mean. It is scikit-learn's ``coverage_error``.

    >>> coverage([[1, 0, 0], [1, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    2.0
    """
    relevant, known, scored = _ranked_input(truth, scores)
    lowest = np.where(relevant, scored, np.inf).min(axis=1, keepdims=True)
    passed = known & (scored >= lowest) & relevant.any(axis=1, keepdims=True)
    return float(passed.sum() / known.any(axis=1).sum())


def ranking_loss(truth: ArrayLike, scores: ArrayLike) -> float:
    """The mean over items of the share of (relevant, irrelevant) pairs in the wrong order (lower is better).

    A tie is a wrong order. Pairs are made of known entries only. An item with known entries but without any pair
    counts 0; an item with no known entry is left out of the mean. It is scikit-learn's ``label_ranking_loss``.

    >>> ranking_loss([[1, 0, 0], [0, 1, -1]], [[0.7, 0.9, 0.1], [0.2, 0.7, 0.9]])
    0.25
    """
    relevant, known, scored = _ranked_input(truth, scores)
    ranking = _ranking(relevant, known, scored)
    # Unknown entries come after all others, so only relevant ones stand between the irrelevant ones that count.
    passed = ranking.last + 1 - ranking.relevant_so_far
    wrong = (passed * ranking.relevant).sum(axis=1)
    counts = relevant.sum(axis=1)
    shares = _ratio(wrong, counts * (known.sum(axis=1) - counts), otherwise=0)
    return float(shares[known.any(axis=1)].mean())


# -- how well scores or predictions find the items of a concept ------------------------------------------------------


def mean_average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """The mean over concepts of the average precision with which the scores rank the items.

    Tied items are retrieved together. For each concept only items known for it are ranked; concepts without a known
    relevant item are left out of the mean. There must be one that is not.

    >>> mean_average_precision([[1, 0], [0, 1], [1, -1]], [[0.9, 0.9], [0.5, 0.3], [0.1, 0.8]])
    0.66...
    """
    relevant, known, scored = _ranked_input(truth, scores)
    ranked = relevant.any(axis=0)
    if not ranked.any():
        raise RamifyError("no concept has a known relevant item: mean average precision needs at least one")
    ranking = _ranking(relevant.T[ranked], known.T[ranked], scored.T[ranked])
    precision = ranking.relevant_so_far / (ranking.last + 1)
    averages = (precision * ranking.relevant).sum(axis=1) / ranking.relevant.sum(axis=1)
    return float(averages.mean())


def f1_micro(truth: ArrayLike, predicted: ArrayLike) -> float:
    """F1 of 0/1 predictions over all known entries together; 0 if nothing is relevant and nothing predicted so.

    >>> f1_micro([[1, 0], [1, -1]], [[1, 1], [0, 1]])
    0.5
    """
    relevant, known, claimed = _predicted_input(truth, predicted)
    return float(_f1(relevant, known & claimed).item())


def f1_macro(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The mean over concepts of the F1 of 0/1 predictions, each over the items known for the concept.

    A concept with nothing relevant and nothing predicted so scores 0; one with no known item is left out of the mean.

    >>> f1_macro([[1, 0, -1], [1, 1, -1]], [[1, 0, 1], [1, 0, 1]])
    0.5
    """
    relevant, known, claimed = _predicted_input(truth, predicted)
    return float(_f1(relevant, known & claimed, axis=0)[known.any(axis=0)].mean())


def per_concept(truth: ArrayLike, predicted: ArrayLike) -> PrecisionRecall:
    """The precision and recall of 0/1 predictions for each concept, over the items known for it.

    Precision is NaN where no known item is predicted relevant, recall where none is relevant.

    >>> per_concept([[1, 0, 1], [1, -1, 0]], [[1, 0, 1], [0, 1, 1]])
    PrecisionRecall(precision=array([1. , nan, 0.5]), recall=array([0.5, nan, 1. ]))
    """
    relevant, known, claimed = _predicted_input(truth, predicted)
    claimed &= known
    right = (relevant & claimed).sum(axis=0)
    return PrecisionRecall(
        _ratio(right, claimed.sum(axis=0), otherwise=np.nan), _ratio(right, relevant.sum(axis=0), otherwise=np.nan)
    )


# -- how a run of the loop goes --------------------------------------------------------------------------------------


def recovery_f1_loss(truth: ArrayLike, pseudo: ArrayLike, unknown: ArrayLike) -> float:
    """1 - F1 of 0/1 pseudo-labels against the truth, over all entries together where the mask ``unknown`` is true.

    ``unknown`` says what the annotator's labels leave open; where the truth itself is unknown, the entry is left out.
    If none of the entries is relevant and none is claimed to be, nothing is missed and the loss is 0.

    >>> recovery_f1_loss([[1, 0], [1, 0]], [[1, 1], [0, 0]], [[True, True], [False, False]])
    0.33...
    """
    relevant, known = _read_truth(truth)
    claimed = _read_predicted(pseudo, relevant, "pseudo")
    mask = _read_table(unknown, "unknown", relevant)
    if mask.dtype.kind != "b":
        raise RamifyError(f"unknown has the type {mask.dtype}: give a mask of True and False")
    counted = known & mask
    return float(1 - _f1(relevant & counted, claimed & counted, otherwise=1).item())


def curve_auc(answers: ArrayLike, values: ArrayLike) -> float:
    """The area under a progression curve by the trapezoid rule, divided by the range of the answers.

    A constant curve scores its constant, a single point its value. Answers must not fall, and must grow overall.

    >>> curve_auc([0, 100, 400], [0.0, 0.5, 0.5])
    0.4375
    """
    numbers, heights = _read_line(answers, "answers"), _read_line(values, "values")
    if len(numbers) != len(heights):
        raise RamifyError(f"answers has {len(numbers)} points but values has {len(heights)}: give one value for each")
    falls = np.flatnonzero(np.diff(numbers) < 0)
    if len(falls):
        before, after = numbers[falls[0]], numbers[falls[0] + 1]
        raise RamifyError(f"answers falls from {before:g} to {after:g}: give the points in the order they were reached")
    if len(numbers) == 1:
        return float(heights[0])
    if numbers[0] == numbers[-1]:
        raise RamifyError(f"answers is {numbers[0]:g} at every point: give a single point or a curve that goes on")
    return float(np.trapezoid(heights, (numbers - numbers[0]) / (numbers[-1] - numbers[0])))


# -- inside ----------------------------------------------------------------------------------------------------------


class _Ranking(NamedTuple):
    """Rows with their best-scored entry first and the unknown ones last."""

    relevant: Mask
    first: Index
    """The place of the first entry with the same score; an unknown entry shares its score with none."""
    last: Index
    relevant_so_far: Index
    """How many relevant entries score as well or better."""


def _ranking(relevant: Mask, known: Mask, scores: Floats) -> _Ranking:
    # NaN sorts last and differs from everything, itself included: just what an unknown entry should do.
    ahead = np.where(known, -scores, np.nan)
    order = np.argsort(ahead, axis=1)
    ahead = np.take_along_axis(ahead, order, axis=1)
    relevant = np.take_along_axis(relevant, order, axis=1)
    differs = np.ones(ahead.shape, np.bool_)
    differs[:, 1:] = ahead[:, 1:] != ahead[:, :-1]
    starts = np.flatnonzero(differs)
    sizes = np.diff(starts, append=ahead.size)
    starts %= ahead.shape[1]
    first = np.repeat(starts, sizes).reshape(ahead.shape)
    last = np.repeat(starts + sizes - 1, sizes).reshape(ahead.shape)
    return _Ranking(relevant, first, last, np.take_along_axis(relevant.cumsum(axis=1), last, axis=1))


def _f1(relevant: Mask, claimed: Mask, axis: int | None = None, otherwise: float = 0) -> Floats:
    return _ratio(2 * (relevant & claimed).sum(axis), relevant.sum(axis) + claimed.sum(axis), otherwise)


def _ratio(part: Any, whole: Any, otherwise: float) -> Floats:
    """Part / whole, and another value where the whole is 0."""
    ratio = np.full(np.shape(whole), otherwise, np.float64)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


def _ranked_input(truth: ArrayLike, scores: ArrayLike) -> tuple[Mask, Mask, Floats]:
    relevant, known = _read_truth(truth, knowing=True)
    scored = _read_table(scores, "scores", relevant).astype(np.float64, copy=False)
    _refuse(np.isnan(scored), scored, "scores", "every entry needs a score that is a number")
    return relevant, known, scored


def _predicted_input(truth: ArrayLike, predicted: ArrayLike) -> tuple[Mask, Mask, Mask]:
    relevant, known = _read_truth(truth, knowing=True)
    return relevant, known, _read_predicted(predicted, relevant, "predicted")


def _read_truth(truth: ArrayLike, *, knowing: bool = False) -> tuple[Mask, Mask]:
    """Which entries are relevant and which are known (at least one must be, if ``knowing``)."""
    states = _read_table(truth, "truth")
    relevant = states == 1
    known = relevant | (states == 0)
    wrong = ~(known | (states == -1) | np.isnan(states))
    _refuse(wrong, states, "truth", "write 1 for relevant, 0 for irrelevant, -1 or NaN for unknown")
    if knowing and not known.any():
        raise RamifyError("truth is unknown everywhere: at least one entry must be 1 or 0")
    return relevant, known


def _read_predicted(predicted: ArrayLike, like: Mask, name: str) -> Mask:
    states = _read_table(predicted, name, like)
    claimed: Mask = states == 1
    _refuse(~(claimed | (states == 0)), states, name, "write 1 for relevant, 0 for irrelevant")
    return claimed


def _read_table(values: ArrayLike, name: str, like: Mask | None = None) -> NDArray[Any]:
    table = _read_array(values, name)
    if table.ndim != 2:
        raise RamifyError(f"{name} has the shape {table.shape}: give a table of items x concepts")
    if like is not None and table.shape != like.shape:
        raise RamifyError(
            f"{name} has the shape {table.shape} but truth has {like.shape}: give the same items and concepts"
        )
    if not table.size:
        raise RamifyError(f"{name} is empty, its shape is {table.shape}: give at least one item and one concept")
    return table


def _read_line(values: ArrayLike, name: str) -> Floats:
    line = _read_array(values, name)
    if line.ndim != 1 or not len(line):
        raise RamifyError(f"{name} has the shape {line.shape}: give a list of at least one number")
    wrong = np.flatnonzero(~np.isfinite(line))
    if len(wrong):
        raise RamifyError(f"{name} is {line[wrong[0]]} at point {wrong[0]}: every point needs a finite number")
    return line.astype(np.float64, copy=False)


def _read_array(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise RamifyError(f"{name} has rows of different lengths: give a value for every entry") from None
    if array.dtype.kind not in "biuf":
        raise RamifyError(f"{name} has the type {array.dtype}: give a dense array of numbers")
    return array


def _check_k(k: int, concepts: int) -> None:
    if not isinstance(k, int | np.integer) or not 1 <= k <= concepts:
        raise RamifyError(f"k is {k}: choose a whole number from 1 to {concepts}, the number of concepts")


def _refuse(wrong: Mask, table: NDArray[Any], name: str, advice: str) -> None:
    if wrong.any():
        item, concept = np.argwhere(wrong)[0]
        raise RamifyError(f"{name} is {table[item, concept]} at item {item}, concept {concept}: {advice}")
