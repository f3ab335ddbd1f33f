"""Nets: the paper's multi-layer perceptron, of any size."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor, nn

from ramify.errors import RamifyError


class MLP(nn.Module):
    """Linear layers with ReLU between them: input, hidden layers, one logit for each output.

    ``hidden`` are the sizes of the layers between ``n_inputs`` and ``n_outputs``. A ``rank`` makes the output layer a
    product of two thin ones. ``input_dropout`` is the share of inputs, ``dropout`` that of hidden values left out in
    training.

    >>> MLP(2048, 80)
    MLP(2048-512-512-80)
    >>> MLP(4, 3, hidden=(8,))(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        hidden: Sequence[int] = (512, 512),
        *,
        rank: int | None = None,
        input_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = [n_inputs, *hidden, n_outputs]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        if rank is not None:  # the output layer as a product of two thin ones, so that concepts share their directions
            self.layers[-1] = nn.Sequential(nn.Linear(sizes[-2], rank, bias=False), nn.Linear(rank, n_outputs))
        self.drops = nn.ModuleList(nn.Dropout(p) for p in [input_dropout, *[dropout] * len(hidden)])
        self.sizes = sizes

    def extra_repr(self) -> str:
        """The sizes of the layers."""
        return "-".join(map(str, self.sizes))

    def __repr__(self) -> str:
        return f"MLP({self.extra_repr()})"

    def hidden(self, x: Tensor) -> list[Tensor]:
        """The activations of all hidden layers."""
        activations = []
        for drop, layer in zip(self.drops, list(self.layers)[:-1], strict=False):
            x = layer(drop(x)).relu()
            activations.append(x)
        return activations

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        for drop, layer in zip(self.drops, list(self.layers)[:-1], strict=False):
            x = layer(drop(x)).relu()
        logits: Tensor = self.layers[-1](self.drops[-1](x))
        return logits


def last_linear(net: nn.Module) -> nn.Linear | None:
    """The last linear layer of a net, if it has one."""
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Linear)]
    return layers[-1] if layers else None


@contextmanager
def inputs_of(layer: nn.Module) -> Iterator[list[Tensor]]:
    """What a layer is given while this lasts.

    >>> net = MLP(4, 3, hidden=(8,))
    >>> with inputs_of(last_linear(net)) as seen:
    ...     _ = net(torch.zeros(2, 4))
    >>> seen[-1].shape
    torch.Size([2, 8])
    """
    seen: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    try:
        yield seen
    finally:
        hook.remove()


def move_average(average: Sequence[Tensor], now: Sequence[Tensor], reach: float, step: int) -> None:
    """Move averaged weights a little towards the current ones, in place.

    The average forgets its beginning quickly, then reaches back about 1 / (1 - ``reach``) steps.
    """
    decay = min(reach, step / (step + 10))
    torch._foreach_lerp_(list(average), list(now), 1 - decay)  # torch's own averaging uses it


def pick_device(device: str) -> torch.device:
    """``auto`` is CUDA where there is one, else the CPU.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise RamifyError(f"there is no device {device!r}: say 'auto', 'cpu' or 'cuda'") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise RamifyError("this machine has no CUDA device: say 'auto' or 'cpu'")
    return chosen
