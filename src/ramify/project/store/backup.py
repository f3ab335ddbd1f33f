"""A whole project in one .zip file, taken while others go on writing, and a project from such a file.

Pictures are not in it: they stay in the folder of pictures that the user named.
"""

import json
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath

from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.project.store.revisions import sync

DATABASE, MARK = "project.db", "ramify.json"
FILES = ("features-*.npy", "imported-*.npz", DATABASE, MARK)
FOLDERS = ("embedder", "models")
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, sqlite3.DatabaseError)


def write_backup(folder: Path, copy_database: Callable[[Path], None], path: Path) -> None:
    """Write the project to one file, whole or not at all; ``copy_database`` writes one state of the database."""
    if path.is_dir() or not path.parent.is_dir():
        raise RamifyError(f"{path}: give the name of a file, in a folder that exists, to write the backup to")
    while True:
        with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".ramify-backup-") as place:
            copy = Path(place, DATABASE)
            try:
                copy_database(copy)
                with whole_file(path) as draft:
                    _write(folder, copy, draft)
                return
            except FileNotFoundError as error:
                # Either a newer file has replaced one that this copy of the database names, or one was really lost.
                if _state(copy) == _state(folder / DATABASE):
                    raise RamifyError(
                        f"{error.filename} is missing: the project is damaged, restore it from an earlier backup"
                    ) from None
            except OSError as error:
                raise RamifyError(f"{path}: {error.strerror}; no backup was written: choose another place") from None


def _write(folder: Path, database: Path, path: Path) -> None:
    """All files that belong to a copy of the database, and the copy."""
    with closing(sqlite3.connect(database)) as connection:
        kept = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('features', 'imported')"))
        versions = [
            f"models/{n:04d}" for (n,) in connection.execute("SELECT version FROM models ORDER BY version DESC")
        ]
    files = [folder / name for name in map(json.loads, kept.values()) if name]
    newest = next((version for version in versions if (folder / version).is_dir()), "models/none")
    for below in ("embedder", newest):
        files += [each for each in (folder / below).rglob("*") if each.is_file()]
    with zipfile.ZipFile(path, "w", strict_timestamps=False) as archive:
        archive.write(database, DATABASE, zipfile.ZIP_DEFLATED, compresslevel=1)
        for each in (*files, folder / MARK):
            archive.write(each, each.relative_to(folder).as_posix())
    if newest in versions and not (folder / newest).is_dir():  # it was replaced while it was read
        raise FileNotFoundError(None, None, newest)


def _state(database: Path) -> tuple[str, int]:
    """Changes whenever files are replaced."""
    with closing(sqlite3.connect(database)) as connection:
        (revision,) = connection.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
        (models,) = connection.execute("SELECT COUNT(*) FROM models").fetchone()
    return revision, models


def read_backup(path: Path, folder: Path) -> None:
    """Make a project from a backup: all of it, or nothing."""
    if not path.is_file():
        raise RamifyError(f"{path}: there is no such file")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RamifyError(f"{folder} is not empty: give a new folder to restore to")
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path) as archive:
            _extract(archive, folder)
    except BaseException as error:
        for left in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        if folder.is_dir() and not was_there:
            folder.rmdir()
        if isinstance(error, DAMAGE):
            raise RamifyError(
                f"{path}: this backup is damaged, or not a backup of Ramify: use another copy of it"
            ) from None
        if isinstance(error, OSError):
            raise RamifyError(f"{folder}: {error.strerror}; nothing was restored: choose another place") from None
        raise


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    names = archive.namelist()
    if not {DATABASE, MARK} <= set(names) or not all(map(_is_ours, names)):
        raise zipfile.BadZipFile
    for name in names:
        if name != MARK:
            archive.extract(name, folder)
    with closing(sqlite3.connect(folder / DATABASE)) as connection, connection:
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError
        # No training of another time, or on another machine, is under way any more.
        connection.execute(
            "UPDATE trainings SET finished = started, error = 'the project was restored from a backup meanwhile' "
            "WHERE finished IS NULL"
        )
    # What marks the folder as a project comes last: a restore that was killed leaves none.
    archive.extract(MARK, folder)
    for written in (*folder.rglob("*"), folder):
        sync(written)


def _is_ours(name: str) -> bool:
    path = PurePosixPath(name)
    inside = not path.is_absolute() and ".." not in path.parts and "\\" not in name
    return inside and (path.parts[0] in FOLDERS or (len(path.parts) == 1 and any(map(path.match, FILES))))
