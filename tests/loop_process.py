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

from learner_checks import data
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


def ended(child: int, within: float | None = None) -> bool:
    """Whether a child ends by itself within some seconds; else it is killed."""
    until = None if within is None else time.monotonic() + within
    while until is None or time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main(folder: Path) -> None:
    torch.set_num_threads(1)  # before any thread begins: threads do not survive a fork
    torch.optim.Adam([torch.zeros(1)])  # makes torch import the rest of itself
    began = time.monotonic()
    ended(start(folder / "straight"))
    whole = time.monotonic() - began
    drawn = random.Random(0)
    kills = 0
    for number in range(10):
        while not ended(start(folder / f"killed-{number}"), drawn.uniform(0.02, whole)):
            kills += 1
    print(json.dumps({"kills": kills, "whole": whole, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
