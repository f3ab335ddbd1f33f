"""Kept questions: the first of a project's newest list, so that a server asks before it has loaded its model.

To load the model, and the libraries that it is made of, takes longer than all else that a question needs.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify.labels import UNKNOWN, Labels
from ramify.project.store.items import Contents
from ramify.project.store.store import Store
from ramify.taxonomy import Index

if TYPE_CHECKING:
    from ramify.strategies import Query

SETTING = "questions"


def keep(store: Store, contents: Contents, strategy: str, version: int | None, first: "Query") -> None:
    """Note what comes first on a list that a strategy and a version of the model have made of some contents."""
    entries = np.stack([first.items, contents.id_of[first.concepts]], axis=1).tolist()
    about = {"strategy": strategy, "revision": contents.revision, "model": version}
    store.set_setting(SETTING, {**about, "entries": entries})


def kept_questions(store: Store, strategy: str) -> Mapping[str, Any] | None:
    """What was noted last, if the same strategy made it of the same items and concepts for a model that is there."""
    noted = store.setting(SETTING)
    fits = noted is not None and (noted["strategy"], noted["revision"]) == (strategy, store.contents.revision)
    return noted if fits and noted["entries"] and store.model() is not None else None


class KeptList:
    """A shortlist of noted entries, given as items and stable concept ids.

    >>> from ramify.taxonomy import Taxonomy
    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [1]])
    >>> kept = KeptList(labels, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    >>> labels.record([0], ["cat"], [0], "annotated")
    >>> kept.take_group(), kept.take_entries(12), kept.take_group()
    ((0, array([1])), (array([1]), 0), (1, array([1])))
    """

    def __init__(self, labels: Labels, items: Index, concepts: Index) -> None:
        self.labels, self.items, self.concepts = labels, items, concepts

    def take_group(self) -> tuple[int, Index] | None:
        """The item of the next entry, with its siblings that are noted too."""
        parents = self.labels.taxonomy.parents
        while len(self.items):
            item, about = int(self.items[0]), parents[self.concepts[0]]
            _, children = self._take((self.items == item) & (parents[self.concepts] == about))
            if len(children):
                return item, children
        return None

    def take_entries(self, count: int) -> tuple[Index, int] | None:
        """The next entry, and others of the same concept."""
        while len(self.items):
            concept = int(self.concepts[0])
            items, _ = self._take((same := self.concepts == concept) & (same.cumsum() <= count))
            if len(items):
                return items, concept
        return None

    def low(self) -> bool:
        """Always: it is there until there is another."""
        return True

    def renew(self, parents: Iterable[int]) -> None:
        """Nothing: what was learned since is in the list that comes next."""

    def _take(self, chosen: NDArray[np.bool_]) -> tuple[Index, Index]:
        """Remove some entries; returns those that are still unknown."""
        items, concepts = self.items[chosen], self.concepts[chosen]
        self.items, self.concepts = self.items[~chosen], self.concepts[~chosen]
        states = [self.labels.states(item, concept)[0, 0] for item, concept in zip(items, concepts, strict=True)]
        unknown = np.array(states, np.int8) == UNKNOWN
        return items[unknown], concepts[unknown]
