"""Label Studio's labelling configs: XML whose ``<Taxonomy>`` or ``<Choices>`` name concepts, read and written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ramify.errors import RamifyError

__all__ = ["Choice", "Control", "config_of", "is_own", "read_config", "said_as"]

CONTROLS = ("Taxonomy", "Choices")
DEEPEST = 100  # tags within tags
OWN = "concepts"  # the name of the control in configs of ours
OBJECTS = {"text": "Text", "image": "Image"}
"""The tag that shows each key of a task's data."""


@dataclass(frozen=True)
class Choice:
    """One ``<Choice>``, with those inside it."""

    value: str
    alias: str | None
    """What tasks say instead of the value, where there is one."""
    hint: str
    inside: "list[Choice]"

    def tree(self) -> dict[str, Any] | None:
        """What a taxonomy says of this concept."""
        said: dict[str, Any] = {"children": _tree(self.inside)} if self.inside else {}
        if self.hint:
            said["description"] = self.hint
        if self.alias and self.alias != self.value:
            said["aliases"] = [self.alias]
        return said or None


@dataclass(frozen=True)
class Control:
    """The tag that people choose concepts with, and what it is about."""

    name: str
    to_name: str
    kind: str
    """``taxonomy`` or ``choices``, as a task's results call it."""
    choices: list[Choice]
    shown: dict[str, str] = field(default_factory=dict)
    """The tag (``Text``, ``Image``, ...) that shows each key of a task's data."""

    def paths(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """What can be chosen: the path of each choice as tasks say it, and as it is called.

        >>> Control("kind", "text", "choices", [Choice("cat", "c", "", [])]).paths()
        {('c',): ('cat',)}
        """
        listed: dict[tuple[str, ...], tuple[str, ...]] = {}
        waiting: list[tuple[tuple[str, ...], tuple[str, ...], Choice]]
        waiting = [((choice.alias or choice.value,), (choice.value,), choice) for choice in reversed(self.choices)]
        while waiting:
            said, called, choice = waiting.pop()
            if listed.setdefault(said, called) != called:
                raise RamifyError(f"two choices are both said as {said[-1]!r}: give them different aliases")
            waiting += [
                ((*said, inner.alias or inner.value), (*called, inner.value), inner)
                for inner in reversed(choice.inside)
            ]
        return listed

    def tree(self) -> dict[str, Any]:
        """The concepts, as ``Taxonomy`` reads them."""
        return _tree(self.choices)

    def result(self, chosen: list[tuple[str, ...]]) -> list[dict[str, Any]]:
        """What a task says where these paths are chosen, each as tasks say it.

        >>> Control("kind", "text", "choices", []).result([("cat",), ("dog",)])[0]["value"]
        {'choices': ['cat', 'dog']}
        """
        nested = self.kind == "taxonomy" or any(len(path) > 1 for path in chosen)
        value = {self.kind: [list(path) if nested else path[0] for path in chosen]}
        about = {"from_name": self.name, "to_name": self.to_name, "type": self.kind}
        return [{**about, "value": value}] if chosen else []


def read_config(text: str | bytes) -> Control:
    """The one control of a config that has choices.

    A config comes from other people: a document type, which could stand for any amount of text, is refused.

    >>> read_config('''<View><Text name="t" value="$text"/><Choices name="kind" toName="t">
    ...     <Choice value="animal"><Choice value="cat" alias="c"/></Choice></Choices></View>''').tree()
    {'animal': {'children': {'cat': {'aliases': ['c']}}}}
    """
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_types
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise RamifyError(f"line {error.lineno}: this is not valid XML: the labelling config may be cut off") from None
    except RamifyError:
        raise
    except ValueError:  # an encoding that does not exist
        raise RamifyError("this is not valid XML: save the labelling config with the encoding UTF-8") from None
    controls = [control for control in reading.controls if control.choices]
    if len(controls) == 1:
        return replace(controls[0], shown=reading.shown)
    if not controls:
        raise RamifyError("it has no <Taxonomy> or <Choices> with a <Choice> in it: nothing names concepts")
    names = ", ".join(repr(control.name) for control in controls)
    raise RamifyError(f"several controls name concepts ({names}): keep the one whose choices are meant")


def is_own(text: bytes) -> bool:
    """Whether this is a config that ``config_of`` made.

    >>> is_own(config_of({"animal": {}}, "text").encode()), is_own(b"<View/>")
    (True, False)
    """
    try:
        return read_config(text).name == OWN
    except RamifyError:
        return False


def said_as(name: str, aliases: Sequence[str]) -> str:
    """What tasks call a concept of ``config_of``: by its first alias, where it has one.

    >>> said_as("cat", ["c", "puss"]), said_as("dog", [])
    ('c', 'dog')
    """
    return aliases[0] if aliases else name


def config_of(tree: Mapping[str, Any], key: str, *also: str) -> str:
    """A config with these concepts, as ``Taxonomy.to_dict`` gives them, about a task's ``text`` or ``image``.

    What is ``also`` shown of a task stands below. Of several aliases a config can hold only the first.

    >>> print(config_of({"animal": {"children": {"cat": {"aliases": ["c"]}}}}, "text"))
    <View>
      <Text name="text" value="$text"/>
      <Taxonomy name="concepts" toName="text">
        <Choice value="animal">
          <Choice value="cat" alias="c"/>
        </Choice>
      </Taxonomy>
    </View>
    <BLANKLINE>
    """
    lines = [
        "<View>",
        *(f'  <{OBJECTS[shown]} name="{shown}" value="${shown}"/>' for shown in (key, *also)),
        f'  <Taxonomy name="{OWN}" toName="{key}">',
    ]
    _write(tree, 2, lines)
    return "\n".join([*lines, "  </Taxonomy>", "</View>", ""])


def _write(tree: Mapping[str, Any], level: int, lines: list[str]) -> None:
    for name, body in tree.items():
        said = body or {}
        hint = f" hint={quoteattr(said['description'])}" if said.get("description") else ""
        said_by = said_as(name, said.get("aliases", ()))
        alias = f" alias={quoteattr(said_by)}" if said_by != name else ""
        opening = f"{'  ' * level}<Choice value={quoteattr(name)}{alias}{hint}"
        if not said.get("children"):
            lines.append(f"{opening}/>")
            continue
        lines.append(f"{opening}>")
        _write(said["children"], level + 1, lines)
        lines.append(f"{'  ' * level}</Choice>")


def _tree(choices: list[Choice]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for choice in choices:
        if choice.value in tree:
            raise RamifyError(f"the choice {choice.value!r} stands twice side by side: keep one")
        tree[choice.value] = choice.tree()
    return tree


def _refuse_types(*_: object) -> None:
    raise RamifyError("it declares a document type (<!DOCTYPE ...>), which no labelling config needs: remove it")


class _Reading:
    """The controls of a config, while it is read."""

    def __init__(self) -> None:
        self.controls: list[Control] = []
        self.within: list[list[Choice]] = []
        """Where choices go that stand inside each of the tags that are open."""
        self.shown: dict[str, str] = {}

    def start(self, tag: str, said: dict[str, str]) -> None:
        choices = self.within[-1] if self.within else []
        if tag in CONTROLS:
            self.controls.append(Control(said.get("name", ""), said.get("toName", ""), tag.lower(), []))
            choices = self.controls[-1].choices
        elif said.get("name") and said.get("value", "").startswith("$"):
            self.shown[said["value"][1:]] = tag
        elif tag == "Choice":
            if not said.get("value", "").strip():
                raise RamifyError("a <Choice> has no value: write <Choice value='...'/>")
            if len(self.within) > DEEPEST:
                raise RamifyError(f"its choices are more than {DEEPEST} levels deep: make them flatter")
            choice = Choice(said["value"].strip(), said.get("alias", "").strip() or None, said.get("hint", ""), [])
            choices.append(choice)
            choices = choice.inside
        self.within.append(choices)

    def end(self, tag: str) -> None:
        self.within.pop()
