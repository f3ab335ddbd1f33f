"""Fully supervised: the answered items and nothing else, and its upper bound, which sees every fine label."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.search import SearchSpace
from ramify.learners.training import NetLearner
from ramify.learners.warm import answered_items
from ramify.meta import masked_bce
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class FullySupervised(NetLearner):
    """A net that learns from items with fine answers only; it ignores what coarse labels say of all others."""

    name: ClassVar[str] = "fully-supervised"
    replays: ClassVar[bool] = False
    search_space: ClassVar[SearchSpace] = {"lr": NetLearner.search_space["lr"]}

    def can_begin(self, labels: Labels) -> bool:
        """Whether anything fine is known."""
        return len(answered_items(labels)) > 0

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if not self.can_begin(labels):
            raise RamifyError(
                f"{self.name} learns from items with fine labels, and there is none: "
                "answer questions about some items first, or use refine"
            )

    def _batches_from(self, labels: Labels, warm: Index) -> Index:
        return answered_items(labels)

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        return masked_bce(logits, torch.from_numpy(labels.states(items)).to(x.device))


@dataclass(kw_only=True, eq=False, repr=False)
class AllLabels(FullySupervised):
    """The upper bound for comparisons: give it labels that are all known, and it learns from every one of them."""

    name: ClassVar[str] = "all-labels"
