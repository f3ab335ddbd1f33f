"""Carried: a learner that goes on after its taxonomy was changed, until a new one is trained.

What it learned of a concept that is still there holds. Concepts that were merged are relevant where any of them is. A
new concept above others is relevant where any of these is; of a new one without anything below, its name says how
probable it is among its siblings, or else all of them are equally so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ramify.data import NameVectors
from ramify.labels import IRRELEVANT, UNKNOWN, Labels
from ramify.learners.base import Learner
from ramify.learners.cache import Cache
from ramify.learners.evidence import Floats
from ramify.learners.inner import put_in, with_inner
from ramify.learners.names import Names
from ramify.taxonomy import Index, Taxonomy

SURE = 1e-6  # a concept above is believed at least so much, where one divides by it


@dataclass(kw_only=True, eq=False, repr=False)
class Carried(Learner):
    """What another learner knows, said in a taxonomy that came after its own."""

    name: ClassVar[str] = "carried"
    stands_in: ClassVar[bool] = True
    learner: Learner
    taxonomy: Taxonomy
    """The new one."""
    sources: Sequence[Sequence[int]]
    """Of each of its concepts, those of the old taxonomy that it is: one, or all that were merged into it, or none."""
    names: NameVectors | None = None
    """Of the new concepts."""
    features: Any = None
    """Of the items that a cache is about; their likeness to names is not in it."""

    def __post_init__(self) -> None:
        self.taxonomy_, self.scaler_ = self.taxonomy, self.learner.scaler_
        shared = self.names is not None and self.names.shared
        self._names = Names(self.taxonomy, self.names) if shared and self.names is not None else None

    def opinions(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every concept given all that is known of the item."""
        p = self.learner.opinions(X, self._before(labels))
        return self._now(p.astype(np.float64), labels, None, X).astype(np.float32)

    def cached_opinions(self, cache: Cache, labels: Labels, items: Index) -> Floats:
        """``opinions``, from the cache and the features of new concepts' siblings."""
        p = self.learner.cached_opinions(cache, self._before(labels), items)
        rows = None if self._names is None or self.features is None else self.features[items]
        return self._now(p.astype(np.float64), labels, items, rows)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """The probability of every fine concept."""
        p = with_inner(self.learner.predict_proba(X), self.learner.taxonomy_).astype(np.float64)
        states = np.full((len(p), len(self.taxonomy)), UNKNOWN, np.int8)
        return self._said(p, states, X)[:, self.taxonomy.leaves].astype(np.float32)

    def guesses(self, cache: Cache, items: Index) -> Floats:
        """How probable each concept is, given that its parent is relevant."""
        q = self.learner.guesses(cache, items)
        found = np.broadcast_to(self._shares(None, len(items)), (len(items), len(self.taxonomy))).copy()
        for number, of in enumerate(self.sources):
            if of:
                found[:, number] = 1 - (1 - q[:, list(of)]).prod(axis=1)
        return found

    def _now(self, p: Floats, labels: Labels, items: Index | None, rows: Any) -> Floats:
        states = labels.states(items, np.arange(len(self.taxonomy)))
        return put_in(self._said(p, states, rows), labels, items)

    def _said(self, p: Floats, states: NDArray[np.int8], rows: Any) -> Floats:
        """Probabilities of the new concepts from those of the old ones."""
        taxonomy, old = self.taxonomy, self.learner.taxonomy_
        found = np.full(states.shape, np.nan)
        for number, of in enumerate(self.sources):
            if len(of) == 1:
                found[:, number] = p[:, of[0]]
            elif of:
                parent = old.parents[of[0]]
                above = np.clip(p[:, parent], SURE, 1) if parent >= 0 else np.ones(len(p))
                given = np.clip(p[:, list(of)] / above[:, None], 0, 1)
                found[:, number] = above * (1 - (1 - given).prod(axis=1))
        for number in taxonomy.preorder[::-1].tolist():
            below = [child for child in taxonomy.children(number).tolist() if not np.isnan(found[:, child]).any()]
            if not self.sources[number] and below:
                found[:, number] = 1 - (1 - found[:, below]).prod(axis=1)
        shares = self._shares(rows, len(p))
        for number in taxonomy.preorder.tolist():
            if np.isnan(found[:, number]).any():
                parent = int(taxonomy.parents[number])
                above = np.ones(len(p))
                if parent >= 0:
                    above = np.where(states[:, parent] >= 0, states[:, parent], found[:, parent])
                found[:, number] = above * shares[:, number]
        return found

    def _shares(self, rows: Any, count: int) -> Floats:
        """How probable each concept is among its siblings, by names or all alike: items x concepts."""
        if self._names is not None and rows is not None:
            dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, np.float64)
            read: Floats = self._names.read(torch.from_numpy(dense)).numpy()
            roots = self.taxonomy.roots
            read[:, roots] = 1 / len(roots)
            return read
        taxonomy = self.taxonomy
        beside = [len(taxonomy.children(parent)) if parent >= 0 else len(taxonomy.roots) for parent in taxonomy.parents]
        return np.tile(1 / np.array(beside, np.float64), (count, 1))

    def _before(self, labels: Labels) -> Labels:
        """What is known, said of the concepts that the learner knows."""
        return _Before(labels, self.learner.taxonomy_, self.sources)


class _Before(Labels):
    """Labels of a taxonomy that was changed, as far as they can be said in the one before."""

    def __init__(self, labels: Labels, taxonomy: Taxonomy, sources: Sequence[Sequence[int]]) -> None:
        self.taxonomy, self._now, self._sources = taxonomy, labels, sources
        self._freed = _no_longer_above(labels.taxonomy, taxonomy, sources)

    def __len__(self) -> int:
        return len(self._now)

    def states(self, items: Any = None, concepts: Any = None) -> NDArray[np.int8]:
        """As for all labels."""
        now = self._now.states(items, np.arange(len(self._now.taxonomy)))
        known = np.full((len(now), len(self.taxonomy)), UNKNOWN, np.int8)
        for number, of in enumerate(self._sources):
            if len(of) == 1:
                known[:, of[0]] = now[:, number]
            elif of:
                known[:, list(of)] = np.where(now[:, [number]] == IRRELEVANT, IRRELEVANT, UNKNOWN)
        freed = known[:, self._freed]
        known[:, self._freed] = np.where(freed == IRRELEVANT, UNKNOWN, freed)
        return known[:, self.taxonomy.leaves if concepts is None else np.atleast_1d(self.taxonomy.indices(concepts))]


def _no_longer_above(now: Taxonomy, before: Taxonomy, sources: Sequence[Sequence[int]]) -> list[int]:
    """Concepts of the old taxonomy from below which something was moved away: a no to them says nothing of it now."""
    freed: set[int] = set()
    for number, of in enumerate(sources):
        above = {old for step in now.ancestors(number).tolist() for old in sources[step]}
        for old in of:
            freed |= set(before.ancestors(old).tolist()) - above
    return sorted(freed)
