"""A small data set for the checks: three trees, one of them deep, one with an only child, one not exhaustive."""

import numpy as np
from numpy.typing import NDArray

from ramify.labels import UNKNOWN, Labels
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy(
    {
        "animal": {"exhaustive": True, "cat": None, "dog": {"exhaustive": True, "poodle": None, "pug": None}},
        "food": {"exhaustive": True, "apple": None},
        "sky": ["sun", "moon"],
    }
)


def data(
    n_items: int = 60, warm: int = 20, taxonomy: Taxonomy = TAXONOMY, coarse: float = 1.0
) -> tuple[NDArray[np.float32], Labels]:
    """Features that show the labels, and labels of which the first ``warm`` items are fully known.

    Of the coarse labels a share is known, ``coarse``.

    >>> features, labels = data(n_items=10, warm=4)
    >>> features.shape, labels.shape
    ((10, 12), (10, 6))
    """
    rng = np.random.default_rng(0)
    fine = (rng.random((n_items, len(taxonomy.leaves))) < 0.4).astype(int)
    truth = Labels.from_matrix(taxonomy, fine)
    everything = truth.states(concepts=np.arange(len(taxonomy)))
    features = everything @ rng.normal(size=(len(taxonomy), 12)) + 0.1 * rng.normal(size=(n_items, 12))
    roots = truth.states(concepts=taxonomy.roots)
    labels = Labels(taxonomy, np.where(rng.random(roots.shape) < coarse, roots, UNKNOWN))
    below = np.flatnonzero(taxonomy.parents >= 0)
    items, places = np.nonzero(truth.states(np.arange(warm), below) != UNKNOWN)
    labels.record(items, below[places], truth.states(items, below)[np.arange(len(items)), places], "imported")
    return features.astype(np.float32), labels
