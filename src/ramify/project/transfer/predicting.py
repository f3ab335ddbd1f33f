"""Predictions for a project's items or for new ones: at a threshold, or at a wished precision."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import RELEVANT, Labels
from ramify.learners import Learner
from ramify.learners.base import at_once
from ramify.learners.warm import warm_items
from ramify.project.store.store import Store
from ramify.project.transfer.features import drop_drafts
from ramify.project.transfer.importing import prepare
from ramify.project.transfer.learned import current_learner
from ramify.taxonomy import Index

FEWEST = 20  # completely known items from which a precision is estimated


Blocks: TypeAlias = Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]]
"""Rows, probabilities and what is chosen, block by block."""


@dataclass
class Found:
    """What was chosen, as far as the predictions were read."""

    least: float = 0.5
    """The probability from which on a label is chosen."""
    labels: int = 0
    """How many labels were chosen of fine concepts."""
    empty: int = 0
    """Items without any."""


@dataclass(frozen=True)
class Predicted:
    """Predictions that are computed while they are read."""

    ids: list[str]
    blocks: Blocks
    found: Found
    left_out: list[str]
    """Items that cannot be read, and why."""
    untested: bool
    """Whether no item is completely known: then nothing says how good the probabilities are."""


@contextmanager
def predicting(
    store: Store,
    source: Any = None,
    *,
    threshold: float | None = None,
    precision: float | None = None,
    **reading: Any,
) -> Iterator[Predicted]:
    """Predictions for the project's own items, or for those of a table; how it is read is said as for ``prepare``."""
    if threshold is not None and precision is not None:
        raise RamifyError("give either a threshold or a precision, not both")
    if threshold is not None and not 0 <= threshold <= 1:
        raise RamifyError(f"the threshold is a probability from 0 to 1, not {threshold:g}")
    own = store.labels()
    learner = current_learner(store, own)
    untested, found = not len(warm_items(own)), Found()
    if source is None:
        blocks = predict(learner, store.features(), own, threshold=threshold, precision=precision, found=found)
        yield Predicted(store.all_ids().tolist(), blocks, found, [], untested)
        return
    new = prepare(store, source, new=True, **reading)
    known = new.items.labels.take(new.chosen)
    blocks = predict(learner, new.features, known, threshold=threshold, precision=precision, found=found)
    yield Predicted(new.ids, blocks, found, new.left_out, untested)
    drop_drafts(store, new.drafts)


def predict(
    learner: Learner,
    features: Any,
    labels: Labels,
    *,
    threshold: float | None = None,
    precision: float | None = None,
    found: Found | None = None,
) -> Blocks:
    """Rows, probabilities and what is chosen, of some items, block by block; ``found`` is told what was chosen.

    What is known of them stays as it is known, 1 or 0, and helps with the rest. Without a threshold a label must be
    more probable than not: of two children of which nothing tells which it is, none is chosen.
    """
    found = Found() if found is None else found
    coarse_known = bool((labels.states(concepts=labels.taxonomy.roots) >= 0).any())
    least = float(np.nextafter(np.float32(0.5), np.float32(1))) if threshold is None else threshold
    if precision is not None:
        least = threshold_for(learner, precision, coarse_known=coarse_known)
    found.least = least
    size = at_once(len(labels.taxonomy))
    for first in range(0, len(labels), size):
        block = np.arange(first, min(first + size, len(labels)))
        known = labels.take(block)
        rows, states = features[block], known.states()
        p = learner.opinions(rows, known)[:, : states.shape[1]] if coarse_known else learner.predict_proba(rows)
        probabilities = np.where(states >= 0, states, p).astype(np.float32)
        chosen = probabilities >= least
        found.labels += int(chosen.sum())
        found.empty += int((~chosen.any(axis=1)).sum())
        yield block, probabilities, chosen


def threshold_for(learner: Learner, precision: float, *, coarse_known: bool) -> float:
    """The lowest threshold at which predictions are right so often, by leave-one-out on completely known items.

    So often even less two standard errors (Wilson's bound): few items say little, and it is the luckiest threshold.
    """
    if not 0 < precision <= 1:
        raise RamifyError(f"the precision is a share above 0 and up to 1, not {precision:g}")
    left_out = learner.left_out(coarse_known=coarse_known)
    if left_out is None:
        raise RamifyError(f"{learner.name} cannot estimate its precision from answers: give a threshold, or use refine")
    truth, probabilities = left_out
    if len(truth) < FEWEST:
        raise RamifyError(
            f"only {len(truth)} items are completely known, and a precision needs {FEWEST}: answer all questions about "
            "some more items, or give a threshold"
        )
    order = np.argsort(-probabilities, axis=None)
    count = np.arange(1, len(order) + 1)
    share = np.cumsum((truth == RELEVANT).ravel()[order]) / count
    middle, spread = share + 2 / count, 2 * np.sqrt(share * (1 - share) / count + 1 / count**2)
    safe = (middle - spread) / (1 + 4 / count)
    reached = np.flatnonzero(safe >= precision)
    if not len(reached):
        raise RamifyError(
            f"a precision of {precision:g} cannot be promised from the answers so far, {safe.max():.2f} can: answer "
            "more, or ask for less"
        )
    return float(probabilities.ravel()[order[reached[-1]]])
