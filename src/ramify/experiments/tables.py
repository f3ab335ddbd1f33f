"""The paper's tables, for the terminal and for Markdown."""

from collections.abc import Sequence
from typing import Any

from rich import box
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
            line = [_size({"ratio": ratio, "warm": warm}), metric.upper()]
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


def as_rich(summary: Sequence[dict[str, Any]], title: str = "") -> Table:
    """The same numbers for a terminal, where nine learners do not fit side by side: a line each, the best in bold."""
    table = Table(title=title or None, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("warm", "learner", *(metric.upper() for metric in METRICS), "recovery", "seeds"):
        table.add_column(name, justify="left" if name == "learner" else "right", no_wrap=True)
    _, rows = comparison(summary)
    texts: dict[tuple[str, str], list[str]] = {}
    learners = list(dict.fromkeys(row["learner"] for row in summary))
    for size, _, *line in rows:
        for name, text in zip(learners, line, strict=True):
            texts.setdefault((size, name), []).append(text)
    cells = {(_size(row), row["learner"]): row for row in summary}
    for place, ((size, name), line) in enumerate(texts.items()):
        if (size, name) not in cells:
            continue
        row = cells[size, name]
        lost = row["recovery_f1_loss"]
        short = [text.replace(" ± 0.", "±.") for text in line]  # so that all fits into 80 columns
        shown = [f"[bold]{text.strip('*')}[/bold]" if text.startswith("**") else text for text in short]
        last = (place + 1) % len(learners) == 0
        recovered = "" if lost is None else f"{lost:.3f}"
        table.add_row(size, name, *shown, recovered, str(row["seeds"]), end_section=last)
    return table


def _size(row: dict[str, Any]) -> str:
    return f"{row['warm']}" if row["ratio"] is None else f"{row['ratio']:g} ({row['warm']})"
