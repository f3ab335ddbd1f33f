"""The head of an .arff file: the relation's name, the attributes, and which of them are labels (Mulan, MEKA)."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ramify.errors import RamifyError
from ramify.files import readable
from ramify.taxonomy import Taxonomy

__all__ = ["Attribute", "Header", "fields_of", "plain", "read_header"]

QUOTED = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
FIELD = re.compile(rf"\s*({QUOTED}|[^,'\"]*)\s*(,|$)")
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{'\"]+)\s*(.+)", re.IGNORECASE)
LABELS = re.compile(r"-C\s+(-?\d+)")  # MEKA: so many attributes are labels, the first or (below 0) the last ones
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
NUMBERS = ("numeric", "real", "integer")


@dataclass(frozen=True)
class Attribute:
    """A column of the file."""

    name: str
    kind: str
    """numeric, nominal, string or date."""
    values: tuple[str, ...] = ()
    """What a nominal one may be; in sparse rows the first of them is not written."""


@dataclass(frozen=True)
class Header:
    """What stands before the rows."""

    attributes: list[Attribute]
    labels: dict[int, int]
    """Which attribute is which concept."""
    taxonomy: Taxonomy


def read_header(path: Path, lines: Iterator[tuple[int, str]]) -> Header:
    """Read up to ``@data`` and find the labels; the lines come with their numbers."""
    relation = ""
    attributes: list[Attribute] = []
    for number, line in lines:
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            break
        if word == "@relation":
            relation = plain(line[len(word) :].strip())
        elif word == "@attribute":
            attributes.append(_attribute(f"{path}, row {number}", line))
        else:
            raise RamifyError(f"{path}, row {number}: {_short(line)} is neither @relation, @attribute, @data nor %")
    else:
        raise RamifyError(f"{path}: there is no @data: the file is cut off, or of another kind")
    places: dict[str, int] = {}
    for place, attribute in enumerate(attributes):
        if places.setdefault(attribute.name, place) != place:
            raise RamifyError(f"{path}: the attribute {attribute.name!r} stands twice: rename one of them")
    names, parents = _labels(path, relation, attributes)
    missing = next((name for name in names if name not in places), None)
    if missing is not None:
        raise RamifyError(f"{path}: there is no attribute for the label {missing!r}: correct one of the names")
    try:
        taxonomy = Taxonomy.from_arrays(names, parents)
    except RamifyError as error:
        raise RamifyError(f"{path}: {error}") from None
    return Header(attributes, {places[name]: taxonomy.index(name) for name in names}, taxonomy)


def fields_of(text: str) -> list[str] | None:
    """The values between the commas, without their quotes; None where a quote never ends.

    >>> fields_of("1, 'it\\\\'s, so', ?"), fields_of("1,'a")
    (['1', "it's, so", '?'], None)
    """
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    values: list[str] = []
    place = 0
    while found := FIELD.match(text, place):
        values.append(plain(found[1].strip()))
        if not found[2]:
            return values
        place = found.end()
    return None


def plain(text: str) -> str:
    """A value or name without quotes around it.

    >>> plain("'a b'"), plain("a")
    ('a b', 'a')
    """
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", lambda found: ESCAPED.get(found[1], found[1]), text[1:-1])
    return text


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _attribute(where: str, line: str) -> Attribute:
    found = ATTRIBUTE.fullmatch(line)
    if found is None:
        raise RamifyError(f"{where}: {_short(line)} has no type: write for example @attribute weight numeric")
    name, said = plain(found[1]), found[2].strip()
    kind = said.split(None, 1)[0].lower()
    if said.startswith("{"):
        values = fields_of(said[1:-1]) if said.endswith("}") else None
        if values is None:
            raise RamifyError(f"{where}: the values of {name!r} are not closed: they stand between {{ and }}")
        return Attribute(name, "nominal", tuple(values))
    if kind in NUMBERS:
        return Attribute(name, "numeric")
    if kind in ("string", "date"):
        return Attribute(name, kind)
    raise RamifyError(f"{where}: {_short(said)} is no type that Ramify reads: numeric, {{a, b}}, string or date")


def _labels(path: Path, relation: str, attributes: list[Attribute]) -> tuple[list[str], list[int]]:
    """The names of the labels and the place of each one's parent: from the .xml file, or from the relation's name."""
    own, others = path.with_suffix(".xml"), sorted(path.parent.glob("*.xml"))
    counted = LABELS.search(relation)
    if own.is_file():
        return _nested(own)
    if counted is not None:
        count, total = int(counted[1]), len(attributes)
        if not 0 < abs(count) <= total:
            raise RamifyError(f"{path}: the relation says {counted[0]!r}, but there are {total} attributes: correct it")
        chosen = attributes[:count] if count > 0 else attributes[count:]
        return [attribute.name for attribute in chosen], [-1] * len(chosen)
    if len(others) == 1:
        return _nested(others[0])
    raise RamifyError(
        f"{path}: nothing says which attributes are labels: put {own.name} with <labels> beside it (Mulan), "
        "or -C and their number into the relation's name (MEKA)"
    )


def _nested(path: Path) -> tuple[list[str], list[int]]:
    with readable(path) as file:
        try:
            root = ElementTree.parse(file).getroot()
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise RamifyError(f"{path}: this is not valid XML ({error}): the file may be cut off") from None
    if _tag(root) != "labels":
        raise RamifyError(f"{path}: it holds <{_tag(root)}>, not <labels>: give the labels' own file")
    names: list[str] = []
    parents: list[int] = []
    stack = [(element, -1) for element in reversed(root)]
    while stack:
        element, parent = stack.pop()
        name = element.get("name")
        if _tag(element) != "label" or not name:
            raise RamifyError(f"{path}: <{_tag(element)}> is no label: write <label name='...'>")
        if name in names:
            raise RamifyError(f"{path}: the label {name!r} stands twice: keep one")
        stack.extend((below, len(names)) for below in reversed(element))
        names.append(name)
        parents.append(parent)
    if not names:
        raise RamifyError(f"{path}: it names no label: write <label name='...'></label> for each")
    return names, parents


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
