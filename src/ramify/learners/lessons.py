"""Lessons: what the known states of an item teach of each concept given its parent, and with which weight.

- A known state is a lesson of weight 1 where the parent is known relevant, and counts with the parent's probability
  where it is unknown: *no poodle* says something of dogs only as far as there is one.
- An unknown concept some of whose children are refused is a lesson too, a *no*: with the share of its alternatives that
  are. Where children need not be all there is, "none of these" is one more alternative.

In a two-level tree whose coarse labels are known this is: the known children of relevant concepts, with weight 1.
Probabilities here are those before any answer (the coarse stage's, and the names'), so that lessons follow from the
item alone, in whatever order answers come.
"""

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.taxonomy import Index, Taxonomy

Floats = NDArray[np.float64]

LEAST_WEIGHT = 0.05  # of a lesson; what teaches less is left out


def alternatives(taxonomy: Taxonomy) -> Floats:
    """Of how many things one must be relevant below each concept: its children, and "none of these" where that may be.

    >>> alternatives(Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}, "food": ["apple"]})).tolist()
    [1.0, 1.0, 1.0, 2.0, 2.0]
    """
    children = np.bincount(taxonomy.parents[taxonomy.parents >= 0], minlength=len(taxonomy))
    return np.where(taxonomy.exhaustive & (children > 0), children, children + 1.0)


def levels(taxonomy: Taxonomy) -> list[Index]:
    """The concepts of each depth below the roots, from the roots' children down."""
    found, above = [], taxonomy.roots
    while len(below := np.flatnonzero(np.isin(taxonomy.parents, above))):
        found.append(below)
        above = below
    return found


def lessons(
    taxonomy: Taxonomy, states: NDArray[np.int8], coarse: Floats, guesses: Floats | None = None
) -> tuple[NDArray[np.int8], Floats]:
    """Values and weights of what some items teach of all concepts: items x concepts.

    ``coarse`` is P(root | x) for the roots, and ``guesses`` P(concept | its parent, x), both before any answer; without
    guesses all alternatives are equally likely.

    >>> taxonomy = Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}})
    >>> states = np.array([[-1, 0, 0, 1, -1]], np.int8)  # an animal, no poodle, no pug
    >>> values, weights = lessons(taxonomy, states, np.array([[0.9]]))
    >>> dict(zip(taxonomy.names, weights[0].round(2).tolist()))  # of dog: a no, by two of three alternatives
    {'cat': 0.0, 'poodle': 0.33, 'pug': 0.33, 'animal': 1.0, 'dog': 0.67}
    """
    parents, down, count = taxonomy.parents, levels(taxonomy), alternatives(taxonomy)
    unknown = states == UNKNOWN
    refused = (states == IRRELEVANT).astype(np.float64)
    for level in down[::-1]:
        of_parents = np.zeros((len(taxonomy), len(states)))
        np.add.at(of_parents, parents[level], refused[:, level].T)
        above = np.unique(parents[level])
        share = of_parents[above].T / count[above]
        refused[:, above] = np.where(unknown[:, above], share, refused[:, above])
    there = probable(taxonomy, states, coarse, guesses)
    weights = np.where(parents >= 0, there[:, parents], 1.0) * np.where(unknown, refused, 1.0)
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.where(unknown, IRRELEVANT, states).astype(np.int8), weights


def probable(taxonomy: Taxonomy, states: NDArray[np.int8], coarse: Floats, guesses: Floats | None = None) -> Floats:
    """How probable all concepts are before any answer: 1 or 0 where they are known, else by what is above them.

    >>> taxonomy = Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}})
    >>> probable(taxonomy, np.array([[-1, -1, -1, 1, -1]], np.int8), np.array([[0.9]])).round(2).tolist()
    [[0.33, 0.11, 0.11, 1.0, 0.33]]
    """
    unknown, count, roots = states == UNKNOWN, alternatives(taxonomy), taxonomy.roots
    there: Floats = (states == RELEVANT).astype(np.float64)
    there[:, roots] = np.where(unknown[:, roots], coarse, there[:, roots])
    for level in levels(taxonomy):
        parents = taxonomy.parents[level]
        guess = 1 / count[parents] if guesses is None else guesses[:, level]
        there[:, level] = np.where(unknown[:, level], there[:, parents] * guess, there[:, level])
    return there
