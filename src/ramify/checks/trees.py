"""Drawn data for trees of any depth: what is true of every concept, and features that show it through noise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.data import Dataset
from ramify.labels import UNKNOWN, Labels
from ramify.taxonomy import Taxonomy

FINE_RATE, MORE_RATE = 0.06, 0.08  # how often a fine concept is relevant, and an inner one by something not listed
FEATURES = 40


def tree(widths: tuple[int, ...], *, exhaustive: bool) -> Taxonomy:
    """A tree with so many concepts on each level below every one above.

    >>> tree((1, 2, 2), exhaustive=True).names
    ('c000', 'c001', 'c010', 'c011', 'c0', 'c00', 'c01')
    """

    def below(name: str, widths: tuple[int, ...]) -> dict[str, Any] | None:
        if not widths:
            return None
        return {
            "exhaustive": exhaustive,
            "children": {f"{name}{n}": below(f"{name}{n}", widths[1:]) for n in range(widths[0])},
        }

    return Taxonomy({f"c{n}": below(f"c{n}", widths[1:]) for n in range(widths[0])})


def drawn(taxonomy: Taxonomy, n_items: int, seed: int = 0, noise: float = 1.5) -> tuple[NDArray[np.float32], Labels]:
    """Features, and the labels of all concepts; where children are not all there is, a concept may have none of them.

    >>> features, truth = drawn(tree((4, 3, 3), exhaustive=False), n_items=10)
    >>> features.shape, int((truth.states(concepts=np.arange(len(truth.taxonomy))) < 0).sum())
    ((10, 40), 0)
    """
    rng = np.random.default_rng(seed)
    true = rng.random((n_items, len(taxonomy))) < np.where(
        np.arange(len(taxonomy)) < len(taxonomy.leaves), FINE_RATE, np.where(taxonomy.exhaustive, 0.0, MORE_RATE)
    )
    for concept in taxonomy.preorder[::-1].tolist():
        if taxonomy.parents[concept] >= 0:
            true[:, taxonomy.parents[concept]] |= true[:, concept]
    features = true @ rng.normal(size=(len(taxonomy), FEATURES)) + noise * rng.normal(size=(n_items, FEATURES))
    truth = Labels(taxonomy, true[:, taxonomy.roots].astype(np.int8))
    items, concepts = np.nonzero(truth.states(concepts=np.arange(len(taxonomy))) == UNKNOWN)
    truth.record(items, concepts, true[items, concepts].astype(int), "imported")
    return features.astype(np.float32), truth


def with_coarse(features: NDArray[np.float32], truth: Labels, share: float, seed: int = 0) -> Dataset:
    """What is known at first: a share of the coarse labels, and nothing else."""
    roots = truth.states(concepts=truth.taxonomy.roots)
    known = np.random.default_rng(seed).random(roots.shape) < share
    return Dataset(Labels(truth.taxonomy, np.where(known, roots, UNKNOWN)), features)
