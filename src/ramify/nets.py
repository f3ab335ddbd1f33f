"""Nets: the paper's multi-layer perceptron, of any size."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from ramify.errors import RamifyError

threshold_backward = torch.ops.aten.threshold_backward.grad_input


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
        self.drops = nn.ModuleList(Dropout(p) for p in [input_dropout, *[dropout] * len(hidden)])
        self.sizes = sizes

    def extra_repr(self) -> str:
        """The sizes of the layers."""
        return "-".join(map(str, self.sizes))

    def __repr__(self) -> str:
        return f"MLP({self.extra_repr()})"

    def activations(self, x: Tensor, first: Tensor | None = None) -> list[Tensor]:
        """What each layer makes of x: hidden values, and the logits.

        ``first``, what the first layer makes of it before its ReLU, is not computed again, but overwritten.
        """
        found = [x]
        for drop, layer in zip(self.drops, list(self.layers)[:-1], strict=False):
            z = first if first is not None and len(found) == 1 else layer(drop(found[-1]))
            found.append(z.relu_())
        return [*found[1:], self.layers[-1](self.drops[-1](found[-1]))]

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        return self.activations(x)[-1]


class Dropout(nn.Dropout):
    """Leaves out values at random in training, by one random byte each: the share is a multiple of 1 / 256.

    Drawing a number for every value, as torch does, takes as long on a CPU as the layer that follows.

    >>> _ = torch.manual_seed(0)
    >>> dropped = Dropout(0.25)(torch.ones(1000, 1000))
    >>> dropped.unique().tolist(), round(dropped.mean().item(), 2)
    ([0.0, 1.3333333730697632], 1.0)
    """

    def __init__(self, share: float) -> None:
        super().__init__(share)
        self.dropped = min(round(256 * share), 255)

    def forward(self, x: Tensor) -> Tensor:
        """The values that are kept, scaled so that their mean stays."""
        if not self.training or not self.dropped:
            return x
        words = torch.empty(math.ceil(x.numel() / 8), dtype=torch.int64, device=x.device).random_(-(2**63), None)
        drawn = words.view(torch.uint8)[: x.numel()].view(x.shape)
        return x * (drawn >= self.dropped).to(x.dtype).mul_(256 / (256 - self.dropped))


def let_through(delta: Tensor, values: Tensor) -> Tensor:
    """What a ReLU lets through, in place: zero where its value is. Three times as fast as a mask.

    >>> let_through(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.5]))
    tensor([0., 2.])
    """
    return threshold_backward(delta, values, 0, grad_input=delta)  # type: ignore[no-any-return]


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


class AdamW:
    """torch.optim.AdamW by its own function: the class loads torch's compiler, two seconds in every new process.

    Without weight decay it is Adam.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> (2 * weight).sum().backward()
    >>> AdamW([weight], lr=0.1).step()
    >>> weight
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float = 0.0) -> None:
        self._parameters, self._lr, self._weight_decay = list(parameters), lr, weight_decay
        self._means, self._squares = ([torch.zeros_like(value) for value in self._parameters] for _ in range(2))
        self._steps = [torch.zeros((), dtype=torch.float32, device=value.device) for value in self._parameters]

    def step(self) -> None:
        """Move the parameters by their gradients, which are then gone."""
        moved = [number for number, value in enumerate(self._parameters) if value.grad is not None]
        parameters, means, squares, steps = (
            [values[number] for number in moved]
            for values in (self._parameters, self._means, self._squares, self._steps)
        )
        with torch.no_grad():
            adamw(
                parameters,
                [value.grad for value in parameters if value.grad is not None],
                means,
                squares,
                [],
                steps,
                fused=True,  # a tenth of the time on a CPU
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._lr,
                weight_decay=self._weight_decay,
                eps=1e-8,
                maximize=False,
            )
        for value in parameters:
            value.grad = None

    def state(self) -> dict[str, Tensor]:
        """What it remembers, to go on with; named as torch names it."""
        kept = {"step": self._steps, "exp_avg": self._means, "exp_avg_sq": self._squares}
        return {f"{number}.{name}": value for name, values in kept.items() for number, value in enumerate(values)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Remember what another one did; nothing where that had not moved anything."""
        for name, value in self.state().items():
            if name in state:
                value.copy_(state[name].view_as(value))  # files hold no scalars


class SGD:
    """Plain gradient descent; it remembers nothing.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> (2 * weight).sum().backward()
    >>> SGD([weight], lr=0.1).step()
    >>> weight
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float) -> None:
        self._parameters, self._lr = list(parameters), lr

    def step(self) -> None:
        """Move the parameters against their gradients, which are then gone."""
        for value in self._parameters:
            if value.grad is not None:
                with torch.no_grad():
                    value.sub_(value.grad, alpha=self._lr)
                value.grad = None

    def state(self) -> dict[str, Tensor]:
        """Nothing."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Nothing to remember."""


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
