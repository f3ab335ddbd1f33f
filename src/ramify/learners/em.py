"""Entropy maximisation with asymmetric pseudo-labels (Zhou et al. 2022, "Acknowledging the Unknown").

The paper's loss of an item, C being the number of classes, f a prediction and H its entropy:

    - 1/C sum_c  log f_c                                          where c is annotated (a positive),
               + alpha H(f_c)                                     where it is not,
               + beta (y_c log f_c + (1 - y_c) log (1 - f_c))     where it has a pseudo-label y_c.

Pseudo-labels come after some epochs with the first two terms alone: of the unannotated labels of each class those with
the smallest predictions, a share that grows from epoch to epoch (self-paced) up to theta. They are negatives, but soft
ones: y_c is what was predicted. Nothing gets a positive pseudo-label (that is the asymmetry), as few unknown are.

Adapted to refinement:
- Known entries of either kind have cross-entropy; losses are summed over concepts as everywhere in Ramify.
- The prediction by which an entry is chosen is the one made when its item was last in a mini-batch, so that no epoch
  needs another pass over the pool; what was never in one is not chosen.
- What has a pseudo-label keeps it. When ``epochs`` are over, ``partial_fit`` goes on with the full share.
- Most unknown entries are children of relevant concepts, and more of them are relevant than the paper's few per cent:
  the share is smaller than its nine tenths.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.guessing import GuessingLearner, Values
from ramify.learners.search import Between, SearchSpace
from ramify.learners.training import NetLearner
from ramify.meta import masked_bce
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class EntropyMaximisation(GuessingLearner):
    """A net that is to be undecided about unknown entries, but for those that look least probable."""

    name: ClassVar[str] = "em"
    warm_weight: float | None = 5.0
    """The weight of the answered items' loss beside that of a mini-batch; None is M / N (``NetLearner``)."""
    entropy_weight: float = 0.1
    """The weight of an unknown entry's entropy, the paper's alpha."""
    negative_weight: float = 0.2
    """The weight of an entry with a pseudo-label, the paper's beta."""
    negative_share: float = 0.7
    """The share of each concept's unknown entries that has pseudo-labels in the last epoch, the paper's theta."""
    first_epochs: int = 2
    """Epochs before the first pseudo-labels."""
    search_space: ClassVar[SearchSpace] = {
        **NetLearner.search_space,
        "entropy_weight": Between(0.01, 1.0),
        "negative_weight": Between(0.02, 1.0),
    }
    _seen: Values = field(init=False)

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        for name in ("entropy_weight", "negative_weight"):
            if not getattr(self, name) >= 0:
                raise RamifyError(f"{name} is {getattr(self, name)}: give a number of 0 or more")
        if not 0 <= self.negative_share <= 1:
            raise RamifyError(f"negative_share is {self.negative_share}: give a share from 0 to 1")
        if not self.first_epochs >= 1:
            raise RamifyError(
                f"first_epochs is {self.first_epochs}: give 1 or more, as nothing is predicted before the first epoch"
            )

    def _prepare(self, labels: Labels) -> None:
        before = self._entries if self.history_ else None
        super()._prepare(labels)
        seen = np.full(len(self._entries), np.inf, np.float32)  # infinite is: never
        if before is not None:
            seen = before.read(self._seen, self._entries.items, self._entries.concepts, seen)
        self._seen = seen
        self._chosen_for = -1

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        if len(self.history_) != self._chosen_for:  # an epoch begins
            self._choose()
            self._chosen_for = len(self.history_)
        rows, columns, places = self._entries.of_batch(items)
        unknown = logits[rows, columns]
        self._seen[places] = unknown.detach().sigmoid().cpu().numpy()
        pseudo = torch.from_numpy(self._pseudo[places]).to(unknown)
        of_unknown = unknown_losses(unknown, pseudo, self.entropy_weight, self.negative_weight)
        known = masked_bce(logits, torch.from_numpy(labels.states(items)).to(x.device))
        return known + of_unknown.sum() / len(items)

    def _choose(self) -> None:
        """Give pseudo-labels to more of the entries."""
        after = len(self.history_) - self.first_epochs
        if after < 0:
            return
        share = self.negative_share * min(1.0, (after + 1) / max(1, self.epochs - self.first_epochs))
        has_one = ~np.isnan(self._pseudo)
        chosen = least_probable(self._entries.concepts, np.where(has_one, -1.0, self._seen), share)
        chosen &= ~has_one & np.isfinite(self._seen)
        self._pseudo[chosen] = self._seen[chosen]

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, rest = super()._state()
        return {**arrays, "seen": self._seen}, rest

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self._seen = arrays["seen"]
        super()._restore(arrays, rest)


def unknown_losses(logits: Tensor, pseudo: Tensor, entropy_weight: float, negative_weight: float) -> Tensor:
    """Minus the weighted entropy, and the weighted cross-entropy of entries with a pseudo-label (others have NaN).

    >>> unknown_losses(torch.zeros(2), torch.tensor([torch.nan, 0.25]), 0.5, 2.0) / torch.tensor(2.0).log()
    tensor([-0.5000,  2.0000])
    """
    entropy = softplus(logits) - logits.sigmoid() * logits
    labelled = softplus(logits) - pseudo.nan_to_num() * logits
    return torch.where(pseudo.isnan(), -entropy_weight * entropy, negative_weight * labelled)


def least_probable(concepts: Index, p: NDArray[np.floating], share: float) -> NDArray[np.bool_]:
    """Of the entries of each concept a share, rounded down, the least probable ones.

    >>> least_probable(np.array([0, 1, 0, 0]), np.array([0.5, 0.1, 0.2, 0.3]), 0.7).tolist()
    [False, False, True, True]
    """
    order = np.lexsort((p, concepts))
    ranked = concepts[order]
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    of_concept = np.bincount(concepts)[concepts] if len(concepts) else ranks
    return np.asarray(ranks < np.floor(share * of_concept + 1e-9), np.bool_)
