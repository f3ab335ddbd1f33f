"""Replay: the answered items that join every mini-batch; among all others they would drown."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ramify.labels import Labels
from ramify.learners.base import Inputs
from ramify.taxonomy import Index


@dataclass
class Replayed:
    """Answered items that every mini-batch is joined by: their inputs and the states of all their concepts."""

    x: Tensor
    states: Tensor

    @classmethod
    def of(cls, inputs: Inputs, labels: Labels, items: Index) -> "Replayed":
        """The items' inputs and states."""
        states = labels.states(items, np.arange(len(labels.taxonomy)))
        return cls(inputs[items], torch.from_numpy(states).to(inputs.device))

    def __len__(self) -> int:
        return len(self.x)

    def draw(self, count: int | None, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Some of them at random; all where they are few, or where no number is given."""
        if count is None or len(self) <= count:
            return self.x, self.states
        chosen = torch.randperm(len(self), generator=generator)[:count]
        return self.x[chosen], self.states[chosen]
