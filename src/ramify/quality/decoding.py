"""Decoding: from probabilities to labels that obey the taxonomy."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.labels import RELEVANT, UNKNOWN
from ramify.taxonomy import Taxonomy

MORE_PROBABLE_THAN_NOT = float(np.nextafter(np.float32(0.5), np.float32(1)))
"""Of two children of which nothing tells which it is, none is chosen."""


def choose(
    p: NDArray[Any],
    states: NDArray[np.int8],
    taxonomy: Taxonomy,
    least: ArrayLike = MORE_PROBABLE_THAN_NOT,
    *,
    fill: bool = True,
) -> NDArray[np.bool_]:
    """Which concepts are labels of the items, items x all concepts: what is known as it is known, the rest by ``p``.

    An unknown fine concept is chosen from a probability on, ``least``, one for all or one for each; an inner one where
    something below it is. Where children are exhaustive, their parent is chosen and none of them is, the child that
    comes nearest is chosen too (``fill``).

    >>> taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}})
    >>> p, known = np.array([[0.4, 0.3, 1.0]]), np.array([[-1, -1, 1]], np.int8)
    >>> choose(p, known, taxonomy).tolist(), choose(p, known, taxonomy, fill=False).tolist()
    ([[True, False, True]], [[False, False, True]])
    """
    n_fine, unknown = len(taxonomy.leaves), states == UNKNOWN
    chosen: NDArray[np.bool_] = states == RELEVANT
    chosen[:, :n_fine] |= unknown[:, :n_fine] & (p[:, :n_fine] >= np.asarray(least, np.float64))
    inner = taxonomy.preorder[taxonomy.preorder >= n_fine]
    for concept in inner[::-1]:
        chosen[:, concept] |= unknown[:, concept] & chosen[:, taxonomy.children(concept)].any(axis=1)
    if not fill:
        return chosen
    nearness = np.array(p, np.float64)
    with np.errstate(divide="ignore"):
        nearness[:, :n_fine] /= np.broadcast_to(np.asarray(least, np.float64), (n_fine,))
    for concept in inner[taxonomy.exhaustive[inner]]:  # from above: a child that is chosen may have children itself
        children = taxonomy.children(concept)
        rows = np.flatnonzero(chosen[:, concept] & ~chosen[:, children].any(axis=1))
        rows = rows[unknown[np.ix_(rows, children)].any(axis=1)]
        if len(rows):
            near = np.where(unknown[np.ix_(rows, children)], nearness[np.ix_(rows, children)], -np.inf)
            chosen[rows, children[near.argmax(axis=1)]] = True
    return chosen
