"""What is predicted of items: probabilities, and which labels are chosen. Commands and simulations decide alike."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.labels import Labels
from ramify.learners.base import Learner
from ramify.learners.inner import with_inner
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT, choose
from ramify.taxonomy import Index

Decided: TypeAlias = tuple[NDArray[np.float32], NDArray[np.bool_]]
"""Probabilities, and which labels are chosen: items x fine concepts."""
Blocks: TypeAlias = Iterator[tuple[Index, NDArray[np.float32], NDArray[np.bool_]]]
"""Rows, probabilities and what is chosen, block by block."""


def decide(
    learner: Learner,
    features: Any,
    labels: Labels,
    *,
    coarse_known: bool,
    least: ArrayLike = MORE_PROBABLE_THAN_NOT,
    fill: bool = True,
) -> Decided:
    """Probabilities and chosen labels of some items, as ``choose`` has it; what is known stays as it is known, 1 or 0.

    >>> from ramify.learners import CoarsePrior
    >>> from ramify.taxonomy import Taxonomy
    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [1], [0]])
    >>> labels.record([0], ["cat"], [1], "annotated")
    >>> learner = CoarsePrior(steps=1).fit(np.eye(3), labels)
    >>> decide(learner, np.eye(3), labels, coarse_known=True)[1].tolist()
    [[True, False], [False, False], [False, False]]
    """
    taxonomy, n_fine = labels.taxonomy, len(labels.taxonomy.leaves)
    states = labels.states(concepts=np.arange(len(taxonomy)))
    p = believed(learner, features, labels, coarse_known=coarse_known)
    probabilities = np.where(states >= 0, states, p).astype(np.float32)
    chosen = choose(probabilities, states, taxonomy, least, fill=fill)
    return probabilities[:, :n_fine], chosen[:, :n_fine]


def believed(learner: Learner, features: Any, labels: Labels, *, coarse_known: bool) -> NDArray[Any]:
    """The probability of every concept of some items: given what is known of them, where any root is known."""
    if coarse_known:
        return learner.opinions(features, labels)
    return with_inner(learner.predict_proba(features), labels.taxonomy)


def has_coarse(labels: Labels) -> bool:
    """Whether any root is known: then opinions, which use it, say more than predictions.

    >>> from ramify.taxonomy import Taxonomy
    >>> has_coarse(Labels(Taxonomy({"animal": ["cat", "dog"]}), [[-1]]))
    False
    """
    return bool((labels.states(concepts=labels.taxonomy.roots) >= 0).any())
