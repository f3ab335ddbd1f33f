"""Annotations: what people say of items in another tool, each in a piece of its own that may be changed there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.embed.base import digest
from ramify.labels import RELEVANT, UNKNOWN

__all__ = ["IN_PART", "NOBODY", "Annotation", "Mark", "agreed_values", "is_mark"]

MARKED = 1 << 52  # from here on an annotation's id is a mark; no tool counts so far, and a float still holds it
NOBODY = ""  # in place of a request's key: nobody said it, it was imported, and what is not chosen is known to be no
IN_PART = " "  # the same, but some of that is unknown


def is_mark(number: object) -> bool:
    """Whether an id may be a mark.

    >>> is_mark(7), is_mark(1 << 52), is_mark(1 << 60)
    (False, True, False)
    """
    return type(number) is int and MARKED <= number < 2 * MARKED


class Mark(NamedTuple):
    """The id that a project gives an annotation which it writes, and what is said there: other tools keep the id.

    A project that finds its own mark with what it said then knows the annotation: it is nothing new.
    """

    number: int
    content: str

    @classmethod
    def of(cls, content: str, key: str = NOBODY) -> "Mark":
        """Of what somebody said last about the item under the key of a request, or of what nobody said.

        >>> mark = Mark.of("a cat", "page 7")
        >>> is_mark(mark.number), mark.is_of("page 7"), mark.is_of("page 8"), mark.is_of(NOBODY)
        (True, True, False, False)
        """
        return cls(MARKED + int(digest(key, content), 16) % MARKED, content)

    def is_of(self, key: str) -> bool:
        """Whether it was written under this key, and what is said has not been changed since."""
        return self == Mark.of(self.content, key)


@dataclass(frozen=True)
class Annotation:
    """What somebody says of an item."""

    item: int
    """The number of the item."""
    annotator: str
    """Who says it; empty where nothing tells."""
    values: Mapping[int, int]
    """1 yes, 0 no, by the number of the concept; empty where it was taken back."""
    name: str = ""
    """Its own, in the tool that it comes from."""
    version: str = ""
    """Which of its states this is: later ones sort later, but for those that begin with ``#``, which just differ."""
    settles: bool = False
    """Whether it outranks what others say."""
    seconds: float | None = None
    """How long it took."""
    mark: "Mark | None" = None
    """What a project wrote it with, where one did."""

    @property
    def is_imported(self) -> bool:
        """Whether a project wrote it of what was imported, and what is said has not been changed since.

        Then it is nobody's, whoever took it to the other tool and whoever it belongs to there.

        >>> said = Annotation(0, "Ada", {0: 1}, mark=Mark.of("a cat"))
        >>> said.is_imported, replace(said, mark=Mark.of("a cat", "page 7")).is_imported
        (True, False)
        """
        return self.mark is not None and (self.mark.is_of(NOBODY) or self.mark.is_of(IN_PART))

    def as_label(self) -> "Annotation":
        """What it says as a label: without its noes where some of them may be unknown."""
        return self.chosen() if self.mark is not None and self.mark.is_of(IN_PART) else self

    def chosen(self) -> "Annotation":
        """The same without what it says no to."""
        return replace(self, values={concept: value for concept, value in self.values.items() if value == RELEVANT})

    def about(self, concepts: Sequence[int | None]) -> "Annotation":
        """The same about other concepts, by the number of each; those that are None are left out.

        >>> Annotation(0, "Ada", {0: 1, 2: 0}).about([5, None, None]).values
        {5: 1}
        """
        meant = ((concepts[concept], value) for concept, value in self.values.items())
        return replace(self, values={concept: value for concept, value in meant if concept is not None})


def agreed_values(annotations: Iterable[Annotation], n_items: int, n_concepts: int) -> NDArray[np.int8]:
    """What all who say something of an entry agree on, items x concepts: 1, 0 or -1; what settles outranks the others.

    >>> said = [Annotation(0, "Ada", {0: 1, 1: 0}), Annotation(0, "Bob", {0: 1, 1: 1})]
    >>> agreed_values(said, 1, 3).tolist()
    [[1, -1, -1]]
    """
    values = np.full((n_items, n_concepts), UNKNOWN, np.int8)
    torn = np.zeros((n_items, n_concepts), np.bool_)
    for annotation in sorted(annotations, key=lambda annotation: annotation.settles):
        concepts = np.array(list(annotation.values), np.intp)
        said = np.array(list(annotation.values.values()), np.int8)
        row = values[annotation.item]
        if annotation.settles:
            torn[annotation.item, concepts] = False
        else:
            torn[annotation.item, concepts] |= (row[concepts] != UNKNOWN) & (row[concepts] != said)
        row[concepts] = said
    values[torn] = UNKNOWN
    return values
