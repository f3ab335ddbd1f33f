"""Noise: random numbers that are a pure function of a seed and of what they are drawn for."""

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]


def noise(seed: int, *numbers: Index) -> NDArray[np.float64]:
    """A number in [0, 1) for each entry that depends on the seed and the entry alone: the same in any order, any block.

    >>> noise(0, np.array([3, 4]), np.array([1, 1])).round(3)
    array([0.686, 0.919])
    >>> noise(0, np.array([4]), np.array([1])).round(3)
    array([0.919])
    """
    with np.errstate(over="ignore"):
        state = _mixed(np.uint64(seed % 2**64) + np.uint64(0x9E3779B97F4A7C15))
        for part in numbers:
            state = _mixed((part.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ state)
    return np.asarray(state >> np.uint64(11), np.float64) * 2.0**-53


def _mixed(state: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64] | np.uint64:
    """Every bit of the result depends on every bit given (the finaliser of splitmix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def sample(seed: int, count: int, size: int) -> Index:
    """So many of the numbers 0 to ``count`` - 1, drawn by a seed, in the order in which they were drawn.

    >>> sample(0, 1000, 3)
    array([570, 374, 548])
    """
    numbers = np.arange(count)
    return numbers[np.argsort(noise(seed, numbers))[:size]]
