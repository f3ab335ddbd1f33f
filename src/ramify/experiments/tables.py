"""The paper's tables, for the terminal and for Markdown."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

METRICS = ("p@1", "p@3", "p@5")
UPPER_BOUNDS = ("all-labels",)  # shown, but never the best


def comparison(summary: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header and rows of Table 1/2: warm size and metric by learner, mean ± std over seeds, the best in ** **."""
    learners = list(dict.fromkeys(row["learner"] for row in summary))
    sizes = list(dict.fromkeys((row["ratio"], row["warm"]) for row in summary))
    cells = {(row["ratio"], row["warm"], row["learner"]): row for row in summary}
    rows = []
    for ratio, warm in sizes:
        for metric in METRICS:
            values = {name: (cells.get((ratio, warm, name)) or {}).get(metric) for name in learners}
            rivals = [v for name, v in values.items() if v is not None and name not in UPPER_BOUNDS]
            size = f"{warm}" if ratio is None else f"{ratio:g} ({warm})"
            line = [size, metric.upper()]
            for name, value in values.items():
                if value is None:
                    line.append("")
                    continue
                spread = cells[ratio, warm, name][f"{metric}_std"]
                text = f"{value:.3f}" + (f" ± {spread:.3f}" if spread is not None else "")
                line.append(f"**{text}**" if name not in UPPER_BOUNDS and value == max(rivals) else text)
            rows.append(line)
    return ["warm", "metric", *learners], rows


def as_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(as_markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return (
        "\n".join("| " + " | ".join(line) + " |" for line in lines)
        .replace("| --- |", "|---|")
        .replace(" --- |", "---|")
    )


def as_rich(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """A table for the terminal, the best in bold."""
    table = Table(*header, title=title or None)
    for row in rows:
        table.add_row(*(f"[bold]{c.strip('*')}[/bold]" if c.startswith("**") else c for c in row))
    return table
