"""LEML (Yu et al. 2014): the loss of the observed entries, and of those only (Eq. leml)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ramify.labels import Labels
from ramify.learners.training import NetLearner
from ramify.meta import masked_bce
from ramify.nets import MLP
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class LEML(NetLearner):
    """A net that learns from the known entries of the pool and from the warm set; unknown entries are left out."""

    name: ClassVar[str] = "leml"
    lr: float = 3e-4
    """The learning rate."""
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    rank: int | None = None
    """Makes the output layer a product of two thin ones of this rank, the low-rank assumption of the original."""

    def _make_net(self, n_inputs: int) -> nn.Module:
        if self.module is not None:
            return self.module(n_inputs, self._n_outputs())
        return MLP(n_inputs, self._n_outputs(), self.hidden, rank=self.rank)

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        return masked_bce(logits, torch.from_numpy(labels.states(items)).to(x.device))
