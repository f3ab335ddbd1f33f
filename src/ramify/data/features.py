"""Feature matrices that users bring: numpy, memory maps, torch tensors, scipy sparse."""

from typing import Any

import numpy as np
import scipy.sparse

from ramify.errors import RamifyError
from ramify.files import let_go

LARGEST = 1e18  # nets count in single precision, and squares must fit into it
BLOCK = 1 << 22  # numbers looked at once
NOT_FINITE = "replace what is not a finite number"


def as_features(features: Any, *, check: bool = True) -> Any:
    """A two-dimensional numpy array (a memory map stays one) or CSR array of finite numbers.

    Torch tensors become numpy views. With ``check`` every number is looked at, block by block.

    >>> as_features([[1, 2], [3, float("nan")]])
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: the features of row 1, column 1 are nan: replace what is not a finite number
    """
    if hasattr(features, "detach"):  # a torch tensor, without importing torch to find out
        features = features.detach().cpu().numpy()
    features = scipy.sparse.csr_array(features) if scipy.sparse.issparse(features) else np.asanyarray(features)
    if features.ndim != 2:
        raise RamifyError(f"features must be a table, items x columns, not an array of {features.ndim} dimension(s)")
    if features.dtype.kind not in "biuf":
        raise RamifyError(f"features must be numbers, not {features.dtype}")
    if check and features.dtype.kind == "f":
        _check_finite(features)
    return features


def first_wrong(block: Any) -> tuple[int, int] | None:
    """Row and column of the first value that is not a finite number, or too large; None where all are well.

    >>> first_wrong(np.array([[1.0, np.inf]])), first_wrong(np.ones((2, 2), np.int8))
    ((0, 1), None)
    """
    if block.dtype.kind != "f":
        return None
    largest = block.dtype.type(min(LARGEST, float(np.finfo(block.dtype).max)))
    values = block.data if scipy.sparse.issparse(block) else block
    if (np.abs(values) <= largest).all():  # false for NaN too
        return None
    dense = block.toarray() if scipy.sparse.issparse(block) else block
    row, column = np.argwhere(~(np.abs(dense) <= largest))[0]
    return int(row), int(column)


def _check_finite(features: Any) -> None:
    rows = max(1, BLOCK // max(1, features.shape[1]))
    for first in range(0, features.shape[0], rows):
        block = features[first : first + rows]
        let_go(features)  # the pages of the blocks before
        wrong = first_wrong(block)
        if wrong is not None:
            row, column = wrong
            value = block[row, column]
            finite = f" of at most {LARGEST:g}" if np.isfinite(value) else ""
            raise RamifyError(f"the features of row {first + row}, column {column} are {value}: {NOT_FINITE}{finite}")
