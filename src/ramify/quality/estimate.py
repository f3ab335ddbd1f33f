"""Estimates: precision, recall and F1 of all labels as they would be exported now, each with its interval."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ramify.labels import RELEVANT, UNKNOWN
from ramify.quality.audit import Audit, Bools, Entries
from ramify.quality.intervals import LEVEL, Interval, Share, combined, share_of, sums_by
from ramify.taxonomy import Index


@dataclass
class Counts:
    """How many labels there are of each fine concept, by what is known and what would be chosen now."""

    known: Index
    """Known to be relevant."""
    chosen: Index
    """Unknown, and chosen."""
    rejected: Index
    """Unknown, and not chosen."""

    @classmethod
    def empty(cls, concepts: int) -> "Counts":
        """Before the first block."""
        return cls(*np.zeros((3, concepts), np.intp))

    def add(self, states: NDArray[np.int8], chosen: Bools) -> None:
        """Count a block of items x fine concepts.

        >>> counts = Counts.empty(2)
        >>> counts.add(np.array([[1, -1], [-1, 0]], np.int8), np.array([[True, True], [False, False]]))
        >>> counts
        Counts(known=array([1, 0]), chosen=array([0, 1]), rejected=array([1, 0]))
        """
        unknown = states == UNKNOWN
        self.known += (states == RELEVANT).sum(axis=0)
        self.chosen += (unknown & chosen).sum(axis=0)
        self.rejected += (unknown & ~chosen).sum(axis=0)


@dataclass(frozen=True)
class Quality:
    """How good labels are, by the audit."""

    precision: Interval | None
    recall: Interval | None
    f1: Interval | None
    draws: int
    """How many answered draws it comes from."""
    settled: float
    """The share of labels that are known, not predicted."""


def quality(audit: Audit, counts: Counts, concepts: Iterable[int] | None = None, level: float = LEVEL) -> Quality:
    """Of the labels of some fine concepts, or of all; without figures where nothing was drawn that tells.

    What is known is right: people said it. Of what is predicted, the share that is right (of the chosen) and the share
    that is relevant (of the rest) come from the audit; how many of each there are is counted.
    """
    chosen_ones = np.arange(len(counts.known)) if concepts is None else np.atleast_1d(np.asarray(concepts, np.intp))
    known, chosen, rejected = (int(part[chosen_ones].sum()) for part in (counts.known, counts.chosen, counts.rejected))
    draws = audit.draws if concepts is None else int(audit.of_concept[chosen_ones].max(initial=0))
    settled = known / max(1, known + chosen)
    drawn, gone = audit.drawn.of(chosen_ones), audit.known.of(chosen_ones)
    right = _share(drawn, gone, chosen=True) if chosen else Share(1.0, np.inf)
    missed = _share(drawn, gone, chosen=False) if rejected else Share(0.0, np.inf)

    def precise(right: float, missed: float) -> float:
        return (known + chosen * right) / (known + chosen)

    def found(right: float, missed: float) -> float:
        hits = known + chosen * right
        return hits / (hits + rejected * missed) if hits else 0.0

    def f1(right: float, missed: float) -> float:
        hits = known + chosen * right
        return 2 * hits / (known + chosen + hits + rejected * missed)

    has_right, has_missed, labels = not np.isnan(right.value), not np.isnan(missed.value), known + chosen > 0
    precision = combined(precise, right, Share(0.0, np.inf), level) if has_right and labels else None
    both = has_right and has_missed and labels
    return Quality(
        precision,
        combined(found, right, missed, level) if both else None,
        combined(f1, right, missed, level) if both else None,
        draws,
        settled,
    )


def _share(drawn: Entries, gone: Entries, *, chosen: bool) -> Share:
    """Of the unknown entries that would be chosen, or would not, the share that is relevant."""
    wanted, away = drawn.where(drawn.chosen == chosen), gone.where(gone.chosen == chosen)
    bunches, places = np.unique(wanted.bunches, return_inverse=True)
    sizes = np.bincount(places, minlength=len(bunches)).astype(np.float64)
    hits = sums_by(places, wanted.truth, len(bunches))
    weights = np.zeros(len(bunches))
    weights[places] = wanted.weights
    return share_of(weights, hits, sizes, (float(away.weights @ away.truth), float(away.weights.sum())))
