"""Items: what a source says of its items, whatever the source is."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.concepts import ARROW
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.readers.annotations import Annotation, agreed_values
from ramify.readers.classes import path_labels
from ramify.taxonomy import Index, Taxonomy

__all__ = ["Items"]

BLOCK = 1 << 22  # entries looked at at once
LISTED = 5  # names in a sentence


@dataclass(frozen=True, eq=False)
class Items:
    """What a source says of its items."""

    where: Callable[[int], str]
    """How an error names the place of an item, such as ``items.csv, row 3``."""
    ids: list[str]
    """Their unique names."""
    texts: list[str | None]
    """The text of each; None where it has none."""
    pictures: list[str | None]
    """The picture's path of each; None where it has none."""
    labels: Labels
    """What is said of each, about the concepts that were given, or the source's own where it has some."""
    ignored: tuple[str, ...] = ()
    """Columns that hold neither ids, texts, pictures nor labels."""
    unlabelled: int = 0
    """Items whose list of labels is empty, which says nothing (``none`` says that no concept applies)."""
    features: Any = None
    """A row of numbers for each, where the source has them."""
    split: NDArray[np.uint8] | None = None
    """0 train, 1 dev, 2 test, where the source has such parts."""
    notes: tuple[str, ...] = ()
    """Sentences on what in the source was read otherwise than one may think, or not at all."""
    annotations: tuple[Annotation, ...] = ()
    """What people say of the items, beside ``labels``, where the source names them: answers, for a project."""
    former: tuple[str, ...] = ()
    """What earlier releases called each, where that was another name."""

    def with_annotations(self, *, everyone: bool) -> "Items":
        """The same items, with annotations among their labels: of everyone, or only those that nobody made.

        One that a project wrote of its labels is left as well where it bears a name: there somebody may have changed
        it, and changed it back.

        >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[-1]])
        >>> said = (Annotation(0, "Ada", {0: 1}), Annotation(0, "", {1: 0}))
        >>> items = Items(str, ["a"], [None], [None], labels, annotations=said)
        >>> items.with_annotations(everyone=False).labels.states().tolist()
        [[-1, 0]]
        >>> items.with_annotations(everyone=True).labels.states().tolist()
        [[1, 0]]
        """
        taken = [said.as_label() for said in self.annotations if everyone or not said.annotator or said.is_imported]
        if not taken:
            return self
        taxonomy = self.labels.taxonomy
        every = np.arange(len(taxonomy))
        said = agreed_values(taken, len(self.ids), len(taxonomy))
        said = np.where(said == UNKNOWN, self.labels.states(concepts=every), said)
        left = tuple(annotation for annotation in self.annotations if annotation.annotator and not everyone)
        return replace(self, labels=path_labels(taxonomy, every, said), annotations=left)

    def known(self) -> Index:
        """The items of which anything is known."""
        everything = np.arange(len(self.labels.taxonomy))
        states = (self.labels.states(block, everything) for block in self._blocks())
        return np.flatnonzero(np.concatenate([(part != UNKNOWN).any(axis=1) for part in states]))

    def called(self, there: Collection[str]) -> "Items":
        """The same items, those that are ``there`` only under a former name by that one.

        >>> labels = Labels(Taxonomy({"animal": ["cat"]}), [[-1], [-1]])
        >>> items = Items(str, ["1", "2"], [None] * 2, ["a.png", "b.png"], labels, former=("a.png", "b.png"))
        >>> items.called(["0", "2", "a.png"]).ids
        ['a.png', '2']
        """
        both = list(zip(self.ids, self.former or self.ids, strict=True))
        ids = [old if old in there and name not in there else name for name, old in both]
        kept = [old for old, (name, _) in zip(ids, both, strict=True) if old != name]
        if not kept or len(set(ids)) < len(ids):
            return self
        note = f"{len(kept)} items are there already, called as an earlier release did, first {kept[0]!r}"
        return replace(self, ids=ids, notes=(*self.notes, note))

    def coarse_only(self) -> "Items":
        """The same items, as if nothing was said of any finer concept."""
        taxonomy, said = self.labels.taxonomy, self.with_annotations(everyone=True)
        return replace(said, labels=Labels(taxonomy, said.labels.states(concepts=taxonomy.roots)))

    def under(self, taxonomy: Taxonomy) -> "Items":
        """The same items, what is known of them said of the concepts of another taxonomy that have the same names.

        Concepts that it does not have are left out, and told.

        >>> said = Labels(Taxonomy({"animal": {"dog": ["pug"], "cat": None}}), [[1]])
        >>> said.record(0, "pug", 1, "imported")
        >>> items = Items(str, ["a"], [None], [None], said).under(Taxonomy({"dog": ["pug", "boxer"]}))
        >>> items.labels.states(concepts=["dog", "pug", "boxer"]).tolist(), items.notes
        ([[1, 1, -1]], ("2 concepts of the source are not in the taxonomy and left out: 'animal', 'animal > cat'",))
        """
        own = self.labels.taxonomy
        if own == taxonomy:
            return self
        meant = [_meant(own, number, taxonomy) for number in range(len(own))]
        missing = [own.path(number) for number in own.preorder.tolist() if meant[number] is None]
        if len(missing) == len(own):
            raise RamifyError(
                f"no concept of the source is in the taxonomy: the source has {_some(missing)}, "
                f"the taxonomy {_some([taxonomy.path(number) for number in taxonomy.preorder.tolist()])}"
            )
        kept = np.array([number for number, place in enumerate(meant) if place is not None], np.intp)
        labels = self._said(taxonomy, kept, np.array([place for place in meant if place is not None], np.intp))
        lost = f"{len(missing)} concepts of the source are not in the taxonomy and left out: {_some(missing)}"
        torn = sorted({contradiction.item for contradiction in labels.contradictions()})
        said = f"{len(torn)} items say what cannot all be true here, first {self.ids[torn[0]]!r}" if torn else ""
        return replace(
            self,
            labels=labels,
            notes=(*self.notes, *([lost] if missing else []), *([said] if torn else [])),
            annotations=tuple(annotation.about(meant) for annotation in self.annotations),
        )

    def _said(self, taxonomy: Taxonomy, kept: Index, meant: Index) -> Labels:
        coarse = np.full((len(self.ids), len(taxonomy.roots)), UNKNOWN, np.int8)
        place = {root: number for number, root in enumerate(taxonomy.roots.tolist())}
        finer: list[tuple[Index, Index, NDArray[np.int8]]] = []
        for block in self._blocks():
            states = self.labels.states(block, kept)
            for column, concept in enumerate(meant.tolist()):
                known = np.flatnonzero(states[:, column] != UNKNOWN)
                if concept in place:
                    coarse[block[known], place[concept]] = states[known, column]
                else:
                    finer.append((block[known], np.full(len(known), concept, np.intp), states[known, column]))
        labels = Labels(taxonomy, coarse)
        if finer:
            items, concepts, values = (np.concatenate(part) for part in zip(*finer, strict=True))
            above = coarse[items, [place[root] for root in taxonomy.root_of[concepts].tolist()]]
            told = above != 0  # what lies below an irrelevant coarse concept is deduced
            labels.record(items[told], concepts[told], values[told], "imported")
        return labels

    def _blocks(self) -> Iterator[Index]:
        """All items, as many at once as memory allows."""
        rows = max(1, BLOCK // len(self.labels.taxonomy))
        for first in range(0, len(self.ids), rows):
            yield np.arange(first, min(first + rows, len(self.ids)))


def _meant(own: Taxonomy, number: int, taxonomy: Taxonomy) -> int | None:
    """The concept with the same path, or else with the same name, of the other taxonomy."""
    path = own.path(number)
    for name in (path, path.rpartition(ARROW)[2]):
        called = taxonomy.called(name)
        if len(called) == 1:
            return called[0]
    return None


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:LISTED])) + (", ..." if len(names) > LISTED else "")
