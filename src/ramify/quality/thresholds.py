"""Thresholds: from which probability on a concept is chosen, by what left-out scores say."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.learners.base import Learner
from ramify.quality.deciding import has_coarse
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT
from ramify.taxonomy import Index

GRID = np.linspace(0.2, 0.8, 25)
OF_ALL = 40.0  # entries of all concepts that stand beside a concept's own: few answers of its own decide little
FEWEST = 100  # entries from which thresholds are chosen at all


def thresholds(p: NDArray[np.float64], truth: NDArray[np.bool_], concepts: Index, count: int) -> NDArray[np.float64]:
    """A threshold for each of ``count`` fine concepts, at which F1 of left-out labels is best.

    >>> p, truth = np.tile([0.3, 0.25, 0.1, 0.9], 50), np.tile([True, True, False, True], 50)
    >>> thresholds(p, truth, np.zeros(200, np.intp), 2).round(3).tolist()
    [0.25, 0.25]
    >>> thresholds(p[:9], truth[:9], np.zeros(9, np.intp), 1).round(3).tolist()
    [0.5]
    """
    least = np.full(count, MORE_PROBABLE_THAN_NOT)
    if len(p) < FEWEST:
        return least
    above = p[:, None] >= GRID
    hits, claims = np.zeros((2, count, len(GRID)))
    np.add.at(hits, concepts, above & truth[:, None])
    np.add.at(claims, concepts, above)
    relevant = np.bincount(concepts, truth, minlength=count)
    shared = OF_ALL / len(p)
    hits, claims, relevant = (part + shared * part.sum(axis=0) for part in (hits, claims, relevant))
    f1 = 2 * hits / np.maximum(claims + relevant[:, None], 1e-12)
    # Among thresholds that are as good, the one nearest to a half: the grid is finer than what answers tell.
    good = f1 >= f1.max(axis=1, keepdims=True) - 1e-9
    least = GRID[np.where(good, np.abs(GRID - 0.5), np.inf).argmin(axis=1)]
    return np.asarray(least, np.float64)


@dataclass(frozen=True)
class LeftOut:
    """Entries that answers have settled, each judged by a model that did not see its item's answers; arrays."""

    p: NDArray[np.float64]
    truth: NDArray[np.bool_]
    concepts: Index
    """Fine ones, by number."""

    def right_and_found(self, least: ArrayLike) -> tuple[float, float]:
        """Which share of labels would be right, and which share of what is relevant would be found; zero of none.

        >>> seen = LeftOut(np.array([0.9, 0.6, 0.4, 0.4]), np.array([True, False, True, True]), np.zeros(4, np.intp))
        >>> seen.right_and_found([0.5]), seen.right_and_found([0.3])
        ((0.5, 0.333...), (0.75, 1.0))
        """
        chosen = self.p >= np.asarray(least, np.float64)[self.concepts]
        hits = float((chosen & self.truth).sum())
        return hits / max(1, int(chosen.sum())), hits / max(1, int(self.truth.sum()))


def left_out_answers(learner: Learner, labels: Labels, imported: Labels) -> LeftOut | None:
    """What the answers so far say of the model, each left out; None where there are none, or the learner cannot."""
    learned = learner.learned_items()
    if learned is None or not len(learned):
        return None
    learned = learned[learned < len(labels)]
    given, now = imported.states(learned, np.arange(len(labels.taxonomy))), labels.states(learned)
    p = learner.left_out(learned, given, coarse_known=has_coarse(labels))
    if p is None:
        return None
    rows, fine = np.nonzero((now != UNKNOWN) & (given[:, : len(labels.taxonomy.leaves)] == UNKNOWN))
    return LeftOut(p[rows, fine].astype(np.float64), now[rows, fine] == RELEVANT, fine)


def thresholds_of(learner: Learner, labels: Labels, imported: Labels) -> NDArray[np.float64]:
    """From which probability on each fine concept is chosen, by the answers so far, each left out."""
    return thresholds_by(left_out_answers(learner, labels, imported), len(labels.taxonomy.leaves))


def thresholds_by(seen: LeftOut | None, count: int) -> NDArray[np.float64]:
    """The same, where the answers were looked at already."""
    if seen is None:
        return np.full(count, MORE_PROBABLE_THAN_NOT)
    return thresholds(seen.p, seen.truth, seen.concepts, count)
