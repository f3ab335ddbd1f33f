"""What tasks of Label Studio say, in files and in requests: which item each is, and what its annotations choose."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ramify.concepts import ARROW, DEEPEST, HALF
from ramify.embed.base import digest
from ramify.errors import RamifyError
from ramify.label_config import Control
from ramify.labels import IRRELEVANT, RELEVANT
from ramify.readers.annotations import Annotation, Mark, is_mark
from ramify.taxonomy import Taxonomy

__all__ = ["NAME", "Choices", "Chosen", "annotator_of", "content_of", "item_name", "read_annotation", "read_chosen"]

NAME = "label-studio"  # what the names of annotations, and of people without an address, begin with
KINDS = ("taxonomy", "choices")
LONGEST = 3600.0  # seconds that an annotation may have taken


class Chosen(NamedTuple):
    """What a result chooses, as tasks say it."""

    control: str
    """The name of the control, ``from_name``."""
    about: str
    kind: str
    paths: list[tuple[str, ...]]


def item_name(task: Mapping[str, Any]) -> str | None:
    """The id of a task's item: the one in its data, where there is one, else the task's own.

    >>> item_name({"id": 7, "data": {"id": "a", "text": "one"}}), item_name({"id": 7, "data": {"text": "one"}})
    ('a', '7')
    """
    data = task.get("data")
    for name in (data.get("id") if isinstance(data, dict) else None, task.get("id")):
        if (type(name) is int or isinstance(name, str)) and str(name).strip() and not re.search(HALF, str(name)):
            return str(name)
    return None


def read_chosen(results: Any, where: str) -> Iterator[Chosen | None]:
    """What each result of an annotation chooses; None for one of another kind, such as a region."""
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise RamifyError(f"{where}: its result must be a list of objects")
    for result in results:
        kind, value = result.get("type"), result.get("value")
        if kind not in KINDS or not isinstance(value, dict):
            yield None
            continue
        listed = value.get(kind)
        paths = [[step] if isinstance(step, str) else step for step in listed] if isinstance(listed, list) else [[]]
        if not all(isinstance(path, list) and path and all(isinstance(step, str) for step in path) for path in paths):
            raise RamifyError(f"{where}: {listed!r:.60} are no {kind}: they are a list of names, or of paths of names")
        if max(map(len, paths), default=0) > DEEPEST:
            raise RamifyError(f"{where}: a choice is more than {DEEPEST} levels deep: make the taxonomy flatter")
        control, about = (str(result.get(key, "")) for key in ("from_name", "to_name"))
        yield Chosen(control, about, kind, [tuple(step.strip() for step in path) for path in paths])


@dataclass(frozen=True)
class Choices:
    """What a control offers, as concepts of a taxonomy."""

    control: Control
    concepts: dict[tuple[str, ...], int]
    """The concept of each choice, by its path as tasks say it."""

    @classmethod
    def of(cls, control: Control, taxonomy: Taxonomy) -> "Choices":
        """By the path of each choice; where none has others inside, also by its name, whatever that is part of.

        Refused where the taxonomy has no such concept, or one concept is meant twice.
        """
        concepts: dict[tuple[str, ...], int] = {}
        paths, missing = control.paths(), []
        flat = all(len(called) == 1 for called in paths.values())
        for said, called in paths.items():
            meant = taxonomy.called(ARROW.join(called))
            if len(meant) == 1 and (flat or taxonomy.ancestors(meant[0]).size == len(called) - 1):
                concepts[said] = meant[0]
            else:
                missing.append(ARROW.join(called))
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise RamifyError(
                f"the labelling config has {missing[0]!r}{more}, which this project's taxonomy has not: use the config "
                "that `ramify export --format label-studio` writes"
            )
        first: dict[int, tuple[str, ...]] = {}
        for said, concept in concepts.items():
            if first.setdefault(concept, said) != said:
                both = " and ".join(repr(ARROW.join(paths[path])) for path in (first[concept], said))
                raise RamifyError(f"the labelling config has {both}, which are one concept of this project: keep one")
        return cls(control, concepts)

    def paths(self) -> dict[int, tuple[str, ...]]:
        """The path of each concept, as tasks say it."""
        return {concept: said for said, concept in self.concepts.items()}

    def values(self, chosen: Iterable[tuple[str, ...]], where: str) -> dict[int, int]:
        """What somebody says who was offered all and chose these: 1 or 0, by concept.

        Chosen is also what lies above. What was offered beside it is not chosen, and so denied; what lies below a
        choice of which nothing finer was chosen stays unknown.

        >>> from ramify.label_config import Choice
        >>> animal = Choice("animal", None, "", [Choice(name, None, "", []) for name in ("cat", "dog")])
        >>> control = Control("kind", "text", "taxonomy", [animal, Choice("food", None, "", [])])
        >>> choices = Choices.of(control, Taxonomy(control.tree()))
        >>> choices.values([("animal", "cat")], "here"), choices.values([("animal",)], "here")
        ({3: 1, 0: 1, 1: 0, 2: 0}, {3: 1, 2: 0})
        """
        marked: dict[tuple[str, ...], None] = {}
        for path in chosen:
            if path not in self.concepts:
                raise RamifyError(
                    f"{where}: the choice {ARROW.join(path)!r} is not in the labelling config: use the config that it "
                    "was made with"
                )
            marked.update(dict.fromkeys(path[:length] for length in range(1, len(path) + 1)))
        levels = {(), *(path[:-1] for path in marked)}
        values = {self.concepts[path]: RELEVANT for path in marked}
        for path, concept in self.concepts.items():
            if path[:-1] in levels and path not in marked:
                values.setdefault(concept, IRRELEVANT)
        return values


def read_annotation(
    said: Any, task: Mapping[str, Any], item: int, choices: Choices, where: str
) -> tuple[Annotation, int]:
    """An annotation about an item, without values where it was cancelled; and how many results are of other kinds."""
    if not isinstance(said, dict):
        raise RamifyError(f"{where}: an annotation must be an object, not {said!r:.40}")
    found = list(read_chosen(said.get("result") or [], where))
    own = [part for part in found if part is not None and part.control in (choices.control.name, "")]
    values = choices.values([path for part in own for path in part.paths], where)
    if said.get("was_cancelled") is True or (found and not own):  # regions alone say nothing of the whole
        values = {}
    annotator, seconds, settles = annotator_of(said, where), said.get("lead_time"), said.get("ground_truth") is True
    timed = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= LONGEST
    annotation = Annotation(
        item,
        annotator,
        values,
        _name(said, task, annotator),
        _version(said, values),
        settles=settles,
        seconds=float(seconds) if timed and seconds is not None else None,
        mark=_mark(said, content_of(item_name(task), settles, [path for part in own for path in part.paths])),
    )
    return annotation, len(found) - len(own)


def content_of(item: str | None, settles: bool, paths: Iterable[Sequence[str]]) -> str:
    """What an annotation says, as a mark has it: the same in whatever order it chooses.

    >>> content_of("a", False, [("x", "y"), ("z",)]) == content_of("a", False, [["z"], ["x", "y"]])
    True
    """
    return digest(str(item), str(settles), *sorted({ARROW.join(path) for path in paths}))


def _mark(said: Mapping[str, Any], content: str) -> Mark | None:
    """What a project wrote as its id: Label Studio gives it a number of its own, and keeps that beside it."""
    for number in (said.get("id"), said.get("import_id")):
        if isinstance(number, int) and is_mark(number):
            return Mark(number, content)
    return None


def annotator_of(annotation: Mapping[str, Any], where: str) -> str:
    """Who made an annotation: an e-mail address, a name, or the number of a user; empty where nothing tells.

    >>> annotator_of({"completed_by": {"id": 3, "email": "ada@example.com"}}, "here"), annotator_of({}, "here")
    ('ada@example.com', '')
    >>> annotator_of({"completed_by": 3}, "here")
    'label-studio 3'
    """
    who = annotation.get("completed_by")
    who = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
    who = annotation.get("created_username") if who is None else who
    if who is None or who == "":
        return ""
    name = f"{NAME} {who}" if type(who) is int else who
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name.strip()) > 100:
        raise RamifyError(f"{where}: {who!r:.40} is nobody's name: completed_by is a user's number or e-mail address")
    return name.strip()


def _name(said: Mapping[str, Any], task: Mapping[str, Any], annotator: str) -> str:
    """By project, number and what is unique of it: two servers number theirs alike."""
    number, project = said.get("id"), said.get("project", task.get("project"))
    if type(number) is not int or is_mark(number):  # as a project wrote it: the mark changes with what is said
        return f"{NAME} -/- {digest(str(item_name(task)), annotator)}"
    unique = re.sub(r"[^0-9a-f]", "", str(said.get("unique_id") or ""))[:8]
    return f"{NAME} {project if type(project) is int else '-'}/{number} {unique or '-'}"


def _version(said: Mapping[str, Any], values: Mapping[int, int]) -> str:
    try:
        at = datetime.fromisoformat(str(said.get("updated_at")))
        return (at.replace(tzinfo=at.tzinfo or UTC)).astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return f"#{digest(*(f'{concept} {value}' for concept, value in sorted(values.items())))}"
