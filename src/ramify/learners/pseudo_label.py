"""Pseudo-labels: the paper's method (Algorithm 1), and a smoothed assignment that keeps it stable."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ramify.errors import RamifyError
from ramify.labels import Labels, Source
from ramify.learners.base import Inputs
from ramify.learners.guessing import GuessingLearner, UnknownEntries, Values
from ramify.learners.search import Between, SearchSpace
from ramify.learners.training import NetLearner
from ramify.learners.warm import sibling_rates
from ramify.meta import bce, knows_gram, pseudo_label_gradient
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class PseudoLabel(GuessingLearner):
    """A net that learns the unknown entries' labels as well: those that would lower the warm set's loss after one step.

    ``warm_weight=0`` leaves the warm set out of the real update, as the paper does; inside, it steadies the net.
    """

    name: ClassVar[str] = "pseudo-label"
    in_teams: ClassVar[bool] = True
    lr: float = 3e-4
    """The learning rate."""
    alpha: float = 0.1
    """The size of the virtual step."""
    assignment: str = "sign"
    """"sign" is Algorithm 1 as printed: 1 where the gradient is <= 0, else 0; "smooth" only moves towards that, which
    keeps whole concepts from flipping back and forth."""
    smoothing: float = 0.1
    """How far "smooth" moves."""
    fixed_warm_set: bool = False
    """Whether only imported labels make the warm set, as in Algorithm 2: items that people's answers complete stay in
    the pool, with what is known of them."""
    search_space: ClassVar[SearchSpace] = {**NetLearner.search_space, "alpha": Between(0.001, 10.0)}

    def can_begin(self, labels: Labels) -> bool:
        """Whether some item is completely known."""
        return len(self._replayed(labels)[0]) > 0

    def _replayed(self, labels: Labels) -> tuple[Index, Index]:
        warm, partly = super()._replayed(labels)
        if self.fixed_warm_set:
            said = labels.assertions(warm)
            asked = np.unique(said.items[said.sources == Source.ANNOTATED])
            warm, partly = np.setdiff1d(warm, asked), np.union1d(partly, asked)
        return warm, partly

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if not self.can_begin(labels):
            raise RamifyError(
                f"{self.name} measures its guesses on items whose fine entries are all known, and there is none: "
                "answer all questions about some items first, or use refine"
            )
        if self.assignment not in ("sign", "smooth"):
            raise RamifyError(f"the assignment is 'sign' or 'smooth', not {self.assignment!r}")

    def _first_labels(self, labels: Labels, entries: UnknownEntries) -> Values:
        return sibling_rates(labels)[entries.concepts].astype(np.float32)

    def _forward(self, x: Tensor) -> Tensor:
        self._activations, self._first = None, None
        if not knows_gram(self.net_):
            return super()._forward(x)
        first = self.net_.layers[0](x)
        self._first = first.detach().clone()  # the ReLU overwrites it
        self._activations = self.net_.activations(x, first)
        return self._activations[-1]

    def _step(self, inputs: Inputs, labels: Labels, items: Index) -> float:
        loss = super()._step(inputs, labels, items)
        self._activations, self._first = None, None  # they belong to this step, and hold its graph
        if self._team.size > 1:  # each has labelled the entries of its own part
            part = self._team.part(len(items))
            rows, _, places = self._entries.of_batch(items)
            own = (rows >= part.start) & (rows < part.stop)
            found = torch.from_numpy(np.where(own, self._pseudo[places], 0)).to(self._device)
            self._team.add_up([found])
            self._pseudo[places] = found.cpu().numpy()
        return loss

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        # The batch's labels: known entries as they are, unknown ones as their current pseudo-labels.
        rows, columns, where = self._entries.of_batch(items)
        y = labels.states(items).astype(np.float32)
        y[rows, columns] = self._pseudo[where]

        # Pseudo-update and partial derivatives (Eq. theta_update and grad_dir), then the new assignment.
        # The warm items that join the real update judge too: what the first layer makes of them is there already.
        warm, first = self._joining[:1], self._first
        x_warm, states, _ = warm[0] if warm else self._own_part(*self._warm.draw(self.warm_batch, self._generator))
        y_warm = states[:, : y.shape[1]].to(x.dtype)
        self.net_.eval()  # dropout, where a module has any, would draw other masks for the batch and the warm set
        gradient = pseudo_label_gradient(
            self.net_,
            x,
            x.new_tensor(y),
            x_warm,
            y_warm,
            self.alpha,
            activations=self._activations,
            warm_first=first[len(x) : len(x) + len(x_warm)] if warm and first is not None else None,
            team=self._team,
        )
        self.net_.train()
        towards = (gradient.cpu().numpy()[rows, columns] <= 0).astype(np.float32)
        if self.assignment == "smooth":
            towards = self._pseudo[where] + self.smoothing * (towards - self._pseudo[where])
        y[rows, columns] = self._pseudo[where] = towards
        return bce(logits, x.new_tensor(y))
