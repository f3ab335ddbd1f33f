"""The SQLite file of a project: connections, short transactions, and errors in words."""

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Executable,
    Select,
    bindparam,
    column,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError

from ramify.errors import RamifyError
from ramify.project.store.migrations import migrate

BUSY_SECONDS = 10.0
CHUNK = 900  # values in one query: old builds of SQLite allow 999

Value = TypeVar("Value")


class UnavailableError(RamifyError):
    """The database could not be read or written just now (disk full, locked, damaged): nothing was changed."""


def chunks(values: Sequence[Value], size: int = CHUNK) -> Iterator[Sequence[Value]]:
    """The values in parts that fit into one query.

    >>> [list(part) for part in chunks(range(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    return (values[first : first + size] for first in range(0, len(values), size))


def among(name: str) -> Select[Any]:
    """The numbers of a parameter that holds a JSON list, for ``column.in_``: a statement with it is built once."""
    return select(column("value")).select_from(func.json_each(bindparam(name, None)))


def quickly(
    connection: Connection,
    statement: Executable,
    *parameters: Mapping[str, Any],
    columns: tuple[str, ...] | None = None,
) -> sqlite3.Cursor:
    """Run a statement that was built once, for each of the parameters, on SQLite's own connection.

    What people wait for many times a second does not need what SQLAlchemy does for each run of a statement.
    """
    sql, fixed = _compiled(statement, columns)
    driver = _driver(connection)
    if len(parameters) == 1:
        return driver.execute(sql, {**fixed, **parameters[0]})
    return driver.executemany(sql, [{**fixed, **each} for each in parameters])


@cache
def _compiled(statement: Any, columns: tuple[str, ...] | None) -> tuple[str, dict[str, Any]]:
    dialect = sqlite.dialect(paramstyle="named")
    done = statement.compile(dialect=dialect, column_keys=columns, compile_kwargs={"render_postcompile": True})
    return str(done), dict(done.params)


class Database:
    """Connections to one SQLite file, safe for many threads and processes; open it after a fork, not before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": BUSY_SECONDS},
            pool_size=8,
            max_overflow=-1,
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._lasting = self._engine.execution_options(begin="IMMEDIATE", synchronous="FULL")
        self._passing = self._engine.execution_options(begin="IMMEDIATE", synchronous="NORMAL")
        # Threads of this process wait here in turn; SQLite's own waiting polls, and may let one starve.
        self._turn = threading.Lock()
        with self._in_words():
            with self._engine.connect() as connection:
                _driver(connection).execute("PRAGMA journal_mode = WAL")
            migrate(self._lasting)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile."""
        with self._in_words(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, lasting: bool = True) -> Iterator[Connection]:
        """A transaction that nobody else writes beside: all of it happens, or nothing.

        What is ``lasting`` is on the disk when this ends, even if the power fails the next moment; the rest survives
        whatever happens to the process.
        """
        with self._turn, self._in_words(), (self._lasting if lasting else self._passing).begin() as connection:
            yield connection

    def copy_to(self, path: Path) -> None:
        """Write one state of the whole database to another file, while others go on writing."""
        with self._in_words(), self._engine.connect() as connection, closing(sqlite3.connect(path)) as target:
            _driver(connection).backup(target)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except (DBAPIError, sqlite3.DatabaseError) as error:
            cause = str(getattr(error, "orig", None) or error)
            raise UnavailableError(f"{self.path}: {cause}; nothing was changed: {_advice(cause)}") from error


def _driver(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection, outside of any transaction."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _advice(cause: str) -> str:
    if "full" in cause:
        return "make room on the disk"
    if "locked" in cause or "busy" in cause:
        return "try again"
    if "malformed" in cause or "not a database" in cause:
        return "the file is damaged, restore the project from a backup"
    if "readonly" in cause or "unable to open" in cause:
        return "check that you may write to the project's folder"
    return "try again, or restore the project from a backup"


def _prepare(connection: sqlite3.Connection, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver thinks
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if "synchronous" in options:
        connection.exec_driver_sql(f"PRAGMA synchronous = {options['synchronous']}")
    connection.exec_driver_sql(f"BEGIN {options.get('begin', 'DEFERRED')}")
