"""Whole experiments: checked, run or gone on with, and written down. The command line and scripts call these."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.experiments import compare as comparing
from ramify.experiments import figures, progression, tables
from ramify.experiments import simulate as simulating
from ramify.experiments.common import as_source
from ramify.experiments.tracking import Run, name_of, tracker
from ramify.files import whole_file


@dataclass(frozen=True)
class Comparison:
    """What learners reached, over warm-set sizes and seeds."""

    results: list[dict[str, Any]]
    """One for each learner, warm size and seed."""
    table: Path
    """The paper's Table 1/2, as Markdown."""
    figures: list[Path]
    """The plots' files."""

    @property
    def summary(self) -> list[dict[str, Any]]:
        """Mean and standard deviation over seeds."""
        return comparing.summary(self.results)


@dataclass(frozen=True)
class Simulation:
    """How learners got better as strategies asked."""

    plan: simulating.Plan
    """What was simulated."""
    results: list[dict[str, Any]]
    """One for each strategy and seed, with its curve."""
    table: Path
    """The paper's Table 3, as Markdown."""
    figures: list[Path]
    """The plots' files."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One for each strategy, seed and round."""
        return simulating.rows(self.results)

    @property
    def summary(self) -> list[dict[str, Any]]:
        """One for each strategy: areas under its curves, and what it saves."""
        return progression.summary(self.rows)

    @property
    def sentences(self) -> list[str]:
        """What each strategy saves, and why runs ended early where they did."""
        stopped = sorted({result["stopped"] for result in self.results} - {None})
        return [*tables.savings(self.summary), *(f"Some runs ended early: {reason}" for reason in stopped)]


def run_comparison(
    source: str,
    learners: Sequence[str],
    sizes: Sequence[float],
    out: Path,
    *,
    by_ratio: bool = False,
    seeds: int = 10,
    epochs: int | None = None,
    exhaustive: bool = True,
    taxonomy: Path | None = None,
    features: Path | None = None,
    how: str = "processes",
    json_file: Path | None = None,
    track: str | None = None,
    report: Callable[[list[dict[str, Any]], int], None] = lambda results, total: None,
) -> Comparison:
    """Train learners on a data set over sizes of the warm set (or log2 ratios of it) and seeds.

    ``source``, ``taxonomy`` and ``features`` are what ``ramify.read`` takes.

    What ``out`` holds of the same experiment is not computed again. ``report`` gets the results that are there, and
    how many there will be. ``track`` names where each result is written down too (``tracking.tracker``).
    """
    _check_json(json_file)
    tell = tracker(track).tell if track is not None else _nobody
    data, source = source, as_source(source, out, taxonomy, features)
    cells = comparing.plan(source, learners, sizes, by_ratio, seeds, exhaustive)

    def finished(results: list[dict[str, Any]]) -> None:
        report(results, len(cells))
        for result in results:
            tell(_cell_run(data, result, {"epochs": epochs, "exhaustive": exhaustive}))

    results = comparing.compare(
        source,
        cells,
        out,
        epochs=epochs,
        exhaustive=exhaustive,
        how=how,
        report=finished,
    )
    table = out / "table.md"
    _write(table, tables.as_markdown(*tables.comparison(comparing.summary(results))) + "\n")
    _write_json(json_file, comparing.as_json(source, results))
    return Comparison(results, table, figures.write_comparison(results, out))


def run_simulation(
    source: str,
    strategies: Sequence[str],
    out: Path,
    *,
    learner: str = "refine",
    ratio: float | None = None,
    warm: int | None = None,
    batch: int = 100,
    rounds: int = 30,
    seeds: int = 5,
    exhaustive: bool = True,
    taxonomy: Path | None = None,
    features: Path | None = None,
    part: str = "test",
    resume: bool = False,
    how: str = "processes",
    json_file: Path | None = None,
    track: str | None = None,
    report: Callable[[int, int], None] = lambda finished, total: None,
) -> Simulation:
    """Let strategies ask a simulated annotator, each from the same warm sets, with the same learner.

    ``source``, ``taxonomy`` and ``features`` are what ``ramify.read`` takes.
    With ``resume`` the rounds that ``out`` holds are gone on with. ``report`` gets how many rounds are finished in all
    runs together, and how many there will be. ``track`` names where runs are written down too (``tracking.tracker``).
    """
    _check_json(json_file)
    tell = tracker(track).tell if track is not None else _nobody
    data, source = source, as_source(source, out, taxonomy, features)
    planned = simulating.plan(
        source,
        strategies,
        learner,
        ratio=ratio,
        warm=warm,
        batch=batch,
        rounds=rounds,
        seeds=seeds,
        exhaustive=exhaustive,
        part=part,
    )
    total = len(planned.runs) * rounds
    results = simulating.simulate(
        planned,
        out,
        resume=resume,
        how=how,
        report=lambda finished: report(finished, total),
        arrived=lambda result: tell(_asking_run(data, result, planned)),
    )
    done = Simulation(planned, results, out / "table.md", figures.write_progression(simulating.rows(results), out))
    texts = [
        tables.as_markdown(*tables.progression(done.summary)),
        tables.TIMES,
        *(f"{sentence}." for sentence in done.sentences),
        tables.as_markdown(*tables.paired(done.summary)),
    ]
    _write(done.table, "\n\n".join(texts) + "\n")
    _write_json(json_file, simulating.as_json(planned, results))
    return done


def _nobody(run: Run) -> None:
    """Who is told where nothing is tracked."""


def _cell_run(data: str, result: dict[str, Any], settings: dict[str, Any]) -> Run:
    """A cell of a comparison, as it is tracked."""
    named = {key: result[key] for key in ("learner", "ratio", "warm", "seed")}
    name = name_of(data, result["learner"], f"warm-{result['warm']}", f"seed-{result['seed']}")
    reached = {key: result[key] for key in comparing.METRICS}
    return Run(name, {"command": "compare", "data": data, **named, **settings}, reached, result["history"], "epoch")


def _asking_run(data: str, result: dict[str, Any], planned: simulating.Plan) -> Run:
    """A run of a simulation, as it is tracked."""
    named = {key: result[key] for key in ("strategy", "seed")}
    settings = {key: getattr(planned, key) for key in ("learner", "warm", "batch", "rounds", "exhaustive", "part")}
    name = name_of(data, planned.learner, result["strategy"], f"warm-{planned.warm}", f"seed-{result['seed']}")
    parameters = {"command": "simulate", "data": data, **named, **settings}
    return Run(name, parameters, result["curve"][-1], result["curve"], "answers")


def _check_json(path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise RamifyError(f"{path.parent} is not a folder: --json needs one that exists")


def _write_json(path: Path | None, content: dict[str, Any]) -> None:
    if path is not None:
        _write(path, json.dumps(content, indent=1))


def _write(path: Path, text: str) -> None:
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
