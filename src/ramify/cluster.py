"""Cluster: tasks over Ray, on a cluster of this machine or on one that an address leads to.

All machines of a cluster need Ramify and the same folders: tasks read data from, and keep results in, paths.
"""

import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from types import ModuleType
from typing import Any, TypeVar

from ramify import parcels
from ramify.errors import RamifyError, first_line

ATTEMPTS = 3  # of a task whose worker died or ran out of memory, as with processes
PAUSE = 1.0  # seconds before another attempt where memory ran out: others may be finished by then
PATIENCE = 5.0  # seconds for an address to answer
MEMORY = (
    "the memory of its machine ran out {times} times: give Ray fewer cores there (ray start --num-cpus), "
    "or take --engine serial"
)

_connected: list[str] = []  # the address that this process is connected to, if any

Task = TypeVar("Task")


def spread(parcel: bytes, tasks: Iterator[Task], address: str, ahead: int, died: Callable[..., Any]) -> Iterator[Any]:
    """The packed function's result for each task, in their order; what ``died`` says where it ends its workers.

    So many tasks for each core are handed over before the first is finished.
    """
    ray = connect(address)
    sent = [ray.put(parcel)]  # in a list: of what stands alone Ray would hand each task a copy
    # Ray itself would try a task again without end where memory runs out.
    remote = ray.remote(num_cpus=1, max_retries=0)(_call)
    at_once = ahead * max(1, int(ray.cluster_resources().get("CPU", 1)))
    pending: deque[tuple[Any, Task]] = deque()
    try:
        while True:
            for task in islice(tasks, at_once - len(pending)):
                pending.append((remote.remote(sent, task), task))
            if not pending:
                return
            result = _result(ray, remote, sent, pending, died)
            pending.popleft()
            yield result
    finally:
        for unfinished, _ in pending:
            ray.cancel(unfinished, force=True)


def _call(sent: list[Any], task: Any) -> Any:
    import ray

    os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")  # the workers fill the cores already
    return parcels.kept(sent[0].hex(), lambda: ray.get(sent[0]))(task)


def _result(ray: ModuleType, remote: Any, sent: list[Any], pending: deque[tuple[Any, Task]], died: Any) -> Any:
    """The result of the first pending task, which is tried again where its worker died."""
    errors = ray.exceptions
    for attempt in range(1, ATTEMPTS + 1):
        reference, task = pending[0]
        try:
            return ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, OSError | RamifyError):  # a disk's trouble, or a worker that cannot begin
                raise error.cause from None
            raise RamifyError(f"a machine of the cluster cannot do its task: {first_line(error.cause)}") from error
        except errors.OutOfMemoryError:
            said = died(MEMORY.format(times=ATTEMPTS))
            time.sleep(PAUSE * attempt)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError):
            said = died()
        except errors.RayError as error:
            raise RamifyError(f"the cluster does not work any more: {first_line(error)}") from error
        if attempt < ATTEMPTS:
            pending[0] = remote.remote(sent, task), task
    return said


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
