"""Two processes that train together are one process with the doubled batch."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from team_process import NAMES

PROCESS = Path(__file__).with_name("team_process.py")


def train(out: Path, batch: int, processes: int) -> None:
    """Train in so many processes at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    others = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)} if processes > 1 else {}
    running = []
    for rank in range(processes):
        environment = {**os.environ, **others, **({"RANK": str(rank)} if others else {})}
        command = [sys.executable, str(PROCESS), str(out), str(batch)]
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    try:
        for process in running:
            _, errors = process.communicate(timeout=600)
            assert process.returncode == 0, errors
    finally:
        for process in running:  # where one fails the others would wait for it
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_two_processes_are_one_with_the_doubled_batch(tmp_path):
    train(tmp_path, 14, 1)
    train(tmp_path, 7, 2)
    for name in NAMES:
        alone, first, second = (
            dict(np.load(tmp_path / f"{name}-{process}.npz")) for process in ("0-of-1", "0-of-2", "1-of-2")
        )
        for key, value in alone.items():
            assert np.array_equal(first[key], second[key]), (name, key)
            assert first[key] == pytest.approx(value, abs=1e-8), (name, key)
    told = "role is trained by one process only: start it without torchrun"  # its loss looks at whole batches
    assert (tmp_path / "refused").read_text() == told
