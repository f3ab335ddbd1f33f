"""A project's model by two processes that torchrun starts: the model of one with the doubled batch."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ramify.learners import load
from ramify.notebook import Project
from ramify.project.store.store import Store

SETTINGS = {"steps": 30, "hidden": [16], "dropout": 0, "input_dropout": 0}  # by dropout each leaves out other values


def command(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True, timeout=250, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def settings(batch: int) -> list[str]:
    return [part for name, value in {**SETTINGS, "batch_size": batch}.items() for part in ("--set", f"{name}={value}")]


@pytest.mark.slow
def test_torchrun_trains_the_model_of_one_process_with_the_doubled_batch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project = Project.create("p", {"animal": ["cat", "dog"], "food": ["apple", "pear"]})
    random = np.random.default_rng(0)
    rows = random.normal(size=(90, 6)).astype(np.float32)
    table = {"id": [f"i{n}" for n in range(90)], "labels": ["cat;apple" if n < 20 else "animal" for n in range(90)]}
    project.add(table, features=rows)
    once = "The project's model is now number {}."
    assert once.format(1) in command("ramify", "train", "p", *settings(16))
    launched = ("torch.distributed.run", "--standalone", "--nproc-per-node", 2, "-m", "ramify", "train", "p")
    said = command(*launched, *settings(8))
    assert said.count("number 2. It was trained by 2 processes.") == 1  # one process speaks
    with Store("p") as store:
        assert [kept.version for kept in store.models.candidates()][:2] == [2, 1]
        one, two = (load(kept.folder / "learner").predict_proba(rows) for kept in store.models.candidates())
        training = store.trainings.newest()
    assert two == pytest.approx(one, abs=1e-4)
    assert training["error"] is None
    assert np.abs(one - one.mean(axis=0)).max() > 0.01  # it has learned something
