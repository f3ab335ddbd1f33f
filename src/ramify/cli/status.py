"""How the state of a project is printed."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ramify.labels.words import STATES
from ramify.progress import in_words
from ramify.quality import FEWEST

if TYPE_CHECKING:
    from ramify.project.live.shapes import Bounds, Quality, Status, TrainingFacts


def show(console: Console, folder: Path, status: "Status", quality: "Quality | None" = None) -> None:
    """Print how far a project is, and how good its labels are as it was estimated last."""
    console.print(Text(str(folder), style="bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2))
    for name, fact in [*_facts(status), *_quality_facts(quality)]:
        grid.add_row(Text(name, style="dim"), Text(fact))
    console.print(grid)
    table = Table("concept", box=None, header_style="dim")
    for column in STATES:
        table.add_column(column, justify="right")
    for concept in status.concepts:
        line = "  " * concept.path.count(" > ") + concept.name
        table.add_row(Text(line), *map(str, (concept.yes, concept.no, concept.unknown)))
    console.print(table)


def show_quality(console: Console, quality: "Quality") -> None:
    """Print how good labels are, all of them and of each concept."""
    grid = Table.grid(padding=(0, 2))
    for name, fact in _quality_facts(quality):
        grid.add_row(Text(name, style="dim"), Text(fact))
    console.print(grid)
    table = Table("concept", "precision", "recall", "F1", "audited", "agreement", box=None, header_style="dim")
    # A share of 30 answers is told to within .18 at worst; one of a few answers is 0 or 1 and says nothing.
    enough = [concept.draws >= FEWEST for concept in quality.concepts]
    for concept, told in zip(quality.concepts, enough, strict=True):
        if not told and concept.agreement is None:
            continue
        agreement = "" if concept.agreement is None else f"{concept.agreement:.2f}"
        figures = (_figure(part if told else None) for part in (concept.precision, concept.recall, concept.f1))
        table.add_row(Text(concept.path), *figures, str(concept.draws), agreement)
    if table.row_count:
        console.print(table)
    left_out = enough.count(False)
    if left_out:
        console.print(
            f"Left out: figures of {left_out} of {len(enough)} concepts, with fewer than {FEWEST} audit answers."
        )


def _quality_facts(quality: "Quality | None") -> list[tuple[str, str]]:
    if quality is None:
        return []
    facts = [
        (name, f"{_figure(part)}, from {quality.all.draws} audit answers after {quality.answers} answers")
        for name, part in (("F1", quality.all.f1), ("precision", quality.all.precision), ("recall", quality.all.recall))
        if part is not None and quality.all.draws >= FEWEST
    ]
    return [*facts, ("advice", quality.advice.said)]


def _figure(bounds: "Bounds | None") -> str:
    return "-" if bounds is None else f"{bounds.value:.2f} ({bounds.low:.2f} to {bounds.high:.2f})"


def _how_far(training: "TrainingFacts") -> str:
    left = "" if training.left is None else f", about {in_words(training.left)} left"
    return "" if training.share is None else f": {training.doing}, {training.share:.0%} done{left}"


def _facts(status: "Status") -> list[tuple[str, str]]:
    model, training = status.model, status.training
    budget = f" of {status.budget}" if status.budget else ""
    facts = [
        ("items", str(status.items)),
        ("answers", f"{status.answers}{budget}"),
        ("open", f"{status.unknown} entries are unknown"),
        ("model", f"number {model.version}, {model.learner}, {_when(model.at)}" if model else "none yet"),
    ]
    if model and model.due:
        facts.append(("training", f"due: {model.due}"))
    if model and model.names:
        facts.append(("names", model.names))
    if training and training.running:
        facts.append(("training", f"since {_when(training.since)}{_how_far(training)}"))
    elif training and training.error:
        facts.append(("training", f"failed, and no new model came of it: {training.error}"))
    facts += [("problem", problem.what) for problem in status.problems]
    estimate = status.curve[-1] if status.curve else model.estimate if model else {}
    if (first := estimate.get("p@1")) is not None:
        facts.append(
            ("ranking", f"what is ranked first is right for {first:.0%} of the answered items (left out one by one)")
        )
    for count, meaning in (
        (status.disagreements, "entries that annotators disagree about"),
        (status.contradictions, "items whose labels contradict each other"),
        (status.coarse_wrong, "coarse labels that somebody called wrong"),
    ):
        if count:
            facts.append(("to review", f"{count} {meaning}"))
    for who in status.annotators:
        agreement = "" if who.agreement is None else f", agrees with others in {who.agreement:.0%}"
        right = f", right in {who.right} of {who.gold} gold questions" if who.gold else ""
        facts.append((who.name, f"{who.yes} yes, {who.no} no, {who.skip} skipped{agreement}{right}"))
    return facts


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
