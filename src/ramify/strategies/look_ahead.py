"""The paper's look-ahead (Algorithm 2): ask where a step with pseudo-labels would leave the prediction most uncertain.

Over the whole pool of N items, with theta the learner's parameters and y its current pseudo-labels:

    g  = mean gradient of the pool's loss under y                       (pass 1)
    v  = gradient of the warm set's loss at theta' = theta - alpha g
    y' = 1 where <v, grad z> <= 0, else 0, on unknown entries           (Eq. grad_dir)
    g' = mean gradient of the pool's loss under y'                      (pass 2)
    score = cross-entropy of the predictions at theta and at theta - alpha g'     (Eq. query, pass 3)

An entry's loss is softplus(z) - y z, so g' - g is the mean gradient of (y - y') z: the second pass needs only the items
that have unknown entries, and its one forward sweep carries the tangent along v as well as the graph back to theta.

Losses are those of fine entries; an inner concept that is asked is as probable as any fine one below it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.functional import softplus

from ramify.labels import UNKNOWN, Labels
from ramify.learners.base import Learner, Logits
from ramify.meta import bce, masked_bce
from ramify.strategies.base import EntryStrategy
from ramify.strategies.pool import Pool
from ramify.strategies.select import Score
from ramify.taxonomy import Index, Taxonomy

BLOCK = 2048  # items at once: the graph of a block stays small
ALPHA = 0.1

Theta = dict[str, Tensor]


@dataclass(kw_only=True, eq=False, repr=False)
class LookAhead(EntryStrategy):
    """The questions that stay most uncertain after a look-ahead step."""

    name: ClassVar[str] = "look-ahead"
    alpha: float | None = None
    """The size of the step, by default the learner's own."""

    def _score(self, learner: Learner, pool: Pool, seed: int) -> Score:
        theta, logits = learner.differentiable()
        after, taxonomy = self._stepped(learner, pool, theta, logits), pool.labels.taxonomy

        def score(items: Index, concepts: Index) -> NDArray[np.float32]:
            scores = np.empty(len(items), np.float32)
            for first in range(int(items[0]), int(items[-1]) + 1, BLOCK):
                here = slice(*np.searchsorted(items, [first, first + BLOCK]))
                if here.start < here.stop:
                    shown, rows = np.unique(items[here], return_inverse=True)
                    with torch.no_grad():
                        seen = _seen(learner, pool, shown)
                        now, then = (_all_logits(logits(each, *seen), taxonomy) for each in (theta, after))
                        p, z = now[rows, concepts[here]].sigmoid(), then[rows, concepts[here]]
                        scores[here] = (softplus(z) - p * z).cpu().numpy()
            return scores

        return score

    def _stepped(self, learner: Learner, pool: Pool, theta: Theta, logits: Logits) -> Theta:
        """The parameters after one update with the pool's pseudo-labels."""
        alpha = self.alpha if self.alpha is not None else getattr(learner, "alpha", ALPHA)
        warm, rest = _warm_and_rest(pool)
        theta = {name: value.detach().requires_grad_() for name, value in theta.items()}
        count = len(rest)

        def first_gradient(items: Index) -> Theta:
            z = logits(theta, *_seen(learner, pool, items))
            y, _ = _labels(learner, pool.labels, items, z)
            return _gradient(theta, bce(z, y) * (len(items) / count))

        mean = _add(_zeros(theta), pool.over(_parts(rest), first_gradient))

        virtual = _step(theta, mean, alpha)

        def warm_gradient(items: Index) -> Theta:
            x, states = _seen(learner, pool, items)
            z = logits(virtual, x, states)
            return _gradient(virtual, masked_bce(z, states[:, : z.shape[1]]) * (len(items) / len(warm)))

        v = _add(_zeros(theta), map(warm_gradient, _parts(warm)))

        def change(part: Index) -> Theta:
            items = part[(pool.labels.states(part) == UNKNOWN).any(axis=1)]
            if not len(items):
                return {}
            with forward_ad.dual_level():
                duals = {name: forward_ad.make_dual(value, v[name]) for name, value in theta.items()}  # type: ignore[no-untyped-call]
                outputs = logits(duals, *_seen(learner, pool, items))
                z, tangent = forward_ad.unpack_dual(outputs)  # type: ignore[no-untyped-call]
            # Outside, the way back carries no tangents.
            y, unknown = _labels(learner, pool.labels, items, z)
            new = torch.where(unknown, (tangent <= 0).to(z.dtype), y)
            return _gradient(theta, ((y - new) * z).sum() / count)

        mean = _add(mean, pool.over(_parts(rest), change))
        return {name: value.detach() for name, value in _step(theta, mean, alpha).items()}


def _warm_and_rest(pool: Pool) -> tuple[Index, Index]:
    """The warm set (or, with no item completely known, all answered ones), and the pool of all others."""
    complete = pool.answered[(pool.labels.states(pool.answered) >= 0).all(axis=1)]
    warm = complete if len(complete) else pool.answered
    everything = np.arange(len(pool.labels)) if pool.items is None else pool.items
    return warm, np.setdiff1d(everything, complete)


def _parts(items: Index) -> Iterator[Index]:
    return (items[first : first + BLOCK] for first in range(0, len(items), BLOCK))


def _seen(learner: Learner, pool: Pool, items: Index) -> tuple[Tensor, Tensor]:
    """The inputs of some items, and what is known of all their concepts."""
    x = learner.inputs(pool.features, items)
    return x, torch.from_numpy(pool.labels.states(items, np.arange(len(pool.labels.taxonomy)))).to(x.device)


def _all_logits(z: Tensor, taxonomy: Taxonomy) -> Tensor:
    """The logits of all concepts from those of the fine ones: an inner one is relevant if any fine one below it is."""
    none = softplus(z)  # -log (1 - p)
    inner = range(len(taxonomy.leaves), len(taxonomy))
    below = [none[:, taxonomy.leaves_below(c)].sum(dim=1, keepdim=True).clamp_min(1e-30) for c in inner]
    return torch.cat([z, *(some + torch.log(-torch.expm1(-some)) for some in below)], dim=1)


def _labels(learner: Learner, labels: Labels, items: Index, z: Tensor) -> tuple[Tensor, Tensor]:
    """The labels of a block, unknown entries as the learner's current pseudo-labels, and which those are.

    A learner without pseudo-labels believes its own predictions.
    """
    states = labels.states(items)
    rows, columns = np.nonzero(states == UNKNOWN)
    predicted = z.detach().sigmoid()[rows, columns].cpu().numpy()
    believed = learner.pseudo_labels(items[rows], columns, predicted)
    y = z.new_tensor(states)
    y[rows, columns] = torch.as_tensor(believed, dtype=z.dtype, device=z.device)
    return y, torch.from_numpy(states == UNKNOWN).to(z.device)


def _gradient(theta: Theta, loss: Tensor) -> Theta:
    return dict(zip(theta, torch.autograd.grad(loss, list(theta.values())), strict=True))


def _add(total: Theta, gradients: Iterable[Theta]) -> Theta:
    """The sum of gradients, one after another: in the same order, whoever computed them."""
    for gradient in gradients:
        for name, part in gradient.items():
            total[name] += part
    return total


def _zeros(theta: Theta) -> Theta:
    return {name: torch.zeros_like(value) for name, value in theta.items()}


def _step(theta: Theta, gradient: Theta, alpha: float) -> Theta:
    return {name: (value - alpha * gradient[name]).detach().requires_grad_() for name, value in theta.items()}
