"""Claims: what was imported, by concept. Those about concepts that are gone are kept, for whoever brings them back."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz
from ramify.labels import UNKNOWN, Labels, Source
from ramify.taxonomy import Index, Taxonomy

GONE = {"gone_items": np.intp, "gone_concepts": np.intp, "gone_values": np.int8}


@dataclass(frozen=True)
class Claims:
    """Imported labels of the concepts that there are, and claims about others, by item and stable concept id."""

    labels: Labels
    items: Index
    concepts: Index
    values: NDArray[np.int8]

    @classmethod
    def of(cls, labels: Labels) -> "Claims":
        """Nothing is gone yet."""
        none = np.empty(0, np.intp)
        return cls(labels, none, none, np.empty(0, np.int8))

    @classmethod
    def load(cls, path: Path) -> "Claims":
        """Read what ``save`` wrote, or labels alone."""
        labels, gone = Labels.load(path), read_npz(path, (), tuple(GONE))
        if not gone:
            return cls.of(labels)
        columns = [gone.get(name, np.empty(0)) for name in GONE]
        if len({column.shape for column in columns}) > 1 or not np.isin(columns[2], (0, 1)).all():
            raise RamifyError(f"{path}: the arrays of these labels do not fit together: the file is damaged")
        return cls(labels, *(column.astype(kind) for column, kind in zip(columns, GONE.values(), strict=True)))

    def save(self, path: Path) -> None:
        """Write everything to one .npz file, which holds labels as any other does."""
        taxonomy = json.dumps(self.labels.taxonomy.to_dict(), ensure_ascii=False)
        gone: dict[str, NDArray[Any]] = dict(zip(GONE, (self.items, self.concepts, self.values), strict=True))
        write_npz(path, {"taxonomy": np.array(taxonomy), **self.labels.arrays(), **(gone if len(self.items) else {})})

    def with_labels(self, labels: Labels) -> "Claims":
        """The same of what is gone, other labels of what is there."""
        return Claims(labels, self.items, self.concepts, self.values)

    def take(self, items: Index) -> "Claims":
        """The same about some items alone, in ascending order; they are numbered from 0 on."""
        there = np.isin(self.items, items)
        places: Index = np.searchsorted(items, self.items[there])
        return Claims(self.labels.take(items), places, self.concepts[there], self.values[there])

    def carried(self, id_of: Index, taxonomy: Taxonomy, new_ids: Index) -> "Claims":
        """The same claims where other concepts are there: those that go keep theirs, those that come back have them."""
        number_of = {int(stable): number for number, stable in enumerate(new_ids)}
        moved = np.array([number_of.get(int(stable), -1) for stable in id_of], np.intp)
        said = self.labels.assertions()
        leaving = moved[said.concepts] < 0
        labels = self.labels.migrate(taxonomy, moved)
        back = np.isin(self.concepts, new_ids)
        numbers = np.array([number_of[int(stable)] for stable in self.concepts[back]], np.intp)
        labels.record(self.items[back], numbers, self.values[back], Source.IMPORTED)
        return Claims(
            labels,
            np.append(self.items[~back], said.items[leaving]),
            np.append(self.concepts[~back], id_of[said.concepts[leaving]]),
            np.append(self.values[~back], said.values[leaving]),
        )

    def values_of(self, concept: int, number: int | None, items: Index) -> NDArray[np.int8]:
        """What was imported of a concept, given by its id, and by its number where it is there: 1, 0 or -1."""
        if number is not None:
            return own_values(self.labels, items, np.full(len(items), number))
        about, claimed, values = items, *self._of_gone(concept)
        place = np.searchsorted(claimed, about)
        there = np.append(claimed, -1)[place] == about
        return np.where(there, np.append(values, UNKNOWN)[place], UNKNOWN).astype(np.int8)

    def items_of(self, concept: int, number: int | None) -> Index:
        """The items of which anything was imported about a concept itself."""
        if number is None:
            return self._of_gone(concept)[0]
        every: Index = np.arange(len(self.labels))
        said: Index = every[self.values_of(concept, number, every) != UNKNOWN]
        return said

    def _of_gone(self, concept: int) -> tuple[Index, NDArray[np.int8]]:
        if concept not in self._gone:
            rows = np.flatnonzero(self.concepts == concept)
            rows = rows[np.argsort(self.items[rows], kind="stable")]
            self._gone[concept] = self.items[rows], self.values[rows]
        return self._gone[concept]

    @cached_property
    def _gone(self) -> dict[int, tuple[Index, NDArray[np.int8]]]:
        return {}


def own_values(labels: Labels, items: Index, concepts: Index) -> NDArray[np.int8]:
    """What was imported of the very entries, -1 where nothing was: what only follows from it does not count."""
    said = labels.assertions(np.unique(items))
    own = np.flatnonzero(said.sources == Source.IMPORTED)
    keys, wanted = (of * len(labels.taxonomy) + about for of, about in ((said.items, said.concepts), (items, concepts)))
    own = own[np.argsort(keys[own])]
    place = np.searchsorted(keys[own], wanted)
    there = np.append(keys[own], -1)[place] == wanted
    return np.where(there, np.append(said.values[own], UNKNOWN)[place], UNKNOWN).astype(np.int8)
