"""A whole project in one .zip file, taken while others go on writing, and a project from such a file.

Pictures are not in it: they stay in the folder of pictures that the user named.
"""

import errno
import json
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from ramify.errors import RamifyError
from ramify.files import disk_trouble, disk_troubles, sync, sync_tree, whole_file
from ramify.project.store.database import Database
from ramify.project.store.locks import LockedError, locked
from ramify.project.store.models import NEWEST, kept_models
from ramify.project.store.place import DATABASE, MARK, RESTORING, mark, unfinished
from ramify.project.store.sqlite import is_full
from ramify.project.store.troubles import intact

NAMES = "names.npz"
GUIDELINES = "guidelines.md"
FILES = ("features-*.npy", "imported-*.npz", DATABASE, MARK, NAMES, GUIDELINES)
FOLDERS = ("embedder", "models")
BLOCK = 1 << 20  # bytes copied at once


def write_backup(folder: Path, database: Database, path: Path) -> None:
    """Write the project to one new file, whole or not at all."""
    if path.is_dir() or not path.parent.is_dir():
        raise RamifyError(f"{path}: give the name of a file, in a folder that exists, to write the backup to")
    if path.exists():
        raise RamifyError(f"{path} is there already: give the backup a new name")
    try:
        while not _written(folder, database, path):
            pass
    except OSError as error:
        if str(error.filename).startswith(str(folder)):
            raise RamifyError(
                f"{error.filename} cannot be read ({error.strerror}); no backup was written: check the disk"
            ) from None
        raise disk_trouble(error, path) from error


def _written(folder: Path, database: Database, path: Path) -> bool:
    """Write one state of the project; says no where others have replaced files meanwhile."""
    with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".ramify-backup-") as place:
        copy = Path(place, DATABASE)
        database.copy_to(copy)
        with database.in_words():
            state = _read(copy, STATE)
            files, model = _listed(folder, copy)
        try:
            with whole_file(path) as draft:
                given = [folder / name for name in (NAMES, GUIDELINES) if (folder / name).is_file()]
                _write(folder, copy, [*files, *given, *_below(folder / "embedder"), *_below(model)], draft)
                if model is not None and not model.is_dir():  # it was replaced while it was read
                    raise FileNotFoundError(None, None, str(model))
        except FileNotFoundError as error:
            # Either a newer file has replaced one that this copy of the database names, or one was really lost.
            with database.read() as connection:
                current = connection.exec_driver_sql(STATE).one()
            if [tuple(current)] != state:
                return False
            raise RamifyError(
                f"{error.filename} is missing: the project is damaged, restore it from an earlier backup"
            ) from None
    return True


STATE = "SELECT (SELECT value FROM meta WHERE key = 'revision'), (SELECT COUNT(*) FROM models)"
"""Changes whenever files are replaced."""
FILE_NAMES = "SELECT value FROM meta WHERE key IN ('features', 'imported') AND value <> 'null'"
MODELS = str(NEWEST.compile(compile_kwargs={"literal_binds": True}))


def _read(database: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of a copy that nobody else has open; nothing is written beside it."""
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?immutable=1", uri=True)) as connection:
        return connection.execute(query).fetchall()


def _listed(folder: Path, database: Path) -> tuple[list[Path], Path | None]:
    """The files that a copy of the database names, and the folder of the newest whole model."""
    with intact("the list of files"):
        files = [folder / json.loads(name) for (name,) in _read(database, FILE_NAMES)]
        models = kept_models(folder / "models", _read(database, MODELS))
    return files, next((model.folder for model in models if model.damage is None), None)


def _below(folder: Path | None) -> list[Path]:
    return [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]


def _write(folder: Path, database: Path, files: Sequence[Path], path: Path) -> None:
    with zipfile.ZipFile(path, "w", strict_timestamps=False) as archive:
        archive.write(database, DATABASE, zipfile.ZIP_DEFLATED, compresslevel=1)
        for file in files:
            archive.write(file, file.relative_to(folder).as_posix())
        archive.writestr(MARK, mark())  # wherever the database was, now it is beside the rest


def read_backup(path: Path, folder: Path) -> None:
    """Make a project from a backup: all of it, or nothing. What a restore that was killed left is removed."""
    if not path.is_file():
        raise RamifyError(f"{path}: there is no such file")
    if not os.access(path, os.R_OK):
        raise RamifyError(f"{path}: you may not read this file: ask for the permission")
    was_there = folder.exists()
    with disk_troubles(folder, "nothing was restored"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder):
                _restore(path, folder)
        except FileExistsError:
            raise _not_empty(folder) from None
        except LockedError:
            raise RamifyError(f"{folder} is being restored by another process: wait for it") from None
        except (zipfile.BadZipFile, sqlite3.DatabaseError) as error:
            if is_full(error, folder):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise RamifyError(
                f"{path}: this backup is damaged, or not a backup of Ramify: use another copy of it"
            ) from None
        finally:
            if not was_there and folder.is_dir():
                with suppress(OSError):  # it is not empty: the project is there
                    folder.rmdir()


def _restore(path: Path, folder: Path) -> None:
    _clear(folder)
    if any(folder.iterdir()):
        raise _not_empty(folder)
    try:
        with _readable():
            archive = zipfile.ZipFile(path)
        with archive:
            _extract(archive, folder)
    except BaseException:
        _clear(folder)
        raise


def _not_empty(folder: Path) -> RamifyError:
    return RamifyError(f"{folder} is not empty: give a new folder to restore to")


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    """Write all files, and last the mark that makes the folder a project: a restore that is killed leaves none."""
    names = archive.namelist()
    if not {DATABASE, MARK} <= set(names) or not all(map(_is_ours, names)):
        raise zipfile.BadZipFile
    needed, free = sum(part.file_size for part in archive.infolist()), shutil.disk_usage(folder).free
    if needed > free:  # before anything is written: what unpacks to more than it says is found out by its checksum
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    (folder / RESTORING).write_text(json.dumps(names), encoding="utf-8")
    for written in (folder / RESTORING, folder):
        sync(written)
    for name in names:
        if name != MARK and not name.endswith("/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("wb") as file:
                for block in _blocks(archive, name):
                    file.write(block)
    with closing(sqlite3.connect(folder / DATABASE)) as connection, connection:
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError
        # No training of another time, or on another machine, is under way; nor does its log lie here.
        connection.execute("DELETE FROM trainings WHERE finished IS NULL OR error IS NOT NULL")
    sync_tree(folder)
    with whole_file(folder / MARK) as draft:
        draft.write_bytes(b"".join(_blocks(archive, MARK)))
    (folder / RESTORING).unlink()


def _blocks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The contents of a file in an archive."""
    with _readable():
        file = archive.open(name)
    with file:
        while True:
            with _readable():
                block = file.read(BLOCK)
            if not block:
                return
            yield block


@contextmanager
def _readable() -> Iterator[None]:
    """A damaged archive raises many kinds of errors while it is read."""
    try:
        yield
    except Exception as error:
        raise zipfile.BadZipFile from error


def _clear(folder: Path) -> None:
    """Remove all that a restore which did not come to its end has written, and nothing else."""
    if not unfinished(folder):
        return
    names: list[str] = []
    with suppress(ValueError):  # it was killed while it wrote this list: there is nothing else yet
        names = [name for name in json.loads((folder / RESTORING).read_text(encoding="utf-8")) if _is_ours(name)]
    written = {folder / PurePosixPath(name).parts[0] for name in names}
    for path in (*written, *folder.glob(f"{DATABASE}-*"), *folder.glob(f".{MARK}.*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (folder / RESTORING).unlink()


def _is_ours(name: str) -> bool:
    path = PurePosixPath(name)
    inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name
    return inside and (path.parts[0] in FOLDERS or (len(path.parts) == 1 and any(map(path.match, FILES))))
