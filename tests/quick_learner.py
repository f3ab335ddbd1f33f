"""Learners of one's own that are quick instead of good: for tests that start processes."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ramify.learners import LEML, Refine


@dataclass(kw_only=True, eq=False, repr=False)
class QuickRefine(Refine):
    """Refine with tiny nets."""

    name: ClassVar[str] = "quick-refine"
    hidden: tuple[int, ...] = (16, 16)
    steps: int = 30


@dataclass(kw_only=True, eq=False, repr=False)
class Capricious(LEML):
    """Fails with every other seed."""

    name: ClassVar[str] = "capricious"
    hidden: tuple[int, ...] = (8,)
    epochs: int = 1

    def fit(self, *data: Any, **more: Any) -> Self:
        """Learn, or not."""
        if self.random_state % 2:
            raise ArithmeticError("not today")
        return super().fit(*data, **more)


@dataclass(kw_only=True, eq=False, repr=False)
class QuickLEML(LEML):
    """LEML with a tiny net."""

    name: ClassVar[str] = "quick-leml"
    hidden: tuple[int, ...] = (8,)
    epochs: int = 1
