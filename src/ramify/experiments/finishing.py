"""Finishing: when the labels of the whole pool, answered and predicted, are good enough. Over rows of a simulation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from rich import box
from rich.table import Table

from ramify.experiments import figures, tables
from ramify.experiments.progression import Floats, Rows, by_strategy, crossing, smooth

TARGETS = (0.8, 0.9)  # micro F1 of the pool's labels
COSTS = {"seconds": "seconds", "answers": "answers", "item_views": "item views"}
"""What reaching them costs, and how it is called."""


def reached(rows: Rows) -> list[dict[str, Any]]:
    """What each strategy needs to reach each target: mean and spread over its seeds, and how much sooner than random.

    Each seed's curve is smoothed monotonically. Seeds that do not reach the target are left out, and counted; it is
    ``sooner`` only where all seeds of both do.

    >>> row = {"strategy": "random", "seed": 0, "answers": 0, "item_views": 0, "seconds": 0.0, "pool_f1": 0.5}
    >>> end = {**row, "answers": 100, "item_views": 50, "seconds": 300.0, "pool_f1": 1.0}
    >>> quick = [{**row, "strategy": "quick"}, {**end, "strategy": "quick", "seconds": 150.0}]
    >>> [(found["target"], round(found["seconds"]), found["sooner"]) for found in reached([row, end, *quick])]
    [(0.8, 180, 1.0), (0.9, 240, 1.0), (0.8, 90, 2.0), (0.9, 120, 2.0)]
    """
    needed = {
        (strategy, target): [_needed(run, target) for run in seeds.values()]
        for strategy, seeds in by_strategy(rows).items()
        for target in TARGETS
    }
    found = []
    for (strategy, target), runs in needed.items():
        there = [run for run in runs if run is not None]
        row: dict[str, Any] = {"strategy": strategy, "target": target, "seeds": len(runs), "reached": len(there)}
        for cost in COSTS:
            values = [run[cost] for run in there]
            row[cost] = float(np.mean(values)) if values else None
            row[f"{cost}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        found.append(row)
    random = {row["target"]: row for row in found if row["strategy"] == "random"}
    return [{**row, "sooner": _sooner(row, random.get(row["target"]))} for row in found]


def as_table(found: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """A row for each strategy: what it needs for each target, the least seconds in ** **, and how much sooner it is."""
    header = ["strategy"]
    for target in TARGETS:
        header += [f"{name} to {target:g}" for name in COSTS.values()] + [f"× sooner to {target:g}"]
    least = {
        target: min((row["seconds"] for row in found if row["target"] == target and _whole(row)), default=None)
        for target in TARGETS
    }
    lines: dict[str, list[str]] = {}
    for row in found:
        texts = [_cost(row, cost) for cost in COSTS]
        if _whole(row) and row["seconds"] == least[row["target"]]:
            texts[0] = f"**{texts[0]}**"
        sooner = "-" if row["sooner"] is None else f"{row['sooner']:.2f}"
        lines.setdefault(row["strategy"], [row["strategy"]]).extend([*texts, sooner])
    return header, list(lines.values())


def as_markdown(found: Sequence[dict[str, Any]]) -> list[str]:
    """The table, and what it says; nothing where no labels of a pool were measured."""
    if not any(row["reached"] for row in found):
        return []
    said = (
        "What it takes until the labels of the pool, answered and predicted, have a micro F1 of so much: mean ± "
        "standard deviation over seeds; (n of m) where only some reach it. ×: random's seconds over its own."
    )
    return [said, tables.as_markdown(*as_table(found))]


def as_rich(found: Sequence[dict[str, Any]]) -> Table:
    """The seconds of the table, and how much sooner, for a terminal of 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    header, lines = as_table(found)
    columns = [0, *(n for n, name in enumerate(header) if name.startswith(("seconds", "×")))]
    for n in columns:
        name = header[n].removeprefix("seconds to ").replace(" sooner to ", "\n")
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    for line in lines:
        cells = [line[n] for n in columns]
        table.add_row(*(f"[bold]{cell.strip('*')}[/bold]" if cell.startswith("**") else cell for cell in cells))
    return table


def pool_curves(rows: Rows, cost: str) -> list[figures.Curve]:
    """The F1 of the pool's labels by what it costs, for each strategy; a run that ended early keeps its last value.

    >>> run = [{"strategy": "random", "seed": 0, "seconds": 10.0 * n, "pool_f1": n / 2} for n in range(3)]
    >>> [curve] = pool_curves([*run, *({**row, "seed": 1, "pool_f1": row["pool_f1"] / 2} for row in run)], "seconds")
    >>> curve.x.tolist(), curve.mean.tolist()
    ([0.0, 10.0, 20.0], [0.0, 0.375, 0.75])
    """
    curves = []
    for name, seeds in by_strategy(rows).items():
        points = [_points(run, cost) for run in seeds.values()]
        points = [(x, y) for x, y in points if len(x)]
        if points:
            grid = np.unique(np.concatenate([x for x, _ in points]))
            heights = np.array([np.interp(grid, x, y) for x, y in points])
            spread = heights.std(axis=0, ddof=1) if len(heights) > 1 else np.zeros(len(grid))
            curves.append(figures.Curve(name, grid, heights.mean(axis=0), spread))
    return curves


def pool_figure(rows: Rows) -> Figure:
    """The F1 of the pool's labels by seconds, by answers and by item views, with a band of one std over seeds."""
    with mpl.rc_context(figures.STYLE):
        figure = Figure(figsize=(10.5, 3.6), layout="constrained")
        for axes, (cost, name) in zip(figure.subplots(1, len(COSTS), sharey=True), COSTS.items(), strict=True):
            figures.draw_strategies(axes, pool_curves(rows, cost))
            for target in TARGETS:
                axes.axhline(target, color="0.4", linewidth=0.8, linestyle=":", zorder=1)
            axes.set(xlabel=name)
        figure.axes[0].set(ylabel="F1 of the pool's labels")
        handles = axes.get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=5, fontsize="small")
    return figure


def write_figure(rows: Rows, folder: Path) -> list[Path]:
    """The figure's files; none where no labels of a pool were measured."""
    measured = any(row["pool_f1"] is not None for row in rows)
    return figures.save(pool_figure(rows), folder / "pool_f1") if measured else []


def _points(run: Rows, cost: str) -> tuple[Floats, Floats]:
    """What was spent and reached after each round; where a round cost nothing, the later value counts."""
    points = {float(row[cost]): float(row["pool_f1"]) for row in run if row["pool_f1"] is not None}
    return np.array(list(points)), np.array(list(points.values()))


def _needed(run: Rows, target: float) -> dict[str, float] | None:
    costs = {}
    for cost in COSTS:
        x, heights = _points(run, cost)
        if not len(x) or (needed := crossing(x, smooth(heights), target)) is None:
            return None
        costs[cost] = needed
    return costs


def _sooner(row: dict[str, Any], random: dict[str, Any] | None) -> float | None:
    if random is None or not _whole(row) or not _whole(random) or not row["seconds"]:
        return None
    return float(random["seconds"] / row["seconds"])


def _whole(row: dict[str, Any]) -> bool:
    return bool(row["reached"] == row["seeds"])


def _cost(row: dict[str, Any], cost: str) -> str:
    if row[cost] is None:
        return "-"
    spread = row[f"{cost}_std"]
    text = f"{row[cost]:.0f}" + (f" ± {spread:.0f}" if spread is not None else "")
    return text if _whole(row) else f"{text} ({row['reached']} of {row['seeds']})"
