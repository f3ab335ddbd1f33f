"""Suspects: labels that a model which did not see them strongly contradicts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, UNKNOWN, Labels, Source
from ramify.learners.base import Learner
from ramify.learners.cache import Cache
from ramify.learners.evidence import Floats
from ramify.taxonomy import Index

LEAST = 0.5  # from this doubt on the model rather says the opposite
ROWS = 2048  # items that are looked at together


class Suspects(NamedTuple):
    """Labels that were imported or answered and that are doubted, as parallel arrays, the most doubtful first."""

    items: Index
    concepts: Index
    """By number in the taxonomy."""
    values: NDArray[np.int8]
    """What the label says, 1 or 0."""
    doubts: Floats
    """How probable the opposite is, by a model that did not see the label."""

    def where(self, rows: NDArray[np.bool_] | Index) -> "Suspects":
        """Some of them, by a mask or in the order given."""
        return Suspects(self.items[rows], self.concepts[rows], self.values[rows], self.doubts[rows])


def suspects(
    learner: Learner, cache: Cache, labels: Labels, items: Index, concept: int | None = None, least: float = LEAST
) -> Suspects | None:
    """The doubted labels of some items, of one concept or of all; None where the learner cannot leave labels out.

    What somebody has answered as it was imported is confirmed, and no suspect.
    """
    found = []
    items = items[items < len(cache)]  # what came after the training is looked at after the next
    for first in range(0, max(1, len(items)), ROWS):
        block = items[first : first + ROWS]
        p = learner.unseen(cache, block, _known_above(labels, block))
        if p is None:
            return None
        found.append(_doubted(labels, block, p, concept, least))
    every = Suspects(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    order = np.argsort(-every.doubts, kind="stable")
    return every.where(order)


def _known_above(labels: Labels, items: Index) -> NDArray[np.int8]:
    """What a label is judged by: what was said of concepts above it, not what follows from the label itself."""
    every = np.arange(len(labels.taxonomy))
    states, sources = labels.states(items, every), labels.sources(items, every)
    states[(sources == Source.DEDUCED) & (states != IRRELEVANT)] = UNKNOWN
    states[:, labels.taxonomy.leaves] = UNKNOWN
    return states


def _doubted(labels: Labels, items: Index, p: Floats, concept: int | None, least: float) -> Suspects:
    row_of = {item: row for row, item in enumerate(items.tolist())}
    said = labels.assertions(items)
    keys = said.items * len(labels.taxonomy) + said.concepts
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    first = first[times == 1]  # of two sources that say the same one confirms the other
    if concept is not None:
        first = first[said.concepts[first] == concept]
    rows = np.array([row_of[item] for item in said.items[first].tolist()], np.intp)
    concepts, values = said.concepts[first], said.values[first]
    counts = labels.states(items, np.arange(len(labels.taxonomy)))[rows, concepts] == values  # else it is set aside
    doubts = np.abs(values - p[rows, concepts])
    return Suspects(items[rows], concepts, values, doubts).where(counts & (doubts >= least))
