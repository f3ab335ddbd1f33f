"""Oracles: whoever answers questions. Any callable that takes a Question is one: a person, a script, another model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.noise import noise


@dataclass(frozen=True)
class Question:
    """Is the concept relevant to the item?

    >>> print(Question(item=3, concept=1, id="img_3", path="animal > dog"))
    img_3: animal > dog?
    """

    item: int
    """The item's number."""
    concept: int
    """The concept's number."""
    id: str
    """The item's name."""
    path: str
    """The concept with all above it, such as ``animal > dog``."""

    def __str__(self) -> str:
        return f"{self.id}: {self.path}?"


Oracle: TypeAlias = Callable[[Question], Any]
"""Answers 1 or True for yes, 0 or False for no, None (or -1) to skip the question."""


@dataclass(frozen=True)
class Truth:
    """Answers from known labels; some answers may be wrong and some questions skipped, the same ones every time.

    >>> from ramify.taxonomy import Taxonomy
    >>> labels = Labels.from_matrix(Taxonomy({"animal": ["cat", "dog"]}), [[1, 0]])
    >>> Truth(labels)(Question(item=0, concept=1, id="0", path="animal > dog"))
    0
    """

    labels: Labels
    """The true labels. A question about an unknown concept is skipped, but where nothing fine below it is relevant the
    answer is no: an inner concept may be unknown in data that are otherwise complete, and all that follows is true."""
    error_rate: float = 0.0
    """The share of answers that are wrong."""
    skip_rate: float = 0.0
    """The share of questions that are skipped."""
    random_state: int = 0
    """Decides which answers are wrong and which questions are skipped."""

    def __post_init__(self) -> None:
        for name in ("error_rate", "skip_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise RamifyError(f"the {name} is a share from 0 to 1, not {getattr(self, name)}")

    def __call__(self, question: Question) -> int | None:
        """The answer, or None for a skip."""
        below = self.labels.taxonomy.leaves_below(question.concept)
        states = self.labels.states(question.item, [question.concept, *below.tolist()])[0]
        state = int(states[0])
        if state == UNKNOWN and (states[1:] == IRRELEVANT).all():
            state = IRRELEVANT
        where = np.array([question.item]), np.array([question.concept])
        if state == UNKNOWN or noise(self.random_state, *where, np.array([0]))[0] < self.skip_rate:
            return None
        return state ^ int(noise(self.random_state, *where, np.array([1]))[0] < self.error_rate)

    def __repr__(self) -> str:
        return f"Truth(error_rate={self.error_rate}, skip_rate={self.skip_rate}, random_state={self.random_state})"


def as_value(answer: Any, question: Question) -> int:
    """What an oracle said, as 1, 0 or -1 for a skip."""
    if answer is None:
        return UNKNOWN
    if isinstance(answer, bool | np.bool_ | int | np.integer) and int(answer) in (RELEVANT, IRRELEVANT, UNKNOWN):
        return int(answer)
    raise RamifyError(
        f"the oracle answered {answer!r} to {question} It must be 1 or True for yes, 0 or False for no, None to skip"
    )
