"""A learner and an embedder whose workers die or fail, in a module that workers read quickly."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from quick_learner import QuickRefine

HERE = os.getpid()


def die_once(grave: Path) -> None:
    """The first worker that comes here is killed."""
    try:
        (grave / "first").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(kw_only=True, eq=False, repr=False)
class Mortal(QuickRefine):
    """Kills the first worker that has to predict items with a certain feature, or fails at them."""

    name: ClassVar[str] = "mortal"
    grave: str | None = None
    fails_at: float | None = None

    def opinions(self, X: Any, labels: Any) -> Any:  # noqa: N803
        """The opinions, if it lives."""
        if self.grave is not None:
            die_once(Path(self.grave))
        if self.fails_at is not None and (np.asarray(X)[:, 0] == self.fails_at).any():
            raise KeyError("not these")
        return super().opinions(X, labels)


class Letters:
    """An embedder that counts letters, and notes in which process; it may kill a worker, or fail at a text."""

    name, reads, batch, fits = "letters", "text", 3, False
    templates: tuple[str, ...] = ()
    reads_names = False

    def __init__(self, grave: Path | None = None, fails_at: str = "") -> None:
        self.grave, self.fails_at = grave, fails_at

    def fit(self, values: Any) -> None:
        """Nothing is fitted."""

    def fingerprint(self) -> str:
        """It never changes."""
        return "letters"

    def key(self, value: str) -> str:
        """The text itself."""
        return value

    def rows(self, values: Any) -> Any:
        """Letters, if it lives."""
        if self.grave is not None:
            die_once(self.grave)
        if self.fails_at in values:
            raise KeyError("not this")
        wrong = {place: "empty" for place, value in enumerate(values) if value == "empty"}
        rows = [[len(value), sum(map(ord, value))] for value in values if value != "empty"]
        return np.array(rows, np.float32).reshape(-1, 2), wrong

    def save(self, folder: Path) -> None:
        """There is nothing to write."""
