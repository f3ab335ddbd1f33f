"""Items from an .arff file of Mulan or MEKA: labels, features, and a text where there is one."""

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ramify.data.features import LARGEST
from ramify.errors import RamifyError
from ramify.files import readable
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.readers.arff_header import Attribute, Header, fields_of, plain, read_header
from ramify.readers.items import Items
from ramify.readers.known import labels_of

__all__ = ["matches", "read"]

STATES = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), RELEVANT),
    **dict.fromkeys(("0", "0.0", "false", "no"), IRRELEVANT),
    "?": UNKNOWN,
}
MISSING = "?"
WEIGHT = re.compile(r",\s*\{\s*[-+.\deE]+\s*\}\s*$")


def matches(path: Path) -> bool:
    """Whether a file ends in .arff."""
    return path.suffix.lower() == ".arff" and path.is_file()


def read(path: Path) -> Items:
    """Its rows; labels are those that an .xml file beside it (Mulan) or the relation's name (MEKA) says.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.arff").write_text('''@relation 'a: -C 2'
    ... @attribute cat {0,1}
    ... @attribute dog {0,1}
    ... @attribute weight numeric
    ... @data
    ... 1,0,4.5
    ... 0,?,20
    ... ''')
    ...     items = read(Path(folder, "a.arff"))
    >>> items.ids, items.labels.states().tolist(), items.features.tolist()
    (['1', '2'], [[1, 0], [0, -1]], [[4.5], [20.0]])
    """
    with readable(path) as file:
        lines = _lines(path, file)
        header = read_header(path, lines)
        rows = _Rows(path, header)
        for number, line in lines:
            rows.take(number, line)
    return rows.items()


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines that are neither empty nor comments, one at a time, with their numbers."""
    for number, content in enumerate(file, start=1):
        try:
            line = content.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            raise RamifyError(f"{path}, row {number}: this is not UTF-8: save the file with this encoding") from None
        if line and not line.startswith("%"):
            yield number, line


class _Rows:
    """Takes in rows, one at a time, as numbers: labels, and features with NaN for what is missing."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path, self.header = path, header
        self.numbers, self.states = array("q"), array("b")
        self.values, self.columns, self.starts = array("f"), array("q"), array("q", [0])
        self.ids: list[str] = []
        self.texts: list[str | None] = []
        self.sparse = self.weighted = False
        self.id: int | None = None
        self.text: int | None = None
        self.ignored: list[str] = []
        self.places: dict[int, int | dict[str, int]] = {}
        """The column of a number, or the columns of the values of a nominal attribute."""
        self.width = 0
        for place, attribute in enumerate(header.attributes):
            if place not in header.labels:
                self._give_role(place, attribute)
        nominal = {place: found.values[0] for place, found in enumerate(header.attributes) if found.values}
        self.unwritten = {place: first for place, first in nominal.items() if first != "0"}

    def _give_role(self, place: int, attribute: Attribute) -> None:
        if attribute.kind == "string" and attribute.name.lower() == "id":
            self.id = place
        elif attribute.kind == "string" and self.text is None:
            self.text = place
        elif attribute.kind in ("string", "date"):
            self.ignored.append(attribute.name)
        elif attribute.kind == "numeric" or set(attribute.values) == {"0", "1"}:
            self.places[place] = self.width
            self.width += 1
        else:
            self.places[place] = {value: self.width + n for n, value in enumerate(attribute.values)}
            self.width += len(attribute.values)

    def take(self, number: int, line: str) -> None:
        """Take in a row, dense or sparse."""
        where = f"{self.path}, row {number}"
        if WEIGHT.search(line):
            line, self.weighted = WEIGHT.sub("", line), True
        sparse = line.startswith("{")
        if self.numbers and sparse != self.sparse:
            raise RamifyError(f"{where}: rows with and without {{ }} are mixed: write all in one way")
        self.sparse = sparse
        self.numbers.append(number)
        row = self._sparse_row(where, line) if sparse else self._dense_row(where, line)
        said = array("b", bytes(len(self.header.taxonomy)))
        for place, concept in self.header.labels.items():
            if place in row:
                said[concept] = self._state(where, place, row[place])
        self.states.extend(said)
        self.ids.append(str(len(self.numbers)) if self.id is None else row.get(self.id, ""))
        text = MISSING if self.text is None else row.get(self.text, MISSING)
        self.texts.append(None if text == MISSING or not text.strip() else text)
        self._take_features(where, row)

    def _dense_row(self, where: str, line: str) -> dict[int, str]:
        fields = fields_of(line)
        if fields is None:
            raise RamifyError(f"{where}: a text in quotes never ends: the file is cut off, or a quote is missing")
        if len(fields) != len(self.header.attributes):
            raise RamifyError(
                f"{where}: {len(fields)} values for {len(self.header.attributes)} attributes: the row is cut off, or a "
                "text that contains ',' is not in quotes"
            )
        return dict(enumerate(fields))

    def _sparse_row(self, where: str, line: str) -> dict[int, str]:
        """What is written; a number that is not is 0, and a nominal attribute has the first of its values."""
        row: dict[int, str] = {}
        inside = line[1:-1].strip()
        pairs = _pairs(inside) if line.endswith("}") else None
        if pairs is None:
            raise RamifyError(f"{where}: it begins with {{ but is not whole: the file is cut off, or a sign is missing")
        for index, value in pairs:
            place = int(index) if index.isdecimal() else -1
            if not 0 <= place < len(self.header.attributes) or place in row:
                why = "stands twice" if place in row else f"is none from 0 to {len(self.header.attributes) - 1}"
                raise RamifyError(f"{where}: the attribute number {index!r} {why}: mend it")
            row[place] = value
        return {**self.unwritten, **row}

    def _state(self, where: str, place: int, value: str) -> int:
        state = STATES.get(value.lower())
        if state is None:
            name = self.header.attributes[place].name
            raise RamifyError(f"{where}, attribute {name!r}: {value!r} is neither 1, 0 nor ?: labels are one of these")
        return state

    def _take_features(self, where: str, row: dict[int, str]) -> None:
        found: dict[int, float] = {}
        for place, value in row.items():
            column = self.places.get(place)
            if column is None:
                continue
            if isinstance(column, int):
                number = self._number(where, place, value)
                if number or not self.sparse:
                    found[column] = number
            elif value == MISSING:
                found.update(dict.fromkeys(column.values(), np.nan))
            elif value in column:
                found[column[value]] = 1.0
            else:
                name = self.header.attributes[place].name
                raise RamifyError(f"{where}, attribute {name!r}: {value!r} is none of its values: correct one of them")
        if self.sparse:
            self.columns.extend(found)
            self.values.extend(found.values())
            self.starts.append(len(self.columns))
        else:
            dense = array("f", bytes(4 * self.width))
            for column, number in found.items():
                dense[column] = number
            self.values.extend(dense)

    def _number(self, where: str, place: int, value: str) -> float:
        if value == MISSING:
            return float("nan")
        try:
            number = float(value)
        except ValueError:
            number = np.inf
        if not abs(number) <= LARGEST:
            name = self.header.attributes[place].name
            raise RamifyError(f"{where}, attribute {name!r}: {value!r} is no finite number of at most {LARGEST:g}")
        return number

    # -- at the end --------------------------------------------------------------------------------------------------

    def items(self) -> Items:
        """All that was read."""
        count = len(self.numbers)
        if not count:
            raise RamifyError(f"{self.path}: there are no rows after @data: give one for each item")
        self._check_ids()
        states = np.frombuffer(self.states, np.int8).reshape(count, -1)
        features, filled = self._features(count)
        notes = [f"{filled} values of features are missing (?): each is the mean of its column"] if filled else []
        if self.weighted:
            notes.append("the weights of rows were not read")
        return Items(
            self._where,
            self.ids,
            self.texts,
            [None] * count,
            labels_of(self.header.taxonomy, states, self._where),
            ignored=tuple(self.ignored),
            features=features,
            notes=tuple(notes),
        )

    def _where(self, item: int) -> str:
        return f"{self.path}, row {self.numbers[item]}"

    def _check_ids(self) -> None:
        first: dict[str, int] = {}
        for item, name in enumerate(self.ids):
            if name in ("", MISSING):
                raise RamifyError(f"{self._where(item)}: the id is missing: give every item its own")
            if first.setdefault(name, item) != item:
                before = self.numbers[first[name]]
                raise RamifyError(
                    f"{self._where(item)}: the id {name!r} stands in row {before} already: ids must be unique"
                )

    def _features(self, count: int) -> tuple[Any, int]:
        """The features, None where there are none, and how many had to be filled in."""
        if not self.width:
            return None, 0
        values: NDArray[np.float32] = np.frombuffer(self.values, np.float32).copy()
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            columns = np.frombuffer(self.columns, np.int64) if self.sparse else np.arange(len(values)) % self.width
            sums = np.bincount(columns, np.nan_to_num(values), self.width)
            known = count - np.bincount(columns[missing], minlength=self.width)
            values[missing] = (sums / np.maximum(known, 1))[columns[missing]]
        if not self.sparse:
            return values.reshape(count, self.width), len(missing)
        columns, starts = np.frombuffer(self.columns, np.int64), np.frombuffer(self.starts, np.int64)
        features = scipy.sparse.csr_array((values, columns, starts), shape=(count, self.width))
        features.sort_indices()
        return features, len(missing)


def _pairs(inside: str) -> list[tuple[str, str]] | None:
    """The numbers of attributes and their values; None where one of them is missing."""
    found: list[tuple[str, str]] = []
    if not inside:
        return found
    for part in re.findall(r"(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,])+", inside):
        index, _, value = part.strip().partition(" ") if "\t" not in part else part.strip().partition("\t")
        if not value.strip():
            return None
        found.append((index, plain(value.strip())))
    return found
