"""What a learner tells of items, so that questions can be chosen without asking which learner it is.

An answer about (item i, concept j) is seen as a noisy reading, with variance r_ij, of a linear function of the item's
features phi_i, reduced to their leading directions. What it teaches about j matters for items in proportion to t_nj.

- Refine is such a model: phi are its own features, the prior's variance is 1, r = lambda / s and t = P(parent | x) s,
  where s = 4 p (1 - p) and p = P(j | parent, x): an answer that is foreseen teaches little (measured on validation
  parts: with s = 1, as the regression itself has it, whole groups are hardly better than random entries).
- A net is one in its last layer: phi is that layer's input, the prior's variance is 100, r = 1 / s and
  t = P(parent) s, with s = p (1 - p).

Where it is not certain that the parent is relevant, an answer teaches less: r is divided by the parent's probability.
A net has outputs for fine concepts only: of an inner one, p is that of any fine one below it being relevant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.taxonomy import Index

Floats = NDArray[np.float64]

LEAST = 1e-3  # of a probability
SURE = 0.02  # no answer is believed to be foreseen with a probability nearer to 0 or 1
FOR_DIRECTIONS = 2048  # items from which leading directions are computed
BLOCK = 2048  # items looked at together: their inputs are what takes memory


class Looks(NamedTuple):
    """What is seen of some items."""

    phi: Floats
    """Items x directions."""
    noise: Floats
    """The variance of an answer: items x all concepts."""
    matters: Floats
    """Where knowing more would matter: items x all concepts."""


@dataclass(frozen=True)
class Evidence:
    """How to look at items, and what holds for all of them."""

    look: Callable[[Index], Looks]
    """What is seen of some items."""
    prior_variance: float
    """The variance of a concept's weights along each direction before any answer."""

    def entries(self, items: Index, rows: Index, concepts: Index, size: int) -> tuple[Floats, Floats]:
        """phi of some items, and the variance of answers about entries, given by rows of these items and concepts.

        So many items are looked at together: where concepts are many, all entries of many items fit into no memory.
        """
        phi, noises = [], np.empty(len(rows))
        order = np.argsort(rows, kind="stable")
        for first in range(0, len(items), size):
            looks = self.look(items[first : first + size])
            own = order[slice(*np.searchsorted(rows, [first, first + size], sorter=order))]
            noises[own] = looks.noise[rows[own] - first, concepts[own]]
            phi.append(looks.phi)
        return np.concatenate(phi), noises

    def remembering(self, items: Index) -> "Evidence":
        """The same, but these items are looked at only once, now."""
        ascending = np.sort(items)
        remembered = self._in_blocks(ascending)

        def look(wanted: Index) -> Looks:
            place = np.searchsorted(ascending, wanted)
            new = np.append(ascending, -1)[place] != wanted
            looks = Looks(*(part[np.where(new, 0, place)] for part in remembered))
            if new.any():
                for whole, part in zip(looks, self._in_blocks(wanted[new]), strict=True):
                    whole[new] = part
            return looks

        return Evidence(look, self.prior_variance)

    def _in_blocks(self, items: Index) -> Looks:
        parts = [self.look(items[first : first + BLOCK]) for first in range(0, max(1, len(items)), BLOCK)]
        return Looks(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def spread(p: Floats) -> Floats:
    """The variance of a yes/no answer; none is foreseen completely."""
    clipped = np.clip(p, SURE, 1 - SURE)
    variance: Floats = clipped * (1 - clipped)
    return variance


def parents_relevant(labels: Labels, items: Index, predicted: Floats) -> Floats:
    """How probable the parent of each concept is: mostly known, else as predicted; certain for roots, which have none.

    ``predicted`` is the probability of each concept itself.
    """
    parents = labels.taxonomy.parents
    states = labels.states(items, np.maximum(parents, 0))
    probable = np.where(states == UNKNOWN, predicted[:, parents], states == RELEVANT)
    return np.clip(np.where(parents < 0, 1.0, probable), LEAST, 1.0)


def looks_by_predictions(labels: Labels, items: Index, phi: NDArray[Any], predictions: NDArray[Any]) -> Looks:
    """What a net tells of items, from its last layer and its predictions of all concepts."""
    p = predictions.astype(np.float64)
    variance = spread(p)
    there = parents_relevant(labels, items, p)
    return Looks(phi.astype(np.float64), 1 / (variance * there), there * variance)


def leading(phi: Tensor, directions: int) -> Tensor:
    """The leading directions of features, as columns."""
    count = min(directions, *phi.shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        _, _, v = torch.svd_lowrank(phi, q=min(count + 8, *phi.shape), niter=3)
    columns: Tensor = v[:, :count]
    return columns


def doubles(tensor: Tensor) -> Floats:
    """A tensor as numpy's doubles."""
    return tensor.double().cpu().numpy()
