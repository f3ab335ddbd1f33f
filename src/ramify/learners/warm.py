"""Which items were answered, and what their answers say of all: what every learner begins with."""

import numpy as np
from numpy.typing import NDArray

from ramify.labels import RELEVANT, Labels
from ramify.learners.lessons import lessons
from ramify.taxonomy import Index, Taxonomy

ROWS = 8192  # items looked at together


def answered_items(labels: Labels) -> Index:
    """The items of which anything was asserted that is not merely coarse: below a root, or of a root that is a leaf."""
    taxonomy = labels.taxonomy
    answered = [np.empty(0, np.intp)]
    for first in range(0, len(labels), ROWS):  # most are coarse: all at once would take memory for every one of them
        said = labels.assertions(slice(first, first + ROWS))
        fine = (taxonomy.parents[said.concepts] >= 0) | (said.concepts < len(taxonomy.leaves))
        answered.append(np.unique(said.items[fine]))
    return np.concatenate(answered)


def warm_items(labels: Labels) -> Index:
    """The warm set D': answered items whose fine entries are all known.

    Items that the coarse labels settle completely do not belong to it: they would be a biased sample.
    """
    return np.intersect1d(answered_items(labels), labels.warm_items())


def only_children(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """The concepts that are the one child of an exhaustive parent, and so follow it."""
    parents = taxonomy.parents
    return np.asarray((parents >= 0) & taxonomy.exhaustive[parents] & (n_siblings(taxonomy) == 1), np.bool_)


def n_siblings(taxonomy: Taxonomy) -> Index:
    """For each concept, how many children its parent has, itself among them; 0 for roots."""
    parents = taxonomy.parents
    children = np.bincount(parents[parents >= 0], minlength=len(taxonomy))
    return np.where(parents >= 0, children[parents], 0)


def sibling_rates(labels: Labels) -> NDArray[np.float64]:
    """How often each concept is relevant where its parent is, by what is known of all, and one item shared by all.

    The one child of a parent that need not have any begins at one half.

    >>> labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [1], [0]])
    >>> labels.record([0, 0], ["cat", "dog"], [1, 0], "annotated")
    >>> sibling_rates(labels)[:2].tolist()
    [0.75, 0.25]
    >>> sibling_rates(Labels(Taxonomy({"animal": ["cat"]}), [[1]]))[:1].tolist()
    [0.5]
    """
    taxonomy = labels.taxonomy
    items = answered_items(labels)
    below = np.flatnonzero(taxonomy.parents >= 0)
    rates = np.full(len(taxonomy), 0.5)
    states = labels.states(items, np.arange(len(taxonomy)))
    values, weights = lessons(taxonomy, states, np.full((len(items), len(taxonomy.roots)), 0.5))
    shared = 1 / np.maximum(n_siblings(taxonomy)[below], 2)
    yes = (weights * (values == RELEVANT)).sum(axis=0)
    rates[below] = (yes[below] + shared) / (weights.sum(axis=0)[below] + 1)
    rates[only_children(taxonomy)] = 1.0
    return rates
