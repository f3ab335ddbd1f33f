"""The store under Labels: cells by item and position, settled again wherever an assertion changes.

Most cells are settled by an irrelevant parent and are not stored. Stored are one byte for every (item, root), and
compressed rows of the cells that are *open* (the parent is not known irrelevant) or asserted; see ``cells`` for the
byte. A position is a concept's place in preorder: the cells of one tree lie side by side in a row.
"""

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ramify.labels import cells as cell
from ramify.labels.cells import Asserted, Bytes, settle_items
from ramify.labels.deduction import Tree, settle
from ramify.labels.rows import Rows
from ramify.taxonomy import Index

# Lists of what a cell says, looked up by its assertion bits: quicker than computing when it is one item's turn.
SAYS_YES = [bits & cell.SAYS_YES != 0 for bits in range(cell.CELL_KINDS)]
SAYS_NO = [bits & cell.SAYS_NO != 0 for bits in range(cell.CELL_KINDS)]


class Store:
    """What is asserted and known of every cell of N items."""

    def __init__(self, forest: tuple[Tree, ...], roots: Bytes, rows: Rows) -> None:
        self.forest = forest
        self.roots = roots
        self.rows = rows
        self.n_positions = sum(map(len, forest))
        self.tree_of = [number for number, tree in enumerate(forest) for _ in range(len(tree))]
        self.firsts = np.array([tree.first for tree in forest])

    @classmethod
    def settled(cls, forest: tuple[Tree, ...], chunks: Iterable[Asserted]) -> "Store":
        """Settle all items from their assertions, chunk by chunk."""
        none = np.empty(0, np.intp)
        nothing = Asserted(np.empty((0, len(forest)), np.uint8), none, none, np.empty(0, np.uint8))
        done = [settle_items(forest, asserted) for asserted in (nothing, *chunks)]
        roots, lengths, positions, cells = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return cls(forest, roots, Rows(lengths, positions, cells))

    def __len__(self) -> int:
        return len(self.roots)

    def take(self, items: Index) -> "Store":
        """A store of some items, in their order."""
        _, positions, cells = self.stored(items)
        return Store(self.forest, self.roots[items], Rows(self.rows.lengths[items], positions, cells))

    def copy(self) -> "Store":
        """The same store, to be changed apart."""
        return Store(self.forest, self.roots.copy(), self.rows.copy())

    # -- reading -----------------------------------------------------------------------------------------------------

    def stored(self, items: Index) -> tuple[Index, NDArray[np.int32], Bytes]:
        """The stored cells of the items, row by row, without the roots: owners, positions, cells."""
        owners, where = self.rows.find(items)
        return owners, self.rows.positions[where], self.rows.cells[where]

    def asserted(self, items: Index) -> Asserted:
        """All that is asserted of the items."""
        owners, positions, cells = self.stored(items)
        roots: Bytes = np.bitwise_and(self.roots[items], np.uint8(cell.ASSERTED))
        bits: Bytes = np.bitwise_and(cells, np.uint8(cell.ASSERTED))
        said = np.flatnonzero(bits)
        return Asserted(roots, owners[said], positions[said].astype(np.intp), bits[said])

    def block(self, items: Index, positions: Index) -> Bytes:
        """The cells of items x positions, dense."""
        block = np.full((len(items), len(positions)), cell.CLOSED, np.uint8)
        tree = np.array(self.tree_of)[positions]
        is_root = self.firsts[tree] == positions
        if is_root.any():
            block[:, is_root] = self.roots[np.ix_(items, tree[is_root])]
        if not is_root.all():
            column = np.full(self.n_positions, -1)
            column[positions] = np.arange(len(positions))
            owners, places, cells = self.stored(items)
            columns = column[places]
            wanted = columns >= 0
            block[owners[wanted], columns[wanted]] = cells[wanted]
        return block

    def histogram(self, parts: Iterable[Index]) -> Index:
        """For every position and every value of a cell, the number of items; the parts together are all items."""
        flat = np.zeros(self.n_positions * cell.CELL_KINDS, np.intp)
        for part in parts:
            _, positions, cells = self.stored(part)
            flat += np.bincount(positions.astype(np.intp) * cell.CELL_KINDS + cells, minlength=len(flat))
        histogram = flat.reshape(self.n_positions, cell.CELL_KINDS)
        for number, first in enumerate(self.firsts):
            histogram[first] = np.bincount(self.roots[:, number], minlength=cell.CELL_KINDS)
        histogram[:, cell.CLOSED] += len(self) - histogram.sum(axis=1)
        return histogram

    # -- writing: an assertion becomes ``old & keep | put`` -----------------------------------------------------------

    def assert_one(self, item: int, position: int, keep: int, put: int) -> None:
        """Change one assertion and settle that item's tree again, in plain Python: a few microseconds."""
        rows, number = self.rows, self.tree_of[position]
        tree = self.forest[number]
        first = tree.first
        start = int(rows.starts[item])
        end = start + int(rows.lengths[item])
        begin = bisect_left(rows.positions, first + 1, start, end)
        stop = bisect_left(rows.positions, first + len(tree), begin, end)
        stored = rows.positions[begin:stop].tolist()
        asserted = [0] * len(tree)
        asserted[0] = int(self.roots[item, number]) & cell.ASSERTED
        for place, old in zip(stored, rows.cells[begin:stop].tolist(), strict=True):
            asserted[place - first] = old & cell.ASSERTED
        asserted[position - first] = asserted[position - first] & keep | put
        relevant, irrelevant, held = settle(
            tree, [SAYS_YES[said] for said in asserted], [SAYS_NO[said] for said in asserted]
        )
        settled = [
            said + (cell.IS_YES if yes else cell.IS_NO if no else cell.HELD if aside else 0)
            for said, yes, no, aside in zip(asserted, relevant, irrelevant, held, strict=True)
        ]
        self.roots[item, number] = settled[0]
        now = [first + n for n in range(1, len(tree)) if asserted[n] or not irrelevant[tree.parents[n]]]
        cells = [settled[place - first] for place in now]
        if now == stored:
            rows.cells[begin:stop] = cells
            return
        positions = np.concatenate([rows.positions[start:begin], np.array(now, np.int32), rows.positions[stop:end]])
        values = np.concatenate([rows.cells[start:begin], np.array(cells, np.uint8), rows.cells[stop:end]])
        rows.replace(np.array([item]), np.array([len(positions)], np.int32), positions, values)

    def assert_many(self, items: Index, positions: Index, keep: int, put: Bytes) -> None:
        """Change many assertions and settle their items again, all at once; of two about one cell the later wins."""
        affected, owners = np.unique(items, return_inverse=True)
        _, last = np.unique((owners * self.n_positions + positions)[::-1], return_index=True)
        latest = len(items) - 1 - last
        owners, positions, put = owners[latest], positions[latest], put[latest]
        old = self.asserted(affected)
        tree = np.array(self.tree_of)[positions]
        at_root = self.firsts[tree] == positions
        where = owners[at_root], tree[at_root]
        old.roots[where] = old.roots[where] & keep | put[at_root]

        owners, positions, put = owners[~at_root], positions[~at_root], put[~at_root]
        keys, old_keys = owners * self.n_positions + positions, old.owners * self.n_positions + old.positions
        place = np.searchsorted(old_keys, keys)  # the old keys ascend, as rows do
        known = np.append(old_keys, -1)[place] == keys
        old.bits[place[known]] = old.bits[place[known]] & keep | put[known]
        changed = Asserted(
            old.roots,
            np.concatenate([old.owners, owners[~known]]),
            np.concatenate([old.positions, positions[~known]]),
            np.concatenate([old.bits, put[~known]]),
        )
        roots, lengths, row_positions, cells = settle_items(self.forest, changed)
        self.roots[affected] = roots
        self.rows.replace(affected, lengths, row_positions, cells)
