"""What a learner tells ExpectedGain: features that an answer speaks about, how noisy it is, and where it would matter.

An answer about (item i, concept j) is seen as a noisy reading, with variance r_ij, of a linear function of the item's
features phi_i, reduced to their leading directions. What it teaches about j matters for items in proportion to t_nj.

- Refine is such a model: phi are its own features, the prior's variance is 1, r = lambda / s and t = P(parent | x) s,
  where s = 4 p (1 - p) and p = P(j | parent, x): an answer that is foreseen teaches little (measured on validation
  parts: with s = 1, as the regression itself has it, whole groups are hardly better than random entries).
- A net is one in its last layer: phi is that layer's input, the prior's variance is 100, r = 1 / s and
  t = P(parent) s, with s = p (1 - p).

Where it is not certain that the parent is relevant, an answer teaches less: r is divided by the parent's probability.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ramify.errors import RamifyError
from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.learners.base import Learner
from ramify.learners.factored import path_products
from ramify.learners.fine_stage import LEAST
from ramify.learners.refine import Refine
from ramify.learners.training import NetLearner
from ramify.nets import pick_device
from ramify.strategies.base import Pool
from ramify.taxonomy import Index

Floats = NDArray[np.float64]

SURE = 0.02  # no probability is believed to be nearer to 0 or 1
PRIOR_OF_REFINE, PRIOR_OF_NET = 1.0, 100.0  # variances
FOR_DIRECTIONS = 2048  # items from which the leading directions are computed
BLOCK = 2048  # items looked at together: their inputs are what takes memory


class Looked(NamedTuple):
    """What is seen of some items."""

    phi: Floats
    """Items x directions."""
    noise: Floats
    """The variance of an answer: items x fine concepts."""
    matters: Floats
    """Where knowing more would matter: items x fine concepts."""


@dataclass(frozen=True)
class Evidence:
    """How to look at items, and what holds for all of them."""

    look: Callable[[Index], Looked]
    prior_variance: float


def evidence(learner: Learner, pool: Pool, sample: Index, directions: int) -> Evidence:
    """What this learner tells; the leading directions are those of a sample of items, which is also remembered."""
    if isinstance(learner, Refine):
        told = _of_refine(learner, pool, sample[:FOR_DIRECTIONS], directions)
    elif isinstance(learner, NetLearner):
        told = _of_net(learner, pool, sample[:FOR_DIRECTIONS], directions)
    else:
        raise RamifyError(f"{learner.name} has no features that an answer could speak about: choose random-items")
    ascending = np.sort(sample)
    remembered = _in_blocks(told.look, ascending)

    def look(items: Index) -> Looked:
        place = np.searchsorted(ascending, items)
        new = np.append(ascending, -1)[place] != items
        found = Looked(*(part[np.where(new, 0, place)] for part in remembered))
        if new.any():
            for mine, part in zip(found, _in_blocks(told.look, items[new]), strict=True):
                mine[new] = part
        return found

    return Evidence(look, told.prior_variance)


def _in_blocks(look: Callable[[Index], Looked], items: Index) -> Looked:
    parts = [look(items[first : first + BLOCK]) for first in range(0, max(1, len(items)), BLOCK)]
    return Looked(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _of_refine(learner: Refine, pool: Pool, sample: Index, directions: int) -> Evidence:
    phi = [learner.coarse_.features(_scaled(learner, pool, part)).float() for part in np.array_split(sample, 8)]
    found = leading(torch.cat(phi), directions)
    weights = torch.cat([torch.from_numpy(learner.fine_.weights.T).to(found), found], dim=1)
    n_learned = len(learner.fine_.concepts)

    def look(items: Index) -> Looked:
        x = _scaled(learner, pool, items)
        coarse, products = learner.coarse_.apply(x, weights.to(x))
        given = products[:, :n_learned] + torch.from_numpy(learner.fine_.biases).to(x)
        return refine_looked(learner, pool.labels, items, _floats(products[:, n_learned:]), coarse, given)

    return Evidence(look, PRIOR_OF_REFINE)


def refine_looked(learner: Refine, labels: Labels, items: Index, phi: Floats, coarse: Tensor, given: Tensor) -> Looked:
    """What Refine tells of items, from its two stages: P(c | x), and what the regressions say given the parent."""
    taxonomy = learner.taxonomy_
    leaves = taxonomy.leaves
    parents = taxonomy.parents[leaves]
    given_parent = learner._given_parent(coarse, given)
    joint = _floats(path_products(given_parent, taxonomy))[:, parents]
    spread = 4 * _spread(_floats(given_parent[:, leaves]))
    # Of a concept that is not learned from answers (a root, an only child) more knowledge matters nowhere.
    matters = np.where(np.isin(leaves, learner.fine_.concepts), joint * spread, 0)
    return Looked(phi, learner.fine_.lam / (spread * _there(labels, items, joint)), matters)


def _of_net(learner: NetLearner, pool: Pool, sample: Index, directions: int) -> Evidence:
    found = leading(last_layer(learner, _scaled(learner, pool, sample))[0], directions)

    def look(items: Index) -> Looked:
        phi, probabilities = last_layer(learner, _scaled(learner, pool, items))
        return net_looked(pool.labels, items, _floats(phi @ found), _floats(probabilities))

    return Evidence(look, PRIOR_OF_NET)


def net_looked(labels: Labels, items: Index, phi: Floats, p: Floats) -> Looked:
    """What a net tells of items, from its predictions: a parent is there if any of its children is."""
    parents = labels.taxonomy.parents[labels.taxonomy.leaves]
    spread = _spread(p)
    none = np.stack([(1 - p[:, parents == parent]).prod(axis=1) for parent in parents], axis=1)
    there = _there(labels, items, 1 - none)
    return Looked(phi, 1 / (spread * there), there * spread)


def last_layer(learner: NetLearner, x: Tensor) -> tuple[Tensor, Tensor]:
    """The inputs of a net's last linear layer, and its predictions."""
    layers = [layer for layer in learner.net_.modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise RamifyError("this net has no linear layer that an answer could speak about: choose random-items")
    seen: list[Tensor] = []
    hook = layers[-1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    try:
        with torch.no_grad():
            p = learner._probabilities(x)
    finally:
        hook.remove()
    return seen[-1].flatten(1), p


def _spread(p: Floats) -> Floats:
    """The variance of a yes/no answer; none is foreseen completely."""
    found: Floats = np.clip(p, SURE, 1 - SURE) * (1 - np.clip(p, SURE, 1 - SURE))
    return found


def _there(labels: Labels, items: Index, predicted: Floats) -> Floats:
    """How probable the parent of each fine concept is: mostly known, else as predicted."""
    taxonomy = labels.taxonomy
    parents = taxonomy.parents[taxonomy.leaves]
    states = labels.states(items, np.maximum(parents, 0))
    found = np.where(states == UNKNOWN, predicted, states == RELEVANT)
    return np.clip(np.where(parents < 0, 1.0, found), LEAST, 1.0)


def leading(phi: Tensor, directions: int) -> Tensor:
    """The leading directions of the features, as columns."""
    count = min(directions, *phi.shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        _, _, v = torch.svd_lowrank(phi, q=min(count + 8, *phi.shape), niter=3)
    found: Tensor = v[:, :count]
    return found


def _scaled(learner: Learner, pool: Pool, items: Index) -> Tensor:
    return torch.from_numpy(learner.scaler_.transform(pool.features[items])).to(pick_device(learner.device))


def _floats(tensor: Tensor) -> Floats:
    return tensor.double().cpu().numpy()
