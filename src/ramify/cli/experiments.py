"""Commands that look at data sets and repeat the paper's experiments on them."""

import math
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ramify.cli.base import EXPERIMENTS, app
from ramify.errors import RamifyError


@app.command(rich_help_panel=EXPERIMENTS)
def inspect(
    path: Annotated[str, typer.Argument(help="An .npz bundle, a folder, a taxonomy file, or 'scenes'.")],
    not_exhaustive: Annotated[
        bool, typer.Option("--not-exhaustive", help="Read a bundle as the paper does: deduce only what is irrelevant.")
    ] = False,
) -> None:
    """Show what a data set holds: items, features, the taxonomy with counts, and what is known of it."""
    console = Console()
    if Path(path).suffix in (".yaml", ".yml", ".json"):
        from ramify.taxonomy import Taxonomy

        console.print(Text(str(Taxonomy.load(path))))
        return
    from ramify.readers import read
    from ramify.summary import concept_rows, facts

    dataset = read(path, exhaustive=not not_exhaustive)
    console.print(Text(str(path), style="bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts(dataset):
        grid.add_row(Text(name, style="dim"), Text(fact))
    console.print(grid)
    for contradiction in dataset.labels.contradictions()[:10]:
        console.print(Text(f"  {contradiction}"), soft_wrap=True)
    table = Table("concept", box=None, header_style="dim")
    for column in ("relevant", "irrelevant", "unknown"):
        table.add_column(column, justify="right")
    for line, *counts in concept_rows(dataset.labels):
        table.add_row(Text(line), *(f"{count}" for count in counts))
    console.print(table)


@app.command(rich_help_panel=EXPERIMENTS)
def compare(
    path: Annotated[str, typer.Argument(help="An .npz bundle, a folder with fully known labels, or 'scenes'.")],
    learners: Annotated[str, typer.Option(help="Names, separated by commas.")] = (
        "fully-supervised,leml,one-class,pseudo-label,coarse-prior,factored,noisy-or,refine,all-labels"
    ),
    ratios: Annotated[str, typer.Option(help="Sizes of the warm set as log2(M / (M + N)).")] = "-10,-9,-8,-7,-6",
    warm: Annotated[str | None, typer.Option(help="Sizes of the warm set as numbers, instead of ratios.")] = None,
    seeds: Annotated[int, typer.Option(help="How many draws of the warm set.")] = 10,
    epochs: Annotated[int | None, typer.Option(help="Epochs of net-trained learners, not their own.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where results are kept and found again; also figures.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    engine: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
    not_exhaustive: Annotated[bool, typer.Option("--not-exhaustive", help="The paper's own deduction.")] = False,
) -> None:
    """Train learners over warm-set sizes and seeds, and print the paper's Table 1/2 for this data set."""
    import json

    from rich.live import Live

    from ramify.experiments import compare as comparing
    from ramify.experiments.figures import learning_curves, recovery_curves
    from ramify.experiments.tables import as_markdown, as_rich, comparison

    sizes = _numbers(warm if warm is not None else ratios, "--warm" if warm is not None else "--ratios")
    cells = comparing.plan(path, _names(learners), sizes, warm is None, seeds, not not_exhaustive)
    out = out or Path("ramify-compare", Path(path).stem)
    _check_json(json_file)
    start = time.monotonic()

    def title(done: int, at_start: list[int]) -> str:
        at_start.append(done)
        left = (time.monotonic() - start) / max(1, done - at_start[0]) * (len(cells) - done)
        rest = f", about {left / 60:.0f} min left" if done > at_start[0] and done < len(cells) else ""
        return f"{path}: {done} of {len(cells)} cells{rest}"

    seen: list[int] = []
    try:
        with Live(console=Console(), refresh_per_second=1) as live:
            results = comparing.compare(
                path,
                cells,
                out,
                epochs=epochs,
                exhaustive=not not_exhaustive,
                how=engine,
                report=lambda r: live.update(as_rich(comparing.summary(r), title(len(r), seen))),
            )
    except KeyboardInterrupt:
        print(f"Interrupted. What was finished is kept in {out}: run the same command to go on.", file=sys.stderr)
        raise typer.Exit(130) from None
    written = [*learning_curves(results, out), *recovery_curves(results, out)]
    (out / "table.md").write_text(as_markdown(*comparison(comparing.summary(results))) + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(comparing.as_json(path, results), indent=1), encoding="utf-8")
    print(f"\nThe table is in {out / 'table.md'}, {len(written)} figures are beside it.")


@app.command(rich_help_panel=EXPERIMENTS)
def simulate(
    path: Annotated[str, typer.Argument(help="An .npz bundle, a folder with fully known labels, or 'scenes'.")],
    strategies: Annotated[str, typer.Option(help="Names, separated by commas; random is always among them.")] = (
        "random,uncertainty,look-ahead,random-items,expected-gain"
    ),
    learner: Annotated[str, typer.Option(help="Who learns from the answers.")] = "refine",
    ratio: Annotated[
        float | None, typer.Option(help="Size of the warm set as log2(M / (M + N)).", show_default="-6")
    ] = None,
    warm: Annotated[int | None, typer.Option(help="Size of the warm set as a number, instead of a ratio.")] = None,
    batch: Annotated[int, typer.Option(help="Questions asked in a round.")] = 100,
    rounds: Annotated[int, typer.Option(help="How often questions are asked.")] = 30,
    seeds: Annotated[int, typer.Option(help="How many draws of the warm set.")] = 5,
    engine: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
    out: Annotated[Path | None, typer.Option(help="Where rounds are kept and found again; also figures.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the rounds that --out holds.")] = False,
    not_exhaustive: Annotated[bool, typer.Option("--not-exhaustive", help="The paper's own deduction.")] = False,
) -> None:
    """Let strategies ask a simulated annotator, and print the paper's Table 3 for this data set."""
    import json

    from rich import progress as bars

    from ramify.experiments import simulate as simulating
    from ramify.experiments.figures import al_curve, al_curve_views
    from ramify.experiments.progression import summary
    from ramify.experiments.tables import TIMES, as_markdown, paired, progression, progression_as_rich, savings

    if ratio is not None and warm is not None:
        raise RamifyError("give the size of the warm set either as --ratio or as --warm, not both")
    planned = simulating.plan(
        path,
        _names(strategies),
        learner,
        ratio=-6 if ratio is None and warm is None else ratio,
        warm=warm,
        batch=batch,
        rounds=rounds,
        seeds=seeds,
        exhaustive=not not_exhaustive,
    )
    out = out or Path("ramify-simulate", Path(path).stem)
    _check_json(json_file)
    console = Console()
    count = bars.TextColumn("{task.completed} of {task.total} rounds, left")
    columns = bars.BarColumn(), count, bars.TimeRemainingColumn()
    try:
        # A round may take long, so the time left is estimated from all that were finished in the last hour.
        with bars.Progress(*columns, console=console, speed_estimate_period=3600) as progress:
            bar = progress.add_task("", total=len(planned.runs) * rounds)
            results = simulating.simulate(
                planned, out, resume=resume, how=engine, report=lambda done: progress.update(bar, completed=done)
            )
    except KeyboardInterrupt:
        again = "the same command" if resume else "the same command with --resume"
        print(f"Interrupted. All finished rounds are kept in {out}: run {again} to go on.", file=sys.stderr)
        raise typer.Exit(130) from None
    rows = simulating.rows(results)
    found = summary(rows)
    console.print(progression_as_rich(found, f"{path}, {learner}, {planned.warm} warm items"))
    console.print(Text(TIMES, style="dim"))
    sentences = [f"{sentence}." for sentence in savings(found)]
    stopped = {result["stopped"] for result in results} - {None}
    for sentence in [*sentences, *(f"Some runs ended early: {reason}." for reason in sorted(stopped))]:
        console.print(Text(sentence))
    tables = [as_markdown(*progression(found)), TIMES, *sentences, as_markdown(*paired(found))]
    (out / "table.md").write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(simulating.as_json(planned, results), indent=1), encoding="utf-8")
    figures = [*al_curve(rows, out), *al_curve_views(rows, out)]
    print(f"\nThe figure is {figures[0]}, the table is in {out / 'table.md'}.")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _check_json(path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise RamifyError(f"{path.parent} is not a folder: --json needs one that exists")


def _numbers(text: str, option: str) -> list[float]:
    try:
        found = [float(number) for number in text.split(",") if number.strip()]
    except ValueError:
        found = []
    if not found or not all(map(math.isfinite, found)):
        raise RamifyError(f"{option} takes numbers separated by commas, not {text!r}")
    return found
