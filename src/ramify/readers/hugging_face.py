"""Items from a folder of Hugging Face: texts or pictures with classes, in any of the forms that ``datasets`` knows."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.readers.hugging_face_files import FILE, METADATA, Part, is_folder, read_parts
from ramify.readers.hugging_face_labels import class_labels
from ramify.readers.hugging_face_names import declared
from ramify.readers.items import Items
from ramify.readers.rows import as_text, is_empty

__all__ = ["matches", "read"]

SPLITS = {"train": 0, "training": 0, "validation": 1, "valid": 1, "val": 1, "dev": 1, "test": 2, "testing": 2}
LABELS = ("labels", "label")
EXPORT = (
    'in Python: for number, row in enumerate(dataset): row["{column}"].save(f"{{number}}.png"), '
    "then list them in a table with their labels"
)


def matches(path: Path) -> bool:
    """Whether a folder is one of Hugging Face: metadata with file names, parquet of the hub, or save_to_disk's."""
    return is_folder(path)


def read(path: Path) -> Items:
    """Its items; a class that is named is relevant, the others are not, and null leaves all unknown.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "metadata.csv").write_text("file_name,label\\na.png,cat\\nb.png,dog\\nc.png,\\n")
    ...     items = read(Path(folder))
    >>> items.pictures, items.labels.taxonomy.names, items.labels.states().tolist()
    (['a.png', 'b.png', 'c.png'], ('cat', 'dog'), [[1, 0], [0, 1], [-1, -1]])
    """
    return _Reading(path, read_parts(path)).items()


class _Reading:
    def __init__(self, path: Path, parts: Sequence[Part]) -> None:
        self.path = path
        self.parts = sorted(  # train first
            (part for part in parts if len(part.rows)), key=lambda part: SPLITS.get(_part_name(part.rows.path, path), 0)
        )
        if not self.parts:
            raise RamifyError(f"{path}: the files have no rows: give one row for each item")
        self.places = [(part, row) for part in self.parts for row in range(len(part.rows))]
        self.columns = list(dict.fromkeys(name for part in self.parts for name in part.columns))
        self.notes: list[str] = []
        self.label = self._label_column()
        self.text = self._text_column()

    def items(self) -> Items:
        """All that was read."""
        pictures = [self._picture(part, row) for part, row in self.places]
        texts = self._column(self.text)
        inside = next((name for part in self.parts for name in part.pictures), None)
        if not any(pictures) and self.text is None:
            if inside is None:
                raise RamifyError(f"{self.path}: there is no column of texts: call it 'text'")
            raise RamifyError(
                f"{self.path}: its pictures lie inside the files, where Ramify does not read them: write them out "
                + EXPORT.format(column=inside)
            )
        if inside is not None:
            self.notes.append(f"the pictures inside the files, {inside!r}, are not read")
        labels, unlabelled = self._labels()
        split = self._split(pictures)
        ids = self._ids(pictures)
        former = [picture for picture in pictures if picture is not None]  # until ids were kept beside pictures
        used = {"id", FILE, self.label, self.text, inside}
        return Items(
            self._where,
            ids,
            [as_text(text) if isinstance(text, str) else None for text in texts],
            pictures,
            labels,
            tuple(name for name in self.columns if name not in used),
            unlabelled,
            split=split,
            notes=tuple(self.notes),
            former=tuple(former) if ids != former and len(set(former)) == len(ids) else (),
        )

    def _where(self, item: int, column: str | None = None) -> str:
        part, row = self.places[item]
        return part.rows.where(row, column)

    def _column(self, name: str | None) -> list[Any]:
        return [part.rows.columns[name][row] if name in part.rows.columns else None for part, row in self.places]

    # -- which column is what ----------------------------------------------------------------------------------------

    def _label_column(self) -> str:
        found = [name for name in LABELS if name in self.columns]
        found = found or list(dict.fromkeys(name for part in self.parts for name in part.names))
        if len(found) == 1 or (found and found[0] in LABELS):
            return found[0]
        several = f"{' and '.join(map(repr, found))} hold classes, and none is" if found else "no column is"
        raise RamifyError(f"{self.path}: {several} called 'label' or 'labels': name the one so that holds the labels")

    def _text_column(self) -> str | None:
        if "text" in self.columns:
            return "text"
        if FILE in self.columns:
            return None
        texts = [
            name
            for name in self.columns
            if name not in ("id", self.label) and any(isinstance(value, str) for value in self._column(name))
        ]
        if len(texts) != 1:
            return None
        self.notes.append(f"the texts are those of the only column of texts, {texts[0]!r}")
        return texts[0]

    def _picture(self, part: Part, row: int) -> str | None:
        if FILE not in part.rows.columns:
            return None
        name = part.rows.columns[FILE][row]
        if name is None and part.rows.path.name not in METADATA:  # a table, some of whose items have pictures
            return None
        if not isinstance(name, str) or is_empty(name):
            raise RamifyError(f"{part.rows.where(row, FILE)}: the name of the picture is missing: write it there")
        return (part.rows.path.parent.relative_to(self.path) / name.strip()).as_posix()

    def _ids(self, pictures: Sequence[str | None]) -> list[str]:
        if "id" in self.columns:
            given = [as_text(value) for value in self._column("id")]
            if None not in given and len(set(given)) == len(given):
                return [str(name) for name in given]
            called = "as their pictures are" if any(pictures) else "by their part and row"
            self.notes.append(f"the column 'id' is not unique, so items are called {called}")
        if any(pictures):
            ids = [str(picture) for picture in pictures]
            first: dict[str, int] = {}
            for item, name in enumerate(ids):
                if first.setdefault(name, item) != item:
                    before = self._where(first[name])
                    raise RamifyError(
                        f"{self._where(item, FILE)}: the picture {name!r} stands in {before} already: keep one"
                    )
            return ids
        counts: dict[str, int] = {}
        ids = []
        for part, _ in self.places:
            name = _part_name(part.rows.path, self.path)
            counts[name] = counts.get(name, 0) + 1
            ids.append(f"{name}/{counts[name]}" if name else str(counts[name]))
        return ids

    def _split(self, pictures: Sequence[str | None]) -> Any:
        """0, 1 or 2 where there are parts of several kinds."""
        names = [
            _part_name(part.rows.path, self.path) or (str(picture).partition("/")[0] if picture else "")
            for (part, _), picture in zip(self.places, pictures, strict=True)
        ]
        kinds = {name: SPLITS.get(name.lower()) for name in names}
        if len(set(kinds.values()) - {None}) < 2:
            return None
        self.notes.extend(
            f"the part {name!r} counts as train" for name, number in kinds.items() if number is None and name
        )
        return np.array([kinds[name] or 0 for name in names], np.uint8)

    # -- labels ------------------------------------------------------------------------------------------------------

    def _labels(self) -> tuple[Labels, int]:
        known = {tuple(part.names[self.label]) for part in self.parts if self.label in part.names}
        if len(known) > 1:
            raise RamifyError(
                f"{self.path}: its files name other classes for {self.label!r}: save them as one data set"
            )
        folders = dict.fromkeys(folder for part in self.parts for folder in (part.rows.path.parent, self.path))
        names = list(known.pop()) if known else declared(list(folders), self.columns, self.label)
        values = self._column(self.label)
        if not names and all(is_empty(value) for value in values):
            raise RamifyError(
                f"{self.path}: the column {self.label!r} is empty, and nothing names its classes: fill it"
            )
        try:
            labels, unlabelled, numbers = class_labels(values, names, lambda item: self._where(item, self.label))
        except RamifyError as error:  # of a place, or of the classes' names
            placed = str(error).startswith(str(self.path))
            raise error if placed else RamifyError(f"{self.path}, column {self.label!r}: {error}") from None
        if numbers:
            self.notes.append(f"nothing says what the numbers in {self.label!r} mean: they are the concepts' names")
        return labels, unlabelled


def _part_name(path: Path, root: Path) -> str:
    """What a file's name or its folders say of the part that it is: train, validation, test."""
    steps = [re.split(r"[-_.]", path.name)[0], *reversed(path.relative_to(root).parts[:-1])]
    known = next((step for step in steps if step.lower() in SPLITS), None)
    if known is not None:
        return known
    sharded = re.fullmatch(r"(.+)-\d{5}-of-\d{5}\.parquet", path.name)
    return sharded[1] if sharded else "" if path.name.startswith("metadata.") else path.relative_to(root).parent.name
