"""Questions: what can be asked of items, from what is known of them."""

import numpy as np
from numpy.typing import NDArray

from ramify.labels.words import RELEVANT, UNKNOWN
from ramify.taxonomy import Index, Taxonomy


def first_unknown(states: NDArray[np.int8], taxonomy: Taxonomy) -> tuple[Index, Index]:
    """The first unknown concept on the way down to each unknown fine one, as rows and concepts, row by row.

    Nobody can say which dog it is before it is known to be one. Where no fine concept below is unknown, an inner one is
    not asked: there is nothing to refine.

    >>> taxonomy = Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}})
    >>> rows, concepts = first_unknown(np.array([[-1, -1, -1, 1, -1], [-1, -1, -1, -1, -1]], np.int8), taxonomy)
    >>> [(int(row), taxonomy.names[concept]) for row, concept in zip(rows, concepts)]
    [(0, 'cat'), (0, 'dog'), (1, 'animal')]
    """
    unknown = states == UNKNOWN
    parents = taxonomy.parents
    rows, concepts = np.nonzero(unknown & ((parents < 0) | (states.take(parents, axis=1) == RELEVANT)))
    useful = np.ones(len(rows), np.bool_)
    for inner in np.unique(concepts[concepts >= len(taxonomy.leaves)]).tolist():
        where = np.flatnonzero(concepts == inner)
        useful[where] = unknown[np.ix_(rows[where], taxonomy.leaves_below(inner))].any(axis=1)
    return rows[useful], concepts[useful]
