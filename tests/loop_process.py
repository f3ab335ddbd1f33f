"""Loops in processes of their own, killed at random moments: python loop_process.py FOLDER, prints what came of it.

The processes are forked from this one, which has already imported everything: only the loop itself is killed.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from ramify.checks.data import data
from ramify.data import Dataset
from ramify.learners import PseudoLabel
from ramify.loop import ActiveLoop, Truth
from ramify.strategies import LookAhead

ROUNDS = 6


def run(folder: Path) -> None:
    features, labels = data(n_items=80, warm=10)
    truth = data(n_items=80, warm=80)[1]
    loop = ActiveLoop(
        Dataset(labels, features),
        PseudoLabel(hidden=(16,), epochs=1, random_state=0),
        LookAhead(random_state=0),
        Truth(truth, error_rate=0.1, skip_rate=0.1),
        batch_size=8,
        test=Dataset(truth, features),
        restart_every=3,
        folder=folder,
    )
    loop.run(rounds=ROUNDS)


def start(folder: Path) -> int:
    child = os.fork()
    if not child:
        run(folder)
        os._exit(0)
    return child


def written(folder: Path) -> int:
    """How many questions and answers are on disk."""
    journal = folder / "answers.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def kill_at(folder: Path, lines: int, later: float) -> bool:
    """Run until so much is on disk and some seconds more, then kill; whether it was still running."""
    child = start(folder)
    while written(folder) < lines:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    time.sleep(later)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def main(folder: Path) -> None:
    torch.set_num_threads(1)  # before any thread begins: threads do not survive a fork
    began = time.monotonic()
    assert os.waitpid(start(folder / "straight"), 0)[1] == 0
    a_round = (time.monotonic() - began) / ROUNDS
    all_lines = written(folder / "straight")
    drawn = random.Random(0)
    kills = 0
    for number in range(10):
        place = folder / f"killed-{number}"
        for lines in sorted(drawn.sample(range(1, all_lines - 9), 2)):
            kills += kill_at(place, lines, drawn.uniform(0, a_round))
        assert os.waitpid(start(place), 0)[1] == 0
    print(json.dumps({"kills": kills, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
