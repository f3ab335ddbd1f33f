"""Rows: compressed rows of cells that may change their length, in two plain arrays."""

from copy import copy

import numpy as np
from numpy.typing import NDArray

from ramify.labels.cells import Bytes
from ramify.taxonomy import Index


class Rows:
    """For each item the positions of its stored cells, ascending, and the cells themselves.

    A row that outgrows its place moves to the end and leaves a gap; when the gaps are too many, all rows are packed.
    """

    def __init__(self, lengths: NDArray[np.int32], positions: NDArray[np.int32], cells: Bytes) -> None:
        self.lengths = lengths
        self.starts = np.cumsum(lengths, dtype=np.int64) - lengths
        self.positions = positions
        self.cells = cells
        self.end = len(positions)
        self.gaps = 0

    @property
    def nbytes(self) -> int:
        """The memory that all arrays take, gaps and spare room included."""
        return self.lengths.nbytes + self.starts.nbytes + self.positions.nbytes + self.cells.nbytes

    def copy(self) -> "Rows":
        """The same rows, to be changed apart."""
        other = copy(self)
        other.lengths, other.starts = self.lengths.copy(), self.starts.copy()
        other.positions, other.cells = self.positions.copy(), self.cells.copy()
        return other

    def find(self, items: Index) -> tuple[Index, Index]:
        """For every stored cell of the items: which of the items it belongs to, and where it lies."""
        lengths = self.lengths[items]
        before = np.cumsum(lengths, dtype=np.int64) - lengths
        owners = np.repeat(np.arange(len(items)), lengths)
        return owners, np.arange(len(owners)) + np.repeat(self.starts[items] - before, lengths)

    def replace(self, items: Index, lengths: NDArray[np.int32], positions: NDArray[np.int32], cells: Bytes) -> None:
        """Give different items new rows."""
        outgrown = lengths > self.lengths[items]
        moving = items[outgrown]
        self.gaps += int(self.lengths[moving].sum())
        self.gaps += int((self.lengths[items] - lengths)[~outgrown].sum())
        moved_lengths = lengths[outgrown]
        needed = int(moved_lengths.sum())
        self._make_room(needed)
        self.starts[moving] = self.end + np.cumsum(moved_lengths, dtype=np.int64) - moved_lengths
        self.end += needed
        self.lengths[items] = lengths
        _, where = self.find(items)
        self.positions[where] = positions
        self.cells[where] = cells
        if self.gaps > max(1024, self.end // 2):
            self.pack()

    def pack(self) -> None:
        """Close all gaps."""
        _, where = self.find(np.arange(len(self.lengths)))
        self.__init__(self.lengths, self.positions[where], self.cells[where])  # type: ignore[misc]

    def _make_room(self, needed: int) -> None:
        if self.end + needed > len(self.positions):
            room = self.end + needed + self.end // 16 + 64
            self.positions = np.concatenate([self.positions[: self.end], np.zeros(room - self.end, np.int32)])
            self.cells = np.concatenate([self.cells[: self.end], np.zeros(room - self.end, np.uint8)])
