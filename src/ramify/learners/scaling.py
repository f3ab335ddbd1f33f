"""Scaling: features of any kind become inputs that a net learns from; fitted on train, saved with the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

BLOCK = 4096  # rows looked at once


@dataclass(frozen=True)
class Scaler:
    """Dense features are standardised by column; counts and tags (non-negative, mostly zero) by the norm of their row.

    >>> Scaler.fitted(np.array([[0.0, 2.0], [2.0, -2.0]])).transform(np.array([[1.0, 2.0]]))
    array([[0., 1.]], dtype=float32)
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    by_row: bool

    @classmethod
    def fitted(cls, features: Any) -> "Scaler":
        """Look at all features once, block by block."""
        n_items, width = features.shape
        total, squares = np.zeros((2, width))
        zeros, smallest = 0, 0.0
        for first in range(0, n_items, BLOCK):
            block = _dense(features[first : first + BLOCK]).astype(np.float64)
            total += block.sum(axis=0)
            squares += np.square(block).sum(axis=0)
            zeros += int((block == 0).sum())
            smallest = min(smallest, block.min(initial=0))
        mean = total / max(1, n_items)
        deviation = np.sqrt(np.maximum(squares / max(1, n_items) - mean**2, 0))
        constant = deviation <= 1e-6 * np.maximum(1, np.abs(mean))
        scale = np.where(constant, 0, 1 / np.where(constant, 1, deviation))  # a constant column says nothing
        by_row = smallest >= 0 and zeros > 0.5 * n_items * width
        return cls(mean.astype(np.float32), scale.astype(np.float32), bool(by_row))

    def transform(self, features: Any) -> NDArray[np.float32]:
        """Scaled float32 rows."""
        block = _dense(features).astype(np.float32)
        if self.by_row:
            norm = np.linalg.norm(block, axis=1, keepdims=True)
            return np.asarray(block / np.maximum(norm, 1e-12) * np.float32(np.sqrt(block.shape[1]) / 4), np.float32)
        block -= self.mean  # in place: it is a copy, and another of that size costs more than the arithmetic
        block *= self.scale
        return block

    def raw(self, inputs: torch.Tensor) -> torch.Tensor:
        """The features that scaled rows came from; of tags up to the length of their row.

        >>> scaler = Scaler.fitted(np.array([[0.0, 2.0], [2.0, -2.0]]))
        >>> scaler.raw(torch.tensor([[0.0, 1.0]]))
        tensor([[1., 2.]])
        """
        if self.by_row:
            return inputs
        spread = np.divide(1, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)
        return inputs * torch.from_numpy(spread).to(inputs) + torch.from_numpy(self.mean).to(inputs)

    def inputs(self, features: Any, device: torch.device) -> torch.Tensor:
        """Scaled rows as a net takes them."""
        return torch.from_numpy(self.transform(features)).to(device)


def _dense(block: Any) -> NDArray[Any]:
    return block.toarray() if scipy.sparse.issparse(block) else np.asarray(block)
