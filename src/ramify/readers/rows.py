"""Rows: what a table's file holds, column by column, and where in the file each row stands."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.files import readable
from ramify.readers.spreadsheet import read_sheet

FORMATS = ("csv", "tsv", "xlsx", "jsonl", "parquet")
NAMELESS = "nameless column"  # such as the row numbers that pandas writes first
LONGEST = (1 << 31) - 1  # characters of one field; the csv module's own limit is shorter than a long text


@dataclass(frozen=True)
class Rows:
    """The columns of a file, of equal length; a missing value is None or an empty text."""

    path: Path
    columns: dict[str, list[Any]]
    numbers: Sequence[int]
    """Where each row stands: the row of the spreadsheet, the line of the .jsonl file, or the place in the .parquet."""

    def __len__(self) -> int:
        return len(self.numbers)

    def where(self, row: int, column: str | None = None) -> str:
        """How an error names a place: ``items.csv, row 3, column 'id'``."""
        return f"{self.path}, row {self.numbers[row]}" + (f", column {column!r}" if column is not None else "")


def read_rows(path: str | Path) -> Rows:
    """Read a table by the ending of its name; the header of a .csv, .tsv or .xlsx file is its row 1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "items.csv").write_text("id,text\\na,one\\nb,two\\n")
    ...     rows = read_rows(Path(folder, "items.csv"))
    >>> rows.columns, list(rows.numbers)
    ({'id': ['a', 'b'], 'text': ['one', 'two']}, [2, 3])
    """
    path = Path(path)
    ending = path.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        listed = f"{', '.join(f'.{name}' for name in FORMATS[:-1])} or .{FORMATS[-1]}"
        other = "this is not what another tool writes, and " if path.suffix.lower() == ".json" else ""
        raise RamifyError(f"{path}: {other}a table ends in {listed}: save it as one of these")
    readers = {
        "csv": _read_csv,
        "tsv": _read_tsv,
        "xlsx": _read_xlsx,
        "jsonl": _read_jsonl,
        "parquet": _read_parquet,
    }
    rows = readers[ending](path)
    if not rows.columns or not len(rows):
        raise RamifyError(f"{path}: the file has no rows: give one row for each item")
    return rows


def as_rows(table: Any) -> Rows:
    """The rows of a file, or of a table in memory: a DataFrame, a mapping of columns, or a list of mappings.

    >>> as_rows([{"id": "a", "text": "one"}, {"id": "b"}]).columns
    {'id': ['a', 'b'], 'text': ['one', None]}
    """
    if isinstance(table, str | Path):
        return read_rows(table)
    name = Path("the table")
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, polars, pyarrow's own names are alike
        names = [str(column) for column in getattr(table, "column_names", table.columns)]
        columns = {column: _plain_list(table[column]) for column in names}
        _check_unique(name, names)
    elif isinstance(table, Mapping):
        columns = {str(column): _plain_list(values) for column, values in table.items()}
    elif isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        names = list(dict.fromkeys(str(column) for row in table for column in row))
        columns = {column: [row.get(column) for row in table] for column in names}
    else:
        raise RamifyError(
            f"a table is a file, a DataFrame, a mapping of columns or a list of mappings, not {type(table).__name__}"
        )
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise RamifyError(f"{name}: the columns have {sorted(lengths)} values: give each as many")
    if not columns or lengths == {0}:
        raise RamifyError(f"{name} has no rows: give one row for each item")
    return Rows(name, columns, range(1, lengths.pop() + 1))


def _plain_list(values: Any) -> list[Any]:
    """A column's values as Python's own."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def is_empty(value: Any) -> bool:
    """Whether a value is missing: nothing, blank text, or not a number.

    >>> is_empty("  "), is_empty(float("nan")), is_empty(0)
    (True, True, False)
    """
    return value is None or (isinstance(value, str) and not value.strip()) or value != value


def as_text(value: Any) -> str | None:
    """A value as the text that a person would write, None where it is missing.

    >>> as_text(17), as_text(17.0), as_text(" a "), as_text("")
    ('17', '17', 'a', None)
    """
    if is_empty(value):
        return None
    if isinstance(value, float) and value.is_integer():  # a column of numbers with gaps is read as floats
        return str(int(value))
    return str(value).strip()


def _text_of(path: Path) -> str:
    with readable(path) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise RamifyError(
            f"{path}, row {row}: this is not UTF-8: save the file with the encoding UTF-8 (Excel: 'CSV UTF-8')"
        ) from None


def _read_csv(path: Path) -> Rows:
    text = _text_of(path)
    header = text.partition("\n")[0]
    return _delimited(path, text, max(",;\t", key=header.count))  # spreadsheets in many countries write semicolons


def _read_tsv(path: Path) -> Rows:
    return _delimited(path, _text_of(path), "\t")


def _read_xlsx(path: Path) -> Rows:
    names, columns, numbers = read_sheet(path, NAMELESS)
    _check_unique(path, names)
    return Rows(path, dict(zip(names, columns, strict=True)), numbers)


def _delimited(path: Path, text: str, delimiter: str) -> Rows:
    csv.field_size_limit(LONGEST)
    lines = _checked(path, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    header_fields = next(lines, (0, []))[1]
    names = [name.strip() or f"{NAMELESS} {place}" for place, name in enumerate(header_fields, start=1)]
    _check_unique(path, names)
    records: list[list[str]] = []
    numbers: list[int] = []
    for number, fields in lines:
        if not fields:
            continue
        if len(fields) != len(names):
            raise RamifyError(
                f"{path}, row {number}: {len(fields)} fields for {len(names)} columns: the row is cut off, or a text "
                f"that contains {delimiter!r} is not in quotes"
            )
        records.append(fields)
        numbers.append(number)
    columns = zip(*records, strict=True) if records else [()] * len(names)
    return Rows(path, dict(zip(names, map(list, columns), strict=True)), numbers)


def _checked(path: Path, reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """The records with their numbers as a spreadsheet counts them."""
    number = 1
    try:
        for number, fields in enumerate(reader, start=1):
            yield number, fields
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise RamifyError(
                f"{path}, row {number + 1}: a text in quotes never ends: the file is cut off, or a quote is missing"
            ) from None
        raise RamifyError(f"{path}, row {number + 1}: this is not valid CSV ({error})") from None


def _read_jsonl(path: Path) -> Rows:
    lines = _text_of(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    objects: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line, object_pairs_hook=_once)
        except RamifyError as error:
            raise RamifyError(f"{path}, row {number}: {error}") from None
        except (ValueError, RecursionError):
            hint = "the file may be cut off: copy it again" if number == len(lines) else "write one object on each line"
            raise RamifyError(f"{path}, row {number}: this is not valid JSON: {hint}") from None
        if "\\ud" in line.lower():  # half of a character, which no file can hold
            try:
                json.dumps(content, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise RamifyError(f"{path}, row {number}: it holds half of a character (\\ud...): mend it") from None
        if not isinstance(content, dict):
            raise RamifyError(f'{path}, row {number}: each line is an object such as {{"id": "a", "text": "..."}}')
        objects.append(content)
        numbers.append(number)
    names = dict.fromkeys(name for row in objects for name in row)
    return Rows(path, {name: [row.get(name) for row in objects] for name in names}, numbers)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise RamifyError(f"{next(n for n in names if names.count(n) > 1)!r} stands twice: keep one")
    return content


def _read_parquet(path: Path) -> Rows:
    import pyarrow.parquet

    with readable(path) as file:
        try:
            table = pyarrow.parquet.read_table(file)
            names = table.column_names
        except Exception:  # damage makes decoders raise many kinds
            raise RamifyError(
                f"{path}: this is not a whole .parquet file; it may be cut off or of another kind: copy it again"
            ) from None
    _check_unique(path, names)
    rows = Rows(path, {}, range(1, table.num_rows + 1))
    for name, column in zip(names, table.columns, strict=True):
        rows.columns[name] = _values(rows, name, column)
    return rows


def _values(rows: Rows, name: str, column: Any) -> list[Any]:
    """The values of a column of Arrow's; one that Python has no value for is named by its row."""
    with suppress(Exception):
        return list(column.to_pylist())
    for row, value in enumerate(column):
        try:
            value.as_py()
        except Exception as error:  # a date in the year 10 000, text that is not UTF-8, an unknown time zone
            why = f"this cannot be read ({error}): save the column as text, or leave it out"
            raise RamifyError(f"{rows.where(row, name)}: {why}") from None
    raise RamifyError(f"{rows.path}, column {name!r}: this cannot be read: save the column as text, or leave it out")


def _check_unique(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise RamifyError(f"{path}: the column {twice!r} stands twice: give every column its own name")
