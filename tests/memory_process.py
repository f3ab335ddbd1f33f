"""A task for which no memory is left, as Ray sees it: by its environment it takes all memory for used."""

import time

from ramify import cluster
from ramify.engine import run


def wait(number: int) -> int:
    """Wait for the end."""
    time.sleep(600)
    return number


if __name__ == "__main__":
    cluster.PAUSE = 0.1
    run(wait, [1], "ray", failed=lambda failure: print(failure.reason))
