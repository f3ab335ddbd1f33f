"""What learners with a coarse stage share: how it is trained, and a folder where it is kept and found again."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from safetensors.numpy import load_file, save_file

from ramify.files import whole_file
from ramify.labels import Labels
from ramify.learners.base import Inputs, Learner, fingerprint
from ramify.learners.coarse_stage import CoarseStage, Recipe
from ramify.nets import pick_device
from ramify.parallel import team
from ramify.parameters import clone

MORE_ROOTS, GROWTH = 50, 0.5  # states of roots, and their share, by which what is known must change to train again


def count_roots(labels: Labels) -> int:
    """How many states of roots are known."""
    return int((len(labels) - labels.counts()[2][labels.taxonomy.roots]).sum())


@dataclass(kw_only=True, eq=False, repr=False)
class CoarseLearner(Learner):
    """A learner whose first part is P(c | x), by nets that are trained once on all coarse labels."""

    hidden: tuple[int, ...] = (512,)
    """The sizes of the nets' hidden layers; the first of them gives features to the fine stage."""
    deep_below: int = 4000
    """With fewer items a single hidden layer gets a second one like it: it would keep nothing but what tells coarse
    concepts apart."""
    nets: int = 3
    """How many nets; each holds out another part of the items, so that every item has one that never saw it."""
    steps: int = 2000
    """Mini-batches that a net is trained on, at most."""
    batch_size: int = 128
    """Items in a mini-batch."""
    lr: float = 1e-3
    """The learning rate of AdamW."""
    weight_decay: float = 0.1
    """The weight decay of AdamW."""
    input_dropout: float = 0.3
    """The share of inputs that is dropped in training."""
    dropout: float = 0.5
    """The share of hidden units that is dropped in training."""
    average: float = 0.98
    """Nets are averages of their weights over about 1 / (1 - average) steps."""
    look_every: int = 50
    """Steps between two looks at the held-out items."""
    patience: int = 4
    """Looks without a lower loss after which training stops."""
    held_out: int = 1000
    """Held-out items that are looked at, at most."""
    memory: str | None = None
    """A folder where trained coarse stages are kept and found again, for the same data, settings and seed."""
    verbose: bool = False
    """Whether to show how far training is and how long it will take."""

    def prepare(self, X: Any, labels: Labels) -> None:  # noqa: N803
        """Train the coarse stage into ``memory``: it serves every fit of that seed."""
        clone(self).train_coarse(X, labels)  # what is prepared is not learned yet

    def outgrown(self, labels: Labels) -> bool:
        """Whether the states of so many roots became known, or unknown, that the nets should be trained again."""
        return abs(count_roots(labels) - self.taught_) >= max(MORE_ROOTS, GROWTH * self.taught_)

    def go_on(self, X: Any, labels: Labels, *, restart: bool, epochs: int) -> Self:  # noqa: N803
        """Take in all answers; train the nets again only where these have outgrown them."""
        return self.fit_again(X, labels) if self.outgrown(labels) else self.partial_fit(X, labels)

    def fit_again(self, X: Any, labels: Labels) -> Self:  # noqa: N803
        """Fit anew, with everything but the labels as it was."""
        return self.fit(X, labels)

    def train_coarse(self, X: Any, labels: Labels) -> CoarseStage:  # noqa: N803
        """The coarse stage alone."""
        return self._train_coarse(self._start(X, labels), labels)

    def _train_coarse(self, features: Any, labels: Labels) -> CoarseStage:
        """The coarse stage for these data and this seed: from the memory folder, or trained and kept there."""
        device, seed = pick_device(self.device), team().agree(self._draw_seed())
        self.taught_ = count_roots(labels)
        states = labels.states(concepts=labels.taxonomy.roots)
        settings = {field.name: getattr(self, field.name) for field in fields(Recipe)}
        if len(labels) < self.deep_below and len(self.hidden) == 1:
            settings["hidden"] = self.hidden * 2
        recipe = Recipe(**settings)
        kept = None
        if self.memory is not None and self.random_state is not None:
            crew = () if team().size == 1 else (team().size,)  # their mini-batches are larger
            key = fingerprint(features, states, seed, str(features.dtype), recipe, *crew)
            kept = Path(self.memory, f"coarse-{key}.safetensors")
            if team().all_see(kept):
                return CoarseStage.from_arrays(load_file(kept), device)
        inputs = Inputs(features, self.scaler_, device)
        with self._reporting() as report:
            stage = CoarseStage.fitted(inputs, states, seed, recipe, report)
            report("fine stage", 0, 1)  # what follows is quick, unless very many answers are known
        if kept is not None and team().rank == 0:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(kept) as draft:
                save_file({name: np.ascontiguousarray(value) for name, value in stage.arrays().items()}, draft)
        return stage
