"""What every writer of another tool's format is given: items, and what is said of them, part by part."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.project.store.store import Item
from ramify.taxonomy import Index, Taxonomy

__all__ = ["Part", "Person", "Said", "Writer", "as_number", "write_list"]


@dataclass(frozen=True)
class Part:
    """Some items, and for each of them a row of what is said of the concepts."""

    items: list[Item]
    states: NDArray[np.int8]
    """1, 0 or -1 (unknown), items x concepts."""
    confidence: NDArray[np.float32] | None = None
    """Of predictions, how probable each is."""


class Person(NamedTuple):
    """What somebody answered about some items, with what was imported of them."""

    name: str
    rows: Index
    """Of a part, ascending."""
    states: NDArray[np.int8]
    """A row for each of these, a column for each concept."""
    settles: NDArray[np.bool_]
    """Whether each of these answers outranks what others say."""
    last: list[tuple[str, float]]
    """The key of what they said last of each of these items, and when it, or the taxonomy, last changed."""


@dataclass
class Said:
    """What is written; counts, while it is read, what some formats cannot say."""

    taxonomy: Taxonomy
    concepts: Index
    """The concept of each column: all of them, or the fine ones where labels are predicted."""
    source: Iterable[Part]
    model: str = ""
    """What made the predictions; nothing where these are labels."""
    images: str = ""
    """The name of the folder that the pictures lie in."""
    people: Callable[[Part], list[Person]] = lambda part: []
    """Who answered what of a part; asked by formats that can say it."""
    order: Mapping[int, int] = field(default_factory=dict)
    """The place of each item, by its number, in the order in which answers would teach most; others teach less."""
    counts: Counter[str] = field(default_factory=Counter)
    """``items``; entries that are ``unknown``, or ``no``; items that are ``silent``, without anything that applies;
    items of which only the answers of several people ``together`` say something."""

    def parts(self) -> Iterator[Part]:
        """All of it, once."""
        for part in self.source:
            self.counts["items"] += len(part.items)
            self.counts["unknown"] += int((part.states == UNKNOWN).sum())
            self.counts["no"] += int((part.states == IRRELEVANT).sum())
            self.counts["silent"] += int((~(part.states == RELEVANT).any(axis=1)).sum())
            yield part

    def paths(self) -> list[str]:
        """The path of each column's concept."""
        return [self.taxonomy.path(number) for number in self.concepts]

    def finest(self, states: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which entries apply without one below them that does: these imply all others that apply.

        >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
        >>> Said(taxonomy, taxonomy.preorder, []).finest(np.array([[1, 1, 0], [1, -1, -1]], np.int8)).tolist()
        [[False, True, False], [True, False, False]]
        """
        applies = states == RELEVANT
        implied = np.zeros_like(applies)
        column = {concept: place for place, concept in enumerate(self.concepts.tolist())}
        for place, concept in enumerate(self.concepts):
            above = column.get(self.taxonomy.parent(int(concept)))
            if above is not None:
                implied[:, above] |= applies[:, place]
        finest: NDArray[np.bool_] = applies & ~implied
        return finest

    def unknown_is_no(self, tool: str) -> str:
        """The sentence on unknown entries of items of which something is known; nothing where there are none."""
        count = self.counts["unknown"]
        return f"{count} entries are unknown, which {tool} cannot say: it reads them as no." if count else ""


class Writer(Protocol):
    """What the module of a format has."""

    ENDING: str
    """Of the file that is written; nothing for a folder."""

    def write(self, path: Any, said: Said) -> str:
        """Write all of it; returns a sentence on what the format cannot say, or nothing."""


def as_number(name: str) -> int | str:
    """An id as a number, where it reads the same.

    >>> as_number("42"), as_number("007"), as_number("a")
    (42, '007', 'a')
    """
    return int(name) if name.isascii() and name.isdecimal() and str(int(name)) == name else name


def write_list(file: IO[str], entries: Iterable[Any]) -> None:
    """A JSON list, an entry a line, without holding all of them."""
    file.write("[")
    for place, entry in enumerate(entries):
        file.write((",\n" if place else "\n") + json.dumps(entry, ensure_ascii=False))
    file.write("\n]")
