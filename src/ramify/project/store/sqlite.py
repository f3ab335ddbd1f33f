"""The SQLite file of a project."""

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from ramify.errors import RamifyError
from ramify.project.store.database import BUSY_SECONDS, Database
from ramify.project.store.migrations import check_version, migrate
from ramify.project.store.troubles import DamagedError, UnavailableError

LEAST_ROOM = 1 << 16  # bytes: with less left, a disk that cannot be written is full

FULL = "the disk is full; nothing was changed: make room and try again"
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


class SQLite(Database):
    """One file. Where it or its folder cannot be written, or its disk is full, it is opened for reading alone, and
    leaves no trace."""

    errors = sqlite3.Error
    unkept = ""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)
        self.writable = all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists())
        self._full = False
        try:
            self._open()
        except UnavailableError as error:
            cause = getattr(error.__cause__, "orig", None) or error.__cause__
            if cause is None or not self.writable or not is_full(cause, path.parent) or not path.stat().st_size:
                raise
            self.close()
            self.writable, self._full = False, True
            try:
                self._open()
            except RamifyError:
                raise error from None

    def _open(self) -> None:
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
                with self._lasting.begin() as connection:
                    migrate(connection, self.place, _counted(connection))
            else:
                with self._engine.begin() as connection:
                    check_version(connection, self.place, _counted(connection))

    def _to_write(self) -> Engine:
        return create_engine(
            URL.create("sqlite", database=str(self.path)),
            connect_args={"timeout": BUSY_SECONDS},
            paramstyle="named",
            pool_size=8,
            max_overflow=-1,
        )

    def _to_read(self) -> Engine:
        return create_engine("sqlite://", creator=self._open_to_read, paramstyle="named", poolclass=NullPool)

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

    def _reading(self) -> AbstractContextManager[Connection]:
        return self._engine.begin()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._turn, self._lasting.begin() as connection:
            yield connection

    @contextmanager
    def _lending(self) -> Iterator[Connection]:
        with self._turn, self._passing.begin() as connection:
            yield connection

    def check_writable(self) -> None:
        """Refuse to change what can only be read."""
        if self._full:
            raise UnavailableError(f"{self.place}: {FULL}")
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

    def damage(self) -> str | None:
        """Read all of it; what is wrong with it."""
        with self.read() as connection:
            said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return None if said == ["ok"] else str(said[0])

    def remove(self) -> None:
        """Remove the file, and what SQLite keeps beside it; whoever has it open can still read."""
        self.close()
        for path in (self.path, *(self.path.with_name(f"{self.path.name}-{what}") for what in ("wal", "shm"))):
            path.unlink(missing_ok=True)

    def _sentence(self, cause: BaseException) -> str:
        name = getattr(cause, "sqlite_errorname", "")
        if is_full(cause, self.path.parent):
            return FULL
        if name.startswith("SQLITE_CANTOPEN") and not self.writable and self._has_log():
            return (
                f"{self.path.name}-wal holds changes that cannot be read without writing beside it: close the project "
                "where it is used, or copy its folder to a place that you may write to"
            )
        if "decode" in str(cause):  # the text itself is of no use to anybody
            return f"a text is not readable; nothing was changed: {DAMAGED}"
        advice = next((what for kind, what in ADVICE.items() if name.startswith(kind)), None)
        if isinstance(cause, DamagedError) or (not name and "malformed" in str(cause)):
            advice = DAMAGED
        otherwise = "try again, or restore the project from a backup"
        return f"{str(cause) or type(cause).__name__}; nothing was changed: {advice or otherwise}"


def is_full(error: BaseException, folder: Path) -> bool:
    """Whether SQLite failed because a disk is full, also where it only says that it cannot write."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_IOERR"):
        return shutil.disk_usage(folder).free < LEAST_ROOM
    return name == "SQLITE_FULL"


def _counted(connection: Connection) -> int:
    """SQLite's own number of a version: what Ramify counted its steps by, before alembic did."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


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
