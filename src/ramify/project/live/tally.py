"""Tally: how many items are yes, no and unknown of each concept, and which labels contradict each other."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ramify.labels import RELEVANT, Contradiction, Labels
from ramify.labels.questions import first_unknown
from ramify.taxonomy import Index

ROWS = 2048  # items that are looked at together
LOOKED = 16  # blocks in which open questions are counted
MOST = 1000  # contradictions that are listed


@dataclass(frozen=True)
class Tally:
    """Counts over all items."""

    yes: Index
    no: Index
    unknown: Index
    contradictions: list[Contradiction]
    questions: int
    """About how many groups are open: with many items, what a part of them has is taken for all."""

    @classmethod
    def of(cls, labels: Labels) -> "Tally":
        """Count, block by block: labels that are changed meanwhile are taken a block at a time."""
        yes, no, unknown = np.zeros((3, len(labels.taxonomy)), np.intp)
        contradictions: list[Contradiction] = []
        questions = looked = 0
        every = max(1, -(-len(labels) // (ROWS * LOOKED)))
        for number, first in enumerate(range(0, len(labels), ROWS)):
            part = labels.take(np.arange(first, min(first + ROWS, len(labels))))
            for total, more in zip((yes, no, unknown), part.counts(), strict=True):
                total += more
            contradictions += [replace(torn, item=torn.item + first) for torn in part.contradictions()]
            if number % every == 0:
                questions, looked = questions + _groups(part), looked + len(part)
        return cls(yes, no, unknown, contradictions[:MOST], round(questions * len(labels) / max(1, looked)))


def _groups(labels: Labels) -> int:
    taxonomy = labels.taxonomy
    rows, concepts = first_unknown(labels.states(None, np.arange(len(taxonomy))), taxonomy)
    return len(np.unique(rows * (len(taxonomy) + 1) + taxonomy.parents[concepts] + 1))


def find_positives(labels: Labels, count: int, remember: Callable[[list[int], list[int]], None]) -> None:
    """Some items of each fine concept that are known to be relevant, as examples until people give their own."""
    missing = dict.fromkeys(labels.taxonomy.leaves.tolist(), count)
    for first in range(0, len(labels), ROWS):
        states = labels.states(slice(first, first + ROWS))
        for concept, wanted in list(missing.items()):
            items = np.flatnonzero(states[:, concept] == RELEVANT)[:wanted] + first
            remember(items.tolist(), [concept] * len(items))
            missing[concept] -= len(items)
            if not missing[concept]:
                del missing[concept]
        if not missing:
            return
