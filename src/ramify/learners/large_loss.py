"""Large loss matters (Kim et al. 2022): unknown entries are taken for irrelevant, unless that costs too much.

The paper's loss is the mean of lambda_i l_i, l_i the cross-entropy of class i, with unobserved labels as negatives.
Nets learn what is right before what is wrong, so large losses of unobserved labels point to false negatives. In epoch t
those of a batch that are among its largest (t - 1) delta per cent

- LL-R:  are rejected, lambda = 0;
- LL-Ct: are corrected in this step, lambda = log f / log (1 - f), which makes their loss - log f;
- LL-Cp: are corrected for good: their label is 1 from now on (delta per cent more in every epoch).

Adapted to refinement:
- Only unknown entries can be rejected or corrected: negatives that are known, or deduced, are right.
- Most unknown entries here are children of relevant concepts, and far more of them are relevant than the paper's: delta
  (``growth``) is larger. The share stops growing with the last of ``epochs``: ``partial_fit`` adds epochs without end.
- Permanent corrections are topped up to the same share (t - 1) delta of a batch: an epoch here may go through a small
  pool several times, and would correct so many each time.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from ramify.errors import RamifyError
from ramify.labels import RELEVANT, Labels
from ramify.learners.guessing import GuessingLearner
from ramify.learners.search import Between, OneOf, SearchSpace
from ramify.learners.training import NetLearner
from ramify.taxonomy import Index

CORRECTIONS = ("reject", "temporary", "permanent")


@dataclass(kw_only=True, eq=False, repr=False)
class LargeLoss(GuessingLearner):
    """A net that takes unknown entries for irrelevant, and does not believe it where its loss is large."""

    name: ClassVar[str] = "large-loss"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    correction: str = "reject"
    """What becomes of large losses: "reject" leaves them out (LL-R), "temporary" takes the entries for relevant in this
    step (LL-Ct), "permanent" from now on (LL-Cp)."""
    growth: float = 0.02
    """The share of a mini-batch's unknown entries whose losses are too large, times the epochs that are over."""
    search_space: ClassVar[SearchSpace] = {
        **NetLearner.search_space,
        "correction": OneOf(CORRECTIONS),
        "growth": Between(0.002, 0.1),
    }

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if self.correction not in CORRECTIONS:
            raise RamifyError(f"the correction is 'reject', 'temporary' or 'permanent', not {self.correction!r}")
        if not 0 <= self.growth <= 1:
            raise RamifyError(f"growth is {self.growth}: give a share from 0 to 1")

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        rows, columns, places = self._entries.of_batch(items)
        y = labels.states(items).astype(np.float32)
        weight = np.ones_like(y)
        corrected = self._pseudo[places] == RELEVANT
        share = min(1.0, self.growth * min(len(self.history_), max(1, self.epochs - 1)))
        large = largest(logits.detach().cpu().numpy()[rows, columns], share, corrected)
        if self.correction == "permanent":
            self._pseudo[places[large]] = RELEVANT
        weight[rows, columns] = ~large if self.correction == "reject" else 1.0
        y[rows, columns] = 0.0 if self.correction == "reject" else large
        losses: Tensor = x.new_tensor(weight) * (softplus(logits) - x.new_tensor(y) * logits)
        return losses.sum() / len(logits)


def largest(logits: NDArray[np.floating], share: float, corrected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which entries are the share, rounded down, with the largest losses as irrelevant ones; the corrected ones first.

    >>> largest(np.array([0.5, 2.0, -1.0, 1.0]), 0.5, np.array([False, False, True, False])).tolist()
    [False, True, True, False]
    """
    found = corrected.copy()  # the loss softplus(z) is large where z is
    order = np.argsort(-np.where(corrected, np.inf, logits), kind="stable")
    found[order[: int(share * len(order) + 1e-9)]] = True
    return found
