"""What the databases of projects share: short transactions, errors in words, and SQL that was built once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Executable, Integer, Select, bindparam, cast, column, select
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ramify.project.store.schema import MOVING, meta
from ramify.project.store.troubles import DamagedError, UnavailableError

BUSY_SECONDS = 10.0  # how long a transaction waits for others
IS_MOVING = select(meta.c.key).where(meta.c.key == MOVING)
CHUNK = 900  # values in one query: old builds of SQLite allow 999

Value = TypeVar("Value")


class Database(ABC):
    """Connections to the database of one project, safe for many threads and processes; open it after a fork."""

    place: str
    """What it is called where something is wrong with it."""
    writable: bool
    unkept: str
    """A character that its texts cannot hold, or none."""
    errors: type[Exception]
    """What its driver raises."""
    _engine: Engine

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile."""
        with self.in_words(), self._reading() as connection:
            yield connection

    @contextmanager
    def write(self, *, while_moving: bool = False) -> Iterator[Connection]:
        """A transaction that nobody else writes beside: all of it happens, or nothing.

        When this ends it is on the disk, even if the power fails the next moment. Refused while the project is moved
        to another database, and ever after: whoever still has this one open would write what nobody reads.
        """
        self.check_writable()
        with self.in_words(), self._writing() as connection:
            if not while_moving and quickly(connection, IS_MOVING).fetchone():
                raise UnavailableError(
                    f"{self.place}: the project is moved to another database; nothing was changed: wait, and start the "
                    "server again"
                )
            yield connection

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """A transaction on leases, which survives whatever happens to the process, but not a power cut.

        Others may write beside it, so it locks the items that it is about: see ``leases``.
        """
        self.check_writable()
        with self.in_words(), self._lending() as connection:
            yield connection

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """What the database says, or what was read and makes no sense, becomes one sentence."""
        try:
            yield
        except (SQLAlchemyError, self.errors, DamagedError, MemoryError, UnicodeDecodeError) as error:
            cause = getattr(error, "orig", None) or error
            raise UnavailableError(f"{self.place}: {self._sentence(cause)}") from error

    @abstractmethod
    def check_writable(self) -> None:
        """Refuse to change what can only be read."""

    @abstractmethod
    def copy_to(self, path: Path) -> None:
        """Write one state of the whole database to a new SQLite file, while others go on writing."""

    @abstractmethod
    def damage(self) -> str | None:
        """Read all of it; what is wrong with it."""

    @abstractmethod
    def remove(self) -> None:
        """Remove the project from it."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Connection]: ...

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Connection]: ...

    @abstractmethod
    def _lending(self) -> AbstractContextManager[Connection]: ...

    @abstractmethod
    def _sentence(self, cause: BaseException) -> str: ...


def chunks(values: Sequence[Value], size: int = CHUNK) -> Iterator[Sequence[Value]]:
    """The values in parts that fit into one query.

    >>> [list(part) for part in chunks(range(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    return (values[first : first + size] for first in range(0, len(values), size))


def among(name: str) -> Select[Any]:
    """The numbers of a parameter that holds a JSON list, for ``column.in_``: a statement with it is built once."""
    return select(cast(column("value"), Integer)).select_from(_Listed(bindparam(name, None)))


class _Listed(FunctionElement[Any]):
    """The elements of a JSON list, each in a row."""

    name = "listed"
    inherit_cache = True


@compiles(_Listed, "sqlite")
def _listed_by_sqlite(element: _Listed, compiler: Any, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Listed, "postgresql")
def _listed_by_postgresql(element: _Listed, compiler: Any, **options: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS json))"


_COMPILED: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}


def quickly(
    connection: Connection,
    statement: Executable,
    *parameters: Mapping[str, Any],
    columns: tuple[str, ...] | None = None,
) -> DBAPICursor:
    """Run a statement that was built once, for each of the parameters, on the driver's own connection.

    What people wait for many times a second does not need what SQLAlchemy does for each run of a statement.
    """
    built = (statement, columns, connection.dialect.name)
    if built not in _COMPILED:
        done = statement.compile(  # type: ignore[attr-defined]
            dialect=connection.dialect, column_keys=columns, compile_kwargs={"render_postcompile": True}
        )
        _COMPILED[built] = str(done), dict(done.params)
    sql, fixed = _COMPILED[built]
    cursor = connection.connection.cursor()
    if len(parameters) < 2:
        cursor.execute(sql, {**fixed, **(parameters[0] if parameters else {})})
    else:
        cursor.executemany(sql, [{**fixed, **values} for values in parameters])
    return cursor
