"""The classes of Open Images: their hierarchy, and the names that people read."""

import csv
import json
from collections import Counter
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from ramify.concepts import ARROW
from ramify.errors import RamifyError
from ramify.files import readable
from ramify.taxonomy import Taxonomy

__all__ = ["Classes"]

HIERARCHY, DESCRIPTIONS = "*hierarchy*.json", "*class-descriptions*.csv"
WHERE = "download it from the page of Open Images, and put it beside the labels"
ENTITY = "/m/0bl9f"  # above all others: it says nothing
TITLE = "LabelName"  # the first field of a header, where there is one


@dataclass(frozen=True)
class Classes:
    """The concepts of a folder of Open Images."""

    taxonomy: Taxonomy
    numbers: dict[str, int]
    """The concept of each label (``/m/01g317``)."""
    notes: tuple[str, ...] = ()

    @classmethod
    def beside(cls, folder: Path) -> "Classes":
        """From the hierarchy and the class descriptions in a folder."""
        hierarchy = _only(folder, HIERARCHY, "bbox_labels_600_hierarchy.json")[0]
        names: dict[str, str] = {}
        for path in _only(folder, DESCRIPTIONS, "class-descriptions.csv"):
            names = _names(path) | names
        return cls.of(hierarchy, _content(hierarchy), names)

    @classmethod
    def of(cls, path: Path, hierarchy: Any, names: dict[str, str]) -> "Classes":
        """A concept for each label that stands below another as its ``Subcategory``; parts (``Part``) are no kinds.

        >>> tree = {"LabelName": "/m/0bl9f", "Subcategory": [{"LabelName": "/m/a", "Part": [{"LabelName": "/m/b"}]}]}
        >>> classes = Classes.of(Path("hierarchy.json"), tree, {"/m/a": "Animal"})
        >>> print(classes.taxonomy, classes.numbers)
        Animal {'/m/a': 0}
        """
        parents: dict[str, str] = {}
        several: dict[str, None] = {}

        def walk(node: Any, parent: str) -> None:
            label = node.get("LabelName") if isinstance(node, dict) else None
            below = node.get("Subcategory", []) if isinstance(node, dict) else None
            if not isinstance(label, str) or not label or not isinstance(below, list):
                raise RamifyError(f"{path}: below {parent or 'the top'!r} stands what is no class: download it again")
            if label != ENTITY:
                if parents.setdefault(label, parent) != parent:
                    several[label] = None
                parent = label
            for child in below:
                walk(child, parent)

        try:
            walk(hierarchy, "")
        except RecursionError:
            raise RamifyError(f"{path}: the hierarchy is too deep: download it again") from None
        labels = list(parents)
        siblings = Counter((parent, names.get(label, label)) for label, parent in parents.items())
        shown = [
            f"{name} ({label})" if siblings[parents[label], name] > 1 else name
            for label, name in ((label, names.get(label, label)) for label in labels)
        ]
        place = {label: number for number, label in enumerate(labels)}
        try:
            taxonomy = Taxonomy.from_arrays(shown, [place.get(parents[label], -1) for label in labels])
        except RamifyError as error:
            raise RamifyError(f"{path}: {error}") from None
        paths: dict[str, str] = {"": ""}
        for label, name in zip(labels, shown, strict=True):  # each after its parent
            paths[label] = f"{paths[parents[label]]}{ARROW}{name}" if parents[label] else name
        named = ", ".join(repr(shown[place[label]]) for label in several)
        note = f"{len(several)} concepts have several parents and are kept under the first: {named}"
        return cls(taxonomy, {label: taxonomy.index(paths[label]) for label in labels}, (note,) if several else ())


def _only(folder: Path, pattern: str, example: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise RamifyError(f"{folder}: there is no {pattern} ({example}) in this folder: {WHERE}")
    return found


def _content(path: Path) -> Any:
    with readable(path) as file:
        content = file.read()
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise RamifyError(f"{path}: this is not valid JSON; it may be cut off: download it again") from None


def _names(path: Path) -> dict[str, str]:
    """The name of each label, where the file has a header or none."""
    names: dict[str, str] = {}
    with readable(path) as file:
        content = file.read()
    try:
        text = StringIO(content.decode("utf-8-sig"), newline="")
    except UnicodeDecodeError:
        raise RamifyError(f"{path}: this is not UTF-8: download it again") from None
    for number, row in enumerate(csv.reader(text), start=1):
        if not row or (number == 1 and row[0].strip() == TITLE):
            continue
        if len(row) != 2 or not row[0].strip() or not row[1].strip():
            raise RamifyError(f"{path}, row {number}: a row is a label and its name, such as /m/01g317,Person")
        names.setdefault(row[0].strip(), row[1].strip())
    return names
