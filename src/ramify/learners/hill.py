"""Hill loss and SPLC (Zhang et al. 2021): unknown entries are taken for irrelevant, with losses that forgive.

With p the probability of an unobserved label,

    Hill:  (lambda - p) p^2, lambda = 1.5, in place of - log (1 - p). It is a squared error whose gradient fades where p
           nears 1, as such a label is likely to be missing;
    SPLC:  self-paced loss correction, - log p where p > tau (from the second epoch on), else - log (1 - p).

Adapted to refinement: these are the losses of unknown entries alone. Known ones, deduced negatives too, are right, and
have the cross-entropy that they have for every learner here. The paper's focal margin loss for observed positives is
left out for the same reason: rivals are to differ in what they make of unknown entries, and in nothing else.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.search import Between, SearchSpace
from ramify.learners.training import NetLearner
from ramify.meta import bce, masked_bce
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class Hill(NetLearner):
    """A net that takes unknown entries for irrelevant, the less so the more probable they are."""

    name: ClassVar[str] = "hill"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    crest: float = 1.0
    """The probability at which the loss of an unknown entry is largest, two thirds of the paper's lambda. What is above
    it is drawn upwards."""
    search_space: ClassVar[SearchSpace] = {**NetLearner.search_space, "crest": Between(0.5, 1.5)}

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if not self.crest > 0:
            raise RamifyError(f"crest is {self.crest}: give a number above 0")

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        states = torch.from_numpy(labels.states(items)).to(x.device)
        return masked_bce(logits, states) + (hill(logits, self.crest) * (states < 0)).sum() / len(logits)


@dataclass(kw_only=True, eq=False, repr=False)
class SPLC(NetLearner):
    """A net that takes unknown entries for irrelevant, and for relevant once they are probable enough."""

    name: ClassVar[str] = "splc"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    threshold: float = 0.6
    """Unknown entries above this probability count as relevant, from the second epoch on; the paper's tau."""
    search_space: ClassVar[SearchSpace] = {**NetLearner.search_space, "threshold": Between(0.2, 0.95)}

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if not 0 <= self.threshold <= 1:
            raise RamifyError(f"threshold is {self.threshold}: give a probability from 0 to 1")

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        states = torch.from_numpy(labels.states(items)).to(x.device)
        probable = logits.detach().sigmoid() > (self.threshold if self.history_ else 1.0)
        return bce(logits, torch.where(states < 0, probable, states).to(logits.dtype))


def hill(logits: Tensor, crest: float = 1.0) -> Tensor:
    """The loss of an irrelevant entry that may be relevant: (3/2 crest - p) p^2.

    >>> hill(torch.zeros(1)).item()
    0.25
    """
    p = logits.sigmoid()
    return (1.5 * crest - p) * p**2
