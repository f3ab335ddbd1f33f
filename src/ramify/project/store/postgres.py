"""A project's database in PostgreSQL, for teams: several servers share it."""

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, create_engine, make_url, select
from sqlalchemy.exc import ArgumentError

from ramify.errors import RamifyError
from ramify.project.store.copying import copy_rows
from ramify.project.store.database import BUSY_SECONDS, Database
from ramify.project.store.migrations import migrate
from ramify.project.store.schema import METADATA
from ramify.project.store.sqlite import SQLite
from ramify.project.store.troubles import DamagedError

try:
    import psycopg
except ImportError as error:
    raise RamifyError("PostgreSQL needs an extra: pip install 'ramify[postgres]'") from error

SCHEMA = "ramify"  # the database may hold other things beside
TURN = 0x52414D  # the number of the lock that writers hold
PASSWORD = "set PGPASSWORD, write it to ~/.pgpass, or give it in the address"
FAILED = (
    (r"no password supplied|fe_sendauth", f"it wants a password: {PASSWORD}"),
    (r"password authentication failed", f"the password is wrong, or there is no such user: {PASSWORD}"),
    (r'database "[^"]*" does not exist', "there is no such database: make it with createdb"),
    (r'role "[^"]*" does not exist', "there is no such user: give another one in the address"),
    (r"too many clients|connection slots", "it has too many connections: close some, or raise its max_connections"),
    (r"refused|timeout|translate host name|resolve|unreachable|No such file|closed the connection", ""),
)
"""What PostgreSQL says when a connection fails, and what is to be done."""
ADVICE = {
    "08": "PostgreSQL is gone: try again",
    "25006": "it can only be read: connect to the server that may be written to",
    "28": PASSWORD,
    "40": "others wrote at the same time: try again",
    "42501": "this user may not do that: ask for the permission",
    "42P01": "the project is not in this database any more: start again",
    "53100": "the disk of PostgreSQL is full: make room and try again",
    "53": "PostgreSQL has no more memory or connections: try again",
    "55P03": "others are writing: try again",
    "57": "PostgreSQL is being stopped, or started: try again",
}
"""What to do, by the beginning of PostgreSQL's code of an error."""


def address_of(text: str) -> URL:
    """The address of a database as a user gives it.

    >>> address_of("postgres://ann:secret@db.example/birds").render_as_string()
    'postgresql+psycopg://ann:***@db.example/birds'
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in ("postgresql", "postgres") or not url.database:
        raise RamifyError("the address of a database looks like postgresql://user@host:5432/name")
    return url.set(drivername="postgresql+psycopg")


def without_password(url: URL) -> str:
    """The address as it may be kept and shown.

    >>> without_password(address_of("postgresql://ann:secret@db.example/birds?sslmode=require"))
    'postgresql://ann@db.example/birds?sslmode=require'
    """
    bare = url.set(drivername="postgresql").difference_update_query(["password"])._replace(password=None)
    return bare.render_as_string(hide_password=False)


class PostgreSQL(Database):
    """One database of a PostgreSQL server, which holds one project."""

    errors = psycopg.Error
    unkept = "\0"
    writable = True

    def __init__(self, url: URL) -> None:
        self.place = without_password(url)
        self._engine = create_engine(
            url,
            connect_args={
                "connect_timeout": max(2, int(BUSY_SECONDS)),
                "application_name": "ramify",
                "options": f"-c search_path={SCHEMA} -c lock_timeout={int(BUSY_SECONDS * 1000)}",
            },
            pool_size=8,
            max_overflow=24,
            pool_pre_ping=True,  # PostgreSQL may have been started again meanwhile
        )
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        try:
            with self.in_words(), self._writing() as connection:
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                migrate(connection, self.place)
        except BaseException:
            self.close()
            raise
        if url.password is not None:  # it is kept nowhere: the rest of this process finds it as others do
            os.environ["PGPASSWORD"] = str(url.password)

    def _reading(self) -> AbstractContextManager[Connection]:
        return self._snapshots.begin()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        # One writer at a time, as in SQLite: else events could become visible in another order than their numbers.
        with self._engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({TURN})")
            yield connection

    @contextmanager
    def _lending(self) -> Iterator[Connection]:
        with self._engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            yield connection

    def check_writable(self) -> None:
        """Whether it can be written shows when it is."""

    def copy_to(self, path: Path) -> None:
        """Write one state of the whole database to a new SQLite file, while others go on writing."""
        copy = SQLite(path)
        try:
            with self.read() as source, copy.write() as target:
                copy_rows(source, target)
        finally:
            copy.close()

    def damage(self) -> str | None:
        """Read all of it; PostgreSQL itself sees what is wrong with its pages."""
        with self.read() as connection:
            for table in METADATA.tables.values():
                for _ in connection.execution_options(yield_per=10_000).execute(select(table)):
                    pass
        return None

    def remove(self) -> None:
        """Remove the project from the database; whoever has it open is told that it is not there any more."""
        with self.write(while_moving=True) as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {SCHEMA} CASCADE")

    def _sentence(self, cause: BaseException) -> str:
        state = getattr(cause, "sqlstate", None)
        said = " ".join(str(cause).split())
        if isinstance(cause, DamagedError):
            return f"{said}; nothing was changed: restore the project from a backup"
        if state is None and isinstance(cause, psycopg.OperationalError):
            for pattern, advice in FAILED:
                if re.search(pattern, said, re.IGNORECASE):
                    return advice or f"no PostgreSQL answers there: start it, or check the address ({said})"
        otherwise = "try again, or restore the project from a backup"
        remedy = next((what for code, what in ADVICE.items() if str(state).startswith(code)), otherwise)
        return f"{said}; nothing was changed: {remedy}"
