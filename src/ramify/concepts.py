"""Concepts: the nodes of a taxonomy, and how a forest of them is read from nested mappings and files."""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import normalize

import yaml

from ramify.errors import RamifyError
from ramify.label_config import read_config

ARROW = " > "  # between the names of a path; hence no name may contain ">"
HALF = r"[\ud800-\udfff]"  # of a character: what a file in UTF-8 cannot hold
UNNAMEABLE: dict[str, str] = {
    HALF: "holds half of a character (\\ud...): mend it",
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]": "holds a line break or another control character: rename it",
    ">": "contains '>', which separates the names of a path: rename it",
    ";": "contains ';', which separates the names of a list: rename it",
    r"^\s|\s$": "begins or ends with a space, which tables are read without: remove it",
}
"""What no name may hold, because a table or a path could then never name the concept, and the words for it."""
DEEPEST = 100
MOST_REPEATED = 100_000  # nodes that a YAML file may stand for by its aliases
TOO_DEEP = f"the taxonomy is more than {DEEPEST} levels deep: make it flatter"
ATTRIBUTES = ("children", "description", "aliases", "exhaustive", "index")


@dataclass(frozen=True)
class Concept:
    """One node: its name, the index of its parent (-1 for a root), and what the user said about it."""

    name: str
    """Unique among its siblings."""
    parent: int = -1
    """The position of its parent among all concepts; -1 for a root."""
    description: str = ""
    """What it means, shown to those who answer."""
    aliases: tuple[str, ...] = ()
    """Other names by which files may call it."""
    exhaustive: bool = False
    """Whether an item of this concept always has one of its children, at least."""


def check_forest(concepts: Sequence[Concept]) -> None:
    """Refuse what is not a forest of named concepts, with one clear sentence."""
    if not concepts:
        raise RamifyError("the taxonomy is empty: give at least one concept")
    for number, concept in enumerate(concepts):
        if not concept.name.strip():
            raise RamifyError(f"concept number {number} has an empty name: give every concept a name")
        _check_text(f"the name {concept.name!r}", concept.name)
        if not -1 <= concept.parent < len(concepts):
            raise RamifyError(
                f"the concept {concept.name!r} has the unknown parent {concept.parent}: "
                f"parents are -1 (none) or 0 to {len(concepts) - 1}"
            )
    _check_depth(concepts)
    seen: set[tuple[int, str]] = set()
    for concept in concepts:
        if (concept.parent, concept.name) in seen:
            where = f"under {concepts[concept.parent].name!r}" if concept.parent >= 0 else "among the roots"
            raise RamifyError(f"the concept {concept.name!r} stands twice {where}: remove or rename one")
        seen.add((concept.parent, concept.name))
    taken = {concept.name: f"the name of {concept.name!r}" for concept in concepts}
    for concept in concepts:
        if re.search(HALF, concept.description):
            raise RamifyError(f"the description of {concept.name!r} {UNNAMEABLE[HALF]}")
        for alias in concept.aliases:
            _check_text(f"the alias {alias!r} of {concept.name!r}", alias)
            if alias in taken:
                raise RamifyError(
                    f"the alias {alias!r} of {concept.name!r} is {taken[alias]} too: aliases must be unique"
                )
            taken[alias] = f"an alias of {concept.name!r}"


ALIKE = "are read as one name, since letters' case, spaces, '_' and '-' do not count"


def check_apart(concepts: Sequence[Concept]) -> None:
    """Refuse siblings that files could mean by one name; only of new taxonomies, since older projects may have them."""
    first: dict[tuple[int, str], str] = {}
    for concept in concepts:
        other = first.setdefault((concept.parent, loose_name(concept.name)), concept.name)
        if other != concept.name:
            where = f"under {concepts[concept.parent].name!r}" if concept.parent >= 0 else "among the roots"
            raise RamifyError(
                f"the concepts {other!r} and {concept.name!r} {where} {ALIKE}: rename one, or make them one"
            )


def _check_text(what: str, name: str) -> None:
    for wrong, said in UNNAMEABLE.items():
        if re.search(wrong, name):
            raise RamifyError(f"{what} {said}")


def _check_depth(concepts: Sequence[Concept]) -> None:
    """Refuse circles, and more levels than anybody needs (or than recursion over the tree could stand)."""
    level = {-1: 0}
    for start in range(len(concepts)):
        walked: list[int] = []
        number = start
        while number not in level:
            if number in walked:
                names = ARROW.join(concepts[step].name for step in [number, *reversed(walked[walked.index(number) :])])
                raise RamifyError(f"the taxonomy goes round in a circle, {names}: remove one of these parents")
            if len(walked) == DEEPEST:
                raise RamifyError(TOO_DEEP)
            walked.append(number)
            number = concepts[number].parent
        for step in reversed(walked):
            level[step] = level[concepts[step].parent] + 1
        if level[start] > DEEPEST:
            raise RamifyError(TOO_DEEP)


@lru_cache(1 << 16)  # siblings are compared over and over
def loose_name(name: str) -> str:
    """A name, or a path, without what people write one way or another.

    >>> loose_name("Animal>Teddy_Bear")
    'animal > teddy bear'
    >>> len("a\u0308"), len(loose_name("a\u0308"))  # an accent of its own, as some file systems write it
    (2, 1)
    """
    whole = normalize("NFC", name).casefold()
    steps = re.sub(r"(?<=\w)[-_](?=\w)", " ", whole).split(ARROW.strip())  # "-dog" denies the dog
    return ARROW.join(" ".join(step.split()) for step in steps)


def check_template(template: object) -> str:
    """A text that the names of concepts are put into.

    >>> check_template("a photo of a {}")
    'a photo of a {}'
    >>> check_template("a photo")
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: the template 'a photo' has no {} where the concept's name goes: add it
    """
    if not isinstance(template, str):
        raise RamifyError(f"a template is text with {{}} where the concept's name goes, not {_kind(template)}")
    if "{}" not in template:
        raise RamifyError(f"the template {template!r} has no {{}} where the concept's name goes: add it")
    if template.count("{}") > 1:
        raise RamifyError(f"the template {template!r} has more than one {{}}: the concept's name goes in one place")
    return template


def take_templates(tree: Any) -> tuple[Any, list[str] | None]:
    """What a taxonomy file holds without its templates, and these: a list at its top called ``templates``.

    Everything else of that name is a concept.

    >>> take_templates({"templates": ["a photo of a {}"], "animal": ["cat"]})
    ({'animal': ['cat']}, ['a photo of a {}'])
    >>> take_templates({"templates": {"children": ["invoice", "letter"]}})[1] is None
    True
    """
    if not isinstance(tree, Mapping) or not isinstance(tree.get("templates"), list):
        return tree, None
    try:
        templates = [check_template(template) for template in tree["templates"]]
    except RamifyError as error:
        raise RamifyError(
            f"{error}; or, if templates is a concept here, list its finer ones as templates: {{children: [...]}}"
        ) from None
    return {name: body for name, body in tree.items() if name != "templates"}, templates


def parse(tree: object) -> tuple[list[Concept], list[int]]:
    """The concepts of a nested mapping in the order of their numbers, and their ranks in reading order."""
    if not isinstance(tree, Mapping):
        raise RamifyError(f"a taxonomy is a mapping of concept names to finer concepts, not {_kind(tree)}")
    concepts: list[Concept] = []
    numbers: list[int] = []

    def add_all(listed: object, parent: int, where: str) -> None:
        if isinstance(listed, Mapping):
            pairs = list(listed.items())
        elif isinstance(listed, list | tuple):
            pairs = [
                pair for entry in listed for pair in (entry.items() if isinstance(entry, Mapping) else [(entry, None)])
            ]
        else:
            raise RamifyError(f"the finer concepts of {where!r} must be a list or a mapping, not {_kind(listed)}")
        for name, body in pairs:
            add(name, body, parent, where)

    def add(name: object, body: object, parent: int, where: str) -> None:
        if not isinstance(name, str):
            raise RamifyError(f"the concept name {name!r} under {where!r} is not text: put it in quotes")
        path = f"{where}{ARROW}{name}" if parent >= 0 else name
        said = {key: body[key] for key in ATTRIBUTES if key in body} if isinstance(body, Mapping) else {}
        number = len(concepts)
        concepts.append(_concept(name, parent, path, said))
        if "index" in said:
            numbers.append(said["index"])
        if isinstance(body, Mapping):
            body = {key: value for key, value in body.items() if key not in ATTRIBUTES}
        if "children" in said:
            add_all(said["children"], number, path)
        if body is not None:
            add_all(body, number, path)

    try:
        add_all(tree, -1, "the top")
    except RecursionError:
        raise RamifyError(TOO_DEEP) from None
    if not numbers:
        return concepts, list(range(len(concepts)))
    if sorted(numbers) != list(range(len(concepts))):
        raise RamifyError(f"every concept needs its own index from 0 to {len(concepts) - 1}, or none may state one")
    place = sorted(range(len(numbers)), key=numbers.__getitem__)
    in_order = [concepts[read] for read in place]
    return [replace(c, parent=numbers[c.parent] if c.parent >= 0 else -1) for c in in_order], place


def _concept(name: str, parent: int, path: str, said: dict[str, Any]) -> Concept:
    """Check what a taxonomy says of one concept besides its children."""
    kinds: dict[str, tuple[type, str]] = {
        "description": (str, "text"),
        "aliases": (list, "a list of names"),
        "exhaustive": (bool, "true or false"),
        "index": (int, "a whole number"),
    }
    for key, (kind, wanted) in kinds.items():
        if key in said and not isinstance(said[key], kind):
            raise RamifyError(
                f"{key!r} of {path!r} must be {wanted}, not {_kind(said[key])} "
                f"(a finer concept called {key!r} goes under 'children')"
            )
    aliases = said.get("aliases", [])
    if not all(isinstance(alias, str) and alias for alias in aliases):
        raise RamifyError(f"'aliases' of {path!r} must be a list of names: put every alias in quotes")
    return Concept(name, parent, said.get("description", ""), tuple(aliases), said.get("exhaustive", False))


def _kind(value: object) -> str:
    """How a file's author would call a value."""
    kinds = {
        type(None): "nothing",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
    }
    return kinds.get(type(value), "a mapping" if isinstance(value, Mapping) else type(value).__name__)


def file_format(path: Path) -> str:
    """``yaml``, ``json`` or ``xml`` (a labelling config of Label Studio), by the ending of the file's name."""
    ending = path.suffix.lower()
    if ending not in (".json", ".yaml", ".yml", ".xml"):
        raise RamifyError("a taxonomy file ends in .yaml, .yml, .json or .xml")
    return ending[1:].replace("yml", "yaml")


class _StrictLoader(yaml.SafeLoader):
    """YAML without what a taxonomy has no use for, or what hides a mistake, and with a sentence for each.

    A key may not stand twice in one mapping (the plain loader keeps the last without a word), no value has a tag, and
    aliases may repeat only so much, and not what they stand in.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.sizes: dict[int, int] = {}
        self.repeats = False

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if getattr(event, "tag", None) not in (None, "!"):
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            raise RamifyError(f"line {line}: the tag {tag!r} has no meaning in a taxonomy: remove it")
        if isinstance(event, yaml.AliasEvent):
            self.repeats = True
            if event.anchor in self.anchors and id(self.anchors[event.anchor]) not in self.sizes:
                raise RamifyError(
                    f"line {line}: '*{event.anchor}' stands within '&{event.anchor}', so its concepts would never end: "
                    "write out what is meant"
                )
        node: Any = super().compose_node(parent, index)
        if id(node) not in self.sizes:
            parts = node.value if isinstance(node, yaml.SequenceNode) else []
            parts = chain(*node.value) if isinstance(node, yaml.MappingNode) else parts
            self.sizes[id(node)] = 1 + sum(self.sizes[id(part)] for part in parts)
        if self.repeats and self.sizes[id(node)] > MOST_REPEATED:
            raise RamifyError(
                f"line {line}: with its aliases ('*') this stands for more than {MOST_REPEATED} concepts: "
                "write out what is meant"
            )
        return node  # type: ignore[no-any-return]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                continue  # the plain loader refuses it
            if key in seen:
                raise RamifyError(f"line {key_node.start_mark.line + 1}: {key!r} stands twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise RamifyError(f"{key!r} stands twice in one mapping")
        mapping[key] = value
    return mapping


def read_file(path: Path) -> Any:
    """What a YAML, JSON or XML file holds, as plain Python objects."""
    kind = file_format(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RamifyError("there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RamifyError(f"cannot be read as text ({error})") from None
    try:
        if kind == "xml":
            return read_config(text).tree()
        return json.loads(text, object_pairs_hook=_no_duplicates) if kind == "json" else yaml.load(text, _StrictLoader)
    except RamifyError:
        raise
    except (yaml.YAMLError, ValueError) as error:  # an impossible date in YAML is a ValueError
        line = _line(error, text)
        tabs = [number for number, row in enumerate(text.split("\n"), start=1) if re.match(r" *\t", row)]
        if kind == "yaml" and tabs and tabs[0] <= line:
            raise RamifyError(f"line {tabs[0]}: it is indented by a tab, which YAML forbids: use spaces") from None
        raise RamifyError(f"line {line}: this is not valid {kind.upper()}") from None
    except RecursionError:
        raise RamifyError(TOO_DEEP) from None


def _line(error: Exception, text: str) -> int:
    """The line that a parser's error is about."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return error.problem_mark.line + 1
    if isinstance(error, yaml.reader.ReaderError):
        return text.count("\n", 0, error.position) + 1
    return error.lineno if isinstance(error, json.JSONDecodeError) else 1
