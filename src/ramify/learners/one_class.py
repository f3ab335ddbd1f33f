"""One-class (Yu et al. 2017): unobserved entries count as relevant, with a smaller weight (Eq. occ_obj)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from ramify.labels import Labels
from ramify.learners.search import Between, SearchSpace
from ramify.learners.training import NetLearner
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class OneClass(NetLearner):
    """A net that takes every unknown entry of the pool for relevant."""

    name: ClassVar[str] = "one-class"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    unknown_weight: float = 0.05
    """The weight of an unknown entry, which counts as relevant."""
    search_space: ClassVar[SearchSpace] = {**NetLearner.search_space, "unknown_weight": Between(0.003, 1.0)}

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        return one_class_loss(logits, torch.from_numpy(labels.states(items)).to(x.device), self.unknown_weight)


def one_class_loss(logits: Tensor, states: Tensor, unknown_weight: float) -> Tensor:
    """Cross-entropy with unknown entries (-1) as 1 and of less weight, summed over concepts, averaged over items.

    >>> one_class_loss(torch.zeros(1, 3), torch.tensor([[1, -1, 0]]), 0.5).item() / 2.5
    0.693147...
    """
    unknown = states < 0
    weight = torch.where(unknown, unknown_weight, 1.0)
    target = torch.where(unknown, 1.0, states.to(logits.dtype))
    return (weight * (softplus(logits) - target * logits)).sum() / len(logits)
