"""Open Images: labels of whole images that people verified, under the hierarchy of its 600 boxable classes."""

import csv
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.files import readable
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.readers.items import Items
from ramify.readers.open_images_classes import Classes
from ramify.taxonomy import Taxonomy

__all__ = ["matches", "read"]

HEADER = ("ImageID", "Source", "LabelName", "Confidence")
VERIFIED = {"1": RELEVANT, "0": IRRELEVANT, "1.0": RELEVANT, "0.0": IRRELEVANT}
MACHINE = "machine"  # a source whose labels no person has seen, whatever their confidence
PARTS = {"train": 0, "validation": 1, "val": 1, "dev": 1, "test": 2}
PICTURE = ".jpg"


def matches(path: Path) -> bool:
    """Whether this is a table of image labels, or a folder that holds one.

    >>> matches(Path("items.csv"))
    False
    """
    return bool(_tables(path)) if path.is_dir() else _is_table(path)


def read(path: Path) -> Items:
    """An item for each image; 1 says that a concept is relevant, 0 that it is not, and no row says nothing.

    The hierarchy and the names of the classes are read from the files beside the table.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = "ImageID,Source,LabelName,Confidence\\na1,verification,/m/dog,1\\n"
    ...     _ = Path(folder, "human-imagelabels.csv").write_text(table)
    ...     _ = Path(folder, "class-descriptions.csv").write_text("/m/dog,Dog\\n/m/cat,Cat\\n/m/pet,Pet\\n")
    ...     _ = Path(folder, "hierarchy.json").write_text(
    ...         '{"LabelName": "/m/0bl9f", "Subcategory": [{"LabelName": "/m/pet", "Subcategory": '
    ...         '[{"LabelName": "/m/dog"}, {"LabelName": "/m/cat"}]}]}')
    ...     items = read(Path(folder))
    >>> items.ids, items.labels.states(concepts=["Pet", "Dog", "Cat"]).tolist()
    (['a1'], [[1, 1, -1]])
    """
    folder = path if path.is_dir() else path.parent
    tables = _tables(path) if path.is_dir() else [path]
    if not tables:
        raise RamifyError(f"{path}: there is no table with the columns {', '.join(HEADER)} in this folder")
    classes = Classes.beside(folder)
    rows = _Rows(classes.numbers)
    for table in tables:
        rows.take(table)
    if not rows.images:
        raise RamifyError(f"{tables[0]}: the file has no rows: give a row for each image and label")
    labels, unlabelled = rows.labels(classes.taxonomy)
    ids, files = list(rows.images), _files(folder)
    return Items(
        lambda number: f"{path}, image {ids[number]}",
        ids,
        [None] * len(ids),
        [files.get(name + PICTURE) for name in ids],
        labels,
        unlabelled=unlabelled,
        split=rows.split(),
        notes=(*classes.notes, *rows.notes(), *_torn(labels)),
    )


@dataclass
class _Rows:
    """What the tables say: numbers instead of texts, since there are millions of rows."""

    concepts: dict[str, int]
    """The concept of each label that the hierarchy has."""
    images: dict[str, int] = field(default_factory=dict)
    """A number for each image, as they are first met."""
    said: tuple["array[int]", "array[int]", "array[int]"] = field(
        default_factory=lambda: (array("i"), array("i"), array("b"))
    )
    """The image, the concept and the value of each row that says something."""
    parts: list[tuple[int | None, int]] = field(default_factory=list)
    """For each table the part that its name says, and how many images were known after it."""
    machine_made: int = 0
    elsewhere: int = 0
    both: int = 0

    def take(self, path: Path) -> None:
        """Read a table."""
        lines = _records(path)
        header = [name.strip() for name in next(lines, (1, []))[1]]
        if not header:
            raise RamifyError(f"{path}: the file is empty: download it again")
        missing = [name for name in HEADER if name not in header]
        if missing:
            needed = f"the table needs {', '.join(HEADER)}"
            raise RamifyError(f"{path}, row 1: there is no column {missing[0]!r}: {needed}")
        width, places = len(header), [header.index(name) for name in HEADER]
        image_at, source_at, label_at, confidence_at = places
        images, concepts, (owners, numbers, values) = self.images, self.concepts, self.said
        for number, row in lines:
            if len(row) != width:
                if not row:
                    continue
                raise RamifyError(f"{path}, row {number}: {len(row)} fields for {width} columns: the row is cut off")
            name, confidence = row[image_at], row[confidence_at]
            if not name.strip():
                raise RamifyError(f"{path}, row {number}, column 'ImageID': the id is missing")
            image = images.setdefault(name, len(images))
            value = VERIFIED.get(confidence)
            if value is None:
                value = _value(path, number, confidence)
            if value == UNKNOWN or row[source_at] == MACHINE:
                self.machine_made += 1
                continue
            concept = concepts.get(row[label_at])
            if concept is None:
                self.elsewhere += 1
                continue
            owners.append(image)
            numbers.append(concept)
            values.append(value)
        self.parts.append((_part(path), len(images)))

    def labels(self, taxonomy: Taxonomy) -> tuple[Labels, int]:
        """The labels, and how many images say nothing."""
        owners, concepts, values = (np.array(part, kind) for part, kind in zip(self.said, "qqb", strict=True))
        entries, place = np.unique(owners * len(taxonomy) + concepts, return_inverse=True)
        yes, no = np.zeros(len(entries), np.bool_), np.zeros(len(entries), np.bool_)
        yes[place[values == RELEVANT]] = True
        no[place[values == IRRELEVANT]] = True
        torn = yes & no
        self.both = int(torn.sum())
        states = np.full((len(self.images), len(taxonomy)), UNKNOWN, np.int8)
        states.ravel()[entries[~torn]] = yes[~torn]
        unlabelled = int((states == UNKNOWN).all(axis=1).sum())
        return Labels.from_matrix(taxonomy, states, np.arange(len(taxonomy))), unlabelled

    def split(self) -> NDArray[np.uint8] | None:
        """The part of each image, where the tables' names say more than one; an image counts where it is met first."""
        if None in (parts := [part for part, _ in self.parts]) or len(set(parts)) < 2:
            return None
        ends = [end for _, end in self.parts]
        return np.repeat(np.array(parts, np.uint8), np.diff(ends, prepend=0))

    def notes(self) -> list[str]:
        """What of the rows was not taken for labels."""
        said = [
            (
                self.machine_made,
                "rows are machine-made (Confidence is a fraction, or Source is machine) and say nothing",
            ),
            (self.elsewhere, "rows are about classes that the hierarchy does not have, and are left out"),
            (self.both, "entries are said to be both present and absent, and are left unknown"),
        ]
        return [f"{count} {what}" for count, what in said if count]


def _torn(labels: Labels) -> list[str]:
    """What is said of images that have a concept but not the one above it."""
    torn = labels.contradictions()
    if not torn:
        return []
    count = len({found.item for found in torn})
    said = " but ".join(f"{p!r} is {'present' if value else 'absent'}" for p, value, _ in torn[0].assertions)
    return [f"{count} images contradict themselves, and are unknown there until somebody decides: such as {said}"]


def _value(path: Path, number: int, confidence: str) -> int:
    """What a confidence says that is not plainly 1 or 0."""
    try:
        value = float(confidence)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise RamifyError(
            f"{path}, row {number}, column 'Confidence': {confidence!r:.40} is no confidence: "
            "1 is present, 0 is absent, and a machine's lie between"
        )
    return int(value) if value in (0, 1) else UNKNOWN


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows with their numbers as a spreadsheet counts them, never all at once."""
    number = 0
    with readable(path) as file:
        text = TextIOWrapper(file, "utf-8-sig", newline="")
        try:
            for number, row in enumerate(csv.reader(text, strict=True), start=1):
                yield number, row
        except csv.Error as error:
            raise RamifyError(f"{path}, row {number + 1}: this is not valid CSV ({error})") from None
        except UnicodeDecodeError:
            row_of = "" if (bad := _not_utf8(path)) is None else f", row {bad}"
            raise RamifyError(f"{path}{row_of}: this is not UTF-8: save the file with the encoding UTF-8") from None


def _not_utf8(path: Path) -> int | None:
    """The first line that is not UTF-8; text is decoded in parts, so that reading it does not tell."""
    with readable(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _is_table(path: Path) -> bool:
    """Whether a file is called like a table of image labels, or has just its columns (boxes have more)."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    if "imagelabels" in path.name.lower():
        return True
    with readable(path) as file:
        header = file.readline(200).decode("utf-8-sig", "replace")
    return sorted(name.strip() for name in header.split(",")) == sorted(HEADER)


def _tables(folder: Path) -> list[Path]:
    """The tables of a folder, training first, so that an image counts where it is met first."""
    return sorted(filter(_is_table, folder.glob("*.csv")), key=lambda path: (_part(path) or 0, path.name))


def _part(path: Path) -> int | None:
    """0 train, 1 dev, 2 test, by the name of a table."""
    words = re.split(r"[^a-z]+", path.stem.lower())
    return next((PARTS[word] for word in words if word in PARTS), None)


def _files(folder: Path) -> dict[str, str]:
    """The pictures in a folder and in those directly in it: their paths by their names."""
    below = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    found = {path.name: f"{inner.name}/{path.name}" for inner in sorted(below) for path in inner.glob(f"*{PICTURE}")}
    return found | {path.name: path.name for path in folder.glob(f"*{PICTURE}")}
