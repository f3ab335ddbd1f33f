"""Cells: one byte for what is asserted and known of one (item, concept), and settling many items at once."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ramify.labels.deduction import Tree, settle
from ramify.taxonomy import Index

Bytes: TypeAlias = NDArray[np.uint8]

# Two bits a source (imported from bit 0, annotated from bit 2): 1 irrelevant, 2 relevant, 0 nothing asserted.
SAYS_NO, SAYS_YES = 0b0101, 0b1010
ASSERTED = SAYS_NO | SAYS_YES
IS_NO, IS_YES = 1 << 4, 1 << 5  # what all assertions together settle
HELD = 1 << 6  # its assertions contradict others, so they settle nothing
CELL_KINDS = 1 << 7

CLOSED = IS_NO
"""A cell that is not stored: nothing is asserted, and it is irrelevant because its parent is."""


@dataclass(frozen=True)
class Asserted:
    """All assertions about some items: the bits of every (item, root), and of other cells by owner and position."""

    roots: Bytes
    owners: Index
    positions: Index
    bits: Bytes

    @classmethod
    def of_cells(
        cls, forest: tuple[Tree, ...], n_items: int, owners: Index, positions: Index, bits: Bytes
    ) -> "Asserted":
        """From the bits of any cells, roots among them."""
        root_number = np.full(sum(map(len, forest)), -1)
        root_number[[tree.first for tree in forest]] = np.arange(len(forest))
        number = root_number[positions]
        at_root = number >= 0
        roots = np.zeros((n_items, len(forest)), np.uint8)
        roots[owners[at_root], number[at_root]] = bits[at_root]
        return cls(roots, owners[~at_root], positions[~at_root], bits[~at_root])

    def cells(self, forest: tuple[Tree, ...]) -> tuple[Index, Index, Bytes]:
        """The owners, positions and bits of all asserted cells, roots among them."""
        owners, numbers = np.nonzero(self.roots)
        firsts = np.array([tree.first for tree in forest])
        return (
            np.concatenate([owners, self.owners]),
            np.concatenate([firsts[numbers], self.positions]),
            np.concatenate([self.roots[owners, numbers], self.bits]),
        )


def settle_items(
    forest: tuple[Tree, ...], asserted: Asserted
) -> tuple[Bytes, NDArray[np.int32], NDArray[np.int32], Bytes]:
    """Deduce many items at once from all that is asserted of them.

    Returns the roots' cells, and the other stored cells as rows: how many each item has, their positions, the cells.
    """
    by_position = np.argsort(asserted.positions, kind="stable")
    owners, positions = asserted.owners[by_position], asserted.positions[by_position]
    bits = asserted.bits[by_position]
    roots = asserted.roots | np.uint8(IS_NO)
    lengths = np.zeros(len(roots), np.int32)
    pieces = []
    for number, tree in enumerate(forest):
        begin, end = np.searchsorted(positions, [tree.first, tree.first + len(tree)])
        root = asserted.roots[:, number]
        # Where only the root is asserted, and irrelevant, the whole tree is closed: nothing to deduce or to store.
        live = ((root & SAYS_NO) == 0) | ((root & SAYS_YES) != 0)
        live[owners[begin:end]] = True
        alive = np.flatnonzero(live)
        cells = np.zeros((len(tree), len(alive)), np.uint8)
        cells[0] = root[alive]
        place = np.cumsum(live) - 1
        cells[positions[begin:end] - tree.first, place[owners[begin:end]]] = bits[begin:end]
        stored = _settle_planes(tree, cells)
        roots[alive, number] = cells[0]
        lengths[alive] += stored.sum(axis=0, dtype=np.int32)
        pieces.append((tree, alive, stored, cells[1:]))

    row_positions = np.empty(int(lengths.sum()), np.int32)
    row_cells = np.empty(len(row_positions), np.uint8)
    free = np.cumsum(lengths, dtype=np.int64) - lengths  # where the next cell of each item goes
    for tree, alive, stored, cells in pieces:
        for node in range(len(tree) - 1):
            owner = alive if stored[node].all() else alive[stored[node]]
            row_positions[free[owner]] = tree.first + 1 + node
            row_cells[free[owner]] = cells[node] if len(owner) == len(alive) else cells[node][stored[node]]
            free[owner] += 1
    return roots, lengths, row_positions, row_cells


def _settle_planes(tree: Tree, cells: Bytes) -> NDArray[np.bool_]:
    """Add what is deduced to cells (concepts x items) that hold only assertions; say which must be stored."""
    relevant, irrelevant, held = settle(tree, list((cells & SAYS_YES) != 0), list((cells & SAYS_NO) != 0))
    stored: NDArray[np.bool_] = (cells[1:] & ASSERTED) != 0
    for node, plane in enumerate(cells):
        if node:
            stored[node - 1] |= ~irrelevant[tree.parents[node]]
        plane |= np.where(relevant[node], IS_YES, np.where(irrelevant[node], IS_NO, 0)).astype(np.uint8)
        plane |= np.multiply(held[node], HELD, dtype=np.uint8)
    return stored
