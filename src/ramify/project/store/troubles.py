"""A database that cannot be used just now, or holds what makes no sense."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ramify.errors import RamifyError

LAST_TIME = 1e11  # seconds since 1970: in the year 5138


class UnavailableError(RamifyError):
    """The database could not be read or written just now (disk full, locked, damaged): nothing was changed."""


class DamagedError(Exception):
    """Something that was read makes no sense; the transaction around says so in words."""


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Where something that was read makes no sense, the database is damaged."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"{what} is malformed") from error


def of_kinds(row: Sequence[Any], *kinds: Any) -> Sequence[Any]:
    """The row itself, if its values are of these kinds (floats are times); other values are a sign of damage.

    >>> of_kinds((1, None), int, str | None)
    (1, None)
    """
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, kind) or (isinstance(value, float) and not 0 <= value < LAST_TIME):
            raise TypeError(f"{value!r} is not {kind}")
    return row
