"""stand-in until names branch lands"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class NameVectors:
    vectors: NDArray[np.float32]
    shared: bool
