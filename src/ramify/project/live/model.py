"""The model that a service asks with: a learner that takes in every answer, and what it saw of all items."""

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ramify.labels import Labels
from ramify.learners import Learner, Refine, load
from ramify.project.live.cache import Seen, blind
from ramify.strategies.evidence import Evidence
from ramify.taxonomy import Index


@dataclass
class Model:
    """A version from the project's folder, or none yet."""

    version: int | None
    learner: Learner | None
    seen: Seen | None
    lock: Any = field(default_factory=Lock)
    """Held while the learner changes or is asked for more than a prediction."""

    @classmethod
    def load(cls, named: tuple[int, Path] | None, features: Any, labels: Labels, annotated: Index) -> "Model":
        """Load it and take in all answers given since it was trained; other concepts than ours make it useless."""
        if named is None:
            return cls(None, None, None)
        version, folder = named
        learner = load(folder / "learner")
        if learner.taxonomy_ != labels.taxonomy:
            return cls(version, None, None)
        found = cls(version, learner, Seen.load(folder))
        if isinstance(learner, Refine):
            found._catch_up(features, labels, annotated)
        return found

    def _catch_up(self, features: Any, labels: Labels, annotated: Index) -> None:
        """Take in what changed since; comparing is quick, learning everything again would not be."""
        assert isinstance(self.learner, Refine)
        fine = self.learner.fine_
        known = np.array(list(fine.slot_of), np.intp)
        concepts = np.arange(len(labels.taxonomy))
        same = (labels.states(known, concepts) == fine.states[: len(known)]).all(axis=1)
        changed = np.concatenate([known[~same], np.setdiff1d(annotated, known)])
        if len(changed):
            self.learner.partial_fit(features, labels, items=changed)

    @property
    def upto(self) -> int:
        """How many items the model has seen."""
        return 0 if self.seen is None else len(self.seen)

    def answered(self) -> Index:
        """The items that it learned fine labels of."""
        if isinstance(self.learner, Refine):
            return np.array(list(self.learner.fine_.slot_of), np.intp)
        return np.empty(0, np.intp)

    def evidence(self, labels: Labels) -> Evidence:
        """What it tells ExpectedGain."""
        if self.learner is None or self.seen is None:
            return blind(labels)
        return self.seen.evidence(self.learner, labels)

    def learn(self, features: Any, labels: Labels, items: list[int]) -> None:
        """Take in what is now known of some items; only Refine does so at once."""
        if not isinstance(self.learner, Refine):
            return
        with self.lock:
            self.learner.partial_fit(features, labels, items=items)

    def estimate(self) -> dict[str, float]:
        """Precision@k by leave-one-out."""
        if not isinstance(self.learner, Refine):
            return {}
        with self.lock:
            return self.learner.estimate()

    def guesses(self, items: Index, concepts: Index) -> list[float] | None:
        """How probable entries are, given that their parents are relevant; from what was seen, so at no cost."""
        if self.learner is None or self.seen is None or not (items < self.upto).all():
            return None
        if not isinstance(self.learner, Refine):
            return [float(p) for p in self.seen.predictions[items, concepts]]
        each, rows = np.unique(items, return_inverse=True)
        _, coarse, given = self.seen.stages(self.learner, each)
        found = self.learner._given_parent(coarse, given).numpy()
        return [float(p) for p in found[rows, concepts]]
