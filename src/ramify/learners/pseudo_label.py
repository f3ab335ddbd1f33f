"""Pseudo-labels: the paper's method (Algorithm 1), and a smoothed assignment that keeps it stable."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.recovery import recovery
from ramify.learners.search import Between, OneOf, SearchSpace
from ramify.learners.training import NetLearner
from ramify.learners.warm import sibling_rates, warm_items
from ramify.meta import bce, pseudo_label_gradient
from ramify.taxonomy import Index

PSEUDO = "pseudo-labels"  # beside a net's weights, in a moment of training


@dataclass(kw_only=True, eq=False, repr=False)
class PseudoLabel(NetLearner):
    """A net that learns the unknown entries' labels as well: those that would lower the warm set's loss after one step.

    ``warm_weight=0`` leaves the warm set out of the real update, as the paper does; inside, it steadies the net.
    """

    name: ClassVar[str] = "pseudo-label"
    lr: float = 3e-4
    """The learning rate."""
    alpha: float = 0.1
    """The size of the virtual step."""
    assignment: str = "sign"
    """"sign" is Algorithm 1 as printed: 1 where the gradient is <= 0, else 0; "smooth" only moves towards that, which
    keeps whole concepts from flipping back and forth."""
    smoothing: float = 0.1
    """How far "smooth" moves."""
    reset_pseudo_labels: bool = False
    """Whether pseudo-labels begin anew when training goes on after more answers, as Algorithm 2 has it."""
    search_space: ClassVar[SearchSpace] = {
        **NetLearner.search_space,
        "alpha": Between(0.01, 10.0),
        "assignment": OneOf(("sign", "smooth")),
    }
    _items: Index = field(init=False)
    _concepts: Index = field(init=False)
    _pseudo: NDArray[np.float32] = field(init=False)

    def can_begin(self, labels: Labels) -> bool:
        """Whether some item is completely known."""
        return len(warm_items(labels)) > 0

    def _check_labels(self, labels: Labels) -> None:
        super()._check_labels(labels)
        if not self.can_begin(labels):
            raise RamifyError(
                f"{self.name} measures its guesses on items whose fine entries are all known, and there is none: "
                "answer all questions about some items first, or use refine"
            )
        if self.assignment not in ("sign", "smooth"):
            raise RamifyError(f"the assignment is 'sign' or 'smooth', not {self.assignment!r}")

    def _prepare(self, labels: Labels) -> None:
        items, concepts = labels.unknown()
        pseudo = sibling_rates(labels)[concepts].astype(np.float32)
        if self.history_ and not self.reset_pseudo_labels:  # going on: what is still unknown keeps its pseudo-label
            pseudo = self.pseudo_labels(items, concepts, pseudo)
        self._items, self._concepts, self._pseudo = items, concepts, pseudo
        self._starts = np.searchsorted(items, np.arange(len(labels) + 1))

    def _loss(self, items: Index, x: Tensor, labels: Labels) -> Tensor:
        # The batch's labels: known entries as they are, unknown ones as their current pseudo-labels.
        lengths = self._starts[items + 1] - self._starts[items]
        rows = np.repeat(np.arange(len(items)), lengths)
        before = np.cumsum(lengths) - lengths
        where = np.arange(len(rows)) + np.repeat(self._starts[items] - before, lengths)
        columns = self._concepts[where]
        y = labels.states(items).astype(np.float32)
        y[rows, columns] = self._pseudo[where]

        # Pseudo-update and partial derivatives (Eq. theta_update and grad_dir), then the new assignment.
        x_warm, states = self._warm.draw(self.warm_batch, self._generator)
        y_warm = states[:, : y.shape[1]].to(x.dtype)
        self.net_.eval()  # dropout, where a module has any, would draw other masks for the batch and the warm set
        gradient = pseudo_label_gradient(self.net_, x, x.new_tensor(y), x_warm, y_warm, self.alpha)
        self.net_.train()
        towards = (gradient.cpu().numpy()[rows, columns] <= 0).astype(np.float32)
        if self.assignment == "smooth":
            towards = self._pseudo[where] + self.smoothing * (towards - self._pseudo[where])
        y[rows, columns] = self._pseudo[where] = towards
        return bce(self.net_(x), x.new_tensor(y))

    @property
    def pseudo_labels_(self) -> tuple[Index, Index, NDArray[np.float32]]:
        """The unknown entries of the last fit, as (items, concepts), and their pseudo-labels."""
        return self._items, self._concepts, self._pseudo

    def pseudo_labels(self, items: Index, concepts: Index, otherwise: NDArray[np.float32]) -> NDArray[np.float32]:
        """The current pseudo-labels of some entries, and another value where an entry has none."""
        n_concepts = len(self.taxonomy_)
        keys, own_keys = items * n_concepts + concepts, self._items * n_concepts + self._concepts
        place = np.searchsorted(own_keys, keys)
        same = np.append(own_keys, -1)[place] == keys
        return np.where(same, np.append(self._pseudo, 0)[place], otherwise).astype(np.float32)

    def _moment(self) -> dict[str, Tensor]:
        return {**super()._moment(), PSEUDO: torch.from_numpy(self._pseudo.copy())}

    def _return_to(self, moment: dict[str, Tensor]) -> None:
        """The pseudo-labels too: those of a later moment are not what the net that predicts was taught."""
        self._pseudo = moment[PSEUDO].cpu().numpy()
        super()._return_to({name: value for name, value in moment.items() if name != PSEUDO})

    def _progress(self, labels: Labels, truth: Labels | None) -> dict[str, float]:
        if truth is None or not len(self._items):
            return {}
        return {"recovery_f1_loss": recovery(truth, *self.pseudo_labels_)}

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, rest = super()._state()
        return {**arrays, "items": self._items, "concepts": self._concepts, "pseudo": self._pseudo}, rest

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self._items, self._concepts, self._pseudo = (arrays[name] for name in ("items", "concepts", "pseudo"))
        super()._restore(arrays, rest)
