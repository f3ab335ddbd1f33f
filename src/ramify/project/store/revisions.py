"""How files of a project are replaced: written whole anew, named by one transaction, then the old ones go."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from sqlalchemy import Connection

from ramify.files import sync
from ramify.project.store.items import Contents, Items, get_number, put
from ramify.project.store.models import measured

NUMBERED = re.compile(r"\.?(?:features|imported)-(\d+)\.np[yz]")


class OutdatedError(Exception):
    """Another process added items or changed the taxonomy meanwhile: look again."""


@contextmanager
def new_number(items: Items) -> Iterator[str]:
    """A number for new files that nobody else gets; at the end all that no transaction has named is removed."""
    with items.database.write() as connection:
        number = get_number(connection, "files", 0) + 1
        put(connection, "files", number)
    try:
        yield f"{number:04d}"
    finally:
        tidy(items, number)


@contextmanager
def next_contents(items: Items, before: Contents) -> Iterator[Connection]:
    """The transaction that makes the next contents; refused where ``before`` is not the current one any more."""
    sync(items.folder)
    with items.database.write() as connection:
        if get_number(connection, "revision") != before.revision:
            raise OutdatedError
        yield connection
        put(connection, "revision", before.revision + 1)


def measure(items: Items, files: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Size and checksum of new files; refused where others, who were quicker, have removed them already."""
    try:
        return {key: measured(items.folder / name) for key, name in files.items()}
    except FileNotFoundError:
        raise OutdatedError from None


def name_files(connection: Connection, files: Mapping[str, str], sums: Mapping[str, tuple[int, int]]) -> None:
    """Name the current features, or imported labels, with what ``measure`` found of them."""
    for key, name in files.items():
        put(connection, key, name)
        put(connection, checksum_key(key), (name, *sums[key]))


def checksum_key(key: str) -> str:
    """Where name, size and checksum of the features, or imported labels, are kept; an older Ramify keeps none."""
    return f"checksum {key}"


def tidy(items: Items, number: int) -> None:
    """Remove the files of this number if nothing names them; and all older ones, if this number is named.

    Whoever is still writing older ones than those just named will be refused as outdated, and starts again.
    """
    items.refresh()
    contents = items.contents
    named = {name for name in (contents.features, contents.imported) if name}
    newest = any(number_of(name) == number for name in named)
    for path in items.folder.iterdir():
        of_file = number_of(path.name)
        if path.name not in named and of_file is not None and (of_file < number if newest else of_file == number):
            with suppress(OSError):
                path.unlink()


def number_of(name: str) -> int | None:
    """The number in the name of a file (or of its draft) that is replaced as a whole."""
    match = NUMBERED.match(name)
    return int(match[1]) if match else None
