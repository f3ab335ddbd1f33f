"""The paper's figures: what is drawn, the drawing, and the files (PNG and SVG)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ramify.experiments.claims import bars
from ramify.experiments.progression import METRICS, Floats, by_strategy, mean_curve

mpl.use("Agg")

STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "ramify",
}
COLOURS = {
    "random": "#7f7f7f",
    "uncertainty": "#e69f00",
    "look-ahead": "#009e73",
    "random-items": "#0072b2",
    "expected-gain": "#d55e00",
    "typiclust": "#56b4e9",
    "badge": "#cc79a7",
    "epig": "#000000",
    "finish": "#882255",
}
"""A strategy has the same colour in every figure, one that can be told apart without seeing red and green."""
LEARNER_COLOURS = {
    "fully-supervised": "#7f7f7f",
    "leml": "#0072b2",
    "one-class": "#e69f00",
    "pseudo-label-literal": "#cc79a7",
    "pseudo-label-averaged": "#56b4e9",
    "pseudo-label": "#009e73",
    "pseudo-label-smooth": "#d55e00",
}
"""The learners of the paper, and the steps from its own to ours: the same colour in every figure too."""
DASHES = {"random": (0, (4, 2)), "random-items": (0, (1, 1.2))}  # what others are measured against is not a full line

Results = Sequence[dict[str, Any]]


# -- what is drawn -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """A mean over seeds, and its standard deviation (n - 1 in the denominator, as in the tables; 0 with one seed)."""

    name: str
    x: Floats
    mean: Floats
    spread: Floats


@dataclass(frozen=True)
class Level:
    """A horizontal line."""

    name: str
    height: float


@dataclass(frozen=True)
class Content:
    """All that one plot shows."""

    curves: list[Curve]
    levels: list[Level]
    """Learners without epochs."""
    bars: list[Level]
    """What others are measured against."""


def learning_content(results: Results, warm: int, key: str = "p@1") -> Content:
    """P@1 on the validation part by epoch for each learner; its P@1 on test where it has no epochs.

    ``key`` says which figure of each epoch: "test_p@3" is P@3 on test, where nothing stopped the learner early.

    >>> histories = [{"p@1": 0.25}, {"p@1": 0.75}], [{"p@1": 0.5}]  # the second seed stopped after one epoch
    >>> rows = [{"learner": "leml", "warm": 8, "p@1": 0.5, "history": history} for history in histories]
    >>> [curve] = learning_content(rows, 8).curves
    >>> curve.mean.tolist(), curve.spread.round(3).tolist()
    ([0.375, 0.625], [0.177, 0.177])
    """
    content = Content([], [], [])
    for name, members in _by_learner(results, warm).items():
        if histories := _histories(members, key):
            content.curves.append(over_seeds(name, histories))
        elif reached := [value for member in members if (value := member[key.removeprefix("test_")]) is not None]:
            content.levels.append(Level(f"{name} (test)", float(np.mean(reached))))
    return content


def recovery_content(results: Results, warm: int) -> Content:
    """The F1-loss on unknown entries by epoch, or at the end, for each learner that believes anything of them.

    The bars are what it costs to call all unknown entries relevant, and to toss a coin for each: where a share s of
    them is relevant, F1 is 2 s / (s + 1) and 2 (s / 2) / (s + 1 / 2).

    >>> row = {"learner": "refine", "warm": 8, "history": [], "recovery_f1_loss": 0.25, "unknown_share": 0.5}
    >>> [(bar.name, round(bar.height, 3)) for bar in recovery_content([row], 8).bars]
    [('all ones', 0.333), ('random', 0.5)]
    """
    content = Content([], [], [])
    for name, members in _by_learner(results, warm).items():
        losses = [member["recovery_f1_loss"] for member in members if member["recovery_f1_loss"] is not None]
        if histories := _histories(members, "recovery_f1_loss"):
            content.curves.append(over_seeds(name, histories))
        elif losses:
            content.levels.append(Level(name, float(np.mean(losses))))
    shares = [r["unknown_share"] for r in results if r["warm"] == warm and r["unknown_share"] is not None]
    if shares:
        ones, chance = bars(float(np.mean(shares)))
        content.bars.extend([Level("all ones", ones), Level("random", chance)])
    return content


def recovery_points(results: Results, warm: int, metric: str = "test_p@1") -> dict[str, list[tuple[float, float]]]:
    """For each learner with pseudo-labels, how much they recover (F1) and what it reaches on test, epoch by epoch.

    >>> history = [{"recovery_f1_loss": 0.25, "test_p@1": 0.5}]
    >>> recovery_points([{"learner": "pseudo-label", "warm": 8, "history": history}], 8)
    {'pseudo-label': [(0.75, 0.5)]}
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for name, members in _by_learner(results, warm).items():
        epochs = [epoch for member in members for epoch in member["history"] if "recovery_f1_loss" in epoch]
        if found := [(1 - epoch["recovery_f1_loss"], epoch[metric]) for epoch in epochs if metric in epoch]:
            points[name] = found
    return points


def progression_content(rows: Results, metric: str, *, by_views: bool = False) -> Content:
    """A metric by answers (or by item views) for each strategy.

    The bar is the height at which random ends: where another curve crosses it shows what its strategy saves.
    """
    means = {name: mean_curve(list(seeds.values()), metric) for name, seeds in by_strategy(rows).items()}
    content = Content([], [], [Level("random's end", float(means["random"].mean[-1]))])
    for name, mean in means.items():
        x = mean.item_views if by_views else mean.answers
        drawn = (x > 0) | (not by_views)  # views are on a logarithmic axis, which has no place for zero
        content.curves.append(Curve(name, x[drawn], mean.mean[drawn], mean.spread[drawn]))
    return content


def over_seeds(name: str, histories: Sequence[Sequence[float]]) -> Curve:
    """The mean of curves by epoch; one that stopped early keeps its last value.

    >>> over_seeds("leml", [[0.25, 0.75], [0.5]]).x.tolist()
    [1.0, 2.0]
    """
    length = max(map(len, histories))
    padded = np.array([[*history, *[history[-1]] * (length - len(history))] for history in histories])
    spread = padded.std(axis=0, ddof=1) if len(padded) > 1 else np.zeros(length)
    return Curve(name, np.arange(1.0, length + 1), padded.mean(axis=0), spread)


def _histories(members: Results, key: str) -> list[list[float]]:
    """A value by epoch, of each seed that has it."""
    histories = [[epoch[key] for epoch in member["history"] if key in epoch] for member in members]
    return [history for history in histories if history]


def _by_learner(results: Results, warm: int) -> dict[str, list[dict[str, Any]]]:
    members: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        if result["warm"] == warm:
            members.setdefault(result["learner"], []).append(result)
    return members


# -- the drawing -------------------------------------------------------------------------------------------------------


def learning_curves(results: Results, warm: int) -> Figure:
    """Figure "lc": P@1 on the validation part by epoch; learners without epochs as horizontal lines, on test."""
    return _by_epoch(learning_content(results, warm), "P@1 (validation)", warm)


def curves_on_test(results: Results, warm: int) -> Figure:
    """Figure "lc" as the paper speaks of it: P@k on test by epoch, with nothing that stops a learner early."""
    metrics = [metric for metric in METRICS if any(result[metric] is not None for result in results)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.4 * len(metrics), 3.6), layout="constrained")
        for axes, metric in zip(np.ravel(figure.subplots(1, len(metrics))), metrics, strict=True):
            _draw_epochs(axes, learning_content(results, warm, f"test_{metric}"), f"{metric.upper()} (test)", "")
        handles = axes.get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=4, fontsize="small")
        figure.suptitle(f"{warm} warm items", fontsize="medium")
    return figure


def recovery_scatter(results: Results, warm: int) -> Figure:
    """What pseudo-labels recover against what is reached on test, a point for each epoch and seed."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4), layout="constrained")
        axes = figure.subplots()
        for number, (name, points) in enumerate(recovery_points(results, warm).items()):
            x, y = zip(*points, strict=True)
            colour = LEARNER_COLOURS.get(name, f"C{number}")
            axes.scatter(x, y, s=14, alpha=0.5, color=colour, label=name, linewidths=0)
        axes.set(xlabel="F1 of pseudo-labels on unknown entries", ylabel="P@1 (test)", title=f"{warm} warm items")
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def recovery_curves(results: Results, warm: int) -> Figure:
    """Figure "recover": the F1-loss of pseudo-labels on unknown entries by epoch, with two bars: all ones, random."""
    return _by_epoch(recovery_content(results, warm), "F1-loss on unknown entries", warm)


def _by_epoch(content: Content, ylabel: str, warm: int) -> Figure:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4), layout="constrained")
        axes = figure.subplots()
        _draw_epochs(axes, content, ylabel, f"{warm} warm items")
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _draw_epochs(axes: Axes, content: Content, ylabel: str, title: str) -> None:
    for number, curve in enumerate(content.curves):
        _draw(axes, curve, LEARNER_COLOURS.get(curve.name, f"C{number}"))
    for number, level in enumerate(content.levels, start=len(content.curves)):
        colour = LEARNER_COLOURS.get(level.name.removesuffix(" (test)"), f"C{number}")
        axes.axhline(level.height, color=colour, linestyle="--", label=level.name)
    for bar, grey in zip(content.bars, ("0.3", "0.6"), strict=False):
        axes.axhline(bar.height, color=grey, linewidth=2, label=bar.name)
    axes.set(xlabel="epoch", ylabel=ylabel, title=title)


def al_curve(rows: Results, *, by_views: bool = False) -> Figure:
    """Figure "al_curve": P@1, P@3 and P@5 by answers for each strategy, with a band of one std over seeds.

    Item views differ so much that their axis is logarithmic.
    """
    metrics = [metric for metric in METRICS if any(row[metric] is not None for row in rows)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * len(metrics), 3.1), layout="constrained")
        for axes, metric in zip(np.ravel(figure.subplots(1, len(metrics))), metrics, strict=True):
            content = progression_content(rows, metric, by_views=by_views)
            draw_strategies(axes, content.curves)
            for bar in content.bars:
                axes.axhline(
                    bar.height, color=COLOURS["random"], linewidth=0.8, linestyle=":", label=bar.name, zorder=1
                )
            if by_views:
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter("{x:g}")
            axes.set(title=metric.upper(), xlabel="item views" if by_views else "answers")
        columns = 2 * len(metrics)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize="small")
    return figure


def draw_strategies(axes: Axes, curves: Sequence[Curve]) -> None:
    """Each strategy's line with its band, always in the same colour."""
    for number, curve in enumerate(curves):
        colour, dashes = COLOURS.get(curve.name, f"C{number}"), DASHES.get(curve.name, "-")
        _draw(axes, curve, colour, linestyle=dashes, linewidth=1.6)


def _draw(axes: Axes, curve: Curve, colour: str, **style: Any) -> None:
    """A line with its band."""
    axes.plot(curve.x, curve.mean, color=colour, label=curve.name, **style)
    low, high = curve.mean - curve.spread, curve.mean + curve.spread
    axes.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0)


# -- files -------------------------------------------------------------------------------------------------------------


def write_comparison(results: Results, folder: Path) -> list[Path]:
    """The figures of a comparison, for each warm size."""
    written = []
    for warm in sorted({result["warm"] for result in results}):
        written += save(learning_curves(results, warm), folder / f"learning-curves-{warm}")
        recovery = recovery_content(results, warm)
        if recovery.bars and (recovery.curves or recovery.levels):
            written += save(recovery_curves(results, warm), folder / f"recovery-{warm}")
    return written


def write_progression(rows: Results, folder: Path) -> list[Path]:
    """The figures of a simulation: by answers, and by item views."""
    return [*save(al_curve(rows), folder / "al_curve"), *save(al_curve(rows, by_views=True), folder / "al_curve_views")]


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG."""
    written = [path.with_suffix(ending) for ending in (".png", ".svg")]
    with mpl.rc_context(STYLE):
        for file in written:
            figure.savefig(file, dpi=150)
    return written
