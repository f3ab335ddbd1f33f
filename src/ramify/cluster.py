"""Cluster: tasks over Ray, on a cluster of this machine or on one that an address leads to.

All machines of a cluster need Ramify and the same folders: tasks read data from, and keep results in, paths.
"""

import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from ramify.errors import RamifyError, first_line

RETRIES = 2  # of a task whose worker died: three attempts, as with processes
AHEAD = 8  # tasks for each core that are handed over before the first is finished
PATIENCE = 5.0  # seconds for an address to answer

_connected: list[str] = []  # the address that this process is connected to, if any

Task = TypeVar("Task")
Result = TypeVar("Result")


def spread(function: Callable[[Task], Result], tasks: list[Task], address: str, died: Result) -> Iterator[Result]:
    """The function's result for each task, in the order of the tasks; ``died`` where it killed its workers.

    The function is sent once.
    """
    ray = connect(address)
    sent = ray.put(function)
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_call)
    ahead = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    pending: deque[Any] = deque()
    try:
        for task in tasks:
            pending.append(remote.remote(sent, task))
            if len(pending) > ahead:
                yield _result(ray, pending.popleft(), died)
        while pending:
            yield _result(ray, pending.popleft(), died)
    finally:
        for unfinished in pending:
            ray.cancel(unfinished, force=True)


def _call(function: Callable[[Task], Result], task: Task) -> Result:
    return function(task)


def _result(ray: ModuleType, pending: Any, died: Any) -> Any:
    try:
        return ray.get(pending)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, OSError | RamifyError):  # a disk's trouble
            raise error.cause from None
        raise RamifyError(f"a machine of the cluster cannot do its task: {first_line(error.cause)}") from error
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError):
        return died
    except ray.exceptions.RayError as error:
        raise RamifyError(f"the cluster does not work any more: {first_line(error)}") from error


def connect(address: str = "") -> ModuleType:
    """Ray, connected to the cluster at an address, or to one that is started on this machine; once in a process."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise RamifyError("the engine 'ray' needs Ray: pip install 'ramify[ray]'") from None
    if _connected and _connected != [address]:
        ray.shutdown()
    if not ray.is_initialized():
        if address:
            _check_address(address)
        try:
            here = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}  # also modules of one's own
            ray.init(
                address=address or "local",
                include_dashboard=None if address else False,
                runtime_env=None if address else here,
                log_to_driver=False,
                logging_level="ERROR",
                configure_logging=False,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = f"the Ray cluster at {address}" if address else "a Ray cluster on this machine"
            raise RamifyError(f"{where} cannot be used: {first_line(error)}") from None
    _connected[:] = [address]
    module: ModuleType = ray
    return module


def _check_address(address: str) -> None:
    """Refuse an address where nothing answers, at once and in words: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise RamifyError(f"{address!r} is not the address of a Ray cluster: give HOST:PORT, ray://HOST:PORT or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RamifyError(
            f"no Ray cluster answers at {address} ({reason}): start one there with `ray start --head`, "
            "or give another address"
        ) from None
