"""The paper's tables, for the terminal and for Markdown."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from ramify.experiments.tuning import Chosen

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


def overview(summary: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The same means turned round: a row for each learner, a column for each size and metric, the best in ** **.

    >>> row = {"ratio": -8, "warm": 8, "p@1": 0.5, "p@3": None, "p@5": None}
    >>> overview([{"learner": "leml", **row}, {"learner": "refine", **row, "p@1": 0.75}])
    (['learner', '-8 P@1'], [['leml', '0.500'], ['refine', '**0.750**']])
    """
    learners = list(dict.fromkeys(row["learner"] for row in summary))
    sizes = list(dict.fromkeys((row["ratio"], row["warm"]) for row in summary))
    cells = {(row["ratio"], row["warm"], row["learner"]): row for row in summary}
    header, columns = ["learner"], []
    for ratio, warm in sizes:
        for metric in METRICS:
            values = [(cells.get((ratio, warm, name)) or {}).get(metric) for name in learners]
            if any(value is not None for value in values):
                header.append(f"{warm if ratio is None else format(ratio, 'g')} {metric.upper()}")
                columns.append(_best_marked(learners, values))
    return header, [[name, *line] for name, *line in zip(learners, *columns, strict=True)]


def details(summary: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Learners of one size: precision with its spread, recovery and time."""
    header = ["learner", *(metric.upper() for metric in METRICS), "F1-loss on unknown", "seconds", "seeds"]
    rows = [
        [
            row["learner"],
            *(_spread(row, metric, ".3f") for metric in METRICS),
            _spread(row, "recovery_f1_loss", ".3f"),
            number(row["seconds"], ".1f"),
            str(row["seeds"]),
        ]
        for row in summary
    ]
    return header, rows


def _best_marked(learners: Sequence[str], values: Sequence[float | None]) -> list[str]:
    rivals = [v for name, v in zip(learners, values, strict=True) if v is not None and name not in UPPER_BOUNDS]
    best = max(rivals, default=None)
    return [
        f"**{number(value)}**" if value == best and value is not None and name not in UPPER_BOUNDS else number(value)
        for name, value in zip(learners, values, strict=True)
    ]


def tuned(chosen: Sequence[Chosen]) -> tuple[list[str], list[list[str]]]:
    """The header and rows of what tuning came to: the chosen settings, and what they are worth on the validation part.

    >>> tuned([Chosen("leml", {"lr": 0.00123456}, 0.51, 0.5, 20, ())])[1]
    [['leml', 'lr 0.00123', '0.500', '0.510', '20', '']]
    """
    header = ["learner", "chosen", "as it is", "tuned", "trials", "failed"]
    rows = [
        [
            best.learner,
            ", ".join(f"{name} {_short(value)}" for name, value in best.parameters.items()) or "as it is",
            number(best.untuned),
            number(best.value),
            str(best.trials),
            "; ".join(best.failures),
        ]
        for best in chosen
    ]
    return header, rows


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
        short = [text.replace(" ± ", "±").replace("0.", ".") for text in line]  # so that all fits into 80 columns
        shown = [f"[bold]{text.strip('*')}[/bold]" if text.startswith("**") else text for text in short]
        last = (place + 1) % len(learners) == 0
        recovered = number(lost).replace("0.", ".")
        table.add_row(size, name, *shown, recovered, str(row["seeds"]), end_section=last)
    return table


# -- Table 3: strategies -----------------------------------------------------------------------------------------------

TIMES = "×: random's answers (views) at the end over those needed to reach its P@1."


def progression(summary: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header and rows of Table 3: AUC of P@k by strategy, the best in ** **, and the factors against random."""
    header = ["strategy", *(f"AUC {metric.upper()}" for metric in METRICS)]
    header += ["answers ×", "views ×", "answers", "item views"]
    rows = []
    for row in summary:
        times = [_times(row[f"{what}_factor_vs_random"]) for what in ("answers", "views")]
        ends = [f"{row[what]:.0f}" for what in ("answers", "item_views")]
        rows.append([row["strategy"], *(_area(summary, row, f"auc_{m}") for m in METRICS), *times, *ends])
    return header, rows


def paired(summary: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header and rows of a second table: each AUC minus random's of the same seed, factors against random-items."""
    header = ["strategy", *(f"{metric.upper()} - random's" for metric in METRICS)]
    header += ["answers × (random-items)", "views × (random-items)"]
    rows = []
    for row in summary:
        gains = [_spread(row, f"auc_{metric}_vs_random", "+.4f") for metric in METRICS]
        times = [_times(row[f"{what}_factor_vs_random_items"]) for what in ("answers", "views")]
        rows.append([row["strategy"], *gains, *times])
    return header, [line for line in rows if line[0] != "random"]


def progression_as_rich(summary: Sequence[dict[str, Any]], title: str = "") -> Table:
    """Table 3 for a terminal of 80 columns."""
    table = Table(title=title or None, box=box.SIMPLE_HEAD, padding=0)
    table.add_column("\nstrategy", no_wrap=True)
    metrics = [f"AUC\n{metric.upper()}" for metric in METRICS]
    for name in (*metrics, "answers\n×", "views\n×", "answers\nat end", "views\nat end"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in progression(summary)[1]:
        short = [text.replace(" ± 0.", "±.") for text in line]
        table.add_row(*(f"[bold]{text.strip('*')}[/bold]" if text.startswith("**") else text for text in short))
    return table


def savings(summary: Sequence[dict[str, Any]]) -> list[str]:
    """What each strategy saves against random, in a sentence.

    >>> row = {"strategy": "expected-gain", "answers_factor_vs_random": 1.8, "views_factor_vs_random": 7.9}
    >>> savings([row])
    ["expected-gain reaches random's P@1 with 1.8x fewer answers and 7.9x fewer item views"]
    """
    sentences = []
    for row in summary:
        answers, views = row["answers_factor_vs_random"], row["views_factor_vs_random"]
        if row["strategy"] == "random":
            continue
        if answers is None:
            sentences.append(f"{row['strategy']} does not reach random's P@1")
        else:
            saved = f"{_fewer(answers)} answers and {_fewer(views)} item views"
            sentences.append(f"{row['strategy']} reaches random's P@1 with {saved}")
    return sentences


def _area(summary: Sequence[dict[str, Any]], row: dict[str, Any], key: str) -> str:
    text = _spread(row, key, ".3f")
    return f"**{text}**" if text and row[key] == max(r[key] for r in summary if r[key] is not None) else text


def _spread(row: dict[str, Any], key: str, form: str) -> str:
    if row[key] is None:
        return ""
    spread = row[f"{key}_std"]
    return f"{row[key]:{form}}" + (f" ± {spread:{form.lstrip('+')}}" if spread is not None else "")


def number(value: float | None, form: str = ".3f") -> str:
    """A number, or nothing where there is none.

    >>> number(0.5), number(None)
    ('0.500', '')
    """
    return "" if value is None else f"{value:{form}}"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _times(factor: float | None) -> str:
    return "-" if factor is None else f"{factor:.1f}"


def _fewer(factor: float) -> str:
    """A factor in words: 2.0x fewer, or 1.5x more."""
    if f"{factor:.1f}" == "1.0":
        return "as many"
    return f"{factor:.1f}x fewer" if factor > 1 else f"{1 / factor:.1f}x more"


def _size(row: dict[str, Any]) -> str:
    return f"{row['warm']}" if row["ratio"] is None else f"{row['ratio']:g} ({row['warm']})"
