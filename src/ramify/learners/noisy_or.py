"""Noisy-OR: a relevant concept with exhaustive children has at least one of them, so the unknown get a posterior."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.labels import RELEVANT, Labels
from ramify.learners.inner import with_inner
from ramify.learners.training import NetLearner
from ramify.meta import bce
from ramify.taxonomy import Index, Taxonomy


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyOr(NetLearner):
    """A net whose unknown entries are taught its own posterior, given that some fine concept below must be relevant."""

    name: ClassVar[str] = "noisy-or"

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        states = torch.from_numpy(labels.states(items, np.arange(len(self.taxonomy_)))).to(x.device)
        return bce(logits, posterior(logits.detach().sigmoid(), states, self.taxonomy_))

    def beliefs(self, X: Any, labels: Labels) -> NDArray[np.float32]:  # noqa: N803
        """The posterior of every concept, given all labels: the known ones as they are."""
        probabilities = torch.from_numpy(self.predict_proba(X))
        states = labels.states(concepts=np.arange(len(self.taxonomy_)))
        fine = posterior(probabilities, torch.from_numpy(states), self.taxonomy_).numpy()
        return np.where(states >= 0, states, with_inner(fine, self.taxonomy_)).astype(np.float32)


def posterior(p: Tensor, states: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Fine probabilities given the states of all concepts: q = p / (1 - prod (1 - p)) below a relevant concept.

    >>> taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}})
    >>> posterior(torch.tensor([[0.5, 0.5]]), torch.tensor([[-1, -1, 1]]), taxonomy)
    tensor([[0.6667, 0.6667]])
    """
    fine = states[:, : p.shape[1]]
    known = fine >= 0
    q = torch.where(known, fine.to(p.dtype), p)
    current = q.clone()
    for concept in taxonomy.preorder.tolist():  # from the root down: the nearest relevant ancestor has the last word
        below = [leaf for leaf in taxonomy.descendants(concept).tolist() if leaf < p.shape[1]]
        between = [concept, *(n for n in taxonomy.descendants(concept).tolist() if n >= p.shape[1])]
        if not below or not taxonomy.exhaustive[between].all():
            continue
        some = -torch.expm1(torch.log1p(-current[:, below]).sum(dim=1, keepdim=True))  # 1 - prod (1 - p), exactly
        given = (current[:, below] / some.clamp_min(1e-30)).clamp_max(1.0)
        relevant = states[:, [concept]] == RELEVANT
        q[:, below] = torch.where(relevant & ~known[:, below], given, q[:, below])
    return q
