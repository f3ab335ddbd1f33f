"""Models in numbered folders, trainings under way, and the learning curve."""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update

from ramify.project.store.items import HasContents
from ramify.project.store.revisions import sync
from ramify.project.store.schema import curve, models, trainings

KEPT = 3  # models: the newest, and those that another process may still be reading


class HasModels(HasContents):
    """The part of a store that keeps what was learnt."""

    def new_model(self, build: Callable[[Path], Mapping[str, Any]]) -> int:
        """Let ``build`` write a model into an empty folder and name it in the database; returns its version.

        ``build`` returns what is to be noted of it: learner, answers (how many it learnt from), estimate, note.
        """
        parent = self.folder / "models"
        parent.mkdir(exist_ok=True)
        for left in parent.glob(".draft-*"):
            if not alive(int(left.name.split("-")[1])):
                shutil.rmtree(left, ignore_errors=True)
        draft = parent / f".draft-{os.getpid()}-{time.monotonic_ns()}"
        draft.mkdir()
        try:
            noted = build(draft)
            for path in (draft, *draft.rglob("*")):
                sync(path)
            with self.database.write() as connection:
                newest = connection.execute(select(func.coalesce(func.max(models.c.version), 0))).scalar_one()
                version = int(newest) + 1
                place = self._model_folder(version)
                if place.exists():  # its process was killed before it could be named
                    shutil.rmtree(place)
                os.replace(draft, place)
                sync(parent)
                connection.execute(
                    models.insert().values(
                        version=version,
                        at=time.time(),
                        learner=noted.get("learner"),
                        answers=noted.get("answers"),
                        estimate=json.dumps(noted.get("estimate")),
                        note=noted.get("note"),
                    )
                )
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        for path in parent.iterdir():
            if path.name.isdigit() and int(path.name) <= version - KEPT:
                shutil.rmtree(path, ignore_errors=True)
        return version

    def model_folders(self) -> list[tuple[int, Path]]:
        """Versions and folders of the models that are kept, the newest first."""
        with self.database.read() as connection:
            versions = connection.execute(select(models.c.version).order_by(models.c.version.desc())).scalars().all()
        return [(version, self._model_folder(version)) for version in versions if self._model_folder(version).is_dir()]

    def model(self) -> tuple[int, Path] | None:
        """Version and folder of the newest model."""
        return next(iter(self.model_folders()), None)

    def model_facts(self) -> dict[str, Any] | None:
        """What was noted of the newest model: version, at, learner, answers, estimate, note."""
        found = self.model()
        if found is None:
            return None
        with self.database.read() as connection:
            row = connection.execute(select(models).where(models.c.version == found[0])).mappings().one()
        return {**row, "estimate": json.loads(row["estimate"])}

    def _model_folder(self, version: int) -> Path:
        return self.folder / "models" / f"{version:04d}"

    # -- trainings -----------------------------------------------------------------------------------------------------

    def training_started(self, pid: int) -> int:
        """Note that a process trains a model; returns the number of the training."""
        with self.database.write() as connection:
            done = connection.execute(trainings.insert().values(started=time.time(), pid=pid))
            assert done.inserted_primary_key is not None
            return int(done.inserted_primary_key[0])

    def training_finished(self, training: int, error: str | None = None) -> None:
        """Note that a training has ended, and why it failed if it did."""
        with self.database.write() as connection:
            ended = {"finished": time.time(), "error": error}
            connection.execute(update(trainings).where(trainings.c.id == training).values(ended))

    def training(self) -> dict[str, Any] | None:
        """The newest training: id, started, finished, pid, error, running; one whose process is gone has failed."""
        with self.database.read() as connection:
            row = (
                connection.execute(select(trainings).order_by(trainings.c.id.desc()).limit(1)).mappings().one_or_none()
            )
        if row is None:
            return None
        found = {**row, "running": row["finished"] is None and alive(row["pid"], row["started"])}
        if row["finished"] is None and not found["running"]:
            found["error"] = "the training ended before it was finished: its process is gone"
        return found

    # -- the learning curve --------------------------------------------------------------------------------------------

    def add_curve_point(self, answers: int, estimate: Mapping[str, Any]) -> None:
        """Note how good the model is thought to be after so many answers."""
        with self.database.write() as connection:
            connection.execute(curve.insert().values(answers=answers, at=time.time(), estimate=json.dumps(estimate)))

    def curve(self) -> list[dict[str, Any]]:
        """All such points, oldest first: answers, at, estimate."""
        with self.database.read() as connection:
            rows = connection.execute(select(curve).order_by(curve.c.at)).all()
        return [{"answers": row.answers, "at": row.at, "estimate": json.loads(row.estimate)} for row in rows]


def alive(pid: int, since: float | None = None) -> bool:
    """Whether a process runs, and (where the system tells) ran already at a time: numbers of processes are used again.

    >>> alive(os.getpid()), alive(os.getpid(), since=time.time())
    (True, True)
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        seconds_up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError):
        return True
    began = time.time() - seconds_up + int(rest[18]) / os.sysconf("SC_CLK_TCK")
    return state not in "ZX" and (since is None or began <= since + 5)
