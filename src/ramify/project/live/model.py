"""The model that a project asks with: a learner that takes in every answer, and what it keeps of all items."""

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.live.status import damage_sentence
from ramify.project.store.store import Store
from ramify.taxonomy import Index

if TYPE_CHECKING:
    from ramify.learners import Learner
    from ramify.learners.cache import Cache
    from ramify.learners.evidence import Floats


@dataclass
class Model:
    """A version from the project's folder, or none yet."""

    version: int | None = None
    learner: "Learner | None" = None
    cache: "Cache | None" = None
    problem: str | None = None
    """What is wrong with newer models, which were left out."""
    lock: Any = field(default_factory=Lock)
    """Held while the learner changes or is asked for more than a prediction."""

    @classmethod
    def load(cls, store: Store, features: Any, labels: Labels, annotated: Index) -> "Model":
        """The newest one that is whole, with all answers given since.

        Where the taxonomy was changed, it stands in for the next one, or is useless.
        """
        # Here, as they take seconds: a server asks its first questions without (``kept.py``).
        from ramify.learners.cache import Cache
        from ramify.project.transfer.learned import load_kept

        problem = None
        for kept in store.models.candidates():
            try:
                learner = load_kept(store, kept, features, labels, annotated)
                cache = Cache.load(kept.folder)
            except RamifyError as error:
                problem = problem or damage_sentence(kept.version, str(error))
                continue
            known = learner.taxonomy_ == labels.taxonomy
            return cls(kept.version, learner if known else None, cache if known else None, problem)
        return cls(problem=problem)

    @property
    def upto(self) -> int:
        """How many items the model has seen."""
        return 0 if self.cache is None else len(self.cache)

    def learn(self, features: Any, labels: Labels, items: list[int]) -> None:
        """Take in what is now known of some items, where the learner does so at once."""
        if self.learner is not None and self.learner.learns_at_once:
            with self.lock:
                self.learner.partial_fit(features, labels, items=items)

    def estimate(self) -> dict[str, float]:
        """How good it thinks it is."""
        if self.learner is None:
            return {}
        with self.lock:
            return self.learner.estimate()

    def outgrown(self, labels: Labels) -> bool:
        """Whether what it learned at first no longer fits what is known now."""
        if self.learner is None:
            return False
        with self.lock:
            return self.learner.outgrown(labels)

    def guesses(self, items: Index, concepts: Index) -> list[float] | None:
        """How probable entries are, given that their parents are relevant; from what was kept, so at no cost."""
        if self.learner is None or self.cache is None or not (items < self.upto).all():
            return None
        shown, rows = np.unique(items, return_inverse=True)
        return [float(p) for p in self.learner.guesses(self.cache, shown)[rows, concepts]]

    def opinions(self, labels: Labels, items: Index) -> "Floats":
        """How probable each concept is now, given all that is known; NaN where the model cannot tell."""
        p = np.full((len(items), len(labels.taxonomy)), np.nan)
        there = items < self.upto
        if self.learner is not None and self.cache is not None and there.any():
            p[there] = self.learner.cached_opinions(self.cache, labels, items[there])
        return p
