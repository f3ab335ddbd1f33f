"""Labels that one thread changes while others read."""

from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.labels.assertions import Assertions
from ramify.labels.labels import Labels
from ramify.taxonomy import Index


class GuardedLabels(Labels):
    """The same labels, but every look waits for a lock, for one block at a time; who changes them holds it."""

    def __init__(self, labels: Labels, lock: RLock) -> None:
        self._take_over(labels.taxonomy, labels.cells)
        self._lock = lock

    def states(self, items: Any = None, concepts: Any = None) -> NDArray[np.int8]:
        """As for all labels."""
        with self._lock:
            return super().states(items, concepts)

    def sources(self, items: Any = None, concepts: Any = None) -> NDArray[np.int8]:
        """As for all labels."""
        with self._lock:
            return super().sources(items, concepts)

    def assertions(self, items: Any = None) -> Assertions:
        """As for all labels."""
        with self._lock:
            return super().assertions(items)

    def unknown(self, items: Any = None) -> tuple[Index, Index]:
        """As for all labels."""
        with self._lock:
            return super().unknown(items)

    def questions(self, items: Any = None) -> tuple[Index, Index]:
        """As for all labels."""
        with self._lock:
            return super().questions(items)

    def take(self, items: Any) -> Labels:
        """As for all labels; what is taken belongs to nobody else."""
        with self._lock:
            return super().take(items)
