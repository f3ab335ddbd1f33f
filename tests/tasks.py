"""Tasks for workers, in a module that they read quickly."""

import errno
import os
import signal
from pathlib import Path

from ramify.errors import RamifyError


def square(number: int) -> int:
    return number * number


def refuse(number: int) -> int:
    if number == 7:
        raise RamifyError("seven is not wanted")
    if number == 8:
        raise KeyError("eight")
    return number


def fill_the_disk(folder: Path, number: int) -> int:
    (folder / str(number)).touch()
    raise RamifyError(f"{folder}: the disk is full") from OSError(errno.ENOSPC, "full")


def call_nobody(number: int) -> int:
    raise ConnectionError("nobody there")


def die(folder: Path, times: int, number: int) -> int:
    """The first so many workers that get the third task are killed at it."""
    if number == 3:
        deaths = len(list(folder.iterdir()))
        if deaths < times:
            (folder / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return number
