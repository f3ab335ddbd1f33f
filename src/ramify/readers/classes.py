"""Classes of formats that have no taxonomy: side by side, unless their names are paths, as Ramify writes them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.concepts import ARROW
from ramify.labels import IRRELEVANT, RELEVANT, Labels
from ramify.taxonomy import Index, Taxonomy

__all__ = ["nested", "path_labels"]


def nested(paths: Iterable[str]) -> tuple[Taxonomy, Index]:
    """The concepts that these paths name, and which of them each path is; what lies above need not be named.

    >>> taxonomy, numbers = nested(["animal > cat", "lamp"])
    >>> [taxonomy.path(number) for number in numbers], len(taxonomy)
    (['animal > cat', 'lamp'], 3)
    """
    tree: dict[str, Any] = {}
    paths = list(paths)
    for path in paths:
        below = tree
        for name in path.split(ARROW):
            below = below.setdefault(name, {"children": {}})["children"]
    taxonomy = Taxonomy(tree)
    return taxonomy, np.array([taxonomy.index(path) for path in paths], np.intp)


def path_labels(taxonomy: Taxonomy, numbers: Index, states: NDArray[np.int8]) -> Labels:
    """What is known of items, a column for each of these concepts; what lies above a relevant one is relevant.

    >>> taxonomy, numbers = nested(["animal", "animal > cat"])
    >>> path_labels(taxonomy, numbers, np.array([[0, 1], [0, 0]], np.int8)).states(concepts=["animal", "cat"]).tolist()
    [[1, 1], [0, 0]]
    """
    said = np.full((len(states), len(taxonomy)), -1, np.int8)
    said[:, numbers] = states
    for concept in taxonomy.preorder[::-1].tolist():  # the finest first
        above = taxonomy.parents[concept]
        if above >= 0:
            said[said[:, concept] == RELEVANT, above] = RELEVANT
    for concept in taxonomy.preorder.tolist():
        above = taxonomy.parents[concept]
        if above >= 0:  # what lies below an irrelevant concept is deduced
            said[said[:, above] == IRRELEVANT, concept] = IRRELEVANT
    return Labels.from_matrix(taxonomy, said, np.arange(len(taxonomy)))
