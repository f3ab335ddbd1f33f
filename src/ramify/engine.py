"""Engine: how independent work is spread, over the cores of this machine or over a Ray cluster.

A worker that dies is replaced, and what it was doing is done again. A task that fails for a reason of its own is
reported by its name, and the rest goes on; trouble with a disk ends everything, as all tasks would meet it.
"""

import errno
import queue
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from ramify import cluster, parcels
from ramify.errors import RamifyError

__all__ = ["ENGINES", "Failure", "check", "one_thread", "run", "stream"]

ENGINES = ("serial", "processes", "ray")
ATTEMPTS = 3  # in a row that workers may die without any result, before it is no accident
ANY_ORDER, IN_ORDER = 64, 2  # tasks for each core that are handed over before the first is finished
IDLE = 60  # seconds after which a worker without work goes
# One thread for each worker: the workers fill the cores already, and more threads would fight over them.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")}
WORKER = ONE_THREAD | {"VECLIB_MAXIMUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}  # trouble that all tasks would meet
KILLED = "its worker was killed, perhaps because the memory ran out: close other programs, or take --engine serial"

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """Why a task failed, in words; its traceback where it was not a user's mistake."""

    reason: str
    traceback: str


@dataclass(frozen=True)
class Attempt(Generic[Task, Result]):
    """A function whose own failures are results; it is sent to workers."""

    function: Callable[[Task], Result]

    def __call__(self, task: Task) -> Result | Failure:
        """The function's result for a task, or why there is none."""
        try:
            return self.function(task)
        except Exception as error:
            if {getattr(error, "errno", None), getattr(error.__cause__, "errno", None)} & DISK:  # perhaps in words
                raise
            if isinstance(error, RamifyError):
                return Failure(str(error), "")
            return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def check(engine: str) -> None:
    """Refuse an engine that does not exist, before anything is computed.

    >>> check("ray:10.0.0.1:6379")
    """
    if engine.partition(":")[0] not in ENGINES or (":" in engine and not engine.startswith("ray:")):
        raise RamifyError(f"there is no engine {engine!r}: choose 'serial', 'processes', 'ray' or 'ray:ADDRESS'")


def run(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    engine: str = "processes",
    arrived: Callable[[Result], None] = lambda result: None,
    failed: Callable[[Failure], None] | None = None,
    named: Callable[[Task], str] = str,
) -> list[Result]:
    """The function's result for each task, in the order of the tasks.

    ``arrived`` gets each result, in this process, as soon as it and all before it are there. ``failed`` hears, as
    ``named`` calls it, which task failed and why, and the list is without it; if nobody listens, that is an error after
    all the others are finished. Of a single task only the reason is told.

    >>> run(abs, [-2, 1, -3], engine="serial", arrived=print)
    2
    1
    3
    [2, 1, 3]
    """
    check(engine)
    tasks, results, failures = list(tasks), [], []
    for task, result in zip(tasks, _spread(Attempt(function), tasks, engine, ANY_ORDER), strict=True):
        if not isinstance(result, Failure):
            results.append(result)
            arrived(result)
            continue
        failures.append(Failure(f"{named(task)}: {result.reason}", result.traceback))
        if failed is not None:
            failed(failures[-1])
        elif len(tasks) == 1:
            raise _error(result.reason, failures)
    if failures and failed is None:
        reasons = "; ".join(failure.reason for failure in failures[:3]) + ("; ..." if len(failures) > 3 else "")
        raise _error(f"{len(failures)} of {len(tasks)} tasks failed, the others are finished: {reasons}", failures)
    return results


def stream(
    function: Callable[[Task], Result], tasks: Iterable[Task], engine: str, named: Callable[[Task], str] = str
) -> Iterator[Result]:
    """The function's result for each task, one after another, for parts of one whole: where one fails, all ends.

    Tasks are made when they are wanted, and no more results wait than workers need to stay busy. The function is sent
    once to each worker, with all that it holds; in this process it may use all threads.

    >>> list(stream(abs, (-number for number in range(3)), "serial"))
    [0, 1, 2]
    """
    check(engine)
    waiting: deque[Task] = deque()

    def handed_over() -> Iterator[Task]:
        for task in tasks:
            waiting.append(task)
            yield task

    for result in _spread(Attempt(function), handed_over(), engine, IN_ORDER, threads=None):
        task = waiting.popleft()
        if isinstance(result, Failure):
            raise _error(f"{named(task)}: {result.reason}", [result])
        yield result


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for what calculates, as long as this lasts.

    Threads wait for each other by spinning: nets as small as ours gain little by a second one on an idle machine, and
    lose much on a busy one (benchmarks/train.py).
    """
    import torch  # workers whose tasks do not need it start sooner without

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


def _spread(
    attempt: Attempt[Task, Result], tasks: Iterable[Task], engine: str, ahead: int, threads: int | None = 1
) -> Iterator[Result | Failure]:
    todo = iter(tasks)
    first = list(islice(todo, 2 if engine == "processes" else 0))
    todo = chain(first, todo)
    if engine == "serial" or (engine == "processes" and len(first) < 2):  # starting a worker would only take time
        return map(attempt, todo) if threads is None else _one_by_one(attempt, todo)
    if engine == "processes":
        return _in_processes(attempt, todo, ahead * cpu_count())
    return cluster.spread(parcels.packed(attempt), todo, engine.partition(":")[2], ahead, _died)


def _died(reason: str = KILLED) -> Any:
    return Failure(reason, "")


def _error(reason: str, failures: list[Failure]) -> RamifyError:
    error = RamifyError(reason)
    if failures[0].traceback:
        error.add_note(failures[0].traceback)
    return error


def _one_by_one(function: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
    for task in tasks:
        with one_thread():  # as in a worker, so that results are the same to the last bit
            result = function(task)
        yield result


def _in_processes(attempt: Attempt[Task, Result], tasks: Iterator[Task], ahead: int) -> Iterator[Result | Failure]:
    pending: deque[Task] = deque()  # handed over, and not finished
    deaths = 0
    with parcels.packed_file(attempt) as parcel:
        while True:
            try:
                for result in _by_workers(parcel, pending, tasks, ahead):
                    deaths = 0
                    yield result
                return
            except TerminatedWorkerError:
                deaths += 1
            if deaths == ATTEMPTS:  # one of them kills its workers: alone, each shows whether it does
                deaths = 0
                while pending:
                    try:
                        (result,) = _by_workers(parcel, deque([pending[0]]), iter(()), 1)
                    except TerminatedWorkerError:
                        result = _died()
                    pending.popleft()
                    yield result


def _by_workers(parcel: Path, pending: deque[Any], tasks: Iterator[Any], ahead: int) -> Iterator[Any]:
    """Results of pending tasks, and of more, in their order; so many are handed over at once."""
    with warnings.catch_warnings():
        # A worker whose memory has grown is replaced by a new one: nothing is lost, and nobody needs to know.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
        executor = get_reusable_executor(cpu_count(), timeout=IDLE, env=WORKER)
        futures: deque[Any] = deque()
        try:
            for task in pending:
                futures.append(executor.submit(_call, parcel, task))
            while True:
                for task in islice(tasks, ahead - len(futures)):
                    pending.append(task)
                    futures.append(executor.submit(_call, parcel, task))
                if not futures:
                    return
                result = futures[0].result()
                futures.popleft()
                pending.popleft()
                yield result
        except TerminatedWorkerError:
            raise
        except BaseException:
            if futures:  # nobody wants these any more; without any, the workers are kept for whoever comes next
                _stop(executor)
            raise


def _stop(executor: Any) -> None:
    """Kill workers in the middle of their work.

    Tasks that loky has not handed over yet must go first: it forgets them, then looks for them, and its thread fails.
    """
    with suppress(queue.Empty):
        while True:
            executor._work_ids.get_nowait()  # noqa: SLF001 (loky has no other way to take them back)
    executor.shutdown(kill_workers=True)


def _call(parcel: Path, task: Any) -> Any:
    return parcels.kept(parcel, parcel.read_bytes)(task)
