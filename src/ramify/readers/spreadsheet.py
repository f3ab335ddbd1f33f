"""The first sheet of an .xlsx file, with the values that the spreadsheet itself would write into a .csv file."""

import datetime
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ramify.errors import RamifyError
from ramify.files import readable

__all__ = ["read_sheet"]

OLD = b"\xd0\xcf\x11\xe0"  # how files of .xls begin, and those that a password protects
PROTECTED = "EncryptedPackage".encode("utf-16-le")
DAMAGED = "this is not a whole .xlsx file; it may be cut off or of another kind: copy it again"
PIECE = 1 << 20  # bytes looked through at once


def read_sheet(path: Path, nameless: str = "column") -> tuple[list[str], list[list[Any]], list[int]]:
    """The names in the first row, the columns below them, and the row of the sheet that each of their values is in.

    Rows and columns that hold nothing are left out; a column without a name is called ``nameless`` and its number.

    >>> import tempfile, openpyxl
    >>> book = openpyxl.Workbook()
    >>> for row in (["id", "seen"], [7.0, datetime.date(2024, 5, 1)], [], [8, True]):
    ...     book.active.append(row)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book.save(Path(folder, "items.xlsx"))
    ...     read_sheet(Path(folder, "items.xlsx"))
    (['id', 'seen'], [[7, 8], ['2024-05-01', 'TRUE']], [2, 4])
    """
    with readable(path) as file:
        _check_kind(path, file)
        with _rows(path, file) as rows:
            names = ["" if value is None else str(_plain(value)).strip() for value in next(rows, ())]
            columns: list[list[Any]] = []
            numbers: list[int] = []
            for number, row in enumerate(rows, start=2):
                if all(value is None for value in row):
                    continue
                columns.extend([None] * len(numbers) for _ in range(len(columns), len(row)))
                for place, column in enumerate(columns):
                    column.append(_plain(row[place]) if place < len(row) else None)
                numbers.append(number)
        if numbers and not any(names):
            raise RamifyError(f"{path}, row 1: it is empty: write the names of the columns there")
        _check_results(path, file)
    columns.extend([None] * len(numbers) for _ in range(len(columns), len(names)))
    names.extend([""] * (len(columns) - len(names)))
    kept = [place for place, name in enumerate(names) if name or any(value is not None for value in columns[place])]
    return [names[place] or f"{nameless} {place + 1}" for place in kept], [columns[place] for place in kept], numbers


@contextmanager
def _rows(
    path: Path, file: BinaryIO, *, results: bool = True, values: bool = True
) -> Iterator[Iterator[Sequence[Any]]]:
    """The rows of the first sheet, of cells or their values; formulas as their results or as they are written."""
    import openpyxl

    try:
        with warnings.catch_warnings():  # styles and checks that openpyxl does not know do not matter here
            warnings.simplefilter("ignore")
            file.seek(0)
            book = openpyxl.load_workbook(file, read_only=True, data_only=results)
            try:
                sheet = book.worksheets[0]
                sheet.reset_dimensions()  # some programs write a wrong size, beyond which nothing would be read
                yield sheet.iter_rows(values_only=values)
            finally:
                book.close()
    except RamifyError:
        raise
    except Exception:  # damage makes zipfile, the XML parser and openpyxl raise many kinds
        raise RamifyError(f"{path}: {DAMAGED}") from None


def _check_kind(path: Path, file: BinaryIO) -> None:
    """Refuse what a spreadsheet made, but not as .xlsx: openpyxl would say only that it is no zip file."""
    if file.read(len(OLD)) == OLD:
        if PROTECTED in file.read():
            raise RamifyError(f"{path}: a password protects this file: save it without one")
        raise RamifyError(f"{path}: this is a file of the old kind .xls: save it as .xlsx")


def _check_results(path: Path, file: BinaryIO) -> None:
    """Refuse formulas that no spreadsheet has worked out yet: they would be taken for empty cells."""
    if not _has_formulas(path, file):
        return
    with _rows(path, file, results=False, values=False) as written, _rows(path, file, values=False) as worked_out:
        for formulas, results in zip(written, worked_out, strict=True):
            for formula, result in zip(formulas, results, strict=True):
                # The result of a formula may be an empty text, which is marked as one.
                if formula.data_type == "f" and result.value is None and result.data_type == "n":
                    raise RamifyError(
                        f"{path}, cell {formula.coordinate}: the file does not hold the result of this formula: "
                        "open it in a spreadsheet and save it"
                    )


def _has_formulas(path: Path, file: BinaryIO) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    with archive.open(name) as sheet:
                        before = b""
                        while piece := sheet.read(PIECE):
                            if b"<f>" in before + piece or b"<f " in before + piece:
                                return True
                            before = piece[-2:]
    except Exception:  # as above
        raise RamifyError(f"{path}: {DAMAGED}") from None
    return False


def _plain(value: Any) -> Any:
    """A cell's value: numbers as numbers, whole ones without a point, and all else as text."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime.datetime):
        return str(value.date()) if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return str(value)
    return value
