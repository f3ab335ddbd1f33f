"""Label matrices that users bring: dense integers, floats with NaN, booleans, scipy sparse, and named columns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ramify.concepts import ARROW
from ramify.errors import RamifyError
from ramify.labels.assertions import Source, bits_of
from ramify.labels.cells import Asserted
from ramify.labels.deduction import trees
from ramify.labels.words import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.taxonomy import Index, Taxonomy

CHUNK = 1 << 15  # items handled at once where all are gone through


def asserted_by(taxonomy: Taxonomy, matrix: Any, concepts: Index, source: Source) -> Iterator[Asserted]:
    """What a label matrix, a column for each of the concepts, asserts: in the chunks that ``Store.settled`` takes."""
    matrix = as_matrix(matrix, taxonomy, concepts)
    position, forest = np.argsort(taxonomy.preorder)[concepts], trees(taxonomy)
    for first in range(0, matrix.shape[0], CHUNK):
        states = states_of(matrix, first, first + CHUNK, lambda column: taxonomy.path(concepts[column]))
        owners, known = np.nonzero(states != UNKNOWN)
        bits = bits_of(states[owners, known], source)
        yield Asserted.of_cells(forest, len(states), owners, position[known], bits)


def as_matrix(matrix: Any, taxonomy: Taxonomy, concepts: Index) -> Any:
    """A two-dimensional array or CSR matrix with a column for each of the concepts, in their order.

    What has column names (a DataFrame of pandas or polars, a table of pyarrow) is put in order by them.
    """
    names = list(getattr(matrix, "column_names", getattr(matrix, "columns", ())))
    if names != list(range(len(names))):  # which would be places, not names
        matrix = np.take(_numbers(matrix), _places(names, taxonomy, concepts), axis=1)
    matrix = matrix.tocsr() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2:
        raise RamifyError(f"labels must be a table, items x concepts, not an array of {matrix.ndim} dimension(s)")
    if matrix.dtype.kind not in "biuf":
        raise RamifyError(f"labels must be numbers (1, 0, -1 or NaN for unknown), not {matrix.dtype}")
    if matrix.shape[1] != len(concepts):
        raise RamifyError(f"the labels have {matrix.shape[1]} columns for {len(concepts)} concepts: give one for each")
    return matrix


def _numbers(frame: Any) -> NDArray[Any]:
    """The values of a frame; columns of several kinds become floats, with NaN for what is missing."""
    values = np.asarray(frame)
    if values.dtype != object:
        return values
    try:
        with suppress(AttributeError, TypeError):  # only pandas has this, for its own sign of what is missing
            return np.asarray(frame.to_numpy(dtype=float, na_value=np.nan))
        return values.astype(float)
    except (TypeError, ValueError) as error:
        raise RamifyError(f"labels must be numbers (1, 0, -1 or NaN for unknown): {error}") from None


def _places(names: Sequence[Any], taxonomy: Taxonomy, concepts: Index) -> Index:
    """Which column belongs to each of the concepts, by its path, name or alias."""
    wanted = concepts.tolist()
    by_path = {taxonomy.path(number): [number] for number in wanted}
    by_name: dict[str, list[int]] = {}
    for number in dict.fromkeys(wanted):
        for name in (taxonomy.names[number], *taxonomy.concepts[number].aliases):
            by_name.setdefault(name, []).append(number)
    places: dict[int, int] = {}
    for place, column in enumerate(names):
        name = ARROW.join(map(str, column)) if isinstance(column, tuple) else str(column)
        meant = by_path.get(name) or by_name.get(name, [])
        if len(meant) > 1:
            paths = " or ".join(repr(taxonomy.path(number)) for number in meant)
            raise RamifyError(f"the column {column!r} may be {paths}: call it by its path")
        if not meant:
            some = ", ".join([repr(taxonomy.names[n]) for n in wanted[:5]] + ["..."] * (len(wanted) > 5))
            raise RamifyError(f"the column {column!r} is none of the concepts {some}: rename it, or leave it out")
        if meant[0] in places:
            both = f"{names[places[meant[0]]]!r} and {column!r}"
            raise RamifyError(f"the columns {both} are both {taxonomy.path(meant[0])!r}: keep one")
        places[meant[0]] = place
    missing = next((number for number in wanted if number not in places), None)
    if missing is not None:
        raise RamifyError(f"the labels have no column {taxonomy.path(missing)!r}: give one for each concept")
    return np.array([places[number] for number in wanted], np.intp)


def states_of(matrix: Any, first: int, last: int, concept: Callable[[int], str]) -> NDArray[np.int8]:
    """The rows from ``first`` up to ``last`` as int8: 1, 0 or -1. A sparse matrix means what it means when dense."""
    block = matrix[first:last]
    block = block.toarray() if scipy.sparse.issparse(block) else block
    if block.dtype.kind == "f":
        block = np.where(np.isnan(block), UNKNOWN, block)
    wrong = (block != RELEVANT) & (block != IRRELEVANT) & (block != UNKNOWN) if block.dtype.kind != "b" else block[:0]
    if wrong.any():
        item, column = np.argwhere(wrong)[0]
        raise RamifyError(
            f"item {first + item}, concept {concept(int(column))!r}: the label is {block[item, column]}; "
            "it must be 1 (relevant), 0 (irrelevant), -1 or NaN (unknown)"
        )
    return np.asarray(block, np.int8)
