"""Whole experiments: checked, run or gone on with, and written down. The command line and scripts call these."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from ramify import engine
from ramify.engine import Failure
from ramify.errors import RamifyError
from ramify.experiments import compare as comparing
from ramify.experiments import figures, finishing, progression, tables, tuning
from ramify.experiments import printed as printing
from ramify.experiments import report as reporting
from ramify.experiments import reproduce as reproducing
from ramify.experiments import simulate as simulating
from ramify.experiments.common import Conditions, as_source, check_folder, data_of, for_workers
from ramify.experiments.tracking import Run, asking_run, cell_run, tracker
from ramify.files import whole_file
from ramify.pace import GUESSED, Pace
from ramify.progress import in_words

FAILURES = "failures.log"  # the tracebacks of tasks that failed
WRITE_EVERY = 60.0  # seconds, at least, between two reports of what is there by now


@dataclass(frozen=True)
class Comparison:
    """What learners reached, over warm-set sizes and seeds."""

    results: list[dict[str, Any]]
    """One for each learner, warm size and seed."""
    chosen: list[tuning.Chosen]
    """What tuning came to, where it was asked for."""
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
    def finishing(self) -> list[dict[str, Any]]:
        """One for each strategy and wished F1 of the pool's labels: when it is reached."""
        return finishing.reached(self.rows)

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
    exact_weights: bool = False,
    tune: int = 0,
    taxonomy: Path | None = None,
    features: str | Path | None = None,
    how: str = "processes",
    json_file: Path | None = None,
    track: str | None = None,
    report: Callable[[list[dict[str, Any]], int], None] = lambda results, total: None,
    trials: Callable[[int, int], None] = lambda finished, total: None,
) -> Comparison:
    """Train learners on a data set over sizes of the warm set (or log2 ratios of it) and seeds.

    ``source``, ``taxonomy`` and ``features`` are what ``ramify.read`` takes.

    With ``tune`` the settings of every learner are chosen first, by so many trials each on the validation part.
    What ``out`` holds of the same experiment is not computed again. ``report`` gets the results that are there, and
    how many there will be; ``trials`` how many trials are finished, and of how many. ``track`` names where each result
    is written down too (``tracking.tracker``).
    """
    _check_json(json_file)
    engine.check(how)
    tell = tracker(track).tell if track is not None else _nobody
    data, source = source, as_source(source, out, taxonomy, features)
    cells = comparing.plan(source, learners, sizes, by_ratio, seeds, exhaustive)
    conditions, chosen = Conditions(exhaustive=exhaustive, exact_weights=exact_weights, epochs=epochs), []
    failed: list[Failure] = []
    if tune:
        check_folder(out)
        shared = for_workers(source, exhaustive, out)
        chosen = tuning.tune(
            shared,
            learners,
            comparing.middle(cells),
            tune,
            out / "trials",
            conditions,
            how=how,
            report=trials,
            failed=failed.append,
        )
        conditions = tuning.tuned(conditions, chosen)
        cells = [cell for cell in cells if cell.learner in conditions.chosen]  # without what could not be tuned

    results = comparing.compare(
        source,
        cells,
        out,
        conditions,
        how=how,
        report=lambda results: report(results, len(cells)),
        arrived=lambda result: tell(cell_run(data, result, conditions)),
        failed=failed.append,
    )
    _refuse_nothing(results, failed, out)
    table = out / "table.md"
    texts = [tables.as_markdown(*tables.comparison(comparing.summary(results)))]
    texts += [tables.as_markdown(*tables.tuned(chosen))] if chosen else []
    _write(table, "\n\n".join(texts) + "\n")
    _write_json(json_file, comparing.as_json(source, results) | {"tuned": [vars(best) for best in chosen]})
    done = Comparison(results, chosen, table, figures.write_comparison(results, out))
    _refuse_failures(failed, out)
    return done


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
    exact_weights: bool = False,
    taxonomy: Path | None = None,
    features: str | Path | None = None,
    part: str = "test",
    items: int | None = None,
    pace: Pace = GUESSED,
    resume: bool = False,
    how: str = "processes",
    json_file: Path | None = None,
    track: str | None = None,
    report: Callable[[int, int], None] = lambda finished, total: None,
) -> Simulation:
    """Let strategies ask a simulated annotator, each from the same warm sets, with the same learner.

    ``source``, ``taxonomy`` and ``features`` are what ``ramify.read`` takes. With ``items`` every seed has so many
    random items of them. ``pace`` says how long screens take: another one needs no new run, only ``resume``.
    With ``resume`` the rounds that ``out`` holds are gone on with. ``report`` gets how many rounds are finished in all
    runs together, and how many there will be. ``track`` names where runs are written down too (``tracking.tracker``).
    """
    _check_json(json_file)
    engine.check(how)
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
        conditions=Conditions(exhaustive=exhaustive, exact_weights=exact_weights),
        part=part,
        items=items,
        pace=pace,
    )
    total, failed = len(planned.runs) * rounds, list[Failure]()
    results = simulating.simulate(
        planned,
        out,
        resume=resume,
        how=how,
        report=lambda finished: report(finished, total),
        arrived=lambda result: tell(asking_run(data, result, planned)),
        failed=failed.append,
    )
    _refuse_nothing(results, failed, out)
    rows = simulating.rows(results)
    drawn = [*figures.write_progression(rows, out), *finishing.write_figure(rows, out)]
    done = Simulation(planned, results, out / "table.md", drawn)
    texts = [
        tables.as_markdown(*tables.progression(done.summary)),
        tables.TIMES,
        *(f"{sentence}." for sentence in done.sentences),
        tables.as_markdown(*tables.paired(done.summary)),
        *finishing.as_markdown(done.finishing),
    ]
    _write(done.table, "\n\n".join(texts) + "\n")
    _write_json(json_file, simulating.as_json(planned, results))
    _refuse_failures(failed, out)
    return done


def run_reproduction(
    source: str,
    out: Path,
    *,
    quick: bool = False,
    printed: str | None = None,
    taxonomy: Path | None = None,
    features: str | Path | None = None,
    how: str = "processes",
    track: str | None = None,
    command: str = "",
    say: Callable[[str], None] = lambda sentence: None,
    report: Callable[[str, int, int], None] = lambda what, done, total: None,
    **plan: Any,
) -> list[Path]:
    """Repeat all of the paper's experiments on a data set and write the report; returns its files.

    ``plan`` is what ``reproduce.plan`` takes; ``quick`` has other defaults for it. ``printed`` names the data as the
    paper does ("coco", "mirflickr"), where they are the paper's own. What ``out`` holds is not computed again. ``say``
    hears at the beginning how long it will take. ``track`` names where each result is written down too
    (``tracking.tracker``).
    """
    engine.check(how)
    numbers = None if printed is None else printing.printed(printed)
    tell = tracker(track).tell if track is not None else _nobody
    check_folder(out)
    name, source = Path(source).stem, for_workers(as_source(source, out, taxonomy, features), True, out)
    given = {key: value for key, value in plan.items() if value is not None}
    planned = reproducing.plan(source, name=name, **{**(reproducing.QUICK if quick else {}), **given})
    cores = 1 if how == "serial" else joblib.cpu_count()
    say(f"About {in_words(reproducing.estimate(planned, cores))} if nothing of it is in {out} yet (an estimate).")
    where = reporting.Circumstances(command, data_of(source, True), numbers)
    found: list[reproducing.Findings] = []
    failed: list[Failure] = []
    written = time.monotonic()

    def write() -> list[Path]:
        return reporting.write_report(planned, found, where, out)

    def on_part(findings: list[reproducing.Findings]) -> None:
        nonlocal written
        found[:] = findings
        if time.monotonic() - written > WRITE_EVERY and reporting.says_more(found, out):
            write()
            written = time.monotonic()

    try:
        reproducing.reproduce(planned, out, how=how, report=report, on_part=on_part, tell=tell, failed=failed.append)
    except BaseException:  # what was finished is reported, unless an earlier report says more
        with suppress(RamifyError):
            if reporting.says_more(found, out):
                write()
        raise
    files = write()
    _refuse_failures(failed, out)
    return files


def _refuse_nothing(results: Sequence[Any], failed: list[Failure], out: Path) -> None:
    if failed and not results:
        where = _log(failed, out)
        raise RamifyError(f"nothing could be computed; the first that failed is {failed[0].reason}{where}")


def _refuse_failures(failed: list[Failure], out: Path) -> None:
    """Say what failed, after all the rest is finished and written."""
    if failed:
        listed = "; ".join(failure.reason for failure in failed[:5]) + ("; ..." if len(failed) > 5 else "")
        count = "1 task" if len(failed) == 1 else f"{len(failed)} tasks"
        where = _log(failed, out)
        raise RamifyError(f"{count} failed; the others are finished, and {out} shows them: {listed}{where}")


def _log(failed: list[Failure], out: Path) -> str:
    """Keep the tracebacks of what was nobody's mistake in words; says where."""
    told = [f"{failure.reason}\n{failure.traceback}" for failure in failed if failure.traceback]
    if not told:
        return ""
    _write(out / FAILURES, "\n".join(told))
    return f" (see {out / FAILURES})"


def _nobody(run: Run) -> None:
    """Who is told where nothing is tracked."""


def _check_json(path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise RamifyError(f"{path.parent} is not a folder: --json needs one that exists")


def _write_json(path: Path | None, content: dict[str, Any]) -> None:
    if path is not None:
        _write(path, json.dumps(content, indent=1))


def _write(path: Path, text: str) -> None:
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
