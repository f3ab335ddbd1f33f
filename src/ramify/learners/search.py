"""Search spaces: what a learner lets be tuned on a validation part, and within which limits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Between", "OneOf", "SearchSpace"]


@dataclass(frozen=True)
class Between:
    """Any number from ``low`` to ``high``, drawn evenly on a logarithmic scale.

    >>> 0.15 in Between(0.1, 10.0), 0.05 in Between(0.1, 10.0)
    (True, False)
    """

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, float | int) and math.isfinite(value) and self.low <= value <= self.high

    def suggest(self, trial: Any, name: str) -> float:
        """The value that a trial of Optuna wants to try."""
        return float(trial.suggest_float(name, self.low, self.high, log=True))


@dataclass(frozen=True)
class OneOf:
    """One of some values.

    >>> "smooth" in OneOf(("sign", "smooth"))
    True
    """

    values: tuple[Any, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def suggest(self, trial: Any, name: str) -> Any:
        """The value that a trial of Optuna wants to try."""
        return trial.suggest_categorical(name, self.values)


SearchSpace: TypeAlias = Mapping[str, Between | OneOf]
"""A range for each parameter that is worth tuning."""
