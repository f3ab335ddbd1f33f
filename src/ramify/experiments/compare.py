"""Compare learners over warm-set sizes and seeds: the paper's Table 1/2 for any data set, resumable cell by cell."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ramify import engine
from ramify.data import Benchmark, Dataset, benchmark
from ramify.errors import RamifyError
from ramify.experiments.common import (
    OURS,
    Conditions,
    check_folder,
    data_of,
    data_with_features,
    for_workers,
    kind_of,
    labels_for,
    make_learner,
    precisions,
    prepare,
)
from ramify.files import whole_file
from ramify.labels import Labels
from ramify.learners import Learner
from ramify.learners.base import fingerprint
from ramify.learners.recovery import recovery

METRICS = ("p@1", "p@3", "p@5", "recovery_f1_loss", "seconds")


@dataclass(frozen=True)
class Cell:
    """One number of the table: a learner, a size of the warm set, a seed."""

    learner: str
    warm: int
    ratio: float | None
    seed: int

    def __str__(self) -> str:
        return f"{self.learner} with {self.warm} warm items, seed {self.seed}"

    @property
    def file(self) -> str:
        """The name of its file."""
        size = "all" if self.learner == "all-labels" else self.warm  # it sees all labels, whatever the warm set
        return f"{self.learner.replace(':', '.')}-{size}-{self.seed}.json"


def plan(
    source: str, learners: Sequence[str], sizes: Sequence[float], by_ratio: bool, seeds: int, exhaustive: bool
) -> list[Cell]:
    """All cells of a table, checked before anything is computed."""
    for name in learners:
        kind_of(name)
    if seeds < 1:
        raise RamifyError(f"{seeds} seeds: give at least 1")
    data = data_with_features(source, exhaustive)
    cells = []
    for size in sizes:
        drawn = benchmark(data, ratio=size) if by_ratio else benchmark(data, warm=int(size))
        if by_ratio and not len(drawn.warm):
            raise RamifyError(f"the ratio {size:g} leaves no warm item: take a larger one, or --warm 0 if you mean it")
        ratio = size if by_ratio else None
        cells += [Cell(name, len(drawn.warm), ratio, seed) for name in learners for seed in range(seeds)]
    return cells


def middle(cells: Sequence[Cell]) -> int:
    """The size of the warm set that settings are tuned with: the middle one of a table.

    >>> middle([Cell("leml", warm, None, 0) for warm in (16, 80, 321)])
    80
    """
    sizes = sorted({cell.warm for cell in cells})
    return sizes[len(sizes) // 2]


def compare(
    source: str,
    cells: Sequence[Cell],
    out: Path,
    conditions: Conditions = OURS,
    *,
    how: str = "processes",
    memory: Path | None = None,
    report: Callable[[list[dict[str, Any]]], None] = lambda results: None,
    arrived: Callable[[dict[str, Any]], None] = lambda result: None,
    failed: Callable[[engine.Failure], None] | None = None,
) -> list[dict[str, Any]]:
    """Compute the cells that are not in ``out`` yet; each finished one is on disk at once. Returns all results.

    ``report`` gets all results that are there whenever there is one more, ``arrived`` each of them once; ``failed``
    is as ``engine.run`` has it. Coarse stages are kept in the folder ``memory``, by default one in ``out``.
    """
    check_folder(out)
    memory = memory or out / "memory"
    data = data_of(source, conditions.exhaustive)
    settings = {"data": fingerprint(data.features, data.labels, data.split), **conditions.as_json()}
    if data.name_vectors is not None:
        settings["names"] = data.name_vectors.fingerprint()
    out.mkdir(parents=True, exist_ok=True)
    source = for_workers(source, conditions.exhaustive, out)

    found = {cell.file: result for cell in cells if (result := _kept(out, cell, conditions, settings))}

    def finished() -> list[dict[str, Any]]:
        own = [(found[cell.file], {"ratio": cell.ratio, "warm": cell.warm}) for cell in cells if cell.file in found]
        return [{**result, **size} for result, size in own]

    def arrive(result: tuple[str, dict[str, Any]]) -> None:
        found[result[0]] = result[1]
        arrived(result[1])
        report(finished())

    report(finished())
    for result in finished():
        arrived(result)
    todo = {cell.file: cell for cell in cells if cell.file not in found}  # two ratios may be one size
    for name in dict.fromkeys(cell.learner for cell in todo.values()):
        seeds = sorted({cell.seed for cell in todo.values() if cell.learner == name})
        prepare(name, source, conditions, memory, seeds, how, failed)
    work = partial(_run_and_keep, source, conditions, out.absolute(), memory.absolute(), settings)
    engine.run(work, list(todo.values()), how, arrived=arrive, failed=failed)
    return finished()


def summary(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over seeds, for each learner and warm size, in the order they were computed."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault((result["learner"], result["ratio"], result["warm"]), []).append(result)
    rows = []
    for (learner, ratio, warm), members in groups.items():
        row: dict[str, Any] = {"learner": learner, "ratio": ratio, "warm": warm, "seeds": len(members)}
        for metric in METRICS:
            values = [member[metric] for member in members if member[metric] is not None]
            row[metric] = float(np.mean(values)) if values else None
            row[f"{metric}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        rows.append(row)
    return rows


def as_json(source: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The form that ``--json`` writes."""
    keys = ("learner", "ratio", "warm", "seed", *METRICS)
    rows = [{key: result[key] for key in keys} for result in results]
    return {"command": "compare", "data": source, "rows": rows, "summary": summary(results)}


# -- one cell ----------------------------------------------------------------------------------------------------------


def run_cell(drawn: Benchmark, cell: Cell, conditions: Conditions, memory: Path) -> dict[str, Any]:
    """Train and test one learner on one draw; what cannot begin without a fine label has no figures."""
    learner = make_learner(cell.learner, cell.warm, cell.seed, conditions, memory)
    labels = labels_for(cell.learner, drawn)
    result: dict[str, Any] = {"learner": cell.learner, "ratio": cell.ratio, "warm": cell.warm, "seed": cell.seed}
    items, concepts = drawn.train.labels.unknown()
    result["unknown_share"] = float(drawn.answers.states()[items, concepts].mean()) if len(items) else None
    if not learner.can_begin(labels):
        return result | dict.fromkeys(METRICS) | {"history": [], "estimate": {}}
    start = time.perf_counter()
    more: dict[str, Any] = {"validation": drawn.validation}
    if not conditions.early_stopping:
        more = {"callbacks": [OnTest(drawn.test)]} if "epochs" in learner.get_params(deep=False) else {}
    learner.fit(drawn.train.features, labels, names=drawn.train.name_vectors, truth=drawn.answers, **more)
    seconds = time.perf_counter() - start
    result |= dict.fromkeys(("p@1", "p@3", "p@5")) | precisions(learner, drawn.test)
    result |= {"recovery_f1_loss": _recovery(learner, drawn, labels), "seconds": seconds}
    history = getattr(learner, "history_", [])  # of what is trained in epochs
    return result | {"history": history, "estimate": learner.estimate()}


class OnTest:
    """Looks at the test part after each epoch: for learning curves, never to choose anything by."""

    def __init__(self, test: Dataset) -> None:
        self.test = test

    def on_epoch_end(self, learner: Learner, record: dict[str, Any]) -> None:
        """Add what it reaches to the epoch's line of the history."""
        record.update({f"test_{metric}": value for metric, value in precisions(learner, self.test).items()})


def _recovery(learner: Learner, drawn: Benchmark, labels: Labels) -> float | None:
    """The F1-loss on the entries that were unknown to the learner: of its pseudo-labels, or else of its beliefs."""
    items, concepts = labels.unknown()
    if not len(items):
        return None
    beliefs = learner.beliefs(drawn.train.features, labels)[items, concepts]
    return recovery(drawn.answers, items, concepts, learner.pseudo_labels(items, concepts, beliefs))


def _kept(out: Path, cell: Cell, conditions: Conditions, settings: dict[str, Any]) -> dict[str, Any] | None:
    path = out / "cells" / cell.file
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    same = kept["settings"] == _all_settings(cell, conditions, settings)
    result: dict[str, Any] = kept["result"]
    return result if same else None


def _all_settings(cell: Cell, conditions: Conditions, settings: dict[str, Any]) -> dict[str, Any]:
    """What a kept result must agree on, the learner's parameters included: other defaults are another experiment.

    Names count only where the learner uses them, so that results computed before data had any are still found.
    """
    learner = make_learner(cell.learner, cell.warm, cell.seed, conditions, Path())
    used = {key: value for key, value in settings.items() if key != "names" or learner.uses_names}
    everything: dict[str, Any] = json.loads(json.dumps({**used, "parameters": learner.get_params(deep=False)}))
    return everything


def _run_and_keep(
    source: str, conditions: Conditions, out: Path, memory: Path, settings: dict[str, Any], cell: Cell
) -> tuple[str, dict[str, Any]]:
    drawn = benchmark(data_of(source, conditions.exhaustive), warm=cell.warm, seed=cell.seed)
    result = run_cell(drawn, cell, conditions, memory)
    (out / "cells").mkdir(exist_ok=True)
    with whole_file(out / "cells" / cell.file) as draft:
        draft.write_text(json.dumps({"settings": _all_settings(cell, conditions, settings), "result": result}))
    return cell.file, result
