"""How a database comes to be, SQLite's or PostgreSQL's: alembic's steps in ``versions``, all of them or none.

A step that was released never changes.
"""

from pathlib import Path
from threading import Lock

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from ramify.errors import RamifyError
from ramify.project.store.troubles import intact

NEWEST = 7  # the last step of ``versions``
BEFORE_ALEMBIC = 3  # steps that SQLite's own number of a version has counted
KEPT = Table("alembic_version", MetaData(), Column("version_num", Text))
_alone = Lock()  # alembic's operations belong to the whole process


def version(connection: Connection, counted: int = 0) -> int:
    """How many of the steps a database has behind it; ``counted`` is what it says itself, if alembic does not."""
    with intact("the version"):
        if inspect(connection).has_table(KEPT.name):
            counted = int(connection.execute(select(KEPT.c.version_num)).scalar_one())
        if counted < 0:
            raise ValueError(counted)
        return counted


def check_version(connection: Connection, place: str, counted: int = 0) -> None:
    """Refuse a database of another version than this one, where it cannot be brought to the newest."""
    done = version(connection, counted)
    _refuse_newer(done, place)
    if done < NEWEST:
        raise RamifyError(
            f"{place} was written by an older Ramify (version {done} of the database, this one needs {NEWEST}) and can "
            "only be read: open it once where you may write to it, or copy its folder"
        )


def migrate(connection: Connection, place: str, counted: int = 0) -> None:
    """Bring a database to the newest version, in a transaction that nobody else writes beside."""
    done = version(connection, counted)
    _refuse_newer(done, place)
    if done == NEWEST:
        return
    from alembic import command  # only here: it takes a while to load
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with _alone:
        if 0 < done <= BEFORE_ALEMBIC:
            command.stamp(config, str(done))
        command.upgrade(config, "head")


def _refuse_newer(done: int, place: str) -> None:
    if done > NEWEST:
        raise RamifyError(
            f"{place} was written by a newer Ramify (version {done} of the database, this one knows {NEWEST}): install "
            "the newer Ramify"
        )
