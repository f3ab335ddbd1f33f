"""The look-ahead step of a plain MLP, layer by layer: what ``LookAhead`` has of any net by autograd, in fewer products.

Over a pool of N items, with inputs A_l of layer l and the gradients D_l of the loss by what it puts out:

- What the items are at theta is computed once, and kept where there is room: both sweeps need it, and the scores.
- The first layer has most of the weights. With G = A_w A_1', the products of the warm set's inputs with the pool's,
  the warm set sees it after the virtual step as A_w W' - alpha G D_1, and the tangent of what it puts out for the pool
  is G' D_w along v: neither this layer's gradient nor v is formed.
- The gradient under the new labels is summed over all items anew, so that of the old labels is never needed there.

What autograd computes differs from it by rounding alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from ramify.nets import let_through
from ramify.taxonomy import Index

Sums: TypeAlias = list[Tensor]
"""Of each layer what belongs to its weights, then what belongs to its bias."""

ROOM = 128 << 20  # bytes of what items are at theta that are kept: of 20 000 items with 2 x 512 hidden values it is all


class Known(NamedTuple):
    """The labels of some items, 1, 0 or between, and which of them are unknown."""

    labels: Tensor
    unknown: Tensor


class Look(NamedTuple):
    """What some items are at theta."""

    hidden: list[Tensor]
    logits: Tensor
    known: Known
    gram: Tensor
    """Products of the inputs with those of the warm set, where that takes the place of the first layer's weights."""

    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for part in chain(self.hidden, [self.logits, *self.known, self.gram]))


@dataclass
class Layers:
    """The weights and biases of an MLP with ReLU, and one look-ahead step of theirs over a pool."""

    weights: list[Tensor]
    biases: list[Tensor]
    inputs: Callable[[Index], Tensor]
    """The scaled features of some items."""
    known: Callable[[Index, Tensor], Known]
    """The labels of some items, given their logits."""
    count: int
    """Items of the pool."""
    alpha: float
    warm: tuple[Index, Tensor] | None = None
    """The warm set and its inputs, where the products with them take the place of the first layer's weights."""
    room: int = ROOM
    """Bytes for what is kept of the looks; none where workers look."""
    _kept: dict[int, Look] = field(default_factory=dict)

    def first_sums(self, items: Index) -> Sums:
        """Of the pool's loss under its labels, by the weights; for the first layer G D_1, where that is cheaper."""
        x = self.inputs(items)
        look = self._look(items, x)
        deltas = self._back(look, look.known.labels)
        return self._sums(x, look, deltas, by_warm=self.warm is not None)

    def warm_sums(self, parts: Iterable[Index], states: Callable[[Index], Tensor], first: Sums) -> Sums:
        """Of the warm set's loss after the virtual step; of the first layer its D_w, where that takes v's place."""
        last = len(self.weights) - 1
        moved = self.stepped(first, formed=self.warm is None)
        count = sum(map(len, parts := list(parts)))
        total: Sums | None = None
        for items in [self.warm[0]] if self.warm is not None else parts:
            values = [self.inputs(items) if self.warm is None else self.warm[1]]
            for layer, (weight, bias) in enumerate(zip(*moved, strict=True)):
                z = torch.addmm(bias, values[-1], weight.T)
                if layer == 0 and self.warm is not None:
                    z.sub_(first[0], alpha=self.alpha)
                values.append(z.relu_() if layer < last else z)
            known = states(items).to(values[0].device)
            deltas = [(values.pop().sigmoid_() - known) * (known >= 0) / count]
            for layer in range(last, 0, -1):
                deltas.insert(0, let_through(deltas[0] @ moved[0][layer], values[layer]))
            own = [delta.T @ inputs for delta, inputs in zip(deltas, values, strict=True)]
            if self.warm is not None:
                own[0] = deltas[0]
            own += [delta.sum(0) for delta in deltas]
            total = own if total is None else [a + b for a, b in zip(total, own, strict=True)]
        return total if total is not None else [torch.zeros_like(part) for part in chain(*moved)]

    def second_sums(self, items: Index, v: Sums) -> tuple[Sums, Tensor]:
        """Of the pool's loss under the labels that the warm set wants, by all weights; and the logits at theta."""
        x = self.inputs(items)
        look = self._look(items, x)
        y = look.known.labels
        if len(rows := torch.nonzero(look.known.unknown.any(dim=1))[:, 0]):
            y = y.clone()
            y[rows] = torch.where(look.known.unknown[rows], (self._tangent(x, look, rows, v) <= 0).to(y), y[rows])
        return self._sums(x, look, self._back(look, y), by_warm=False), look.logits

    def stepped(self, sums: Sums, *, formed: bool = True) -> tuple[list[Tensor], list[Tensor]]:
        """Weights and biases after a step; without a first layer's gradient ``formed`` those weights stay."""
        count = len(self.weights)
        moved = [
            weight if layer == 0 and not formed else torch.add(weight, change, alpha=-self.alpha)
            for layer, (weight, change) in enumerate(zip(self.weights, sums[:count], strict=True))
        ]
        return moved, [
            torch.add(bias, change, alpha=-self.alpha) for bias, change in zip(self.biases, sums[count:], strict=True)
        ]

    def _look(self, items: Index, x: Tensor) -> Look:
        key = int(items[0])
        if key in self._kept:
            return self._kept[key]
        values = [x]
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = torch.addmm(bias, values[-1], weight.T)
            values.append(z.relu_() if layer < len(self.weights) - 1 else z)
        gram = x.new_empty((len(x), 0)) if self.warm is None else x @ self.warm[1].T
        look = Look(values[1:-1], values[-1], self.known(items, values[-1]), gram)
        if look.size() <= self.room:
            self.room -= look.size()
            self._kept[key] = look
        return look

    def _back(self, look: Look, y: Tensor) -> list[Tensor]:
        deltas = [torch.sub(look.logits.sigmoid(), y).div_(self.count)]
        for layer in range(len(self.weights) - 1, 0, -1):
            deltas.insert(0, let_through(deltas[0] @ self.weights[layer], look.hidden[layer - 1]))
        return deltas

    def _sums(self, x: Tensor, look: Look, deltas: list[Tensor], *, by_warm: bool) -> Sums:
        sums = [delta.T @ inputs for delta, inputs in zip(deltas[1:], look.hidden, strict=True)]
        return [look.gram.T @ deltas[0] if by_warm else deltas[0].T @ x, *sums, *(delta.sum(0) for delta in deltas)]

    def _tangent(self, x: Tensor, look: Look, rows: Tensor, v: Sums) -> Tensor:
        """Of the logits along v."""
        by_bias = v[len(self.weights) :]
        if self.warm is None:
            along = torch.addmm(by_bias[0], x[rows], v[0].T)
        else:
            along = torch.addmm(by_bias[0], look.gram[rows], v[0])
        for layer, hidden in enumerate(look.hidden, start=1):
            values = hidden[rows]
            passed = let_through(along, values) @ self.weights[layer].T
            along = torch.addmm(by_bias[layer], values, v[layer].T).add_(passed)
        return along


def by_warm_set(warm: int, inputs: int, outputs: int) -> bool:
    """Whether a first layer takes fewer products by those of its inputs with the warm set's than by its weights.

    >>> by_warm_set(80, 2048, 512), by_warm_set(80, 64, 512)
    (True, False)
    """
    return warm * (inputs + 2 * outputs) < 2 * inputs * outputs
