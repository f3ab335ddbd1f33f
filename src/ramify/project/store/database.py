"""The SQLite file of a project: connections, short transactions, and errors in words."""

import errno
import os
import shutil
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
    Engine,
    Executable,
    NullPool,
    Select,
    bindparam,
    column,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError

from ramify.errors import RamifyError
from ramify.project.store.migrations import check_version, migrate

BUSY_SECONDS = 10.0
CHUNK = 900  # values in one query: old builds of SQLite allow 999
LAST_TIME = 1e11  # seconds since 1970: in the year 5138
LEAST_ROOM = 1 << 16  # bytes: with less left, a disk that cannot be written is full

DAMAGED = "the file is damaged, restore the project from a backup"
ADVICE = {
    "SQLITE_BUSY": "try again",
    "SQLITE_LOCKED": "try again",
    "SQLITE_IOERR": "check the disk, and make room if it is full",
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_FORMAT": DAMAGED,
    "SQLITE_CONSTRAINT": DAMAGED,
    "SQLITE_MISMATCH": DAMAGED,
    "SQLITE_TOOBIG": DAMAGED,
    "SQLITE_READONLY": "check that you may write to the project's folder",
    "SQLITE_CANTOPEN": "check that you may write to the project's folder",
    "SQLITE_PERM": "check that you may write to the project's folder",
}
"""What to do, by the beginning of the name of SQLite's error."""

Value = TypeVar("Value")


class UnavailableError(RamifyError):
    """The database could not be read or written just now (disk full, locked, damaged): nothing was changed."""


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Where something that was read makes no sense, the file is damaged; the transaction around says so."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"{what} is malformed") from error


def of_kinds(row: Sequence[Any], *kinds: Any) -> Sequence[Any]:
    """The row itself, if its values are of these kinds (floats are times); other values are a sign of damage.

    >>> of_kinds((1, None), int, str | None)
    (1, None)
    """
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, kind) or (isinstance(value, float) and not 0 <= value < LAST_TIME):
            raise TypeError(f"{value!r} is not {kind}")
    return row


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
    return driver.executemany(sql, [{**fixed, **values} for values in parameters])


@cache
def _compiled(statement: Any, columns: tuple[str, ...] | None) -> tuple[str, dict[str, Any]]:
    dialect = sqlite.dialect(paramstyle="named")
    done = statement.compile(dialect=dialect, column_keys=columns, compile_kwargs={"render_postcompile": True})
    return str(done), dict(done.params)


class Database:
    """Connections to one SQLite file, safe for many threads and processes; open it after a fork, not before.

    Where the file or its folder cannot be written, it is opened for reading alone, and leaves no trace.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writable = all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists())
        self._engine = self._to_write() if self.writable else self._to_read()
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._lasting = self._engine.execution_options(begin="IMMEDIATE", synchronous="FULL")
        self._passing = self._engine.execution_options(begin="IMMEDIATE", synchronous="NORMAL")
        # Threads of this process wait here in turn; SQLite's own waiting polls, and may let one starve.
        self._turn = threading.Lock()
        with self.in_words():
            if self.writable:
                with self._engine.connect() as connection:
                    _driver(connection).execute("PRAGMA journal_mode = WAL")
                migrate(self._lasting)
            else:
                with self._engine.begin() as connection:
                    check_version(connection, path)

    def _to_write(self) -> Engine:
        return create_engine(
            URL.create("sqlite", database=str(self.path)),
            connect_args={"timeout": BUSY_SECONDS},
            pool_size=8,
            max_overflow=-1,
        )

    def _to_read(self) -> Engine:
        return create_engine("sqlite://", creator=self._open_to_read, poolclass=NullPool)

    def _open_to_read(self) -> sqlite3.Connection:
        """What nobody has open is read as it lies there; else the log of changes belongs to it.

        This is decided for each transaction anew: whoever may write can open the project at any time.
        """
        how = "mode=ro" if self._has_log() else "immutable=1"
        return sqlite3.connect(f"{self.path.resolve().as_uri()}?{how}", uri=True, timeout=BUSY_SECONDS)

    def _has_log(self) -> bool:
        try:
            return self.path.with_name(f"{self.path.name}-wal").stat().st_size > 0
        except OSError:
            return False

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile."""
        with self.in_words(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, lasting: bool = True) -> Iterator[Connection]:
        """A transaction that nobody else writes beside: all of it happens, or nothing.

        What is ``lasting`` is on the disk when this ends, even if the power fails the next moment; the rest survives
        whatever happens to the process.
        """
        self.check_writable()
        with self._turn, self.in_words(), (self._lasting if lasting else self._passing).begin() as connection:
            yield connection

    def check_writable(self) -> None:
        """Refuse to change what can only be read."""
        if not self.writable:
            raise UnavailableError(
                f"{self.path.parent} can only be read; nothing was changed: ask for the permission to write to it, or "
                "copy it to another place"
            )

    def copy_to(self, path: Path) -> None:
        """Write one state of the whole database to another file, while others go on writing."""
        with self.in_words(), self._engine.connect() as connection, closing(sqlite3.connect(path)) as target:
            try:
                _driver(connection).backup(target)
            except sqlite3.Error as error:
                if is_full(error, path.parent):  # there, not here
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
                raise

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """What SQLite says, or what was read and makes no sense, becomes one sentence."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, MemoryError, UnicodeDecodeError) as error:  # damage has many faces
            cause = getattr(error, "orig", None) or error
            raise UnavailableError(f"{self.path}: {self._sentence(cause)}") from error

    def _sentence(self, cause: BaseException) -> str:
        name = getattr(cause, "sqlite_errorname", "SQLITE_CORRUPT" if "malformed" in str(cause) else "")
        if is_full(cause, self.path.parent):
            return "the disk is full; nothing was changed: make room and try again"
        if name.startswith("SQLITE_CANTOPEN") and not self.writable and self._has_log():
            return (
                f"{self.path.name}-wal holds changes that cannot be read without writing beside it: close the project "
                "where it is used, or copy its folder to a place that you may write to"
            )
        if "decode" in str(cause):  # the text itself is of no use to anybody
            return f"a text is not readable; nothing was changed: {DAMAGED}"
        advice = next((what for kind, what in ADVICE.items() if name.startswith(kind)), None)
        otherwise = "try again, or restore the project from a backup"
        return f"{str(cause) or type(cause).__name__}; nothing was changed: {advice or otherwise}"


def is_full(error: BaseException, folder: Path) -> bool:
    """Whether SQLite failed because a disk is full, also where it only says that it cannot write."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_IOERR"):
        return shutil.disk_usage(folder).free < LEAST_ROOM
    return name == "SQLITE_FULL"


def _driver(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection, outside of any transaction."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _prepare(connection: sqlite3.Connection, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver thinks
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if "synchronous" in options:
        connection.exec_driver_sql(f"PRAGMA synchronous = {options['synchronous']}")
    connection.exec_driver_sql(f"BEGIN {options.get('begin', 'DEFERRED')}")
