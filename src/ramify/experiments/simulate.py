"""Simulate asking: the paper's Table 3 for any data set. Strategies ask a simulated annotator, over several seeds."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ramify import engine
from ramify.data import benchmark
from ramify.errors import RamifyError
from ramify.experiments import common, finishing
from ramify.experiments.progression import summary
from ramify.files import whole_file
from ramify.learners.base import fingerprint
from ramify.loop import ActiveLoop, Truth
from ramify.loop.quality import PoolQuality
from ramify.pace import GUESSED, Pace
from ramify.strategies import strategy_class

PARTS = ("test", "validation")


@dataclass(frozen=True)
class Plan:
    """What is simulated: each strategy on each seed, from the same warm set, with the same learner."""

    source: str
    """The data, as ``readers.read`` takes them."""
    strategies: tuple[str, ...]
    """Their names, or ``module:Class``."""
    learner: str
    """Its name, or ``module:Class``."""
    warm: int
    """Items of the warm set."""
    batch: int
    """Questions in a round."""
    rounds: int
    """Rounds of each run."""
    seeds: int
    """Runs of each strategy, with seeds 0, 1, 2, ..."""
    conditions: common.Conditions
    """How labels are deduced, and the learner's settings."""
    part: str
    """What the learner is measured on: settings are chosen on the validation part, results come from test."""
    items: int | None
    """So many random items of the data, others for each seed; None for all."""
    pace: Pace
    """How long the screens of a round take. It changes no answer."""

    @property
    def runs(self) -> list[tuple[str, int]]:
        """All runs: a strategy and a seed."""
        return [(strategy, seed) for strategy in self.strategies for seed in range(self.seeds)]


def plan(
    source: str,
    strategies: Sequence[str],
    learner: str = "refine",
    *,
    ratio: float | None = None,
    warm: int | None = None,
    batch: int = 100,
    rounds: int = 30,
    seeds: int = 5,
    conditions: common.Conditions = common.OURS,
    part: str = "test",
    items: int | None = None,
    pace: Pace = GUESSED,
) -> Plan:
    """All that is simulated, checked before anything is computed. ``random`` is always among the strategies.

    >>> planned = plan("scenes:60", ["uncertainty"], warm=4, seeds=1)
    >>> planned.strategies, planned.runs
    (('random', 'uncertainty'), [('random', 0), ('uncertainty', 0)])
    """
    for name in strategies:
        strategy_class(name)
    common.kind_of(learner, without="all-labels")
    if part not in PARTS:
        raise RamifyError(f"there is no part {part!r}: choose among {', '.join(PARTS)}")
    for what, number in (("seeds", seeds), ("rounds", rounds), ("answers in a batch", batch)):
        if number < 1:
            raise RamifyError(f"{number} {what}: give at least 1")
    data = common.data_with_features(source, conditions.exhaustive)
    if items is not None and not 0 < items <= len(data):
        raise RamifyError(f"{items} items cannot be drawn from {len(data)}: give a number from 1 to {len(data)}")
    drawn = benchmark(common.part_of(source, conditions.exhaustive, items, 0), ratio=ratio, warm=warm)
    if ratio is not None and not len(drawn.warm):
        raise RamifyError(f"the ratio {ratio:g} leaves no warm item: take a larger one, or --warm 0 if you mean it")
    names = tuple(dict.fromkeys(strategies if "random" in strategies else ["random", *strategies]))
    return Plan(source, names, learner, len(drawn.warm), batch, rounds, seeds, conditions, part, items, pace)


def simulate(
    planned: Plan,
    out: Path,
    *,
    resume: bool = False,
    how: str = "processes",
    memory: Path | None = None,
    report: Callable[[int], None] = lambda rounds: None,
    arrived: Callable[[dict[str, Any]], None] = lambda result: None,
    failed: Callable[[engine.Failure], None] | None = None,
) -> list[dict[str, Any]]:
    """Run what ``out`` does not hold yet: every finished round is on disk, so an interrupted simulation goes on.

    Returns a dictionary for each run: its strategy, its seed, its curve, and why it stopped early where it did.
    ``report`` hears about every second how many rounds are finished in all runs together; ``arrived`` gets each result;
    ``failed`` is as ``engine.run`` has it. Coarse stages are kept in the folder ``memory``, by default one in ``out``.
    """
    common.check_folder(out)
    memory = memory or out / "memory"
    if any((out / "runs").glob("*")) and not resume:
        raise RamifyError(f"{out} already holds runs: give --resume to go on with them, or another --out")
    _check_settings(planned, out)
    source = common.for_workers(planned.source, planned.conditions.exhaustive, out)
    with common.regularly(lambda: report(rounds_on_disk(planned, out))):
        seeds = range(planned.seeds)
        common.prepare(planned.learner, source, planned.conditions, memory, seeds, how, failed, planned.items)
        # Strategies are usually named from the simplest to the slowest: these begin, so that no core idles at the end.
        work = partial(_run, planned, source, out.absolute(), memory.absolute())
        runs = planned.runs[::-1]
        return engine.run(work, runs, how, arrived=arrived, failed=failed, named="{0[0]}, seed {0[1]}".format)[::-1]


def rounds_on_disk(planned: Plan, out: Path) -> int:
    """How many rounds are finished in all runs together."""
    finished = 0
    for strategy, seed in planned.runs:
        try:
            curve = json.loads((_folder(out, strategy, seed) / "curve.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        finished += min(curve[-1]["round"], planned.rounds)
    return finished


def rows(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each round of each run.

    >>> curve = [{"round": 0, "answers": 0, "item_views": 0, "p@1": 0.5}]
    >>> rows([{"strategy": "random", "seed": 0, "curve": curve, "stopped": None}])[0]["p@5"] is None
    True
    """
    keys = ("round", "answers", "item_views", "seconds", "p@1", "p@3", "p@5", *PoolQuality._fields)
    return [
        {"strategy": result["strategy"], "seed": result["seed"], **{key: row.get(key) for key in keys}}
        for result in results
        for row in result["curve"]
    ]


def as_json(planned: Plan, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The form that ``--json`` writes."""
    settings = {key: getattr(planned, key) for key in ("learner", "warm", "batch", "rounds", "seeds", "part", "items")}
    settings["pace"] = asdict(planned.pace)
    found = rows(results)
    written = {"rows": found, "summary": summary(found), "finishing": finishing.reached(found)}
    return {"command": "simulate", "data": planned.source, **settings, **written}


# -- inside ------------------------------------------------------------------------------------------------------------


def _folder(out: Path, strategy: str, seed: int) -> Path:
    return out / "runs" / f"{strategy.replace(':', '.')}-{seed}"


def _run(planned: Plan, source: str, out: Path, memory: Path, run: tuple[str, int]) -> dict[str, Any]:
    strategy, seed = run
    data = common.part_of(source, planned.conditions.exhaustive, planned.items, seed)
    drawn = benchmark(data, warm=planned.warm, seed=seed)
    loop = ActiveLoop(
        drawn.train,
        common.make_learner(planned.learner, planned.warm, seed, planned.conditions, memory),
        strategy_class(strategy)(random_state=seed),
        Truth(drawn.answers),
        batch_size=planned.batch,
        test=drawn.test if planned.part == "test" else drawn.validation,
        truth=drawn.answers,
        folder=_folder(out, strategy, seed),
    ).run(rounds=planned.rounds)
    seconds, curve = 0.0, []
    for row in loop.curve_:
        if row["round"] > planned.rounds:  # it may have gone further before
            break
        if questions := loop.journal.asked.get(row["round"]):
            items, concepts = zip(*questions, strict=True)
            screens = planned.pace.arrange(items, concepts, drawn.answers.taxonomy.parents)
            seconds += float(planned.pace.seconds(screens).sum())
        curve.append({**row, "seconds": seconds})
    return {"strategy": strategy, "seed": seed, "curve": curve, "stopped": loop.stopped_}


def _check_settings(planned: Plan, out: Path) -> None:
    """Refuse to mix runs of different settings; strategies, rounds and seeds may be added."""
    data = common.data_of(planned.source, planned.conditions.exhaustive)
    settings: dict[str, Any] = {
        "data": fingerprint(data.features, data.labels, data.split),
        **{name: getattr(planned, name) for name in ("learner", "warm", "batch", "part", "items")},
        **{name: getattr(planned.conditions, name) for name in ("exhaustive", "exact_weights")},
    }
    names = data.name_vectors if common.kind_of(planned.learner).uses_names else None
    settings["names"] = None if names is None else names.fingerprint()
    path = out / "settings.json"
    if path.exists() and any((out / "runs").glob("*")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        for name, value in settings.items():
            if kept.get(name) != value:
                other = f"other {name}" if name in ("data", "names") else f"{name} {kept.get(name)}, not {value}"
                raise RamifyError(f"{out} holds runs with {other}: give the same settings, or another --out")
    out.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        draft.write_text(json.dumps(settings, indent=1), encoding="utf-8")
