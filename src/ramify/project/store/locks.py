"""Locks between processes, on files or folders: the system ends them with their process, however it ends."""

import errno
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EINVAL}
"""What file systems say that have no such locks."""


class LockedError(Exception):
    """Somebody else holds the lock."""


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on a file (made where it is not there) or a folder; refused, or waited for, while others do.

    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
    ...     is_locked(Path(folder)), is_locked(Path(folder, "file"))
    (True, False)
    """
    handle = _handle(path, _wait if wait else _take)
    try:
        yield
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock just now."""
    try:
        os.close(_handle(path, _look, create=False))
    except LockedError:
        return True
    except OSError:  # there is no such file, or not for us
        return False
    return False


def _wait(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_EX)


def _look(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)


def _take(handle: int) -> None:
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _look(handle)  # where this succeeds, the others were only looking too


def _handle(path: Path, lock: Callable[[int], None], *, create: bool = True) -> int:
    """A locked file; on a file system without locks another one in its stead, which at least this machine sees."""
    substitute = Path(tempfile.gettempdir(), f"ramify-{hashlib.sha256(bytes(path.resolve())).hexdigest()}.lock")
    for place in (path, substitute):
        writing = 0 if place.is_dir() or not create else os.O_RDWR | os.O_CREAT
        handle = os.open(place, os.O_RDONLY | writing, 0o666)
        try:
            lock(handle)
        except BlockingIOError:
            os.close(handle)
            raise LockedError from None
        except OSError as error:
            os.close(handle)
            if error.errno not in NO_LOCKS:
                raise
        else:
            return handle
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str(path))
