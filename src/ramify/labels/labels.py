"""Labels: yes, no or unknown for every (item, concept), why it is known, and what is still to be asked."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz
from ramify.labels import cells as cell
from ramify.labels.assertions import (
    SOURCE_OF,
    STATE_OF,
    Assertions,
    Contradiction,
    Source,
    bits_of,
    merged_bits,
    shift_of,
)
from ramify.labels.cells import Asserted, Bytes
from ramify.labels.deduction import trees
from ramify.labels.matrix import CHUNK, asserted_by
from ramify.labels.questions import first_unknown
from ramify.labels.rows import Rows
from ramify.labels.store import Store
from ramify.labels.words import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.taxonomy import ConceptRef, Index, Taxonomy

Items: TypeAlias = int | slice | ArrayLike | None
Concepts: TypeAlias = ConceptRef | Iterable[ConceptRef]

NUMBER = (int, np.integer)
STORED = {"roots": ("uint8", 2), "lengths": ("int32", 1), "positions": ("int32", 1), "cells": ("uint8", 1)}
ONE_BY_ONE = 64  # up to so many entries the short way, item by item, is the quicker one


class Labels:
    """Yes, no or unknown for N items and all concepts of a taxonomy: a function of the live assertions alone.

    ``coarse`` is a table of items x roots of the ``taxonomy``: what ``from_matrix`` takes, imported.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
    >>> labels = Labels(taxonomy, [[1, 0], [0, 1]])  # items x coarse concepts: 1, 0, or -1 for unknown
    >>> labels.states()  # items x fine concepts: no animal, so no cat and no dog
    array([[-1, -1,  0,  0],
           [ 0,  0, -1, -1]], dtype=int8)
    >>> labels.record(0, "cat", 1, "annotated")
    >>> labels.record([0, 1, 1], ["dog", "apple", "banana"], [0, 1, 0], "annotated")
    >>> labels.warm_items().tolist()
    [0, 1]
    >>> labels
    <Labels: 2 items, 2 coarse and 4 fine concepts, 0 unknown of 4 open entries>
    """

    def __init__(self, taxonomy: Taxonomy, coarse: Any) -> None:
        self._take_over(taxonomy, asserted_by(taxonomy, coarse, taxonomy.roots, Source.IMPORTED))

    @classmethod
    def from_matrix(
        cls, taxonomy: Taxonomy, matrix: Any, concepts: Concepts | None = None, source: Source | str = "imported"
    ) -> "Labels":
        """Labels from what is known of any concepts (by default the fine ones), a column for each.

        The matrix may be integer (1, 0, -1 unknown), float (NaN unknown), boolean, or scipy sparse meaning the same.
        Where it has column names, as a DataFrame has, these say which column is which concept, in any order.

        >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
        >>> Labels.from_matrix(taxonomy, [[1, -1], [-1, 0]]).states(concepts=["animal", "cat", "dog"])
        array([[ 1,  1, -1],
               [-1, -1,  0]], dtype=int8)
        """
        columns = taxonomy.leaves if concepts is None else np.atleast_1d(taxonomy.indices(concepts))
        return cls._made(taxonomy, asserted_by(taxonomy, matrix, columns, Source.asserting(source)))

    @classmethod
    def _made(cls, taxonomy: Taxonomy, content: Store | Iterable[Asserted]) -> "Labels":
        self = cls.__new__(cls)
        return self._take_over(taxonomy, content)

    def _take_over(self, taxonomy: Taxonomy, content: Store | Iterable[Asserted]) -> "Labels":
        """Become the labels in a store, or those that follow from assertions (chunks, as ``Store.settled`` takes)."""
        self.taxonomy = taxonomy
        self._position = np.argsort(taxonomy.preorder)
        self._store = content if isinstance(content, Store) else Store.settled(trees(taxonomy), content)
        return self

    # -- what is known -----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._store)

    @property
    def shape(self) -> tuple[int, int]:
        """How many items and fine concepts there are: the shape of ``states()``."""
        return len(self), len(self.taxonomy.leaves)

    def __getitem__(self, items: Any) -> "Labels":
        """The labels of some items, by numbers, a mask or a slice: what scikit-learn's model selection asks for.

        >>> Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0], [0]])[1:].shape
        (2, 2)
        """
        rows, columns = items if isinstance(items, tuple) and len(items) == 2 else (items, ...)
        if columns is not ...:
            raise RamifyError("labels are indexed by items, labels[items]: for some concepts, see states")
        return self.take(rows)

    __iter__ = None  # an item alone is no label: see states

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.states(), dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        left, right = self.arrays(), other.arrays()
        return self.taxonomy == other.taxonomy and all(np.array_equal(left[name], right[name]) for name in left)

    __hash__ = None  # type: ignore[assignment]  # labels change

    def __repr__(self) -> str:
        _, _, unknown = self.counts()
        leaves = self.taxonomy.leaves
        return (
            f"<Labels: {len(self)} items, {len(self.taxonomy.roots)} coarse and {len(leaves)} fine concepts, "
            f"{unknown[leaves].sum()} unknown of {self.open_entries()[leaves].sum()} open entries>"
        )

    @property
    def cells(self) -> Store:
        """What is stored of each cell, for labels that share them."""
        return self._store

    @property
    def nbytes(self) -> int:
        """The memory that the labels take."""
        return self._store.roots.nbytes + self._store.rows.nbytes

    def states(self, items: Items = None, concepts: Concepts | None = None) -> NDArray[np.int8]:
        """1 relevant, 0 irrelevant, -1 unknown: a dense block, items x concepts (by default all items, the fine ones).

        >>> Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0]]).states(1).tolist()
        [[0, 0]]
        """
        return STATE_OF[self._block(items, concepts)]

    def sources(self, items: Items = None, concepts: Concepts | None = None) -> NDArray[np.int8]:
        """Why each is known, as numbers of ``Source``, in the same form as ``states``."""
        return SOURCE_OF[self._block(items, concepts)]

    def to_float(self, items: Items = None, concepts: Concepts | None = None) -> NDArray[np.float64]:
        """The states with NaN for unknown."""
        states = self.states(items, concepts)
        return np.where(states == UNKNOWN, np.nan, states)

    def to_sparse(self, items: Items = None, concepts: Concepts | None = None) -> "scipy.sparse.csr_array":
        """The states as a CSR array: 1 and -1 are stored, 0 is not."""
        chosen = self._items(items)
        blocks = [self.states(chosen[n : n + CHUNK], concepts) for n in range(0, max(1, len(chosen)), CHUNK)]
        return scipy.sparse.vstack([scipy.sparse.csr_array(block) for block in blocks], format="csr")

    def unknown(self, items: Items = None) -> tuple[Index, Index]:
        """All unknown entries as (item, fine concept) arrays, item by item.

        >>> Labels(Taxonomy({"animal": ["cat", "dog"]}), [[0], [1]]).unknown()
        (array([1, 1]), array([0, 1]))
        """
        return self._entries(items, lambda part: np.nonzero(self.states(part) == UNKNOWN))

    def questions(self, items: Items = None) -> tuple[Index, Index]:
        """What can be asked, as (item, concept) arrays, item by item: the first unknown concept on every way down.

        That is, an unknown concept whose parent is known relevant, or a root, where something fine below it is unknown.

        >>> Labels(Taxonomy({"animal": ["cat", "dog"]}), [[0], [1], [-1]]).questions()
        (array([1, 1, 2]), array([0, 1, 2]))
        """
        return self._entries(items, lambda part: first_unknown(self._all_states(part), self.taxonomy))

    def _all_states(self, items: Index) -> NDArray[np.int8]:
        return STATE_OF[self._store.block(items, self._position)]

    def _entries(self, items: Items, find: Callable[[Index], Iterable[Index]]) -> tuple[Index, Index]:
        """Entries that are found in one part of the items after another."""
        entries = [(np.empty(0, np.intp), np.empty(0, np.intp))]
        for part in self._chunks(self._items(items)):
            owners, concepts = find(part)
            entries.append((part[owners], concepts))
        owners, concepts = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        return owners, concepts

    def warm_items(self) -> Index:
        """The items whose fine entries are all known."""
        warm = [part[(self.states(part) != UNKNOWN).all(axis=1)] for part in self._chunks(np.arange(len(self)))]
        return np.concatenate([np.empty(0, np.intp), *warm])

    def counts(self) -> tuple[Index, Index, Index]:
        """For every concept, how many items are relevant, irrelevant and unknown.

        >>> [count.tolist() for count in Labels(Taxonomy({"animal": ["cat", "dog"]}), [[0], [1], [-1]]).counts()]
        [[0, 0, 1], [1, 1, 1], [2, 2, 1]]
        """
        histogram = self._histogram()
        return tuple(histogram[:, state == STATE_OF].sum(axis=1) for state in (RELEVANT, IRRELEVANT, UNKNOWN))

    def source_counts(self) -> Index:
        """For every concept, how many items are known by each ``Source``: concepts x 4, UNKNOWN first."""
        histogram = self._histogram()
        return np.stack([histogram[:, source == SOURCE_OF].sum(axis=1) for source in Source], axis=1)

    def open_entries(self) -> Index:
        """For every concept, the number of items whose parent concept is not known irrelevant (all, for a root)."""
        _, irrelevant, _ = self.counts()
        parents = self.taxonomy.parents
        return np.asarray(len(self) - np.where(parents >= 0, irrelevant[parents], 0), np.intp)

    def assertions(self, items: Items = None) -> Assertions:
        """All live assertions about the items.

        >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]])
        >>> labels.record(0, "dog", 0, "annotated")
        >>> labels.assertions()
        Assertions(items=array([0, 0]), concepts=array([2, 1]),
                   values=array([1, 0], dtype=int8), sources=array([1, 2], dtype=int8))
        """
        chosen = self._items(items)
        owners, positions, bits = self._store.asserted(chosen).cells(self._store.forest)
        asserted = [np.empty((0, 3), np.intp)]
        for source in (Source.IMPORTED, Source.ANNOTATED):
            said = bits >> shift_of(source) & 0b11
            where = np.flatnonzero(said)
            asserted.append(np.column_stack([where, said[where] == 2, np.full(len(where), source)]))
        where, values, sources = np.concatenate(asserted).T
        order = np.lexsort((sources, positions[where], owners[where]))
        return Assertions(
            chosen[owners[where]][order],
            self.taxonomy.preorder[positions[where]][order],
            values[order].astype(np.int8),
            sources[order].astype(np.int8),
        )

    def contradictions(self) -> list[Contradiction]:
        """All contradictions, one for each item and tree that has any."""
        in_tree = np.array(self._store.tree_of)[self._position]
        torn_trees: dict[tuple[int, int], list[tuple[str, int, Source]]] = {}
        for part in self._chunks(np.arange(len(self))):
            owners, _, cells = self._store.stored(part)
            torn = np.union1d(
                owners[cells & cell.HELD != 0], np.flatnonzero((self._store.roots[part] & cell.HELD).any(axis=1))
            )
            said = self.assertions(part[torn])
            for item, concept, value, source in zip(*said, strict=True):
                if self._block(item, concept)[0, 0] & cell.HELD:
                    key = (int(item), int(in_tree[concept]))
                    torn_trees.setdefault(key, []).append((self.taxonomy.path(concept), int(value), Source(source)))
        relevant_first = (sorted(said, key=lambda assertion: -assertion[1]) for said in torn_trees.values())
        return [Contradiction(item, tuple(said)) for (item, _), said in zip(torn_trees, relevant_first, strict=True)]

    # -- telling what is known ---------------------------------------------------------------------------------------

    def record(self, items: Items, concepts: Concepts, values: ArrayLike, source: Source | str) -> None:
        """Assert that concepts are relevant (1) or irrelevant (0) to items; replaces what this source said before.

        Items, concepts and values are single or arrays of the same length; an array's later entries win.
        """
        self._assert(items, concepts, values, Source.asserting(source))

    def retract(self, items: Items, concepts: Concepts, source: Source | str) -> None:
        """Take back what the source asserted of the concepts and items, if anything.

        >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]])
        >>> labels.record(0, "cat", 1, "annotated")
        >>> labels.retract(0, "cat", "annotated")
        >>> labels.states().tolist()
        [[-1, -1]]
        """
        self._assert(items, concepts, None, Source.asserting(source))

    def _assert(self, items: Items, concepts: Concepts, values: ArrayLike | None, source: Source) -> None:
        """Record the values, or retract where there are none; everything is checked before anything changes."""
        keep = cell.ASSERTED & ~(0b11 << shift_of(source))
        if (
            isinstance(items, NUMBER)
            and isinstance(concepts, (*NUMBER, str))
            and isinstance(values, (*NUMBER, NoneType))
        ):
            item = int(items if 0 <= items < len(self) else self._items(items)[0])
            position = int(self._position[self.taxonomy.index(concepts)])
            self._store.assert_one(item, position, keep, 0 if values is None else int(bits_of(values, source)))
            return
        parts = (
            self._items(items, single=False),
            self.taxonomy.indices(concepts),
            np.asarray(0 if values is None else values),
        )
        try:
            owners, numbers, said = np.broadcast_arrays(*parts)
        except ValueError:
            lengths = ", ".join(str(part.size) for part in parts)
            raise RamifyError(
                f"items, concepts and values must have one length (or be single), not {lengths}"
            ) from None
        bits = np.zeros(said.shape, np.uint8) if values is None else bits_of(said, source)
        owners, positions, bits = np.ravel(owners), self._position[np.ravel(numbers)], np.ravel(bits)
        if len(owners) <= ONE_BY_ONE:
            for item, position, put in zip(owners.tolist(), positions.tolist(), bits.tolist(), strict=True):
                self._store.assert_one(item, position, keep, put)
        else:
            self._store.assert_many(owners, positions, keep, bits)

    # -- other labels from these -------------------------------------------------------------------------------------

    def take(self, items: Items) -> "Labels":
        """The labels of some items, in their order."""
        return Labels._made(self.taxonomy, self._store.take(self._items(items)))

    def copy(self) -> "Labels":
        """The same labels, to be changed apart.

        >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]])
        >>> labels.copy().record([0], ["cat"], [1], "annotated")
        >>> labels.states().tolist()
        [[-1, -1]]
        """
        return Labels._made(self.taxonomy, self._store.copy())

    @classmethod
    def joined(cls, parts: Sequence["Labels"]) -> "Labels":
        """The labels of several sets of items, one after the other; all are of the same taxonomy.

        >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
        >>> Labels.joined([Labels(taxonomy, [[1]]), Labels(taxonomy, [[0], [-1]])]).states(concepts="animal").tolist()
        [[1], [0], [-1]]
        """
        if not parts or any(part.taxonomy != parts[0].taxonomy for part in parts):
            raise RamifyError("labels can only be joined where there are some, all of the same taxonomy")
        arrays = [part.arrays() for part in parts]
        joined = {name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]}
        rows = Rows(joined["lengths"], joined["positions"], joined["cells"])
        return cls._made(parts[0].taxonomy, Store(trees(parts[0].taxonomy), joined["roots"], rows))

    def migrate(self, taxonomy: Taxonomy, moved: Index) -> "Labels":
        """The same assertions about a changed taxonomy, with what ``Taxonomy.split`` or another change gave.

        Concepts merged into one are relevant if any was asserted so, irrelevant if all were. What is gone (-1) is left
        out.

        >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]])
        >>> labels.record(0, "dog", 1, "annotated")
        >>> labels.migrate(*labels.taxonomy.split("dog", ["poodle", "beagle"])).states(0, ["dog", "poodle"]).tolist()
        [[1, -1]]
        """
        members = np.bincount(moved[moved >= 0], minlength=len(taxonomy))
        new_position, forest = np.argsort(taxonomy.preorder), trees(taxonomy)

        def chunks() -> Iterator[Asserted]:
            for part in self._chunks(np.arange(len(self))):
                owners, positions, bits = self._store.asserted(part).cells(self._store.forest)
                concepts = moved[self.taxonomy.preorder[positions]]
                left = concepts >= 0
                owners, concepts, bits = owners[left], concepts[left], bits[left]
                keys, place = np.unique(owners * len(taxonomy) + concepts, return_inverse=True)
                owners, concepts = np.divmod(keys, len(taxonomy))
                bits = merged_bits(bits, place, members[concepts])
                yield Asserted.of_cells(forest, len(part), owners, new_position[concepts], bits)

        return Labels._made(taxonomy, chunks())

    def save(self, path: str | Path) -> None:
        """Write everything, the taxonomy included, to one .npz file."""
        taxonomy = json.dumps(self.taxonomy.to_dict(), ensure_ascii=False)
        write_npz(path, {"taxonomy": np.array(taxonomy), **self.arrays()})

    @classmethod
    def load(cls, path: str | Path) -> "Labels":
        """Read what ``save`` wrote."""
        arrays = read_npz(path, ("taxonomy", *STORED))
        damaged = RamifyError(f"{path}: the arrays of these labels do not fit together: the file is damaged")
        try:
            taxonomy = Taxonomy(json.loads(str(arrays["taxonomy"])))
        except ValueError:
            raise damaged from None
        roots, lengths, positions, cells = (arrays[name] for name in STORED)
        if (
            {name: (arrays[name].dtype.name, arrays[name].ndim) for name in STORED} != STORED
            or roots.shape != (len(lengths), len(taxonomy.roots))
            or not lengths.sum() == len(positions) == len(cells)
            or lengths.min(initial=0) < 0
            or (len(positions) and not 0 <= positions.min() <= positions.max() < len(taxonomy))
        ):
            raise damaged
        store = Store(trees(taxonomy), roots, Rows(lengths, positions, cells))
        return cls._made(taxonomy, store)

    # -- inside ------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that these labels are, besides the taxonomy; equal for equal labels, whatever their history."""
        _, positions, cells = self._store.stored(np.arange(len(self)))
        lengths = self._store.rows.lengths
        return {"roots": self._store.roots, "lengths": lengths, "positions": positions, "cells": cells}

    def _items(self, items: Items, *, single: bool = True) -> Index:
        """Item numbers as an array; a single one becomes an array of one where ``single`` is true."""
        if items is None or isinstance(items, slice):
            return np.arange(len(self))[items or slice(None)]
        chosen = np.asarray(items)
        if chosen.dtype == bool and chosen.shape == (len(self),):
            return np.flatnonzero(chosen)
        if chosen.size and chosen.dtype.kind not in "iu":
            raise RamifyError(f"items are numbers from 0 to {len(self) - 1}, not {chosen.dtype}")
        chosen = chosen.astype(np.intp, copy=False)
        outside = (chosen < 0) | (chosen >= len(self))
        if outside.any():
            raise RamifyError(f"there is no item {chosen[outside].flat[0]}: items are numbered 0 to {len(self) - 1}")
        return np.atleast_1d(chosen) if single else chosen

    def _chunks(self, items: Index) -> Iterator[Index]:
        """The items in parts whose dense blocks stay small."""
        size = max(1, min(CHUNK, (1 << 24) // len(self.taxonomy)))
        return (items[first : first + size] for first in range(0, len(items), size))

    def _block(self, items: Items, concepts: Concepts | None) -> Bytes:
        """The cells of items x concepts, dense."""
        chosen = self._items(items)
        numbers = self.taxonomy.leaves if concepts is None else np.atleast_1d(self.taxonomy.indices(concepts))
        if concepts is None:
            return self._store.block(chosen, self._position[numbers])
        distinct, back = np.unique(numbers, return_inverse=True)
        return self._store.block(chosen, self._position[distinct])[:, back]

    def _histogram(self) -> Index:
        """For every concept and every value of a cell, the number of items."""
        return self._store.histogram(self._chunks(np.arange(len(self))))[self._position]
