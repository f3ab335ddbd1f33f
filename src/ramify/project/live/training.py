"""Training a project's model, in a process of its own: ``python -m ramify.project.live.training FOLDER``."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import LEARNERS, Learner, Refine
from ramify.project.live.cache import Seen
from ramify.project.store.store import Store


def train(store: Store, *, verbose: bool = False) -> int:
    """Train on everything that is known now; the new model is there as a whole or not at all. Returns its version.

    The database says that it is being done, and how it ended.
    """
    with store.trainings.begin():
        return _train(store, verbose)


def _train(store: Store, verbose: bool) -> int:
    features = store.features()
    if features is None or not len(store):
        raise RamifyError(f"{store.folder} has no items with features yet: add some first")
    labels = store.labels()
    learner = make_learner(store.setting("learner", "refine"), verbose=verbose)
    learner.fit(features, labels)
    if verbose:
        learner.set_params(verbose=False)  # of whoever loads it
    return store.new_model(partial(_write, learner, features, labels))


def make_learner(name: str, *, verbose: bool = False) -> Learner:
    """A project's learner: always the same seed, so that training again gives the same model."""
    if name not in LEARNERS or name == "all-labels":
        known = ", ".join(each for each in LEARNERS if each != "all-labels")
        raise RamifyError(f"there is no learner {name!r}: choose among {known}")
    learner = LEARNERS[name](random_state=0)
    if "verbose" in learner.get_params():
        learner.set_params(verbose=verbose)
    return learner


def _write(learner: Learner, features: Any, labels: Labels, folder: Path) -> dict[str, Any]:
    learner.save(folder / "learner")
    Seen.write(learner, features, labels, folder)
    estimate = learner.estimate() if isinstance(learner, Refine) else {}
    return {"learner": learner.name, "estimate": estimate, "items": len(labels)}


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Begin training in another process, on one thread and with low priority: answering must stay quick."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "ramify.project.live.training", str(folder)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        # Ctrl-C in the server's terminal is not meant for it; in another session, Linux would ignore its low priority.
        process_group=0,
    )


def main(folder: str) -> int:
    """Train; how it went stands in the database, for the service that waits."""
    os.nice(19)
    with Store(folder) as store:
        try:
            train(store)
        except Exception:
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
