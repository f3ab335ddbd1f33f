"""What a source says of a cell, as bits of the cell and as words that people read."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.errors import RamifyError
from ramify.labels import cells as cell
from ramify.labels.cells import Bytes
from ramify.labels.words import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.taxonomy import Index


class Source(IntEnum):
    """Why a cell is known; UNKNOWN where it is not. Assertions are imported or annotated."""

    UNKNOWN = 0
    IMPORTED = 1
    ANNOTATED = 2
    DEDUCED = 3

    @classmethod
    def asserting(cls, source: "Source | str") -> "Source":
        """The source of an assertion, by itself or by name."""
        asserting = ASSERTING.get(source) if isinstance(source, str | int) else None
        if asserting is None:
            raise RamifyError(f"the source of an assertion is 'annotated' or 'imported', not {source!r}")
        return asserting


ASSERTING = {name: s for s in (Source.IMPORTED, Source.ANNOTATED) for name in (s, s.name.lower())}


class Assertions(NamedTuple):
    """Statements by a source about (item, concept) cells, as parallel arrays."""

    items: Index
    """The item of each, by number."""
    concepts: Index
    """The concept of each, by number."""
    values: NDArray[np.int8]
    """1 relevant, 0 irrelevant."""
    sources: NDArray[np.int8]
    """Who says so: a ``Source``."""


@dataclass(frozen=True)
class Contradiction:
    """Assertions about one item and one tree that cannot all be true; until one is retracted or changed, none counts.

    >>> print(Contradiction(0, (("animal > cat", 1, Source.ANNOTATED), ("animal", 0, Source.IMPORTED))))
    item 0: 'animal > cat' is relevant (annotated) against 'animal' is irrelevant (imported)
    """

    item: int
    """The item's number."""
    assertions: tuple[tuple[str, int, Source], ...]
    """The path of a concept, 1 or 0, and who says so."""

    def __str__(self) -> str:
        said = [f"{path!r} is {'relevant' if v else 'irrelevant'} ({s.name.lower()})" for path, v, s in self.assertions]
        return f"item {self.item}: " + " against ".join(said)


# What a cell means, for each of its 128 values.
_CELLS = np.arange(cell.CELL_KINDS)
_KNOWN = (_CELLS & (cell.IS_YES | cell.IS_NO)) != 0
STATE_OF = np.where(_CELLS & cell.IS_YES, RELEVANT, np.where(_KNOWN, IRRELEVANT, UNKNOWN)).astype(np.int8)
SOURCE_OF = np.select(
    [~_KNOWN, (_CELLS & 0b1100) != 0, (_CELLS & 0b0011) != 0], [Source.UNKNOWN, Source.ANNOTATED, Source.IMPORTED], 3
).astype(np.int8)


def shift_of(source: Source) -> int:
    """The first of the two bits in which a cell holds what the source asserts."""
    return 0 if source == Source.IMPORTED else 2


def bits_of(values: ArrayLike, source: Source) -> Any:
    """What a cell holds for assertions of the given values."""
    if isinstance(values, int) and values in (0, 1):  # one answer: numpy would take longer than all the rest
        return (1, 2)[values] << shift_of(source)
    said = np.asarray(values)
    wrong = (said != RELEVANT) & (said != IRRELEVANT)
    if wrong.any():
        raise RamifyError(
            f"an assertion is 1 (relevant) or 0 (irrelevant), not {said[wrong].flat[0]}; see also retract"
        )
    return (said.astype(np.uint8) + 1 << shift_of(source)).astype(np.uint8)


def merged_bits(bits: Bytes, place: Index, members: Index) -> Bytes:
    """Assertions about several concepts as assertions about the one they become: yes for any yes, no for all no."""
    merged = np.zeros(len(members), np.uint8)
    denied = np.bincount(place, (bits & cell.SAYS_NO) != 0, minlength=len(members)) >= members
    for source in (Source.IMPORTED, Source.ANNOTATED):
        said = bits >> shift_of(source) & 0b11
        yes = np.bincount(place, said == 2, minlength=len(members)) > 0
        no = np.bincount(place, said == 1, minlength=len(members)) > 0
        merged |= (np.where(yes, 2, np.where(no & denied, 1, 0)) << shift_of(source)).astype(np.uint8)
    return merged
