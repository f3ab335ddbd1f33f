"""How well beliefs about unknown entries recover the truth."""

import numpy as np
from numpy.typing import NDArray

from ramify.labels import Labels
from ramify.metrics import recovery_f1_loss
from ramify.taxonomy import Index


def hardened(beliefs: NDArray[np.floating]) -> NDArray[np.int8]:
    """Soft beliefs as 0 / 1, cut where the F1 that they themselves expect is largest; hard ones as they are.

    >>> hardened(np.array([0.9, 0.1, 0.6, 0.05])).tolist()
    [1, 0, 1, 0]
    """
    if not len(beliefs) or np.isin(beliefs, (0, 1)).all():
        return np.asarray(beliefs, np.int8)
    ranked = np.sort(beliefs.astype(np.float64))[::-1]
    expected = 2 * np.cumsum(ranked) / (np.arange(1, len(ranked) + 1) + ranked.sum())
    return np.asarray(beliefs >= ranked[np.argmax(expected)], np.int8)


def recovery(truth: Labels, items: Index, concepts: Index, beliefs: NDArray[np.floating]) -> float:
    """The F1-loss of beliefs about unknown entries."""
    states = np.concatenate([truth.states(part)[np.arange(len(part)), c] for part, c in _parts(items, concepts)])
    claimed = hardened(beliefs)
    return recovery_f1_loss(states[None], claimed[None], np.ones((1, len(states)), bool))


def _parts(items: Index, concepts: Index, size: int = 1 << 16) -> list[tuple[Index, Index]]:
    return [(items[n : n + size], concepts[n : n + size]) for n in range(0, len(items), size)]
