"""Reading and writing files so that a half-written or foreign one is never taken for data."""

import errno
import mmap
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ramify.errors import RamifyError

TROUBLES: dict[int | None, tuple[str, str]] = {
    **dict.fromkeys([errno.ENOSPC, errno.EDQUOT], ("the disk is full", "make room and try again")),
    **dict.fromkeys(
        [errno.EACCES, errno.EPERM], ("you may not write here", "ask for the permission, or choose another place")
    ),
    errno.EROFS: ("the disk can only be read", "choose another place"),
    errno.EFBIG: ("files may not become this large here", "choose another place, or raise the limit (ulimit -f)"),
    errno.EISDIR: ("this is a folder", "give the name of a file"),
    errno.ENAMETOOLONG: ("the name is too long", "give a shorter one"),
}
"""Why a file cannot be written, and what to do, by the number of the system's error."""
CANNOT_SYNC = (errno.EINVAL, errno.EACCES, errno.ENOTSUP, errno.EBADF)
"""What systems say that cannot sync a folder."""


def disk_trouble(error: BaseException, path: str | Path, what: str = "nothing was written") -> RamifyError:
    """One sentence for a file that cannot be written: why, ``what`` became of it, and what to do.

    >>> print(disk_trouble(OSError(errno.ENOSPC, "No space left on device"), "labels.csv"))
    labels.csv: the disk is full; nothing was written: make room and try again
    """
    unusual = (f"it cannot be written ({getattr(error, 'strerror', None) or error})", "check the disk and try again")
    reason, remedy = TROUBLES.get(_errno(error), unusual)
    return RamifyError(f"{path}: {reason}; {what}: {remedy}")


@contextmanager
def disk_troubles(path: str | Path, what: str = "nothing was written") -> Iterator[None]:
    """Say in one sentence what keeps the code inside from writing ``path``.

    An error that names some other file, which was to be read, passes as it is.
    """
    path = Path(path)
    try:
        yield
    except Exception as error:
        trouble = error.__cause__ if isinstance(error, RamifyError) else error  # of a file inside a folder
        number, named = _errno(trouble), str(getattr(trouble, "filename", None) or path)
        ours = named.startswith((str(path), str(path.with_name(f".{path.name}."))))  # the file, or a draft of it
        if trouble is None or not ours or number is None or not (isinstance(trouble, OSError) or number in TROUBLES):
            raise
        raise disk_trouble(trouble, path, what) from trouble


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` at the end: others see the old file or the new one, never a part.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "note.txt")) as draft:
    ...         _ = draft.write_text("whole")
    ...     Path(folder, "note.txt").read_text()
    'whole'
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft{path.suffix}")
    with disk_troubles(path):
        if not path.parent.is_dir():
            raise RamifyError(f"{path}: there is no folder {path.parent} to write it to")
        try:
            yield draft
            sync(draft)
            os.replace(draft, path)
            sync(path.parent)  # a name that is not on the disk is lost with the power
        finally:
            with suppress(OSError):  # a read-only folder refuses this too, and would hide what went wrong first
                draft.unlink()


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk.

    Some file systems cannot do so for folders, and a folder may be writable but not readable: then there is no more to
    be done.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if not path.is_dir() or error.errno not in CANNOT_SYNC:
            raise


def sync_tree(folder: Path) -> None:
    """The same for a folder and all that is below."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def write_npz(path: str | Path, arrays: dict[str, NDArray[Any]], *, compress: bool = False) -> None:
    """Write arrays to one .npz file, all or nothing."""
    with whole_file(path) as draft, draft.open("wb") as file:
        (np.savez_compressed if compress else np.savez)(file, allow_pickle=False, **arrays)


def new_array(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> "np.memmap[tuple[int, ...], np.dtype[Any]]":
    """A new .npy file to be filled, memory-mapped, with its room reserved.

    Writing into a map on a full disk would end the process by a signal; so a full disk is found out here.
    """
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # not every file system can reserve
                raise
    return array


def let_go(array: Any) -> None:
    """Of an array that is mapped from a file: its pages need not stay in memory, they can be read again."""
    shared = False
    while isinstance(array, np.ndarray):
        shared |= isinstance(array, np.memmap) and array.mode != "c"  # a copy of one's own would lose what was written
        array = array.base
    if shared and isinstance(array, mmap.mmap):
        array.madvise(mmap.MADV_DONTNEED)


def read_npz(path: str | Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    """The named arrays of an .npz file; never opens a pickle."""
    broken = "this is not a whole .npz file; it may be cut off or of another kind: copy it again"
    with readable(path) as file:
        with _array_troubles(path, broken):
            archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise RamifyError(f"{path}: this is a single array, not an .npz file of several")
        missing = [name for name in required if name not in archive]
        if missing:
            raise RamifyError(f"{path}: without {', '.join(missing)}; the file needs {', '.join(required)}")
        arrays = {}
        for name in (*required, *(name for name in optional if name in archive)):
            with _array_troubles(path, broken, f"the array {name}"):
                arrays[name] = archive[name]
        return arrays


def read_npy(path: str | Path) -> NDArray[Any]:
    """The array of an .npy file, mapped into memory and not read through; never opens a pickle."""
    with readable(path) as file:
        if zipfile.is_zipfile(file):
            raise RamifyError(f"{path}: this holds several arrays: write the one that is meant with numpy.save")
    with _array_troubles(path, "this is not a whole .npy file of numbers: write it with numpy.save"):
        return np.lib.format.open_memmap(path, mode="r")


@contextmanager
def readable(path: str | Path) -> Iterator[BinaryIO]:
    """A file to read bytes from, or one sentence why there is none."""
    if not Path(path).is_file():
        raise RamifyError(f"{path}: there is no such file")
    with ExitStack() as closing:
        try:
            file = closing.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise RamifyError(f"{path}: it cannot be read ({error.strerror}): check its permissions") from None
        yield file


@contextmanager
def _array_troubles(path: str | Path, broken: str, what: str = "it") -> Iterator[None]:
    """What is wrong with a file of arrays: damage makes zipfile, zlib, tokenize and numpy raise many kinds."""
    try:
        yield
    except MemoryError:
        raise RamifyError(f"{path}: {what} does not fit into memory, or the file is damaged: copy it again") from None
    except Exception as error:
        if "Object arrays" in str(error) or "Python objects" in str(error):
            broken = f"{what} holds pickled Python objects, which are never opened: save plain numbers or text instead"
        raise RamifyError(f"{path}: {broken}") from None


def _errno(error: BaseException | None) -> int | None:
    """The number of the system's error, also where a library hands on only its text."""
    number = getattr(error, "errno", None)
    if number is not None:
        return int(number)
    if "os error" in str(error):  # safetensors: "... No space left on device (os error 28)"
        return next((int(digits) for digits in re.findall(r"\(os error (\d+)\)", str(error))), None)
    if re.search(r"\d+ requested and \d+ written", str(error)):  # numpy: the disk took only a part
        return errno.ENOSPC
    return None
