"""Factored: one net for P(coarse | x) and P(fine | its parent, x); the score is their product."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from ramify.labels import Labels
from ramify.learners.lessons import lessons
from ramify.learners.training import NetLearner
from ramify.learners.tree import path_products
from ramify.learners.warm import only_children
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class Factored(NetLearner):
    """A logit for every concept given its parent, learned from what known states teach of it; any depth."""

    name: ClassVar[str] = "factored"

    def _n_outputs(self) -> int:
        return len(self.taxonomy_)

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        return self._warm_loss(
            logits, torch.from_numpy(labels.states(items, np.arange(len(self.taxonomy_)))).to(x.device)
        )

    def _warm_loss(self, logits: Tensor, states: Tensor) -> Tensor:
        coarse = logits.detach()[:, self.taxonomy_.roots].sigmoid().double().cpu().numpy()
        values, weights = lessons(self.taxonomy_, states.cpu().numpy(), coarse)
        weights[:, only_children(self.taxonomy_)] = 0.0
        y, w = (torch.from_numpy(part).to(logits) for part in (values, weights))
        loss: Tensor = (w * (softplus(logits) - y * logits)).sum() / len(logits)
        return loss

    def _probabilities(self, x: Tensor) -> Tensor:
        return self._products(self._logits(x))

    def _fine_logits(self, outputs: Tensor) -> Tensor:
        return self._products(outputs).logit(eps=1e-6)

    def _products(self, outputs: Tensor) -> Tensor:
        follows = torch.from_numpy(only_children(self.taxonomy_)).to(outputs.device)
        given_parent = torch.where(follows, 1.0, outputs.sigmoid())
        return path_products(given_parent, self.taxonomy_)[:, : len(self.taxonomy_.leaves)]
