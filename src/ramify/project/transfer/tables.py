"""Tables that Ramify writes: .csv, .jsonl or .parquet, block by block, whole or not at all."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ramify.errors import RamifyError
from ramify.files import whole_file

__all__ = ["RowWriter", "format_of", "writing"]

FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for the beginning of one
FORMATS = ("csv", "jsonl", "parquet")  # more can be read: see readers.rows
SEPARATOR = ";"  # between the names of a list, where a format has no lists


def format_of(path: Path | None, wanted: str | None, *, safe: bool = False, others: Iterable[str] = ()) -> str:
    """The format that was asked for, or else the one that the ending of the file's name says.

    Only .csv files can be made ``safe`` for spreadsheets. ``others`` are formats beside those of tables of rows.

    >>> format_of(Path("labels.parquet"), None), format_of(Path("labels"), "csv")
    ('parquet', 'csv')
    """
    name = wanted or ("" if path is None else path.suffix.lower().lstrip("."))
    names = (*FORMATS, *others)
    if name not in names:
        raise RamifyError(f"the format {name!r} is none of {', '.join(names)}: choose one with --format")
    if safe and name != "csv":
        raise RamifyError(f"{path}: only .csv files are made safe for spreadsheets: write one, or leave out --safe-csv")
    return name


class RowWriter:
    """Takes blocks of rows, each a mapping of the same columns to values; ``rows`` counts them."""

    def __init__(
        self, draft: Path, columns: Mapping[str, str], kind: str, closing: ExitStack, *, safe: bool = False
    ) -> None:
        self.columns, self.kind, self.rows, self.safe = dict(columns), kind, 0, safe
        if kind == "parquet":
            import pyarrow
            import pyarrow.parquet

            types = {
                "text": pyarrow.string(),
                "whole": pyarrow.int64(),
                "number": pyarrow.float32(),
                "flag": pyarrow.bool_(),
                "names": pyarrow.list_(pyarrow.string()),
            }
            self._schema = pyarrow.schema([(name, types[of]) for name, of in columns.items()])
            self._parquet = closing.enter_context(pyarrow.parquet.ParquetWriter(draft, self._schema))
            return
        self._file = closing.enter_context(draft.open("w", encoding="utf-8", newline=""))
        if kind == "csv":
            self._csv = csv.writer(self._file, lineterminator="\n")
            self._csv.writerow(map(harmless, columns) if safe else columns)

    def write(self, block: Mapping[str, Sequence[Any]]) -> None:
        """Write some rows, given column by column."""
        columns = [block[name] for name in self.columns]
        count = len(columns[0])
        if self.kind == "parquet":
            import pyarrow

            if count:
                self._parquet.write_table(pyarrow.table(list(map(list, columns)), schema=self._schema))
        elif self.kind == "csv":
            self._csv.writerows(zip(*map(self._plain, self.columns, columns), strict=True))
        else:
            for row in zip(*columns, strict=True):
                self._file.write(json.dumps(dict(zip(self.columns, row, strict=True)), ensure_ascii=False) + "\n")
        self.rows += count

    def _plain(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        kind = self.columns[name]
        if kind == "flag":
            return ["yes" if value else "no" for value in values]
        made = harmless if self.safe else str
        if kind == "names":  # each of them: the separator may divide the columns of somebody's spreadsheet
            return [SEPARATOR.join(map(made, value)) for value in values]
        return list(map(harmless, values)) if self.safe and kind == "text" else values


def harmless(text: Any) -> Any:
    """A text that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("a cat")
    ("'=1+1", 'a cat')
    """
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULAS) else text


@contextmanager
def writing(path: str | Path, columns: Mapping[str, str], kind: str, *, safe: bool = False) -> Iterator[RowWriter]:
    """A writer of columns, each of one kind: text, whole (a number), number, flag, or names (a list).

    ``safe`` puts an apostrophe before texts of a .csv file that a spreadsheet would take for a formula.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with writing(Path(folder, "t.csv"), {"id": "text", "labels": "names"}, "csv") as writer:
    ...         writer.write({"id": ["a", "b"], "labels": [["cat", "dog"], []]})
    ...     Path(folder, "t.csv").read_text()
    'id,labels\\na,cat;dog\\nb,\\n'
    """
    path = Path(path)
    if path.is_dir():
        raise RamifyError(f"{path} is a folder: give the name of a file to write")
    with whole_file(path) as draft, ExitStack() as closing:
        yield RowWriter(draft, columns, kind, closing, safe=safe)
