"""ROLE, regularised online label estimation (Cole et al. 2021): the labels of unknown entries are learned with the net.

The paper's loss of a batch is (L'(F | Y) + L'(Y | F)) / 2, F being what the net says and Y the estimates, with

    L'(F | Y) = BCE(F, Y held fixed) + BCE+(F, observed positives) + lambda ((k_F - k) / L)^2,

k_F the mean number of relevant labels that F expects, k the true one, L the number of concepts; L'(Y | F) alike.

Adapted to refinement:
- Estimates are of the unknown entries alone: known ones, deduced negatives too, are their labels, once and not twice.
- Losses are summed over concepts as everywhere in Ramify: all is times L, so the last term is lambda (k_F - k)^2 / L.
- The halves are not halved, so that known entries weigh as much as for all other learners.
- k is the mean over the warm set, as the truth is hidden; without a warm set there is nothing to count on.
- Estimates begin at the rates among siblings, as pseudo-labels do, not near 1/2.
- An estimate is sigmoid(t); t is moved by plain gradient steps on its own item's loss, whenever that is in a batch. The
  paper's Adam would keep two more numbers for each unknown entry and move all of them in every step.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.guessing import GuessingLearner, UnknownEntries, Values
from ramify.learners.search import Between, SearchSpace
from ramify.learners.training import NetLearner
from ramify.learners.warm import sibling_rates, warm_items
from ramify.meta import bce
from ramify.taxonomy import Index

Floats = NDArray[np.float64]

LEAST = 0.01  # estimates stay so far from 0 and 1, where the sigmoid has no slope by which they could come back


@dataclass(kw_only=True, eq=False, repr=False)
class ROLE(GuessingLearner):
    """A net and an estimate for every unknown entry, each taught by the other, both held to the expected count."""

    name: ClassVar[str] = "role"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    count_weight: float = 1.0
    """The weight of the regulariser: how far the number of relevant concepts may be from the warm set's."""
    estimate_lr: float = 1.0
    """The learning rate of the estimates."""
    search_space: ClassVar[SearchSpace] = {
        **NetLearner.search_space,
        "count_weight": Between(0.1, 100.0),
        "estimate_lr": Between(0.1, 10.0),
    }

    def can_begin(self, labels: Labels) -> bool:
        """Whether some item is completely known."""
        return len(warm_items(labels)) > 0

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if not self.can_begin(labels):
            raise RamifyError(
                f"{self.name} counts relevant concepts on items whose fine entries are all known, and there is none: "
                "answer all questions about some items first, or use refine"
            )
        if not self.count_weight >= 0:
            raise RamifyError(f"count_weight is {self.count_weight}: give a number of 0 or more")
        if not self.estimate_lr > 0:
            raise RamifyError(f"estimate_lr is {self.estimate_lr}: give a number above 0")

    def _first_labels(self, labels: Labels, entries: UnknownEntries) -> Values:
        return sibling_rates(labels)[entries.concepts].clip(LEAST, 1 - LEAST).astype(np.float32)

    def _prepare(self, labels: Labels) -> None:
        super()._prepare(labels)
        self._count = float((labels.states(warm_items(labels)) == 1).sum(axis=1).mean())

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        rows, columns, places = self._entries.of_batch(items)
        y = labels.states(items).astype(np.float32)
        y[rows, columns] = self._pseudo[places]
        p = logits.sigmoid()
        loss = bce(logits, x.new_tensor(y)) + self.count_weight * count_penalty(p, self._count)

        # L'(Y | F), with both as they are before this step.
        towards = p.detach().double().cpu().numpy()[rows, columns]
        excess = y.sum(dtype=np.float64) / len(y) - self._count
        step = self.count_weight * 2 * excess / y.shape[1]
        self._pseudo[places] = moved(self._pseudo[places].astype(np.float64), towards, step, self.estimate_lr)
        return loss


def count_penalty(p: Tensor, count: float) -> Tensor:
    """The squared error of the expected number of relevant concepts, by the number of concepts.

    >>> import torch
    >>> count_penalty(torch.tensor([[0.5, 0.5], [1.0, 1.0]]), 1.0).item()
    0.125
    """
    return (p.sum() / len(p) - count) ** 2 / p.shape[1]


def moved(estimates: Floats, towards: Floats, slope_of_count: float, lr: float) -> Floats:
    """Estimates after one step along their logits: cross-entropy with what the net says, and the regulariser.

    >>> moved(np.array([0.5]), np.array([0.5]), 0.0, 1.0).tolist()
    [0.5]
    """
    slope = estimates - towards + slope_of_count * estimates * (1 - estimates)
    logits = np.log(estimates / (1 - estimates)) - lr * slope
    return np.clip(1 / (1 + np.exp(-logits)), LEAST, 1 - LEAST)
