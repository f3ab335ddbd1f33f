"""Label matrices that users bring: dense integers, floats with NaN, booleans, scipy sparse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ramify.errors import RamifyError

RELEVANT, IRRELEVANT, UNKNOWN = 1, 0, -1


def as_matrix(matrix: Any, n_columns: int) -> Any:
    """A two-dimensional array or CSR matrix with the right number of columns."""
    matrix = matrix.tocsr() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2:
        raise RamifyError(f"labels must be a table, items x concepts, not an array of {matrix.ndim} dimension(s)")
    if matrix.dtype.kind not in "biuf":
        raise RamifyError(f"labels must be numbers (1, 0, -1 or NaN for unknown), not {matrix.dtype}")
    if matrix.shape[1] != n_columns:
        raise RamifyError(f"the labels have {matrix.shape[1]} columns for {n_columns} concepts: give one for each")
    return matrix


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
