"""Constrained outputs as in C-HMCNN (Giunchiglia, Lukasiewicz 2020): none is less probable than a concept below it.

A net h has an output for every concept A. With D_A those below A and A itself, and y the labels, the paper has

    the max constraint module   MCM_A = max over B in D_A of h_B, which is what is predicted of A;
    MCLoss                      - y_A log (max over B in D_A of y_B h_B) - (1 - y_A) log (1 - MCM_A), summed over A:

a relevant concept is explained by relevant ones below it, and none that is irrelevant is taught to explain it.

Adapted to refinement: known concepts have this loss. Unknown ones are left out of the sum, and of what explains a
relevant one, as nobody said that they are relevant. Below an irrelevant concept all are known to be so. Trees have any
depth; a fine concept has none below it, so its probability is its own output.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from ramify.labels import IRRELEVANT, RELEVANT, Labels
from ramify.learners.training import NetLearner
from ramify.taxonomy import Index, Taxonomy


@dataclass(kw_only=True, eq=False, repr=False)
class Constrained(NetLearner):
    """A net with a logit for every concept, trained through the largest logit at or below each."""

    name: ClassVar[str] = "c-hmcnn"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""

    def _n_outputs(self) -> int:
        return len(self.taxonomy_)

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        return self._warm_loss(
            logits, torch.from_numpy(labels.states(items, np.arange(len(self.taxonomy_)))).to(x.device)
        )

    def _warm_loss(self, logits: Tensor, states: Tensor) -> Tensor:
        return constraint_loss(logits, states, self.taxonomy_)

    def _probabilities(self, x: Tensor) -> Tensor:
        return self._fine_logits(self._logits(x)).sigmoid()

    def _fine_logits(self, outputs: Tensor) -> Tensor:
        return outputs[:, : len(self.taxonomy_.leaves)]


def constrained(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """For every concept the largest logit of it and of those below it.

    >>> constrained(torch.tensor([[2.0, 3.0, 1.0]]), Taxonomy({"animal": ["cat", "dog"]}))
    tensor([[2., 3., 3.]])
    """
    columns = list(logits.unbind(dim=1))  # column by column and not in place: gradients go through
    for concept in taxonomy.preorder[::-1].tolist():
        below = [columns[child] for child in taxonomy.children(concept).tolist()]
        if below:
            columns[concept] = torch.stack([columns[concept], *below], dim=1).amax(dim=1)
    return torch.stack(columns, dim=1)


def constraint_loss(logits: Tensor, states: Tensor, taxonomy: Taxonomy) -> Tensor:
    """MCLoss of the known concepts (1 or 0, not -1), summed over concepts and averaged over items.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})  # a cat, and the dog's large logit does not explain the animal
    >>> constraint_loss(torch.tensor([[0.0, 9.0, -9.0]]), torch.tensor([[1, -1, 1]]), taxonomy).item() / 2
    0.693147...
    """
    relevant = states == RELEVANT
    explained = constrained(logits.masked_fill(~relevant, -torch.inf), taxonomy)[relevant]
    refused = constrained(logits, taxonomy)[states == IRRELEVANT]
    return (softplus(-explained).sum() + softplus(refused).sum()) / len(logits)
