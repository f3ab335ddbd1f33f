"""Progression curves: how good a learner is after so many answers. Pure functions over the rows of a simulation."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import IsotonicRegression

from ramify.metrics import curve_auc

METRICS = ("p@1", "p@3", "p@5")
REFERENCES = ("random", "random-items")  # what others are measured against
Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Sequence[dict[str, Any]]


class MeanCurve(NamedTuple):
    """The curves of all seeds of a strategy on one grid of answers."""

    answers: Floats
    item_views: Floats
    """Averaged over seeds."""
    mean: Floats
    spread: Floats
    """The standard deviation over seeds; 0 with a single one."""


def by_strategy(rows: Rows) -> dict[str, dict[int, Rows]]:
    """The rows of each strategy and seed, in the order they come.

    >>> {name: list(runs) for name, runs in by_strategy([{"strategy": "random", "seed": 0}]).items()}
    {'random': [0]}
    """
    runs: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        runs.setdefault(row["strategy"], {}).setdefault(row["seed"], []).append(row)
    return runs  # type: ignore[return-value]


def mean_curve(runs: Sequence[Rows], metric: str) -> MeanCurve:
    """Curves of one strategy averaged over its seeds; a run that ended early keeps its last value.

    >>> short = [{"answers": 0, "item_views": 0, "p@1": 0.5}, {"answers": 10, "item_views": 4, "p@1": 0.75}]
    >>> long = [{"answers": 0, "item_views": 0, "p@1": 0.25}, {"answers": 20, "item_views": 8, "p@1": 0.5}]
    >>> mean_curve([short, long], "p@1").mean
    array([0.375 , 0.5625, 0.625 ])
    """
    measured = [[row for row in run if row[metric] is not None] for run in runs]
    grid = np.unique([float(row["answers"]) for run in measured for row in run])

    def on_grid(key: str) -> Floats:
        return np.array([np.interp(grid, *_points(run, key)) for run in measured])

    values = on_grid(metric)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(grid))
    return MeanCurve(grid, on_grid("item_views").mean(axis=0), values.mean(axis=0), spread)


def _points(run: Rows, key: str) -> tuple[list[float], list[float]]:
    """Answers and values; where a round brought no answer, the later value counts."""
    points = {float(row["answers"]): float(row[key]) for row in run}
    return list(points), list(points.values())


def smooth(values: ArrayLike) -> Floats:
    """The nearest curve that never falls (isotonic regression).

    >>> smooth([0.0, 0.5, 0.25, 1.0])
    array([0.   , 0.375, 0.375, 1.   ])
    """
    heights = np.asarray(values, np.float64)
    smoothed: Floats = IsotonicRegression().fit_transform(np.arange(len(heights)), heights)
    return smoothed


def crossing(x: Floats, heights: Floats, target: float) -> float | None:
    """Where a curve that never falls first reaches a target, between its points by a straight line; None if never.

    >>> crossing(np.array([0.0, 100.0, 200.0]), np.array([0.0, 0.5, 1.0]), 0.75)
    150.0
    """
    reached = np.flatnonzero(heights >= target - 1e-12)  # the same value may be summed in another order
    if not len(reached):
        return None
    first = int(reached[0])
    if first == 0:
        return float(x[0])
    low, high = heights[first - 1], heights[first]
    return float(x[first - 1] + (x[first] - x[first - 1]) * min(1.0, (target - low) / (high - low)))


def factors(curve: MeanCurve, reference: MeanCurve) -> tuple[float | None, float | None]:
    """How many times fewer answers, and item views, a strategy needs than its reference to be as good in the end.

    The answers of the reference at its end, divided by those at which the strategy reaches the same value, both curves
    smoothed; the same for the item views. None where it never does, or where the reference gained nothing by asking.

    >>> grid, views = np.array([0.0, 100.0, 200.0]), np.array([0.0, 50.0, 60.0])
    >>> random = MeanCurve(grid, grid, np.array([0.0, 0.25, 0.5]), np.zeros(3))
    >>> factors(MeanCurve(grid, views, np.array([0.0, 0.5, 0.75]), np.zeros(3)), random)
    (2.0, 4.0)
    """
    needed = crossing(curve.answers, smooth(curve.mean), float(smooth(reference.mean)[-1]))
    if not needed:
        return None, None
    views = float(np.interp(needed, curve.answers, curve.item_views))
    return float(reference.answers[-1]) / needed, float(reference.item_views[-1]) / views


def summary(rows: Rows) -> list[dict[str, Any]]:
    """A row for each strategy: AUC with its spread over seeds, paired with random's, and what it saves.

    All areas are over the same range of answers: a run that ended early keeps its last value up to the common end.

    >>> row = {"strategy": "random", "seed": 0, "p@3": None, "p@5": None}
    >>> before = {**row, "round": 0, "answers": 0, "item_views": 0, "p@1": 0.5}
    >>> random = summary([before, {**row, "round": 1, "answers": 10, "item_views": 9, "p@1": 0.75}])[0]
    >>> [random[key] for key in ("auc_p@1", "auc_p@1_std", "auc_p@3", "answers_factor_vs_random", "item_views")]
    [0.625, None, None, 1.0, 9.0]
    """
    runs, areas = by_strategy(rows), areas_of(rows)
    curves = {name: mean_curve(list(seeds.values()), "p@1") for name, seeds in runs.items()}
    return [
        {
            "strategy": name,
            "seeds": len(seeds),
            **_means(list(areas[name].values())),
            **_means(_paired(areas[name], areas.get("random", {}))),
            **_all_factors(name, curves),
            "answers": float(np.mean([run[-1]["answers"] for run in seeds.values()])),
            "item_views": float(np.mean([run[-1]["item_views"] for run in seeds.values()])),
        }
        for name, seeds in runs.items()
    ]


def areas_of(rows: Rows) -> dict[str, dict[int, dict[str, float | None]]]:
    """The areas of each strategy and seed, all over the same range of answers."""
    end = max((row["answers"] for row in rows), default=0)
    return {name: {seed: _areas(run, end) for seed, run in seeds.items()} for name, seeds in by_strategy(rows).items()}


def _areas(run: Rows, end: float) -> dict[str, float | None]:
    """The area under each of a run's curves, from its first answer to the end that all runs have in common."""
    areas: dict[str, float | None] = {}
    for metric in METRICS:
        measured = [row for row in run if row[metric] is not None]
        answers, values = [row["answers"] for row in measured], [row[metric] for row in measured]
        if measured and answers[-1] < end:
            answers, values = [*answers, end], [*values, values[-1]]
        areas[f"auc_{metric}"] = curve_auc(answers, values) if measured else None
    return areas


def _paired(areas: dict[int, dict[str, Any]], random: dict[int, dict[str, Any]]) -> list[dict[str, float | None]]:
    """The difference of each area to random's, for each seed that both have."""
    return [
        {f"{key}_vs_random": _difference(area, random.get(seed, {}).get(key)) for key, area in of_seed.items()}
        for seed, of_seed in areas.items()
    ]


def _difference(area: float | None, reference: float | None) -> float | None:
    return None if area is None or reference is None else area - reference


def _means(by_seed: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Mean and standard deviation of each value over seeds, where there are enough of them."""
    means: dict[str, float | None] = {}
    for key in by_seed[0]:
        values = [value for row in by_seed if (value := row[key]) is not None]
        means[key] = float(np.mean(values)) if values else None
        means[f"{key}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return means


def _all_factors(name: str, curves: dict[str, MeanCurve]) -> dict[str, float | None]:
    by_reference: dict[str, float | None] = {}
    for reference in REFERENCES:
        pair: tuple[float | None, float | None] = (None, None)
        if name == reference:
            pair = (1.0, 1.0)  # by its meaning; smoothing could let a curve reach its own end a little early
        elif reference in curves:
            pair = factors(curves[name], curves[reference])
        ending = reference.replace("-", "_")
        by_reference[f"answers_factor_vs_{ending}"], by_reference[f"views_factor_vs_{ending}"] = pair
    return by_reference
