"""Labels from what a file says of each concept, without repeating what follows from the concepts above."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.taxonomy import Taxonomy

__all__ = ["labels_of"]


def labels_of(taxonomy: Taxonomy, states: NDArray[np.int8], where: Callable[[int], str]) -> Labels:
    """Labels from 1, 0 or -1 (unknown) of every item and concept, by number; ``where`` names an item in errors.

    >>> taxonomy = Taxonomy({"animal": {"dog": ["pug"], "cat": None}})
    >>> taxonomy.names
    ('pug', 'cat', 'animal', 'dog')
    >>> labels_of(taxonomy, np.array([[0, 1, 1, 0], [1, 0, 1, 0]], np.int8), "image {}".format)
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: image 1: 'animal > dog > pug' is relevant but 'animal > dog' is irrelevant, ...
    """
    said = states.copy()
    inner = np.flatnonzero(taxonomy.parents >= 0)
    # What lies below an irrelevant concept is deduced; only where there is nothing else is it said, so that an item
    # with no label at all counts as answered too.
    labelled = (states == RELEVANT).any(axis=1)
    for concept in inner.tolist():
        above = states[:, taxonomy.parents[concept]]
        said[labelled & (above == IRRELEVANT) & (states[:, concept] == IRRELEVANT), concept] = UNKNOWN
    labels = Labels.from_matrix(taxonomy, said, np.arange(len(taxonomy)))
    torn = labels.contradictions()
    if torn:
        both = _both(taxonomy, states[torn[0].item])
        raise RamifyError(f"{where(torn[0].item)}: {both}, which cannot both be true: correct one")
    return labels


def _both(taxonomy: Taxonomy, states: NDArray[np.int8]) -> str:
    """The first two statements of an item that contradict each other."""
    for concept in taxonomy.preorder.tolist():
        for above in taxonomy.ancestors(concept).tolist():
            if states[concept] == RELEVANT and states[above] == IRRELEVANT:
                return f"{taxonomy.path(concept)!r} is relevant but {taxonomy.path(above)!r} is irrelevant"
    path = next(  # the only other way: all children of an exhaustive concept are denied
        taxonomy.path(concept)
        for concept in taxonomy.preorder.tolist()
        if taxonomy.exhaustive[concept]
        and states[concept] == RELEVANT
        and (states[taxonomy.children(concept)] == IRRELEVANT).all()
    )
    return f"{path!r} is relevant but all that is below it is irrelevant"
