"""From fine concepts to all: what a learner says of concepts that it has no output for."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, Labels
from ramify.taxonomy import Index, Taxonomy

Float = TypeVar("Float", bound=np.floating[Any])


def with_inner(fine: NDArray[Float], taxonomy: Taxonomy) -> NDArray[Float]:
    """Probabilities of all concepts from those of the fine ones: an inner one is relevant if any fine one below it is.

    >>> with_inner(np.array([[0.5, 0.5]]), Taxonomy({"animal": ["cat", "dog"]}))
    array([[0.5 , 0.5 , 0.75]])
    """
    inner = range(len(taxonomy.leaves), len(taxonomy))
    above = [1 - (1 - fine[:, taxonomy.leaves_below(concept)]).prod(axis=1) for concept in inner]
    return np.column_stack([fine, *above])


def put_in(p: NDArray[Float], labels: Labels, items: Index | None = None) -> NDArray[Float]:
    """Probabilities of all concepts with what is known put in: below an irrelevant concept nothing is relevant.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> put_in(np.array([[0.5, 0.5, 0.75]]), Labels(taxonomy, [[0]]))
    array([[0.  , 0.  , 0.75]])
    """
    parents = labels.taxonomy.parents
    states = labels.states(items, np.maximum(parents, 0))  # a concept is irrelevant wherever one above it is
    return np.where((states == IRRELEVANT) & (parents >= 0), p.dtype.type(0), p)
