"""Reading and writing files so that a half-written or foreign one is never taken for data."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError


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
    if not path.parent.is_dir():
        raise RamifyError(f"{path}: there is no folder {path.parent} to write it to")
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft{path.suffix}")
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_npz(path: str | Path, arrays: dict[str, NDArray[Any]], *, compress: bool = False) -> None:
    """Write arrays to one .npz file, all or nothing."""
    with whole_file(path) as draft, draft.open("wb") as file:
        (np.savez_compressed if compress else np.savez)(file, allow_pickle=False, **arrays)


def read_npz(path: str | Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    """The named arrays of an .npz file; never opens a pickle."""
    path = Path(path)
    if not path.is_file():
        raise RamifyError(f"{path}: there is no such file")
    broken = RamifyError(f"{path}: this is not a whole .npz file; it may be cut off or of another kind: copy it again")
    with path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
        except (zipfile.BadZipFile, OSError, EOFError):
            raise broken from None
        except ValueError as error:
            raise (_pickled(path, "it") if "pickle" in str(error) else broken) from None
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise RamifyError(f"{path}: this is a single array, not an .npz file of several")
        missing = [name for name in required if name not in archive]
        if missing:
            raise RamifyError(f"{path}: without {', '.join(missing)}; the file needs {', '.join(required)}")
        arrays = {}
        for name in (*required, *(name for name in optional if name in archive)):
            try:
                arrays[name] = archive[name]
            except ValueError as error:
                raise (_pickled(path, f"the array {name}") if "allow_pickle" in str(error) else broken) from None
            except Exception:  # zlib, zipfile, EOF: a damaged archive raises many kinds
                raise broken from None
        return arrays


def _pickled(path: Path, what: str) -> RamifyError:
    return RamifyError(
        f"{path}: {what} holds pickled Python objects, which are never opened: save plain numbers or text instead"
    )
