"""Where a project's database is: its mark says so, a small file that makes a folder a project."""

import json
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.project.store.database import Database
from ramify.project.store.sqlite import SQLite

DATABASE, MARK = "project.db", "ramify.json"
RESTORING = ".restoring"  # lists what a restore writes, until it is finished
FORMAT = 1
ELSEWHERE = 2  # the format of a project whose database is not in its folder


def database_of(folder: Path) -> Database:
    """Open the database of a project."""
    address = read_mark(folder)
    if address is not None:
        return database_at(address)
    if not (folder / DATABASE).is_file():
        raise RamifyError(f"{folder / DATABASE} is missing: restore the project from a backup")
    return SQLite(folder / DATABASE)


def database_at(address: str) -> Database:
    """Open a database of PostgreSQL."""
    from ramify.project.store.postgres import PostgreSQL, address_of  # an extra: loaded only where it is wanted

    return PostgreSQL(address_of(address))


def mark(address: str | None = None) -> str:
    """What the mark of a project says whose database is in its folder, or else at an address."""
    return json.dumps({"format": FORMAT} if address is None else {"format": ELSEWHERE, "database": address}) + "\n"


def write_mark(folder: Path, address: str | None = None) -> None:
    """Make a folder a project, or say that its database is elsewhere from now on."""
    with whole_file(folder / MARK) as draft:
        draft.write_text(mark(address), encoding="utf-8")


def read_mark(folder: Path) -> str | None:
    """The address of a project's database; None where it is in its folder."""
    try:
        if unfinished(folder):
            raise RamifyError(f"{folder} was not restored to its end: run 'ramify restore' again, with the same folder")
        said: Any = json.loads((folder / MARK).read_text(encoding="utf-8"))
        written, address = int(said["format"]), said.get("database")
    except RamifyError:
        raise
    except PermissionError:
        raise RamifyError(f"{folder}: you may not read this folder: ask for the permission") from None
    except (FileNotFoundError, NotADirectoryError):
        raise RamifyError(f"{folder} is not a project of Ramify: make one with 'ramify init {folder}'") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RamifyError(f"{folder / MARK} is damaged: restore the project from a backup") from None
    if written > ELSEWHERE:
        raise RamifyError(f"{folder} was made by a newer Ramify (format {written}): install the newer Ramify")
    return None if address is None else str(address)


def unfinished(folder: Path) -> bool:
    """Whether a restore into this folder was killed."""
    return (folder / RESTORING).is_file() and not (folder / MARK).exists()
