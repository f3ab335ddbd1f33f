"""The paper's figures, as PNG and SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ramify.experiments.progression import METRICS, MeanCurve, by_strategy, mean_curve

mpl.use("Agg")

STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "ramify",
}


def learning_curves(results: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Figure "lc": P@1 on the validation part by epoch, for each learner; one figure for each warm size.

    Learners without epochs are horizontal lines at their P@1 on test.
    """
    written = []
    for warm in sorted({result["warm"] for result in results}):
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(6.4, 4), layout="constrained")
            axes = figure.subplots()
            for number, (name, members) in enumerate(_by_learner(results, warm).items()):
                curves = [[epoch["p@1"] for epoch in m["history"] if "p@1" in epoch] for m in members]
                if any(curves):
                    _band(axes, curves, f"C{number}", name)
                else:
                    level = float(np.mean([member["p@1"] for member in members]))
                    axes.axhline(level, color=f"C{number}", linestyle="--", label=f"{name} (test)")
            axes.set(xlabel="epoch", ylabel="P@1 (validation)", title=f"{warm} warm items")
            axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
            written += save(figure, folder / f"learning-curves-{warm}")
    return written


def recovery_curves(results: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Figure "recover": the F1-loss of pseudo-labels on unknown entries by epoch, with two bars: all ones, random."""
    written = []
    for warm in sorted({result["warm"] for result in results}):
        members = _by_learner(results, warm)
        shares = [r["unknown_share"] for r in results if r["warm"] == warm and r["unknown_share"] is not None]
        if not shares or not any(m["recovery_f1_loss"] is not None for ms in members.values() for m in ms):
            continue
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(6.4, 4), layout="constrained")
            axes = figure.subplots()
            for number, (name, rows) in enumerate(members.items()):
                curves = [[e["recovery_f1_loss"] for e in m["history"] if "recovery_f1_loss" in e] for m in rows]
                levels = [m["recovery_f1_loss"] for m in rows if m["recovery_f1_loss"] is not None]
                if any(curves):
                    _band(axes, curves, f"C{number}", name)
                elif levels:
                    axes.axhline(float(np.mean(levels)), color=f"C{number}", linestyle="--", label=name)
            share = float(np.mean(shares))
            axes.axhline(1 - 2 * share / (1 + share), color="0.3", linewidth=2, label="all ones")
            axes.axhline(1 - share / (share + 0.5), color="0.6", linewidth=2, label="random")
            axes.set(xlabel="epoch", ylabel="F1-loss on unknown entries", title=f"{warm} warm items")
            axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
            written += save(figure, folder / f"recovery-{warm}")
    return written


COLOURS = {
    "random": "#7f7f7f",
    "uncertainty": "#e69f00",
    "look-ahead": "#009e73",
    "random-items": "#0072b2",
    "expected-gain": "#d55e00",
}
"""A strategy has the same colour in every figure, one that can be told apart without seeing red and green."""
DASHES = {"random": (0, (4, 2)), "random-items": (0, (1, 1.2))}  # what others are measured against is not a full line


def al_curve(rows: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Figure "al_curve": P@1, P@3 and P@5 by answers for each strategy, with a band of one std over seeds."""
    return _progression(rows, folder / "al_curve", by_views=False)


def al_curve_views(rows: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """The same against the items a person has to look at, which differ so much that their axis is logarithmic."""
    return _progression(rows, folder / "al_curve_views", by_views=True)


def _progression(rows: Sequence[dict[str, Any]], path: Path, *, by_views: bool) -> list[Path]:
    metrics = [metric for metric in METRICS if any(row[metric] is not None for row in rows)]
    strategies = by_strategy(rows)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * len(metrics), 3.1), layout="constrained")
        for axes, metric in zip(np.ravel(figure.subplots(1, len(metrics))), metrics, strict=True):
            curves = {name: mean_curve(list(seeds.values()), metric) for name, seeds in strategies.items()}
            for number, (name, curve) in enumerate(curves.items()):
                _line(axes, curve, name, COLOURS.get(name, f"C{number}"), by_views)
            end = curves["random"].mean[-1]  # where another curve crosses it shows what that strategy saves
            axes.axhline(end, color=COLOURS["random"], linewidth=0.8, linestyle=":", label="random's end", zorder=1)
            if by_views:
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter("{x:g}")
            axes.set(title=metric.upper(), xlabel="item views" if by_views else "answers")
        columns = 2 * len(metrics)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize="small")
        return save(figure, path)


def _line(axes: Axes, curve: MeanCurve, name: str, colour: str, by_views: bool) -> None:
    x = curve.item_views if by_views else curve.answers
    drawn = (x > 0) | (not by_views)  # a logarithm has no place for zero
    x, mean, spread = x[drawn], curve.mean[drawn], curve.spread[drawn]
    axes.plot(x, mean, color=colour, linestyle=DASHES.get(name, "-"), linewidth=1.6, label=name)
    axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG."""
    written = [path.with_suffix(ending) for ending in (".png", ".svg")]
    for file in written:
        figure.savefig(file, dpi=150)
    return written


def _by_learner(results: Sequence[dict[str, Any]], warm: int) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        if result["warm"] == warm:
            found.setdefault(result["learner"], []).append(result)
    return found


def _band(axes: Axes, curves: Sequence[Sequence[float]], colour: str, name: str) -> None:
    """The mean of curves over seeds, and their spread; a curve that stopped early keeps its last value."""
    length = max(map(len, curves))
    padded = np.array([[*curve, *[curve[-1]] * (length - len(curve))] for curve in curves if curve])
    epochs = np.arange(1, length + 1)
    mean, spread = padded.mean(axis=0), padded.std(axis=0)
    axes.plot(epochs, mean, color=colour, label=name)
    axes.fill_between(epochs, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
