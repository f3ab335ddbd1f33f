"""Predictions for a project's items or for new ones: at a threshold, or at a wished precision."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import RELEVANT
from ramify.learners import Learner, Refine, load
from ramify.learners.base import ROWS
from ramify.project.store import Store
from ramify.taxonomy import Index

FEWEST = 20  # completely known items from which a precision is estimated


def current_learner(store: Store) -> Learner:
    """The newest model, with all answers given since it was trained."""
    named = store.model()
    if named is None:
        raise RamifyError(f"{store.folder} has no model yet: run `ramify train {store.folder}` first")
    learner = load(named[1] / "learner")
    labels = store.labels()
    if learner.taxonomy_ != labels.taxonomy:
        raise RamifyError(f"the taxonomy of {store.folder} has changed: run `ramify train {store.folder}` first")
    if isinstance(learner, Refine):
        learner.partial_fit(store.features(), labels)
    return learner


def predict(
    store: Store,
    *,
    features: Any = None,
    threshold: float | None = None,
    precision: float | None = None,
) -> Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]]:
    """Rows, probabilities and what is chosen, of the project's items or of new ones' features, block by block.

    For the project's own items, what is known stays as it is known: 1 or 0.
    """
    learner = current_learner(store)
    least = 0.5 if threshold is None else threshold
    if precision is not None:
        least = threshold_for(learner, precision)
    labels = store.labels() if features is None else None
    rows: Any = store.features() if features is None else features
    for first in range(0, rows.shape[0], ROWS):
        block = np.arange(first, min(first + ROWS, rows.shape[0]))
        found = learner.predict_proba(rows[block])
        if labels is not None:
            states = labels.states(block)
            found = np.where(states >= 0, states, found).astype(np.float32)
        yield block, found, found >= least


def threshold_for(learner: Learner, precision: float) -> float:
    """The lowest threshold at which predictions are right so often, by leave-one-out on completely known items."""
    if not 0 < precision <= 1:
        raise RamifyError(f"the precision is a share above 0 and up to 1, not {precision:g}")
    if not isinstance(learner, Refine):
        raise RamifyError(f"only refine can estimate its precision from answers, not {learner.name}: give a threshold")
    truth, probabilities = learner.left_out_probabilities()
    if len(truth) < FEWEST:
        raise RamifyError(
            f"only {len(truth)} items are completely known, and a precision needs {FEWEST}: answer all questions about "
            "some more items, or give a threshold"
        )
    order = np.argsort(-probabilities, axis=None)
    right = np.cumsum((truth == RELEVANT).ravel()[order])
    reached = np.flatnonzero(right / np.arange(1, len(order) + 1) >= precision)
    if not len(reached):
        best = float((right / np.arange(1, len(order) + 1)).max())
        raise RamifyError(f"a precision of {precision:g} is not reached on the answers so far; the best is {best:.2f}")
    return float(probabilities.ravel()[order[reached[-1]]])
