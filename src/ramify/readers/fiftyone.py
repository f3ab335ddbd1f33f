"""FiftyOne's ``labels.json``: classes side by side, and for each picture one of them, several, or nothing."""

import re
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ramify.concepts import HALF
from ramify.errors import RamifyError
from ramify.files import readable
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.readers.classes import nested, path_labels
from ramify.readers.items import Items
from ramify.readers.json_stream import Section, sections
from ramify.taxonomy import Index, Taxonomy

__all__ = ["matches", "read"]

NAME = "labels.json"
PICTURES = "data"
HEAD = 1 << 12  # bytes that are looked at to tell the format
BEGINNING = re.compile(rb'\A(\xef\xbb\xbf)?\s*\{\s*("classes"\s*:\s*(null|\[)|"labels"\s*:\s*\{)')


def matches(path: Path) -> bool:
    """Whether this is a JSON file that begins with classes or labels, or a folder with such a ``labels.json``.

    >>> matches(Path("items.csv"))
    False
    """
    file = path / NAME if path.is_dir() else path
    if file.suffix.lower() != ".json" or not file.is_file():
        return False
    with readable(file) as opened:
        return BEGINNING.match(opened.read(HEAD)) is not None


def read(path: Path) -> Items:
    """An item for each label; its picture is the file of its name in the folder ``data`` beside.

    Classes that a target does not name are irrelevant. ``null`` says nothing, and neither does what a machine said: a
    label with a confidence below 1.

    >>> import json, tempfile
    >>> content = {"classes": ["cat", "dog"], "labels": {"a": 0, "b": [0, 1], "c": None}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "labels.json").write_text(json.dumps(content))
    ...     items = read(Path(folder))
    >>> items.ids, items.labels.states().tolist(), items.notes
    (['a', 'b', 'c'], [[1, 0], [1, 1], [-1, -1]], ('3 items have no picture in the folder data',))
    """
    path = path / NAME if path.is_dir() else path
    content = _Content(path)
    taxonomy, numbers = content.taxonomy()
    states = content.states(len(numbers))
    ids, files = content.ids, _files(path.parent / PICTURES)
    pictures = [files.get(name) for name in ids]
    without = pictures.count(None)
    notes = [f"{content.machine_made} labels have a confidence below 1: a machine made them, so they say nothing"]
    lost = f"{without} items have no picture in the folder {PICTURES}"
    return Items(
        lambda number: f"{path}, labels, {ids[number]!r}",
        ids,
        [None] * len(ids),
        pictures,
        path_labels(taxonomy, numbers, states),
        unlabelled=int((states == UNKNOWN).all(axis=1).sum()),
        notes=(*(notes if content.machine_made else ()), *([lost] if without else ())),
    )


class _Content:
    """What a file says; the classes may come after the labels, so labels are kept as numbers until the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.classes: dict[str, int] = {}
        self.texts: dict[str, int] = {}
        self.ids: list[str] = []
        self.truth: list[bool] = []
        """Whether a person said what each item shows."""
        self.said = array("q"), array("q"), array("b")
        """For each label its item, its class (-1, -2, ... for a text), and whether a person said it."""
        self.machine_made = 0
        found = False
        for section in sections(path):
            if section.name == "classes":
                self._take_classes(section)
            if section.name == "labels":
                found = True
                if section.kind != "object":
                    raise RamifyError(f"{path}, labels: this must be an object with a target for each id")
                for name, target in section.entries:
                    self._take(section, str(name), target)
        if not found or not self.ids:
            raise RamifyError(f'{path}: there are no labels in it: they stand in "labels", a target for each id')

    def _take_classes(self, section: Section) -> None:
        for place, name in section.entries:
            if section.kind == "value" and name is None:
                continue
            if section.kind != "list" or not isinstance(name, str):
                raise RamifyError(f"{section.where(place)}: classes are a list of texts")
            if self.classes.setdefault(name.strip(), len(self.classes)) != int(place) - 1:
                raise RamifyError(f"{section.where(place)}: the class {name!r} stands twice: keep one")

    def _take(self, section: Section, name: str, target: Any) -> None:
        if not name.strip() or re.search(HALF, name):
            raise RamifyError(f"{section.where(name)}: this is no id: give every picture its own")
        sure = isinstance(target, list) and not target
        for label in target if isinstance(target, list) else [] if target is None else [target]:
            known = self._label(section, name, label)
            if known is not None:
                sure |= known
        self.ids.append(name)
        self.truth.append(sure)

    def _label(self, section: Section, name: str, label: Any) -> bool | None:
        """Keep one label; returns whether a person said it, None where there is none."""
        confidence = None
        if isinstance(label, dict):
            label, confidence = label.get("label"), label.get("confidence")
            if label is None:
                return None
        if isinstance(label, str) and label.strip():
            number = -1 - self.texts.setdefault(label.strip(), len(self.texts))
        elif type(label) is int and 0 <= label < 1 << 62:
            number = label
        else:
            raise RamifyError(f"{section.where(name)}: {label!r:.40} is no label: write a class, its number, or null")
        if confidence is not None and not (type(confidence) in (int, float) and 0 <= confidence <= 1):
            raise RamifyError(f"{section.where(name)}: {confidence!r:.40} is no confidence: write 0 to 1, or null")
        sure = confidence is None or confidence == 1
        self.machine_made += not sure
        for values, value in zip(self.said, (len(self.ids), number, sure), strict=True):
            values.append(value)
        return sure

    def taxonomy(self) -> tuple[Taxonomy, Index]:
        """The concepts that the classes are; where the file lists none, the texts that it says."""
        try:
            return nested(self.classes or self.texts)
        except RamifyError as error:
            raise RamifyError(f"{self.path}, {'classes' if self.classes else 'labels'}: {error}") from None

    def states(self, n_classes: int) -> NDArray[np.int8]:
        """What is known of every item and class."""
        items, numbers = (np.array(values, np.intp) for values in self.said[:2])
        sure = np.array(self.said[2], np.bool_)
        names = self.classes or self.texts
        of_text = np.array([names.get(text, -1) for text in self.texts], np.intp)
        places = numbers.copy()
        places[numbers < 0] = of_text[-1 - numbers[numbers < 0]]
        listed = len(self.classes) if self.classes else 0
        wrong = np.flatnonzero((places < 0) | ((numbers >= listed) & (numbers >= 0)))
        if len(wrong):
            number = int(numbers[wrong[0]])
            label = repr(list(self.texts)[-1 - number]) if number < 0 else str(number)
            there = f"there are {listed}, numbered from 0" if listed else 'the file lists none in "classes"'
            raise RamifyError(f"{self.path}, labels, {self.ids[items[wrong[0]]]!r}: {label} is no class: {there}")
        states = np.full((len(self.ids), n_classes), UNKNOWN, np.int8)
        states[self.truth] = IRRELEVANT
        states[items[~sure], places[~sure]] = UNKNOWN
        states[items[sure], places[sure]] = RELEVANT
        return states


def _files(folder: Path) -> dict[str, str]:
    """The pictures of a folder and those below it, by their paths in it with and without the ending."""
    endings = {ending for ending, kind in Image.registered_extensions().items() if kind in Image.OPEN}
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in endings:
            within, whole = path.relative_to(folder), path.relative_to(folder.parent).as_posix()
            found.setdefault(within.with_suffix("").as_posix(), whole)
            found[within.as_posix()] = whole
    return found
