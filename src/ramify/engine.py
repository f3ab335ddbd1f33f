"""Engine: how independent work is spread over the cores of this machine."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from joblib import Parallel, delayed, parallel_config

from ramify.errors import RamifyError

__all__ = ["ENGINES", "run"]

ENGINES = ("serial", "processes")

Task = TypeVar("Task")
Result = TypeVar("Result")


def run(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    engine: str = "processes",
    arrived: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """The function's result for each task, in the order of the tasks.

    ``arrived`` gets each result, in this process, as soon as it and all before it are there.

    >>> run(abs, [-2, 1, -3], engine="serial", arrived=print)
    2
    1
    3
    [2, 1, 3]
    """
    if engine not in ENGINES:
        raise RamifyError(f"there is no engine {engine!r}: choose {' or '.join(map(repr, ENGINES))}")
    tasks, results = list(tasks), []
    for result in map(function, tasks) if engine == "serial" else _in_processes(function, tasks):
        results.append(result)
        arrived(result)
    return results


def _in_processes(function: Callable[[Task], Result], tasks: list[Task]) -> Iterator[Result]:
    # One thread for each worker: the workers fill the cores already, and more threads would fight over them.
    with parallel_config(backend="loky", n_jobs=-1, inner_max_num_threads=1), warnings.catch_warnings():
        # A worker whose memory has grown is replaced by a new one: nothing is lost, and nobody needs to know.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
        yield from Parallel(return_as="generator")(delayed(function)(task) for task in tasks)
