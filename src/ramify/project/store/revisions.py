"""How files of a project are replaced: written whole anew, named by one transaction, then the old ones go."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection

from ramify.errors import RamifyError
from ramify.project.store.items import Contents, HasContents, get, put

NUMBERED = re.compile(r"\.?(?:features|imported)-(\d+)\.np[yz]")


class OutdatedError(Exception):
    """Another process added items or split a concept meanwhile: look again."""


class CanChange(HasContents):
    """The part of a store that makes new contents from the current ones."""

    @contextmanager
    def _new_number(self) -> Iterator[str]:
        """A number for new files that nobody else gets; at the end all that no transaction has named is removed."""
        with self.database.write() as connection:
            number = get(connection, "files", 0) + 1
            put(connection, "files", number)
        try:
            yield f"{number:04d}"
        except OSError as error:
            raise RamifyError(
                f"{self.folder}: {error.strerror}; nothing was changed: make room, or check the disk"
            ) from None
        finally:
            self._tidy(number)

    @contextmanager
    def _next_contents(self, before: Contents) -> Iterator[Connection]:
        """The transaction that makes the next contents; refused where ``before`` is not the current one any more."""
        sync(self.folder)
        with self.database.write() as connection:
            if get(connection, "revision") != before.revision:
                raise OutdatedError
            yield connection
            put(connection, "revision", before.revision + 1)

    def _tidy(self, number: int) -> None:
        """Remove the files of this number if nothing names them; and all older ones, if this number is named.

        Whoever is still writing older ones than those just named will be refused as outdated, and starts again.
        """
        self.refresh()
        contents = self.contents
        named = {name for name in (contents.features, contents.imported) if name}
        newest = any(number_of(name) == number for name in named)
        for path in self.folder.iterdir():
            found = number_of(path.name)
            if path.name not in named and found is not None and (found < number if newest else found == number):
                with suppress(OSError):
                    path.unlink()


def number_of(name: str) -> int | None:
    """The number in the name of a file (or of its draft) that is replaced as a whole."""
    found = NUMBERED.match(name)
    return int(found[1]) if found else None


def sync(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
