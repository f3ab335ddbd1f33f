"""The coarse stage: P(c | x) for the coarse concepts, learned once from all coarse labels, and features for fine ones.

Three dropout nets each hold out one third of the items to stop early on, a different one: so every item has a net that
never saw it, and honest estimates are possible without held-out data.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.engine import one_thread
from ramify.learners.base import ROWS, Inputs
from ramify.meta import masked_bce
from ramify.nets import MLP, AdamW, move_average
from ramify.parallel import team
from ramify.progress import Report
from ramify.taxonomy import Index

USUAL = 600  # steps after which a net has often stopped: only to tell how long it will take


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the nets are trained; ``CoarseLearner`` says what each setting means."""

    hidden: tuple[int, ...]
    nets: int
    steps: int
    batch_size: int
    lr: float
    weight_decay: float
    input_dropout: float
    dropout: float
    average: float
    look_every: int
    patience: int
    held_out: int


@dataclass
class CoarseStage:
    """The trained nets, the fold of each training item (the net that did not see it), and the features' centres."""

    nets: list[MLP]
    folds: Index
    centres: list[Tensor]

    @classmethod
    def fitted(
        cls, inputs: Inputs, states: NDArray[np.int8], seed: int, recipe: Recipe, report: Report
    ) -> "CoarseStage":
        """Train on the states of the coarse concepts, 1, 0 or -1 (items x coarse), and report how far it is."""
        rng = np.random.default_rng(seed)
        count = recipe.nets
        folds = rng.permutation(np.arange(len(inputs)) % count)
        taken = [0] * count  # steps of each net

        def advance(number: int, step: int, at_least: int) -> None:
            before, taken[number] = sum(taken[:number]), step
            usual = round(before / number) if number else min(USUAL, recipe.steps)  # nets stop at much the same step
            report("coarse stage", before + step, before + max(usual, at_least) + (count - 1 - number) * usual)

        with one_thread(), torch.random.fork_rng(devices=[]):
            nets = [
                _train(inputs, states, folds, n, seed * count + n, recipe, partial(advance, n)) for n in range(count)
            ]
        stage = cls(nets, folds, [])
        total: list[Tensor] = []
        for first in range(0, len(inputs), ROWS):
            units = [_unit(v).sum(0) for v in stage._layers(inputs[np.arange(first, min(first + ROWS, len(inputs)))])]
            total = [a + b for a, b in zip(total, units, strict=True)] if total else units
        stage.centres = [part / len(inputs) for part in total]
        return stage

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        """P(c | x), the mean of all nets."""
        probabilities: Tensor = torch.stack([net(x).sigmoid() for net in self.nets]).mean(0)
        return probabilities

    @torch.no_grad()
    def out_of_fold(self, x: Tensor, folds: Index) -> Tensor:
        """P(c | x) of training items by the one net that did not see them."""
        return by_unseen(torch.stack([net(x).sigmoid() for net in self.nets]), folds)

    def folds_of(self, items: Index) -> Index:
        """Of each item the net that did not see it: one that came after the training was seen by none, any will do."""
        return self.folds[np.where(items < len(self.folds), items, 0)]

    @cached_property
    def _first_layers(self) -> list[tuple[Tensor, Tensor]]:
        """Weights and biases of the nets' first layers, in double precision."""
        firsts: list[Any] = [net.layers[0] for net in self.nets]
        return [(layer.weight.detach().double(), layer.bias.detach().double()) for layer in firsts]

    @torch.no_grad()
    def features(self, x: Tensor, *, exact: bool = True) -> Tensor:
        """phi(x): the inputs and the nets' first hidden layers, each normalised, centred, normalised; of length 1.

        In double precision by default: what is learned must not depend on which items are computed together.
        """
        if exact:
            x = x.double()
            layers = [x, *(torch.addmm(bias, x, weight.T).relu_() for weight, bias in self._first_layers)]
        else:
            layers = self._layers(x)
        parts = [_unit(_unit(v) - centre) for v, centre in zip(layers, self.centres, strict=True)]
        weights = [1.0, *[1 / math.sqrt(len(self.nets))] * len(self.nets)]
        return torch.cat([part * w for part, w in zip(parts, weights, strict=True)], dim=1) / math.sqrt(2)

    def see(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """P(c | x), the mean of all nets, and z(x)."""
        by_net, z = self.see_apart(x)
        return by_net.mean(0), z

    @torch.no_grad()
    def see_apart(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """P(c | x) by each net, and z(x), whose products with ``along(weights)`` are those of phi(x) with the weights.

        As w.unit(unit(v) - c) = (w.v / |v| - w.c) / |unit(v) - c| and |unit(v) - c|^2 = 1 - 2 c.v / |v| + |c|^2, each
        layer v need only be scaled, and one column more says how much of w.c is taken off: phi itself is not formed.
        """
        widths = [len(centre) for centre in self.centres]
        z = x.new_empty((len(x), sum(widths) + len(widths)))
        by_net: list[Tensor] = []
        first = 0
        for number, centre in enumerate(self.centres):
            v = x
            if number:
                v, *_, logits = self.nets[number - 1].activations(x)
                by_net.append(logits.sigmoid())
            norm = v.norm(dim=1)
            along = v @ centre / norm.clamp_min(1e-12)
            squared = (norm > 1e-12).to(v) - 2 * along + centre @ centre  # a vector of zeros stays zero
            scale = math.sqrt(0.5) if number == 0 else math.sqrt(0.5 / len(self.nets))
            scales = scale / squared.clamp_min(1e-12).sqrt()
            torch.mul(v, (scales / norm.clamp_min(1e-12))[:, None], out=z[:, first : first + len(centre)])
            z[:, number - len(widths)] = -scales
            first += len(centre)
        return torch.stack(by_net), z

    def along(self, weights: Tensor) -> Tensor:
        """What ``see`` is multiplied with, from weights of phi: features x any number."""
        blocks = torch.split(weights, [len(centre) for centre in self.centres])
        taken_off = [centre.to(block) @ block for centre, block in zip(self.centres, blocks, strict=True)]
        return torch.cat([weights, torch.stack(taken_off)])

    def _layers(self, x: Tensor) -> list[Tensor]:
        with torch.no_grad():
            return [x, *(net.activations(x)[0] for net in self.nets)]

    # -- saving --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, by name."""
        arrays = {f"coarse.centre.{n}": centre.cpu().numpy() for n, centre in enumerate(self.centres)}
        for number, net in enumerate(self.nets):
            arrays |= {f"coarse.net.{number}.{name}": v.cpu().numpy() for name, v in net.state_dict().items()}
        return {**arrays, "coarse.folds": self.folds}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], device: torch.device) -> "CoarseStage":
        """What ``arrays`` gave."""

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].copy()).to(device)

        nets: list[MLP] = []
        while state := _part(arrays, f"coarse.net.{len(nets)}."):
            weights = [value for name, value in sorted(state.items()) if name.endswith("weight")]
            hidden = [len(weight) for weight in weights[:-1]]
            net = MLP(weights[0].shape[1], len(weights[-1]), hidden).to(device)
            net.load_state_dict({name: torch.from_numpy(value.copy()).to(device) for name, value in state.items()})
            nets.append(net.eval())
        return cls(nets, arrays["coarse.folds"], [tensor(f"coarse.centre.{n}") for n in range(len(nets) + 1)])


def by_unseen(by_net: Tensor, folds: Index) -> Tensor:
    """Of nets x items x roots, each item's by the net of its fold."""
    probabilities: Tensor = by_net[torch.from_numpy(folds), torch.arange(len(folds))]
    return probabilities


def _part(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _unit(v: Tensor) -> Tensor:
    unit: Tensor = v / v.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return unit


def _train(
    inputs: Inputs,
    states: NDArray[np.int8],
    folds: Index,
    fold: int,
    seed: int,
    recipe: Recipe,
    advance: Callable[[int, int], None],
) -> MLP:
    """One net, stopped early on the items of its fold, its weights averaged over the last steps.

    ``advance`` is told after each step how many there were, and how many there will be at least.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    seen, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)[: recipe.held_out]
    if not len(seen):
        seen = held_out
    width = inputs[seen[:1]].shape[1]
    net = MLP(width, states.shape[1], recipe.hidden, input_dropout=recipe.input_dropout, dropout=recipe.dropout).to(
        inputs.device
    )
    parameters = list(net.parameters())
    optimiser = AdamW(parameters, recipe.lr, recipe.weight_decay)
    averaged = MLP(width, states.shape[1], recipe.hidden).to(inputs.device).eval()
    average = [value.detach() for value in averaged.parameters()]
    for averaged_value, value in zip(average, parameters, strict=True):
        averaged_value.copy_(value.detach())
    best, best_loss, worse = [value.clone() for value in average], math.inf, 0
    crew = team()
    if crew.size > 1:
        torch.manual_seed(crew.own(seed))
    size = min(recipe.batch_size * crew.size, len(seen))
    shuffled, used = seen, len(seen)
    for step in range(1, recipe.steps + 1):
        if used + size > len(shuffled):
            shuffled, used = seen[torch.randperm(len(seen), generator=generator).numpy()], 0
        items = shuffled[used : used + size]
        used += size
        own = items[crew.part(size)]
        loss = len(own) / size * masked_bce(net(inputs[own]), torch.from_numpy(states[own]).to(inputs.device))
        loss.backward()  # type: ignore[no-untyped-call]
        crew.add_gradients(parameters)
        optimiser.step()
        move_average(average, [value.detach() for value in parameters], recipe.average, step)
        if step % recipe.look_every == 0 and len(held_out):
            with torch.no_grad():
                looked = float(
                    masked_bce(averaged(inputs[held_out]), torch.from_numpy(states[held_out]).to(inputs.device))
                )
            worse = 0 if looked < best_loss else worse + 1
            if looked < best_loss:
                best, best_loss = [value.clone() for value in average], looked
        advance(step, min(recipe.steps, step + (recipe.patience - worse) * recipe.look_every))
        if worse and worse >= recipe.patience:
            break
    if best_loss < math.inf:  # with nothing held out the last average is as good as any
        for averaged_value, kept in zip(average, best, strict=True):
            averaged_value.copy_(kept)
    return averaged
