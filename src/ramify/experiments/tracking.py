"""Tracking: finished runs of experiments are told to TensorBoard or MLflow, where somebody asks for it.

A run is told in the process that was started, from what is on disk or came back from workers. It is told once: what
the tracker holds already (known by a digest of everything that would be told) is passed over. So results that were on
disk before are told too, and an experiment that was interrupted tells the rest when it goes on.
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError, first_line
from ramify.experiments import compare
from ramify.experiments.common import Conditions, check_folder
from ramify.experiments.simulate import Plan
from ramify.learners.base import as_json

AT_ONCE = 1000  # metrics that MLflow takes together


@dataclass(frozen=True)
class Run:
    """A finished run, in what JSON can say."""

    name: str
    """Parts with slashes between them, see ``name_of``."""
    parameters: Mapping[str, Any]
    """What it was run with."""
    metrics: Mapping[str, Any]
    """What it reached; what is not a number is left out."""
    curve: list[dict[str, Any]]
    """How it got there: one for each epoch or round."""
    by: str
    """The key of ``curve`` that is a step: "epoch" or "answers"."""

    @property
    def digest(self) -> str:
        """Equal for runs that say the same."""
        return sha256(json.dumps(asdict(self), default=as_json, sort_keys=True).encode()).hexdigest()[:24]

    def figures(self) -> list[tuple[str, int, float]]:
        """Everything that is drawn: key, step and value; what was reached comes with the last step."""
        steps = [int(row[self.by]) for row in self.curve]
        rows = [(f"by_{self.by}/", step, row) for step, row in zip(steps, self.curve, strict=True)]
        return [
            (prefix + key.replace("@", "_at_"), step, float(value))  # MLflow's keys have no @
            for prefix, step, row in [*rows, ("", max(steps, default=0), self.metrics)]
            for key, value in row.items()
            if key != self.by and isinstance(value, int | float)
        ]


def name_of(source: str, *parts: object) -> str:
    """The name of a run: its data, and what tells it from others, as folders may be called.

    >>> name_of("data/coco.npz", "my_module:Mine", "warm-16", "seed-0")
    'coco/my_module.Mine/warm-16/seed-0'
    """
    return "/".join(re.sub(r"[^\w.-]+", ".", str(part)) for part in (Path(source).stem, *parts))


def cell_run(data: str, result: dict[str, Any], conditions: Conditions, *parts: str) -> Run:
    """A cell of a comparison, as it is tracked; more ``parts`` of its name tell experiments apart."""
    named = {key: result[key] for key in ("learner", "ratio", "warm", "seed")}
    name = name_of(data, *parts, result["learner"], f"warm-{result['warm']}", f"seed-{result['seed']}")
    reached = {key: result[key] for key in compare.METRICS}
    settings = conditions.as_json() | dict(conditions.chosen.get(result["learner"], {}))
    return Run(name, {"command": "compare", "data": data, **named, **settings}, reached, result["history"], "epoch")


def asking_run(data: str, result: dict[str, Any], planned: Plan, *parts: str) -> Run:
    """A run of a simulation, as it is tracked."""
    named = {key: result[key] for key in ("strategy", "seed")}
    settings = {key: getattr(planned, key) for key in ("learner", "warm", "batch", "rounds", "part")}
    settings |= planned.conditions.as_json() | dict(planned.conditions.chosen.get(planned.learner, {}))
    place = (*parts, planned.learner, result["strategy"], f"warm-{planned.warm}", f"seed-{result['seed']}")
    parameters = {"command": "simulate", "data": data, **named, **settings}
    return Run(name_of(data, *place), parameters, result["curve"][-1], result["curve"], "answers")


class Tracker:
    """Told of finished runs, each once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, run: Run) -> None:
        """Write a run down, unless it is there."""
        digest = run.digest
        if digest in self._told:
            return
        try:
            if not self._holds(run, digest):
                self._write(run, digest)
        except Exception as error:  # whatever a server or a disk may say
            raise RamifyError(
                f"{run.name} cannot be tracked ({first_line(error)}): results are kept, run the same command to go on"
            ) from error
        self._told.add(digest)

    def _holds(self, run: Run, digest: str) -> bool:
        raise NotImplementedError

    def _write(self, run: Run, digest: str) -> None:
        raise NotImplementedError


class TensorBoard(Tracker):
    """A folder of event files, one folder below it for each run."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        try:
            from torch.utils import tensorboard
        except ImportError:
            raise RamifyError(
                "--track tensorboard needs the package tensorboard: pip install 'ramify[tensorboard]'"
            ) from None
        self.folder = Path(folder)
        self._tensorboard: Any = tensorboard
        check_folder(self.folder)

    def _holds(self, run: Run, digest: str) -> bool:
        return any((self.folder / run.name).glob(f"*.{digest}"))

    def _write(self, run: Run, digest: str) -> None:
        # An older run of the same name is hidden: this one says more, or was run with other settings.
        place = str(self.folder / run.name)
        writer: Any = self._tensorboard.SummaryWriter(place, purge_step=0, filename_suffix=f".{digest}")
        with writer:
            for key, step, value in run.figures():
                writer.add_scalar(key, value, step)
            said = {key: str(value) for key, value in run.parameters.items()}
            reached = {key: value for key, _, value in run.figures() if "/" not in key}
            for summary in self._tensorboard.summary.hparams(said, reached):
                writer.file_writer.add_summary(summary)


class MLflow(Tracker):
    """A tracking server or database; all runs belong to the experiment "ramify"."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        try:
            from mlflow import MlflowClient, entities
        except ImportError:
            raise RamifyError("--track mlflow needs the package mlflow-skinny: pip install 'ramify[mlflow]'") from None
        self._entities = entities
        try:
            self._client = MlflowClient(tracking_uri=uri)
            found = self._client.get_experiment_by_name("ramify")
            self._experiment = found.experiment_id if found else self._client.create_experiment("ramify")
        except Exception as error:  # whatever a server or a database may say
            raise RamifyError(
                f"mlflow cannot use {uri} ({first_line(error)}): give a server or a database, mlflow:sqlite:///runs.db"
            ) from error

    def _holds(self, run: Run, digest: str) -> bool:
        there = f"tags.ramify = '{digest}' and attributes.status = 'FINISHED'"
        return len(self._client.search_runs([self._experiment], there, max_results=1)) > 0

    def _write(self, run: Run, digest: str) -> None:
        now = int(1000 * time.time())
        made = self._client.create_run(self._experiment, tags={"ramify": digest}, run_name=run.name).info.run_id
        params = [self._entities.Param(key, str(value)) for key, value in run.parameters.items()]
        metrics = [self._entities.Metric(key, value, now, step) for key, step, value in run.figures()]
        self._client.log_batch(made, params=params)
        for first in range(0, len(metrics), AT_ONCE):
            self._client.log_batch(made, metrics=metrics[first : first + AT_ONCE])
        self._client.set_terminated(made)


KINDS: dict[str, type[TensorBoard] | type[MLflow]] = {"tensorboard": TensorBoard, "mlflow": MLflow}


def tracker(text: str) -> Tracker:
    """The tracker that ``--track`` names, ready to be told.

    >>> tracker("wandb:mine")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: --track takes tensorboard:DIR or mlflow:URI, not 'wandb:mine'
    """
    kind, _, place = text.partition(":")
    if kind not in KINDS or not place:
        raise RamifyError(f"--track takes tensorboard:DIR or mlflow:URI, not {text!r}")
    return KINDS[kind](place)
