"""Label Studio's JSON export: a list of tasks with annotations of several people; the labelling config beside it."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from ramify.errors import RamifyError
from ramify.files import readable
from ramify.label_config import Choice, Control, read_config
from ramify.labels import UNKNOWN, Labels
from ramify.readers.annotations import Annotation
from ramify.readers.guessing import guess_layout
from ramify.readers.items import Items
from ramify.readers.json_stream import elements
from ramify.readers.label_studio_tasks import Choices, Chosen, item_name, read_annotation, read_chosen
from ramify.readers.rows import Rows
from ramify.taxonomy import Taxonomy

__all__ = ["matches", "read"]

HEAD = 1 << 14  # bytes that are looked at to tell the format
LIST = re.compile(rb"\A(\xef\xbb\xbf)?\s*\[\s*\{")
KEYS = re.compile(rb'"(annotations|predictions)"\s*:\s*\[|"data"\s*:\s*\{|"annotation_id"\s*:')
TEXTS, PICTURES = ("Text", "HyperText", "Paragraphs"), ("Image",)


def matches(path: Path) -> bool:
    """Whether this is a JSON file that is a list of tasks, as far as its beginning tells.

    >>> matches(Path("items.csv"))
    False
    """
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with readable(path) as file:
        head = file.read(HEAD)
    return LIST.match(head) is not None and KEYS.search(head) is not None


def read(path: Path) -> Items:
    """An item for each task. What is chosen in a Taxonomy or Choices is relevant, what was offered beside it is not.

    The labelling config, saved beside the file with the ending .xml, says what was offered; without one it is what
    anybody chose. Predictions say nothing, and neither do annotations that were cancelled.

    >>> import json, tempfile
    >>> result = [{"from_name": "k", "to_name": "t", "type": "choices", "value": {"choices": ["cat"]}}]
    >>> tasks = [
    ...     {"id": 1, "data": {"t": "purrs"}, "annotations": [{"result": result, "completed_by": 3}]},
    ...     {"id": 2, "data": {"t": "barks"}, "annotations": []},
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tasks.json").write_text(json.dumps(tasks))
    ...     items = read(Path(folder, "tasks.json"))
    >>> items.ids, items.texts, [(said.annotator, said.values) for said in items.annotations]
    (['1', '2'], ['purrs', 'barks'], [('label-studio 3', {0: 1})])
    """
    content = _Content(path)
    config = path.with_suffix(".xml")
    control = _config(config) if config.is_file() else content.control()
    taxonomy = Taxonomy(control.tree())
    annotations, notes = content.annotations(Choices.of(control, taxonomy))
    if not config.is_file():
        notes.append(
            f"what was offered is only known from what anybody chose: save the labelling config as {config} to be sure"
        )
    texts, pictures, ignored, elsewhere = content.shown(control)
    if elsewhere:
        first = next(iter(elsewhere.values()))
        notes.append(
            f"{len(elsewhere)} pictures lie at addresses, from which nothing is fetched: they are looked for as "
            f"{first!r} and so on, in the folder that --images names"
        )
    return Items(
        lambda number: f"{path}, element {number + 1}",
        content.ids,
        texts,
        pictures,
        Labels(taxonomy, np.full((len(content.ids), len(taxonomy.roots)), UNKNOWN, np.int8)),
        ignored=ignored,
        notes=tuple(notes),
        annotations=annotations,
    )


def _config(path: Path) -> Control:
    try:
        return read_config(path.read_bytes())
    except RamifyError as error:
        raise RamifyError(f"{path}: {error}") from None


class _Content:
    """What is needed of the tasks of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: list[str] = []
        self.data: list[dict[str, Any]] = []
        self.said: list[tuple[int, dict[str, Any], Any]] = []
        """The number of the item, the task, without its lists, and the annotation, of each."""
        self.predictions = 0
        places: dict[str, int] = {}
        annotated: dict[int | str, int] = {}
        for place, task in elements(path):
            where = f"{path}, element {place}"
            if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
                raise RamifyError(f"{where}: {_no_task(task)}")
            name = item_name(task)
            if name is None:
                raise RamifyError(f"{where}: the task has no id: give every task its own, or an id in its data")
            if places.setdefault(name, place) != place:
                raise RamifyError(
                    f"{where}: the id {name!r} stands in element {places[name]} already: ids must be unique"
                )
            for key in ("annotations", "predictions"):
                if not isinstance(task.get(key, []), list):
                    raise RamifyError(f"{where}: its {key} must be a list")
            for own in (said.get("id") for said in task.get("annotations", []) if isinstance(said, dict)):
                if isinstance(own, int | str) and annotated.setdefault(own, place) != place:
                    raise RamifyError(
                        f"{where}: the annotation {own} stands in element {annotated[own]} already, so one would "
                        "replace the other: give the exports of several Label Studios one after the other"
                    )
            self.predictions += bool(task.get("predictions"))
            about = {key: task[key] for key in ("id", "project") if key in task} | {"data": {"id": name}}
            self.said += [(len(self.ids), about, annotation) for annotation in task.get("annotations", [])]
            self.ids.append(name)
            self.data.append(task["data"])
        if not self.ids:
            raise RamifyError(f"{path}: there are no tasks in it: export all tasks as JSON")

    def where(self, item: int) -> str:
        """How an error names what stands in a task's annotations."""
        return f"{self.path}, element {item + 1}, annotations"

    def control(self) -> Control:
        """What was chosen from, by what anybody chose."""
        tree: dict[str, Any] = {}
        controls: dict[str, Chosen] = {}
        for item, _, annotation in self.said:
            results = annotation.get("result") or [] if isinstance(annotation, dict) else []
            for chosen in read_chosen(results, self.where(item)):
                if chosen is None:
                    continue
                controls.setdefault(chosen.control, chosen)
                for path in chosen.paths:
                    below = tree
                    for step in path:
                        below = below.setdefault(step, {})
        if len(controls) > 1:
            raise RamifyError(
                f"{self.path}: several controls were chosen from ({', '.join(map(repr, controls))}): save the "
                f"labelling config, with only the one that is meant, as {self.path.with_suffix('.xml')}"
            )
        if not tree:
            raise RamifyError(
                f"{self.path}: no annotation chooses anything, so nothing names concepts: save the labelling config as "
                f"{self.path.with_suffix('.xml')}"
            )
        first = next(iter(controls.values()))
        return Control(first.control, first.about, first.kind, _choices(tree))

    def annotations(self, choices: Choices) -> tuple[tuple[Annotation, ...], list[str]]:
        """What people say, and sentences on what is left out."""
        read, others, cancelled = [], 0, 0
        for item, task, said in self.said:
            annotation, left = read_annotation(said, task, item, choices, self.where(item))
            others += left
            if annotation.values:
                read.append(annotation)
            elif isinstance(said, dict) and said.get("was_cancelled") is True:
                cancelled += 1
        silent = len(self.ids) - len({annotation.item for annotation in read})
        named = {annotation.annotator for annotation in read if not annotation.is_imported} - {""}
        told = "what was offered and not chosen is taken for no, unless you say --partial"
        notes = [
            *([f"{len(read)} annotations of {len(named)} people: {told}"] if read else []),
            *([f"{silent} tasks have no annotation that says anything"] if silent else []),
            *([f"{cancelled} annotations were cancelled, so they say nothing"] if cancelled else []),
            *([f"{others} results are of other kinds or controls, and left out"] if others else []),
            *([f"{self.predictions} tasks have predictions, which say nothing"] if self.predictions else []),
        ]
        return tuple(read), notes

    def shown(self, control: Control) -> tuple[list[str | None], list[str | None], tuple[str, ...], dict[int, str]]:
        """Texts and pictures of all items, the keys that are neither, and the pictures that lie at addresses."""
        keys = dict.fromkeys(key for data in self.data for key in data)
        columns = {key: [data.get(key) for data in self.data] for key in keys}
        scalar = {
            key: [_place(value) if isinstance(value, str) else value for value in values]
            for key, values in columns.items()
            if not any(isinstance(value, dict | list) for value in values)
        }
        if control.shown:
            of = {tag: key for key, tag in reversed(control.shown.items())}
            text = next((of[tag] for tag in TEXTS if tag in of), None)
            picture = next((of[tag] for tag in PICTURES if tag in of), None)
        else:
            layout = guess_layout(Rows(self.path, {k: v for k, v in scalar.items() if k != "id"}, range(len(self.ids))))
            text, picture = layout.text, layout.picture
            written = [key for key in scalar if key not in ("id", picture) and _written(columns[key])]
            text = written[0] if text is None and picture is None and len(written) == 1 else text
        nothing: list[str | None] = [None] * len(self.ids)
        texts = nothing if text is None else [_text(value) for value in columns.get(text, nothing)]
        files = nothing if picture is None else [_text(value) for value in columns.get(picture, nothing)]
        elsewhere = {n: _place(file) for n, file in enumerate(files) if file is not None and urlsplit(file).netloc}
        ignored = tuple(key for key in keys if key not in ("id", text, picture))
        return texts, [None if file is None else _place(file) for file in files], ignored, elsewhere


def _choices(tree: dict[str, Any]) -> list[Choice]:
    return [Choice(name, None, "", _choices(below)) for name, below in tree.items()]


def _no_task(task: Any) -> str:
    if isinstance(task, dict) and "annotation_id" in task:
        return "this is Label Studio's JSON-MIN, which lacks what was offered: export as JSON instead"
    return 'this is no task such as {"data": {"text": "..."}, "annotations": [...]}'


def _written(values: list[Any]) -> bool:
    return any(isinstance(value, str) and value.strip() for value in values)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _place(value: str) -> str:
    """Where a picture lies: in a folder that mirrors the storage, or Label Studio's own.

    >>> _place("/data/local-files/?d=val/a%20b.jpg"), _place("s3://bucket/val/a.jpg"), _place("/data/upload/1/a.jpg")
    ('val/a b.jpg', 'val/a.jpg', 'upload/1/a.jpg')
    """
    try:
        parts = urlsplit(value)
    except ValueError:
        return value
    if parts.path.startswith("/data/local-files"):
        return parse_qs(parts.query).get("d", [value])[0]
    if parts.netloc and parts.scheme:
        return unquote(parts.path).lstrip("/")
    return value.removeprefix("/data/") if value.startswith("/data/") else value
