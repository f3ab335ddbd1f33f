"""How the state of a project is printed."""

from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def show(console: Console, folder: Path, status: dict[str, Any], taxonomy: list[dict[str, Any]]) -> None:
    """Print what ``Service.status`` and ``Service.taxonomy`` say."""
    console.print(Text(str(folder), style="bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2))
    for name, fact in _facts(status):
        grid.add_row(Text(name, style="dim"), Text(fact))
    console.print(grid)
    table = Table("concept", box=None, header_style="dim")
    for column in ("yes", "no", "unknown"):
        table.add_column(column, justify="right")
    counts = {each["concept"]: each for each in status["concepts"]}
    depth: dict[int | None, int] = {None: -1}
    for concept in taxonomy:
        depth[concept["concept"]] = depth[concept["parent"]] + 1
        found = counts[concept["concept"]]
        line = "  " * depth[concept["concept"]] + concept["name"]
        table.add_row(Text(line), *(str(found[key]) for key in ("yes", "no", "unknown")))
    console.print(table)


def _facts(status: dict[str, Any]) -> list[tuple[str, str]]:
    model, training = status["model"], status["training"]
    budget = f" of {status['budget']}" if status["budget"] else ""
    facts = [
        ("items", str(status["items"])),
        ("answers", f"{status['answers']}{budget}"),
        ("open", f"{status['unknown']} entries are unknown"),
        ("model", f"number {model['version']}, {model['learner']}, {_when(model['at'])}" if model else "none yet"),
    ]
    if training and training.get("running"):
        facts.append(("training", f"since {_when(training['since'])}"))
    elif training and training.get("error"):
        facts.append(("training", f"failed, the old model stays: {training['error']}"))
    if status["estimate"]:
        measured = {key: value for key, value in status["estimate"].items() if key.startswith("p@")}
        if measured:
            text = ", ".join(f"{key.upper()} {value:.3f}" for key, value in measured.items())
            facts.append(("estimate", f"{text} (leave-one-out)"))
    for key, meaning in (
        ("disagreements", "entries that annotators disagree about"),
        ("contradictions", "items whose labels contradict each other"),
        ("coarse_wrong", "coarse labels that somebody called wrong"),
    ):
        if status[key]:
            facts.append(("to review", f"{status[key]} {meaning}"))
    for who in status["annotators"]:
        agreement = "" if who["agreement"] is None else f", agrees with others in {who['agreement']:.0%}"
        facts.append((who["name"], f"{who['yes']} yes, {who['no']} no, {who['skip']} skipped{agreement}"))
    return facts


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
