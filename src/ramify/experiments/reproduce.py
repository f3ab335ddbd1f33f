"""Everything at once: the paper's tables and figures for one data set, in both settings, resumable at any moment.

Parts, for each setting: trials (tuning), table (Table 1/2), curves (Figures lc and recover: no early stopping, test
after each epoch), asking (Table 3 and Figure al_curve). Each is computed by ``tuning``, ``compare`` or ``simulate``,
which keep every finished trial, cell and round; a report can be written after each part, from all that is there.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ramify.data import Benchmark, benchmark
from ramify.engine import Failure
from ramify.errors import RamifyError
from ramify.experiments import common, compare, simulate, tuning
from ramify.experiments.tracking import Run, asking_run, cell_run
from ramify.learners import LEARNERS, LEML
from ramify.learners.base import fingerprint
from ramify.strategies import STRATEGIES

LITERAL, OURS = "pseudo-label-literal", "pseudo-label"
ABLATION = (LITERAL, "pseudo-label-averaged", OURS, "pseudo-label-smooth")
"""Algorithm 1 as printed, and one change after another."""
IN_CURVES = ("fully-supervised", "leml", "one-class", LITERAL, OURS, "pseudo-label-smooth")
ASKED = {"ours": (OURS, "refine"), "paper": (LITERAL,)}
"""Who learns from the answers in Table 3, in each setting."""
MANY, BATCHES = 50_000, (1000, 100)  # the paper asks 1000 questions a round on COCO and 100 on MirFlickr
QUICK: dict[str, Any] = {
    "learners": ("fully-supervised", "leml", "one-class", LITERAL, OURS, "refine", "all-labels"),
    "ratios": (-7, -6, -5),
    "seeds": 2,
    "trials": 2,
    "strategies": ("random", "uncertainty", "look-ahead", "expected-gain"),
    "batch": 20,
    "rounds": 2,
    "curve_epochs": 4,
    "epochs": 2,
}
"""A smoke run: every part and both settings, with little of everything."""
USUAL_STEPS, USUAL_COST = 900, 1.6  # of a fit that stops early, and of a learner's step beside a plain one: to estimate

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Plan:
    """What is computed."""

    source: str
    """The data, as ``readers.read`` takes them."""
    learners: tuple[str, ...]
    """Of the table."""
    ratios: tuple[float, ...]
    """Sizes of the warm set, log2(M / (M + N)); the middle one is tuned on, drawn as curves and asked from."""
    seeds: int
    """Runs of everything."""
    trials: int
    """Of each learner's settings; 0 takes its own."""
    strategies: tuple[str, ...]
    """Of Table 3."""
    batch: int
    """Questions in a round."""
    rounds: int
    """Of asking."""
    curve_epochs: int
    """Of learning curves."""
    epochs: int | None = None
    """Of everything else; None for the learners' own."""
    settings: tuple[str, ...] = ("ours", "paper")
    """"ours" deduces all that exhaustive children allow; "paper" is its text and equations to the letter."""
    name: str = ""
    """How the data are called."""


@dataclass
class Findings:
    """What was computed in one setting."""

    setting: str
    chosen: list[tuning.Chosen] = field(default_factory=list)
    """By tuning."""
    cells: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"table": [], "curves": []})
    """Of the table, and of the curves, without early stopping."""
    asking: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Rows of simulations, by learner."""

    @property
    def results(self) -> list[dict[str, Any]]:
        """Cells of the table."""
        return self.cells["table"]

    @property
    def curves(self) -> list[dict[str, Any]]:
        """Cells without early stopping."""
        return self.cells["curves"]

    def __len__(self) -> int:
        """How many rows of results there are."""
        return len(self.results) + len(self.curves) + sum(map(len, self.asking.values()))


def default_learners() -> tuple[str, ...]:
    """All learners, the paper's first, with the steps from Algorithm 1 to ours and LEML's low rank."""
    first = ("fully-supervised", "leml", "leml-low-rank", "one-class", *ABLATION)
    return (*first, *(name for name in LEARNERS if name not in first))


def plan(
    source: str,
    *,
    learners: Sequence[str] | None = None,
    ratios: Sequence[float] = (-10, -9, -8, -7, -6),
    seeds: int = 10,
    trials: int = 20,
    strategies: Sequence[str] | None = None,
    batch: int | None = None,
    rounds: int = 30,
    curve_epochs: int = 30,
    epochs: int | None = None,
    settings: Sequence[str] = ("ours", "paper"),
    name: str | None = None,
) -> Plan:
    """All that is computed, checked before it begins; a batch of questions has the paper's size by default.

    >>> planned = plan("scenes:80", ratios=[-4, -3, -2], seeds=1)
    >>> planned.batch, planned.learners[:2]
    (100, ('fully-supervised', 'leml'))
    """
    for setting in settings:
        if setting not in common.SETTINGS:
            raise RamifyError(f"there is no setting {setting!r}: choose among {', '.join(common.SETTINGS)}")
    if trials < 0:
        raise RamifyError(f"{trials} trials: give 0 or more")
    for what, number in (("epochs of curves", curve_epochs), ("settings", len(settings))):
        if number < 1:
            raise RamifyError(f"{number} {what}: give at least 1")
    learners = tuple(learners or default_learners())
    data = common.data_with_features(source, True)
    for ratio in ratios:
        if not len(benchmark(data, ratio=ratio).warm):
            raise RamifyError(f"the ratio {ratio:g} leaves no warm item of {len(data)}: give larger ones (--ratios)")
    compare.plan(source, learners, ratios, True, seeds, True)
    planned = Plan(
        source,
        learners,
        tuple(ratios),
        seeds,
        trials,
        tuple(strategies or STRATEGIES),
        batch or BATCHES[0 if len(data) >= MANY else 1],
        rounds,
        curve_epochs,
        epochs,
        tuple(settings),
        name or Path(source).stem,
    )
    for setting in settings:
        for learner in ASKED[setting]:
            _asking(planned, learner, common.SETTINGS[setting], warm=1)
    return planned


def reproduce(
    planned: Plan,
    out: Path,
    *,
    how: str = "processes",
    report: Report = lambda what, done, total: None,
    on_part: Callable[[list[Findings]], None] = lambda findings: None,
    tell: Callable[[Run], None] = lambda run: None,
    failed: Callable[[Failure], None] | None = None,
) -> list[Findings]:
    """Compute what ``out`` does not hold yet; ``on_part`` hears after each part what there is by now.

    ``report`` hears what is being computed, how much of it is finished, and of how much; ``tell`` gets every result,
    to be tracked; ``failed`` is as ``engine.run`` has it.
    """
    common.check_folder(out)
    findings = [Findings(setting) for setting in planned.settings]
    on_part(findings)
    for found in findings:
        _fill(found, planned, out, how, report, lambda: on_part(findings), tell, failed)
    return findings


def _fill(
    found: Findings,
    planned: Plan,
    out: Path,
    how: str,
    report: Report,
    on_part: Callable[[], None],
    tell: Callable[[Run], None],
    failed: Callable[[Failure], None] | None,
) -> None:
    """Compute all parts of one setting."""
    name, folder, memory = found.setting, out / found.setting, out / "memory"
    folder.mkdir(exist_ok=True)
    conditions = replace(common.SETTINGS[name], epochs=planned.epochs)
    cells = compare.plan(planned.source, planned.learners, planned.ratios, True, planned.seeds, conditions.exhaustive)
    warm = compare.middle(cells)
    if planned.trials:
        found.chosen = tuning.tune(
            planned.source,
            list(dict.fromkeys([*planned.learners, *ASKED[name]])),
            warm,
            planned.trials,
            folder / "trials",
            conditions,
            how=how,
            report=lambda done, total: report(f"{name}: trials", done, total),
            failed=failed,
        )
        conditions = tuning.tuned(conditions, found.chosen)
        untuned = {
            cell.learner for cell in cells if not tuning.search_space(cell.learner, conditions)
        }  # such as refine
        cells = [cell for cell in cells if cell.learner in {*conditions.chosen, *untuned}]  # without what failed
        on_part()

    def finished(part: str, total: int, results: list[dict[str, Any]]) -> None:
        found.cells[part] = results
        report(f"{name}: {part}", len(results), total)

    def compute(part: str, cells: list[compare.Cell], conditions: common.Conditions) -> None:
        compare.compare(
            planned.source,
            cells,
            folder / part,
            conditions,
            how=how,
            memory=memory,
            report=partial(finished, part, len(cells)),
            arrived=lambda result: tell(cell_run(planned.name, result, conditions, name, part)),
            failed=failed,
        )

    compute("table", cells, conditions)
    on_part()
    drawn = {cell.file: cell for cell in cells if cell.warm == warm and cell.learner in IN_CURVES}
    curves = list(drawn.values())  # two ratios may be one size
    compute("curves", curves, replace(conditions, early_stopping=False, epochs=planned.curve_epochs))
    on_part()
    for learner in ASKED[name]:
        asking = _asking(planned, learner, conditions, warm)
        what, total = f"{name}: asking with {learner}", len(asking.runs) * asking.rounds
        results = simulate.simulate(
            asking,
            folder / _asking_folder(asking),
            resume=True,
            how=how,
            memory=memory,
            report=partial(_report_rounds, report, what, total),
            arrived=partial(_tell_asking, tell, planned.name, asking, name),
            failed=failed,
        )
        found.asking[learner] = simulate.rows(results)
        on_part()


def _report_rounds(report: Report, what: str, total: int, done: int) -> None:
    report(what, done, total)


def _tell_asking(
    tell: Callable[[Run], None], data: str, asking: simulate.Plan, setting: str, result: dict[str, Any]
) -> None:
    tell(asking_run(data, result, asking, setting))


def estimate(planned: Plan, cores: int) -> float:
    """About how many seconds all of it takes on so many cores, by the time of a few steps on these data."""
    data = common.data_of(planned.source, True)
    drawn = benchmark(data, ratio=sorted(planned.ratios)[len(planned.ratios) // 2])
    step, forward = _measured(drawn)
    steps = max(LEML().shortest_epoch, len(drawn.pool) // LEML().batch_size)
    fit = step * USUAL_COST * min(USUAL_STEPS, steps * (planned.epochs or LEML().epochs))
    tuned = sum(bool(tuning.search_space(name, common.OURS)) for name in planned.learners) * planned.trials
    drawn_curves = sum(name in IN_CURVES for name in planned.learners) * planned.seeds * planned.curve_epochs
    runs = len(planned.strategies) * planned.seeds
    round_ = step * USUAL_COST * steps + 4 * forward * len(drawn.train)
    restarts = planned.rounds / 10 * 12 * steps * step * USUAL_COST
    total = 0.0
    for setting in planned.settings:
        total += fit * (tuned + len(planned.learners) * len(planned.ratios) * planned.seeds)
        total += step * USUAL_COST * steps * drawn_curves
        nets = sum(learner != "refine" for learner in ASKED[setting])
        total += runs * nets * (planned.rounds * round_ + restarts)
        total += runs * (len(ASKED[setting]) - nets) * planned.rounds * 4 * forward * len(drawn.train)
    return total / cores


def _measured(drawn: Benchmark) -> tuple[float, float]:
    """The seconds of a step of training, and of predicting an item."""
    batches = 12
    few = drawn.train.take(np.arange(min(len(drawn.train), batches * LEML().batch_size)))
    learner = LEML(random_state=0, epochs=1, shortest_epoch=batches)
    learner.fit(few.features, few.labels)
    begin = time.perf_counter()
    learner.partial_fit(few.features, few.labels)
    trained = time.perf_counter()
    learner.predict_proba(few.features)
    return (trained - begin) / batches, (time.perf_counter() - trained) / len(few)


def _asking_folder(asking: simulate.Plan) -> str:
    """A folder for what is asked with these settings: with others, such as those of more trials, it is another run."""
    learner = common.make_learner(asking.learner, asking.warm, 0, asking.conditions, Path())
    settings = sorted(learner.get_params(deep=False).items(), key=str)
    return f"asking-{asking.learner}-{fingerprint(repr((settings, asking.batch, asking.warm)))[:8]}"


def _asking(planned: Plan, learner: str, conditions: common.Conditions, warm: int) -> simulate.Plan:
    """Table 3, from a warm set of that size."""
    return simulate.plan(
        planned.source,
        planned.strategies,
        learner,
        warm=warm,
        batch=planned.batch,
        rounds=planned.rounds,
        seeds=planned.seeds,
        conditions=conditions,
    )
