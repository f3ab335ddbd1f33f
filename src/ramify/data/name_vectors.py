"""Name vectors: what a text encoder makes of the names of all concepts of a taxonomy."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.taxonomy import Taxonomy

CLOSE = 1e-6  # rows that are so close to unit length stay as they are, so that files can be read and written for ever


@dataclass(frozen=True, eq=False)
class NameVectors:
    """A vector for the name of every concept; rows are brought to unit length.

    >>> names = NameVectors([[3.0, 4.0], [0.0, 2.0]], shared=False)
    >>> names.vectors
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    >>> NameVectors([[3.0, 4.0], [0.0, 0.0]], shared=False)
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: the name vector of concept number 1 is zero: give it another one, or leave all of them
        out
    """

    vectors: NDArray[np.float32]
    """One row for every concept of the taxonomy, in the order of its numbers (fine ones first)."""
    shared: bool
    """Whether they lie in the same space as the items' features."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", _unit_rows(self.vectors, None))
        object.__setattr__(self, "shared", bool(self.shared))

    @classmethod
    def of(cls, taxonomy: Taxonomy, vectors: Any, *, shared: bool) -> "NameVectors":
        """Those of a taxonomy: what is wrong is told with the concept's path.

        >>> NameVectors.of(Taxonomy({"animal": ["cat"]}), [[1.0], [float("nan")]], shared=False)
        Traceback (most recent call last):
        ...
        ramify.errors.RamifyError: the name vector of 'animal' holds nan: replace what is not a finite number
        """
        paths = [repr(taxonomy.path(number)) for number in range(len(taxonomy))]
        return cls(_unit_rows(vectors, paths), shared)

    def fingerprint(self) -> str:
        """A digest, the same for the same vectors in the same space."""
        return hashlib.sha256(self.vectors.tobytes() + bytes([self.shared])).hexdigest()[:24]

    def check(self, taxonomy: Taxonomy, width: int | None = None) -> None:
        """Refuse to be those of a taxonomy with another number of concepts, or of features of another width.

        >>> NameVectors([[1.0, 0.0]], shared=True).check(Taxonomy({"animal": ["cat"]}))
        Traceback (most recent call last):
        ...
        ramify.errors.RamifyError: 1 name vectors for 2 concepts: give one for every concept, the fine ones first
        """
        _check_count(len(self.vectors), len(taxonomy))
        own = self.vectors.shape[1]
        if self.shared and width is not None and own != width:
            raise RamifyError(
                f"the name vectors have {own} columns and the features {width}, so they cannot lie in one space: "
                "say shared=False"
            )


def _check_count(count: int, concepts: int) -> None:
    if count != concepts:
        raise RamifyError(
            f"{count} name vectors for {concepts} concepts: give one for every concept, the fine ones first"
        )


def _unit_rows(vectors: Any, paths: Sequence[str] | None) -> NDArray[np.float32]:
    """The rows at unit length; ``paths`` are the concepts that they should be of, for what is told."""
    rows = np.asarray(vectors)
    if rows.ndim != 2:
        raise RamifyError(f"name vectors must be a table, concepts x columns, not an array of {rows.ndim} dimension(s)")
    if rows.dtype.kind not in "biuf":
        raise RamifyError(f"name vectors must be numbers, not {rows.dtype}")
    if paths is not None:
        _check_count(len(rows), len(paths))
    called = paths or [f"concept number {number}" for number in range(len(rows))]
    rows = rows.astype(np.float64)
    for row, column in np.argwhere(~np.isfinite(rows))[:1]:
        raise RamifyError(
            f"the name vector of {called[row]} holds {rows[row, column]}: replace what is not a finite number"
        )
    largest = np.abs(rows).max(axis=1, initial=0, keepdims=True)
    for row in np.flatnonzero(largest == 0)[:1]:
        raise RamifyError(f"the name vector of {called[row]} is zero: give it another one, or leave all of them out")
    length = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)  # squares of large numbers have no room
    unit: NDArray[np.float32] = (rows / np.where(np.abs(length - 1) < CLOSE, 1, length)).astype(np.float32)
    return unit
