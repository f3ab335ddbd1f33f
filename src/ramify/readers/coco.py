"""COCO's instances, also as other tools write them: supercategories over categories, an item for each image."""

import re
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from ramify.concepts import ARROW, HALF
from ramify.errors import RamifyError
from ramify.files import readable
from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.readers.classes import path_labels
from ramify.readers.items import Items
from ramify.readers.json_stream import Section, sections
from ramify.taxonomy import Index, Taxonomy

__all__ = ["matches", "read"]

HEAD = 1 << 14  # bytes that are looked at to tell the format
KEYS = re.compile(rb'"(images|annotations|categories)"\s*:\s*\[\s*[{\]]')
INSTANCES = "give the file of instances (instances_train2014.json, for example)"


def matches(path: Path) -> bool:
    """Whether this is a JSON file with lists of images, annotations or categories near its beginning.

    >>> matches(Path("items.csv"))
    False
    """
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with readable(path) as file:
        return KEYS.search(file.read(HEAD)) is not None


def read(path: Path) -> Items:
    """An item for each image, with every category that one of its annotations has; all others are irrelevant.

    An image without any annotation says nothing.

    >>> import json, tempfile
    >>> content = {
    ...     "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
    ...     "annotations": [{"image_id": 7, "category_id": 1}],
    ...     "categories": [{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 2, "name": "lamp"}],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "instances.json").write_text(json.dumps(content))
    ...     items = read(Path(folder, "instances.json"))
    >>> items.ids, items.pictures, items.labels.states(concepts=["animal", "cat", "lamp"]).tolist()
    (['7', '8'], ['a.jpg', 'b.jpg'], [[1, 1, 0], [-1, -1, -1]])
    """
    content = _Content(path)
    taxonomy, concepts = _taxonomy(path, content.categories)
    items, numbers = content.entries()
    labels, unlabelled = _labels(taxonomy, len(content.ids), items, concepts[numbers])
    return Items(
        lambda number: f"{path}, images, element {number + 1}",
        content.ids,
        [None] * len(content.ids),
        content.pictures,
        labels,
        unlabelled=unlabelled,
    )


class _Content:
    """What is needed of a file; its keys come in any order, so ids are numbered as they are first met."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: list[str] = []
        self.pictures: list[str | None] = []
        self.categories: list[dict[str, Any]] = []
        self.images: dict[str, int] = {}
        """A number for each id of an image that stands anywhere."""
        self.kinds: dict[str, int] = {}
        """The same for categories."""
        self.annotated = array("q"), array("q")
        """The numbers of the image and of the category of each annotation."""
        self.places: dict[str, dict[int, int]] = {"images": {}, "categories": {}}
        """Which element has which number."""
        take = {"images": self._image, "annotations": self._annotation, "categories": self._category}
        found: set[str] = set()
        for section in sections(path):
            if section.name not in take:
                continue
            found.add(section.name)
            if section.kind != "list":
                raise RamifyError(f"{path}, {section.name}: this must be a list of objects")
            for place, entry in section.entries:
                if not isinstance(entry, dict):
                    raise RamifyError(f"{section.where(place)}: this must be an object, not {entry!r:.40}")
                take[section.name](section, int(place), entry)
        if not self.categories:
            kind = "COCO's captions have none, for example" if found else "it may be of another kind"
            raise RamifyError(f"{path}: there are no categories in it ({kind}): {INSTANCES}")
        if not self.ids:
            raise RamifyError(f"{path}: there are no images in it: {INSTANCES}")
        if len(self.categories) == 1 and "keypoints" in self.categories[0]:
            name = self.categories[0].get("name")
            raise RamifyError(f"{path}: its only category is {name!r}, with keypoints: {INSTANCES}")

    def entries(self) -> tuple[Index, Index]:
        """The image and the category of each annotation, by their places."""
        places = []
        for what, numbers, known in zip(self.places, (self.images, self.kinds), self.annotated, strict=True):
            place = np.full(len(numbers), -1, np.intp)
            place[list(self.places[what])] = list(self.places[what].values())
            found = place[np.frombuffer(known, np.int64)] if len(known) else np.empty(0, np.intp)
            if (found < 0).any():
                element = int(np.flatnonzero(found < 0)[0])
                name = list(numbers)[known[element]]
                one = "image" if what == "images" else "category"
                raise RamifyError(
                    f"{self.path}, annotations, element {element + 1}: there is no {one} {name}: "
                    f"add it to {what}, or remove the annotation"
                )
            places.append(found)
        return places[0], places[1]

    def _image(self, section: Section, place: int, entry: dict[str, Any]) -> None:
        name = _id(section, place, entry, "id")
        self._number(section, place, name, self.images)
        picture = entry.get("file_name")
        if not isinstance(picture, str | None) or re.search(HALF, picture or ""):
            raise RamifyError(f"{section.where(place)}: {picture!r:.40} is no file_name: write it as text")
        self.ids.append(name)
        self.pictures.append(picture or None)

    def _category(self, section: Section, place: int, entry: dict[str, Any]) -> None:
        self._number(section, place, _id(section, place, entry, "id"), self.kinds)
        if not isinstance(entry.get("name"), str) or not isinstance(entry.get("supercategory"), str | None):
            raise RamifyError(f"{section.where(place)}: a category has a name and a supercategory, both texts")
        self.categories.append(entry)

    def _annotation(self, section: Section, place: int, entry: dict[str, Any]) -> None:
        images, kinds = self.annotated
        images.append(self.images.setdefault(_id(section, place, entry, "image_id"), len(self.images)))
        if "category_id" not in entry and "caption" in entry:
            raise RamifyError(f"{section.where(place)}: this is a caption, which has no category: {INSTANCES}")
        kinds.append(self.kinds.setdefault(_id(section, place, entry, "category_id"), len(self.kinds)))

    def _number(self, section: Section, place: int, name: str, numbers: dict[str, int]) -> None:
        """Note where the one of this id stands."""
        places, number = self.places[section.name], numbers.setdefault(name, len(numbers))
        if number in places:
            twice = f"the id {name} stands in element {places[number] + 1} already"
            raise RamifyError(f"{section.where(place)}: {twice}: ids must be unique")
        places[number] = place - 1


def _id(section: Section, place: int, entry: dict[str, Any], key: str) -> str:
    """An id as text; the whole numbers of COCO, or the texts and the numbers with a point of other tools."""
    value = entry.get(key)
    if type(value) is int:
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and value.strip() and not re.search(HALF, value):
        return value
    wrong = f"there is no {key}" if key not in entry else f"{value!r:.40} is no {key}"
    raise RamifyError(f"{section.where(place)}: {wrong}: ids are whole numbers or texts")


def _taxonomy(path: Path, categories: list[dict[str, Any]]) -> tuple[Taxonomy, Index]:
    """The concepts, and which of them each category is.

    A category without a supercategory is a coarse concept by itself; where others name it as theirs, it is that one,
    which then may stand alone, so that its children are not exhaustive. A supercategory may be a path, ``a > b``.
    """
    tree: dict[str, Any] = {}
    paths: dict[tuple[str, ...], int] = {}
    for place, category in enumerate(categories, start=1):
        name, above = category["name"].strip(), (category.get("supercategory") or "").strip()
        steps = (name,) if above.lower() in ("", "none") else (*above.split(ARROW), name)
        if paths.setdefault(steps, place) != place:
            twice = f"the category {name!r} stands in element {paths[steps]} already"
            raise RamifyError(f"{path}, categories, element {place}: {twice}: rename one, or make them one")
        below = tree
        for step in range(1, len(steps) + 1):
            body = below.setdefault(steps[step - 1], {"children": {}, "exhaustive": False})
            body["exhaustive"] |= step < len(steps)
            below = body["children"]
    for steps in paths:
        _at(tree, steps)["exhaustive"] = False
    try:
        taxonomy = Taxonomy(tree)
    except RamifyError as error:
        raise RamifyError(f"{path}, categories: {error}") from None
    return taxonomy, taxonomy.indices([ARROW.join(steps) for steps in paths])


def _at(tree: dict[str, Any], steps: tuple[str, ...]) -> dict[str, Any]:
    """What the tree says of the concept at the end of a path."""
    body: dict[str, Any] = {"children": tree}
    for name in steps:
        body = body["children"][name]
    return body


def _labels(taxonomy: Taxonomy, n_items: int, items: Index, concepts: Index) -> tuple[Labels, int]:
    """What is said of items whose concepts are listed in full, and how many items list none, which says nothing."""
    said = np.zeros((n_items, len(taxonomy)), np.int8)
    said[items, concepts] = RELEVANT
    silent = ~said.any(axis=1)
    said[silent] = UNKNOWN
    return path_labels(taxonomy, np.arange(len(taxonomy)), said), int(silent.sum())
