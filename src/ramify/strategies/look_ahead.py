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
from functools import partial, reduce
from itertools import chain
from typing import ClassVar, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.functional import softplus

from ramify.labels import UNKNOWN, Labels
from ramify.learners.base import Learner
from ramify.meta import bce, masked_bce
from ramify.strategies.base import EntryStrategy
from ramify.strategies.layered import ROOM, Known, Layers, Sums, by_warm_set
from ramify.strategies.pool import Pool
from ramify.strategies.select import Score
from ramify.taxonomy import Index, Taxonomy

BLOCK = 2048  # items at once: the graph of a block stays small
ALPHA = 0.1
LOGITS = 1 << 24  # numbers of the pool's logits that are kept for the scores

Theta = dict[str, Tensor]


@dataclass(kw_only=True, eq=False, repr=False)
class LookAhead(EntryStrategy):
    """The questions that stay most uncertain after a look-ahead step."""

    name: ClassVar[str] = "look-ahead"
    alpha: float | None = None
    """The size of the step, by default the learner's own."""

    def _score(self, learner: Learner, pool: Pool, seed: int) -> Score:
        theta, logits = learner.differentiable()
        step = _layer_by_layer if learner.is_layered() else _by_autograd
        alpha = self.alpha if self.alpha is not None else getattr(learner, "alpha", ALPHA)
        warm, rest = _warm_and_rest(pool)
        after, kept = step(learner, pool, theta, alpha, warm, rest)
        taxonomy = pool.labels.taxonomy

        def score(items: Index, concepts: Index) -> NDArray[np.float32]:
            scores = np.empty(len(items), np.float32)
            for first in range(int(items[0]), int(items[-1]) + 1, BLOCK):
                here = slice(*np.searchsorted(items, [first, first + BLOCK]))
                if here.start < here.stop:
                    shown, rows = np.unique(items[here], return_inverse=True)
                    with torch.no_grad():
                        seen = _seen(learner, pool, shown)
                        then = logits(after, *seen)
                        now = (
                            logits(theta, *seen)
                            if kept is None
                            else kept[torch.from_numpy(np.searchsorted(rest, shown))]
                        )
                        p = _of(now, rows, concepts[here], taxonomy).sigmoid()
                        z = _of(then, rows, concepts[here], taxonomy)
                        scores[here] = (softplus(z) - p * z).cpu().numpy()
            return scores

        return score


Step: TypeAlias = tuple[Theta, Tensor | None]
"""The parameters after an update with the pool's pseudo-labels, and the pool's logits before it, where they are few."""


def _by_autograd(learner: Learner, pool: Pool, theta: Theta, alpha: float, warm: Index, rest: Index) -> Step:
    """Of any net."""
    _, logits = learner.differentiable()
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
    return {name: value.detach() for name, value in _step(theta, mean, alpha).items()}, None


@torch.no_grad()
def _layer_by_layer(learner: Learner, pool: Pool, theta: Theta, alpha: float, warm: Index, rest: Index) -> Step:
    """Of a plain MLP, whose parameters are weight and bias of each layer in turn."""
    if not len(rest):
        return theta, None
    weights, biases = list(theta.values())[::2], list(theta.values())[1::2]
    by_warm = by_warm_set(len(warm), *reversed(weights[0].shape))
    layers = Layers(
        weights,
        biases,
        partial(learner.inputs, pool.features),
        lambda items, z: Known(*_labels(learner, pool.labels, items, z)),
        len(rest),
        alpha,
        warm=(warm, learner.inputs(pool.features, warm)) if by_warm else None,
        room=ROOM if pool.engine == "serial" else 0,
    )
    first = _sum(pool.over(_parts(rest), layers.first_sums))
    v = layers.warm_sums(_parts(warm), lambda items: torch.from_numpy(pool.labels.states(items)), first)
    logits: list[Tensor] = []

    def second() -> Iterator[Sums]:
        for sums, z in pool.over(_parts(rest), partial(layers.second_sums, v=v)):
            if len(rest) * z.shape[1] <= LOGITS:
                logits.append(z)
            yield sums

    moved = layers.stepped(_sum(second()))
    return dict(zip(theta, chain(*zip(*moved, strict=True)), strict=True)), torch.cat(logits) if logits else None


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


def _of(z: Tensor, rows: Index, concepts: Index, taxonomy: Taxonomy) -> Tensor:
    """The logits of some concepts from those of the fine ones: an inner one is relevant if any fine one below it is."""
    asked = z[rows, np.minimum(concepts, z.shape[1] - 1)]
    for inner in np.unique(concepts[concepts >= len(taxonomy.leaves)]).tolist():
        where = torch.from_numpy(np.flatnonzero(concepts == inner))
        none = (
            softplus(z[torch.from_numpy(rows)[where]][:, taxonomy.leaves_below(inner)]).sum(dim=1).clamp_min(1e-30)
        )  # -log (1 - p)
        asked[where] = none + torch.log(-torch.expm1(-none))
    return asked


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


def _sum(parts: Iterable[Sums]) -> Sums:
    """One after another: in the same order, whoever computed them."""
    return reduce(lambda total, part: [a.add_(b) for a, b in zip(total, part, strict=True)], parts)


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
