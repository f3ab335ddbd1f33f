"""Training a project's model, in a process of its own: ``python -m ramify.project.live.training FOLDER``."""

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ramify.concepts import check_template
from ramify.engine import one_thread
from ramify.errors import RamifyError, first_line
from ramify.labels import Labels
from ramify.learners import Learner
from ramify.learners.cache import Cache
from ramify.parallel import team
from ramify.parcels import packed, unpacked
from ramify.progress import Report
from ramify.project.live.judging import judge
from ramify.project.store.store import Store
from ramify.project.transfer.learned import make_learner
from ramify.project.transfer.measuring import opinions_of
from ramify.project.transfer.names import TEMPLATES, ReadNames, read_names

LOWEST_PRIORITY = 19
LEARNER = "refine"  # who learns where nobody says it


def choose_learner(store: Store, name: str, parameters: dict[str, Any]) -> None:
    """Say who learns from now on, and with which settings."""
    make_learner(name, **parameters)
    store.set_setting("learner", name)
    store.set_setting("parameters", parameters)


def train(
    store: Store,
    *,
    learner: str | None = None,
    parameters: dict[str, Any] | None = None,
    templates: Iterable[str] | None = None,
    report: Report | None = None,
) -> int:
    """Train on everything that is known now; the new model is there as a whole or not at all. Returns its version.

    The database says that it is being done, and how it ended; how far it is stands in a file, and ``report`` is told
    as well. A learner, its parameters and the templates of names hold for later trainings too, once this one has
    succeeded; without a learner, parameters are added to those that hold already.
    """
    filled = None if templates is None else [check_template(template) for template in templates]
    name = learner or store.setting("learner", LEARNER)
    settings = {**({} if learner else store.setting("parameters", {})), **(parameters or {})}
    with store.trainings.begin() as note, one_thread():
        try:
            version = _train(store, make_learner(name, **settings), filled, partial(_tell, note, report))
        except (TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, RamifyError) or not parameters:  # what held before is not to blame
                raise
            given = ", ".join(f"{key}={value}" for key, value in settings.items())
            raise RamifyError(
                f"{name} cannot be trained with {given} ({error}): give other values with --set"
            ) from None
    if learner or parameters:
        choose_learner(store, name, settings)
    if filled is not None:
        store.set_setting(TEMPLATES, filled)
    return version


def _train(store: Store, learner: Learner, templates: list[str] | None, report: Report) -> int:
    features = store.features()
    if features is None or not len(store):
        raise RamifyError(f"{store.folder} has no items with features yet: add some first")
    labels = store.labels()
    names = ReadNames(None, f"not used by {learner.name}")
    if learner.uses_names and learner.get_params(deep=False).get("use_names", True):
        names = read_names(store, templates)
    if team().size > 1:  # all learn from what this process has read
        team().agree(packed((learner, features, labels, names.vectors)))
    learner.watch(report).fit(features, labels, names=names.vectors)
    version = store.new_model(partial(_write, learner, features, labels, names.said, report))
    judge(store, learner, labels, opinions_of(learner, features, labels))
    return version


def train_along() -> None:
    """Train with the first process of a team, which reads the project and writes the model (``ramify.parallel``)."""
    try:
        learner, features, labels, names = unpacked(team().agree(None))
        with one_thread():
            learner.fit(features, labels, names=names)
    except RuntimeError as error:
        raise RamifyError(f"the training of this team has ended before its time: {first_line(error)}") from error


def _write(learner: Learner, features: Any, labels: Labels, names: str, report: Report, folder: Path) -> dict[str, Any]:
    learner.save(folder / "learner")
    report("all items", 0, len(labels))
    Cache.write(folder, learner.to_cache(features, labels), len(labels), report)
    return {"learner": learner.name, "estimate": learner.estimate(), "note": names}


def _tell(note: Report, report: Report | None, what: str, done: int, total: int) -> None:
    note(what, done, total)
    if report is not None:
        report(what, done, total)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Begin training in another process, on one thread and with low priority: answering must stay quick."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ramify.project.live.training", str(folder)],
        env=environment,
        stdout=subprocess.DEVNULL,  # how it went stands in the database, and a traceback in the project's folder
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        # Ctrl-C in the server's terminal is not meant for it; in another session, Linux would ignore its low priority.
        process_group=0,
    )
    with suppress(OSError):  # it may have ended already
        os.setpriority(os.PRIO_PROCESS, process.pid, LOWEST_PRIORITY)
    return process


def main(folder: str) -> int:
    """Train; how it went stands in the database, for the service that waits."""
    with Store(folder) as store:
        try:
            train(store)
        except Exception:
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
