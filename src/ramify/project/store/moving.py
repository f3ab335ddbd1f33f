"""A project's database moved, from its folder to PostgreSQL or back; whoever is killed meanwhile loses nothing.

From the beginning on the old database refuses to be written. The new one is a copy of it, and refuses too until the
mark of the project names it: the mark alone says which of them is the project's.
"""

from contextlib import closing
from pathlib import Path
from uuid import uuid4

from sqlalchemy import delete

from ramify.errors import RamifyError
from ramify.files import disk_troubles, sync
from ramify.project.store.copying import copy_rows
from ramify.project.store.database import Database
from ramify.project.store.items import get, put
from ramify.project.store.locks import LockedError, is_locked, locked
from ramify.project.store.place import DATABASE, database_at, database_of, read_mark, write_mark
from ramify.project.store.schema import MOVING, meta
from ramify.project.store.sqlite import SQLite

LOCK = "moving.lock"
DRAFT = f".{DATABASE}.draft"
PROJECT = "project"  # tells what a killed move has left from what belongs to somebody else


def move(folder: Path, address: str | None) -> None:
    """Move the database of a project to an address of PostgreSQL, or (None) into its folder."""
    with disk_troubles(folder, "nothing was moved"):
        try:
            with locked(folder / LOCK):
                _move(folder, address)
        except LockedError:
            raise RamifyError(f"{folder} is being moved by another process: wait for it") from None


def _move(folder: Path, address: str | None) -> None:
    old = read_mark(folder)
    with closing(database_of(folder)) as source:
        if address is None and old is None:
            raise RamifyError(f"the database of {folder} is there already")
        project = _project(source)
        with closing(_empty(folder, address, project)) as target:
            if target.place == old:
                raise RamifyError(f"the database of {folder} is there already")
            try:
                with source.write() as connection:
                    put(connection, MOVING, True)
                with source.read() as there, target.write() as here:
                    copy_rows(there, here)
                if address is None:
                    target.close()
                    (folder / DRAFT).replace(folder / DATABASE)
                    sync(folder)  # before the mark names it
                write_mark(folder, None if address is None else target.place)
            except BaseException:
                if read_mark(folder) == old:
                    finish(source)
                raise
        with closing(database_of(folder)) as moved:
            finish(moved)
        source.remove()


def _project(source: Database) -> str:
    with source.write() as connection:
        project = get(connection, PROJECT) or uuid4().hex
        put(connection, PROJECT, project)
    return str(project)


def _empty(folder: Path, address: str | None, project: str) -> Database:
    """A database without a project, at an address or in a file; what a killed move has left is removed."""
    target = _opened(folder, address)
    with target.read() as connection:
        taken = get(connection, "taxonomy") is not None
        left = get(connection, PROJECT) == project and get(connection, MOVING) is not None
    if address is None or left:
        target.remove()
        target.close()
        return _opened(folder, address)
    if taken and target.place != read_mark(folder):
        target.close()
        raise RamifyError(f"{target.place} holds a project already: give an empty database")
    return target


def _opened(folder: Path, address: str | None) -> Database:
    return SQLite(folder / DRAFT) if address is None else database_at(address)


def finish(database: Database) -> None:
    """Let a database be written again."""
    with database.write(while_moving=True) as connection:
        connection.execute(delete(meta).where(meta.c.key == MOVING))


def recover(folder: Path, database: Database) -> None:
    """Let the database that the mark names be written again, where whoever moved it was killed."""
    with database.read() as connection:
        moving = get(connection, MOVING) is not None
    if moving and database.writable and not is_locked(folder / LOCK):
        finish(database)
