"""Parcels: a function with all that it holds, packed once for all workers; each worker unpacks it once.

Arrays that are mapped from a file travel by the file's name: a worker maps the same file, and reads what it needs.
"""

import mmap
import pickle
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from ramify.errors import RamifyError, first_line

__all__ = ["kept", "packed", "packed_file", "travels_by_name", "unpacked"]

_kept: dict[Hashable, Any] = {}  # what this worker has unpacked last


def packed(function: Any, parts: Mapping[str, Any] | None = None) -> bytes:
    """The function as bytes. ``parts`` are things inside of it that stay here: whoever unpacks it puts in their like.

    >>> unpacked(packed([1, _kept], {"cache": _kept}), {"cache": "another"})
    [1, 'another']
    """
    content = BytesIO()
    _Packer(content, {id(part): name for name, part in (parts or {}).items() if part is not None}).dump(function)
    return content.getvalue()


def unpacked(content: bytes, parts: Mapping[str, Any] | None = None) -> Any:
    """What was packed."""
    try:
        return _Unpacker(BytesIO(content), parts or {}).load()
    except Exception as error:  # a module, a file or a version that is missing raises many kinds
        raise RamifyError(
            f"a worker cannot take up its work ({first_line(error)}): "
            "all machines need the same Ramify, modules and folders"
        ) from error


@contextmanager
def packed_file(function: Any) -> Iterator[Path]:
    """A file with the packed function, for workers on this machine."""
    with tempfile.TemporaryDirectory(prefix="ramify-") as folder:
        path = Path(folder, "parcel")
        path.write_bytes(packed(function))
        yield path


def kept(key: Hashable, content: Callable[[], bytes]) -> Any:
    """In a worker: what was unpacked under this key, once; what was kept before goes.

    >>> [kept("doctest", lambda: packed([2])), kept("doctest", lambda: b"not looked at")]
    [[2], [2]]
    """
    if key not in _kept:
        _kept.clear()
        _kept[key] = unpacked(content())
    return _kept[key]


def travels_by_name(thing: Any) -> bool:
    """Whether it is all of an array that is mapped from a file with a name.

    >>> travels_by_name(np.ones(3))
    False
    """
    return isinstance(thing, np.memmap) and isinstance(thing.base, mmap.mmap) and thing.filename is not None


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: BytesIO, names: Mapping[int, str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = names

    def persistent_id(self, thing: Any) -> Any:
        """How something is called that does not travel; None for all else."""
        if id(thing) in self._names:
            return "part", self._names[id(thing)]
        if travels_by_name(thing):
            order = "C" if thing.flags.c_contiguous else "F"
            return "file", str(Path(thing.filename).absolute()), thing.dtype.str, thing.shape, thing.offset, order
        return None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: BytesIO, parts: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._parts = parts

    def persistent_load(self, name: Any) -> Any:
        """What stands for something that did not travel."""
        kind, *said = name
        if kind == "part":
            return self._parts[said[0]]
        path, dtype, shape, offset, order = said
        return np.memmap(path, dtype, "r", offset, shape, order)
