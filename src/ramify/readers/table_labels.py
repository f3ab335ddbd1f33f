"""The label columns of a table as Labels: coarse ones in a matrix, finer ones as single statements."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.readers.columns import Layout, Roles, yes_or_no
from ramify.readers.rows import Rows, as_text, is_empty
from ramify.taxonomy import Index, Taxonomy

SEPARATORS = ";|,"  # the first is none that a name may hold, so that names with the others can be listed too
DENIED = ("-", "!")  # before a name: it is irrelevant
UNLISTED = -2  # a coarse concept that a list of labels does not name, until the whole row is read


def split_names(text: str, separator: str | None = None) -> list[str]:
    """The names of a list in one cell; without a separator, by the first of ``;``, ``|`` and ``,`` that it holds.

    >>> split_names("cat; dog"), split_names("black, or white|red")
    (['cat', 'dog'], ['black, or white', 'red'])
    """
    separator = separator or next((sign for sign in SEPARATORS if sign in text), SEPARATORS[0])
    return [name.strip() for name in text.split(separator) if name.strip()]


class LabelReading:
    """Reads the label columns of one file."""

    def __init__(self, rows: Rows, taxonomy: Taxonomy, layout: Layout, roles: Roles) -> None:
        self.rows, self.taxonomy, self.layout, self.roles = rows, taxonomy, layout, roles
        self.place = {root: place for place, root in enumerate(taxonomy.roots.tolist())}
        self.coarse = np.full((len(rows), len(self.place)), UNKNOWN, np.int8)
        self.finer: list[tuple[Index, Index, NDArray[np.int8]]] = []

    def labels(self) -> tuple[Labels, int]:
        """The labels of all rows, and how many rows have only empty lists."""
        for concept, column in self.roles.concepts.items():
            self._state(column, concept)
        unlabelled = self._lists() if self.roles.lists else 0
        parts = [np.concatenate(part) for part in zip(*self.finer, strict=True)] or [np.empty(0, np.intp)] * 3
        items, concepts, values = parts
        self._check_same(items, concepts, values)
        relevant = values == RELEVANT
        places = np.array(
            [self.place[root] for root in self.taxonomy.root_of[concepts[relevant].astype(np.intp)].tolist()], np.intp
        )
        named = np.zeros(self.coarse.shape, np.bool_)
        named[items[relevant], places] = True
        unlisted = self.coarse == UNLISTED
        self.coarse[unlisted] = np.where(named[unlisted], UNKNOWN, IRRELEVANT)
        labels = Labels(self.taxonomy, self.coarse)
        labels.record(items, concepts, values, "imported")
        self._check_contradictions(labels)
        return labels, unlabelled

    def _state(self, column: str, concept: int) -> None:
        """Take in a column of yes and no."""
        values = np.empty(len(self.rows), np.int8)
        for row, value in enumerate(self.rows.columns[column]):
            said = yes_or_no(value)
            if said is None:
                raise RamifyError(
                    f"{self.rows.where(row, column)}: {value!r} is neither 1, 0, yes, no, true, false nor empty"
                )
            values[row] = said
        if concept in self.place:
            self.coarse[:, self.place[concept]] = values
        else:
            known = np.flatnonzero(values != UNKNOWN)
            self.finer.append((known, np.full(len(known), concept, np.intp), values[known]))

    def _lists(self) -> int:
        """Take in the columns that list names; the same cells are read once. Returns how many items list nothing."""
        numbers: dict[tuple[str, ...], int] = {}
        lists: list[tuple[dict[int, int], bool]] = []
        which = np.empty(len(self.rows), np.intp)
        for row, cells in enumerate(zip(*(self.rows.columns[name] for name in self.roles.lists), strict=True)):
            key = tuple(map(repr, cells))
            if key not in numbers:
                numbers[key] = len(lists)
                lists.append(self._listed(row, cells))
            which[row] = numbers[key]
        vectors = np.full((len(lists), len(self.place)), UNKNOWN, np.int8)
        own_column = [self.place[number] for number in self.roles.concepts if number in self.place]
        for vector, (said, listed) in zip(vectors, lists, strict=True):
            vector[:] = UNLISTED if listed and not self.layout.partial else UNKNOWN
            vector[own_column] = UNKNOWN
            for concept in [number for number in said if number in self.place]:
                vector[self.place[concept]] = said.pop(concept)
        coarse = vectors[which]
        torn = (self.coarse >= 0) & (coarse >= 0) & (self.coarse != coarse)
        if torn.any():
            row, place = np.argwhere(torn)[0].tolist()
            self._refuse_both(row, int(self.taxonomy.roots[place]))
        np.copyto(self.coarse, coarse, where=coarse != UNKNOWN)
        finer = [
            (row, concept, value) for row, n in enumerate(which.tolist()) for concept, value in lists[n][0].items()
        ]
        items, concepts, values = np.array(finer, np.intp).reshape(-1, 3).T
        self.finer.append((items, concepts, values.astype(np.int8)))
        return int(np.array([not listed for _, listed in lists])[which].sum())

    def _listed(self, row: int, cells: Sequence[Any]) -> tuple[dict[int, int], bool]:
        """What the cells of a row say of concepts, and whether they say anything (an empty list does)."""
        said: dict[int, int] = {}
        for column, cell in zip(self.roles.lists, cells, strict=True):
            for name in self._names(row, column, cell):
                concept, value = self._concept(row, column, name)
                if said.setdefault(concept, value) != value:
                    self._refuse_both(row, concept)
        if self.layout.complete:
            self._complete(said)
        return said, any(isinstance(cell, list) or not is_empty(cell) for cell in cells)

    def _complete(self, said: dict[int, int]) -> None:
        """Deny the siblings of what is named, unless they have a column of their own or something below is named."""
        listed = [concept for concept, value in said.items() if value == RELEVANT]
        named = {step for concept in listed for step in (concept, *self.taxonomy.ancestors(concept).tolist())}
        for parent in {self.taxonomy.parent(concept) for concept in named} - {-1}:
            for child in self.taxonomy.children(parent).tolist():
                if child not in named and child not in self.roles.concepts:
                    said.setdefault(child, IRRELEVANT)

    def _names(self, row: int, column: str, cell: Any) -> list[str]:
        if isinstance(cell, list):
            if not all(isinstance(name, str) for name in cell):
                raise RamifyError(f"{self.rows.where(row, column)}: labels are a list of names, not {cell!r}")
            return [name.strip() for name in cell]
        text = as_text(cell)
        if text is None:
            return []
        if self._is_concept(text) or (text[0] in DENIED and self._is_concept(text[1:].strip())):
            return [text]
        if text.lower() == "none":
            return []
        return split_names(text, self.layout.separator)

    def _concept(self, row: int, column: str, name: str) -> tuple[int, int]:
        denied = name[:1] in DENIED and not self._is_concept(name)
        try:
            return self.taxonomy.index(name[1:].strip() if denied else name), IRRELEVANT if denied else RELEVANT
        except RamifyError as error:
            raise RamifyError(f"{self.rows.where(row, column)}: {error}") from None

    def _is_concept(self, name: str) -> bool:
        return len(self.taxonomy.called(name)) == 1

    # -- what cannot be true -----------------------------------------------------------------------------------------

    def _refuse_both(self, row: int, concept: int) -> None:
        path = self.taxonomy.path(concept)
        raise RamifyError(f"{self.rows.where(row)}: {path!r} is said to be relevant and irrelevant: keep one of them")

    def _check_same(self, items: Index, concepts: Index, values: NDArray[np.int8]) -> None:
        """Refuse a finer concept that a list and a column of its own say the opposite of."""
        keys = items * len(self.taxonomy) + concepts
        order = np.argsort(keys, kind="stable")
        torn = np.flatnonzero((np.diff(keys[order]) == 0) & (np.diff(values[order]) != 0))
        if len(torn):
            first = order[torn[0]]
            self._refuse_both(int(items[first]), int(concepts[first]))

    def _check_contradictions(self, labels: Labels) -> None:
        torn = labels.contradictions()
        if not torn:
            return
        said = " but ".join(f"{p!r} is {'relevant' if value else 'irrelevant'}" for p, value, _ in torn[0].assertions)
        numbers = [self.rows.numbers[row] for row in sorted({other.item for other in torn} - {torn[0].item})]
        shown = ", ".join([*map(str, numbers[:5]), *(["..."] if len(numbers) > 5 else [])])
        more = f" (also row{'s' * (len(numbers) > 1)} {shown})" if numbers else ""
        raise RamifyError(f"{self.rows.where(torn[0].item)}: {said}, which cannot both be true: correct one{more}")
