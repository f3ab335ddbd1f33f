"""Many answers: what one more costs, the same taken back, and fitting all of it, with more and more answered items.

Seven siblings of 384 features, three features by names each. Taking back is of an item in the middle. Each size runs in
a process of its own, whose memory is told.

Run: python benchmarks/answers.py [ANSWERED]
"""

import subprocess
import sys
from functools import partial

import numpy as np
from measure import Row, cpu, figure, resident, run
from threadpoolctl import threadpool_limits

from ramify.learners.factors import factors_of
from ramify.learners.ridge import Ridge, add, remove

SIBLINGS, WIDTH, NAMED, TURNS = 7, 384, 3, 20
ANSWERED = (300, 400, 2_000, 10_000, 40_000)
BACK = 1.1  # times what giving costs: as much, and what the machine's noise needs


def one_size(answered: int) -> list[list[float]]:
    """Seconds of fitting, of giving and of taking back by turns, and the memory of this process."""
    rng = np.random.default_rng(0)

    def draw(count: int) -> np.ndarray:
        phi = rng.normal(size=(count, WIDTH))
        return phi / np.linalg.norm(phi, axis=1, keepdims=True)

    phi, rights = draw(answered), rng.integers(0, 2, (SIBLINGS, 1 + NAMED, answered)).astype(float)
    ridges: list[Ridge] = []

    def fit() -> None:
        shared = factors_of(range(answered), np.ones(answered), phi)
        ridges[:] = [Ridge(shared, rights[0])]
        ridges.extend(Ridge(shared, right, ridges[0]) for right in rights[1:])

    fitting = [cpu(fit)]
    giving, back = [], []
    for turn in range(TURNS):
        (features,), right = draw(1), rng.integers(0, 2, (SIBLINGS, 1 + NAMED)).astype(float)
        more = partial(add, ridges, answered + turn, [1.0] * SIBLINGS, right, features)
        giving.append(cpu(more))
        gone = ridges[0].slots[len(ridges[0]) // 2]

        def take_back(gone: int = gone) -> None:
            ridges[:] = remove(ridges, gone)

        back.append(cpu(take_back))
    return [fitting, giving, back, [resident()]]


def measure() -> list[Row]:
    rows = []
    for answered in ANSWERED:
        call = [sys.executable, __file__, str(answered)]
        told = subprocess.run(call, check=True, capture_output=True, text=True).stdout.splitlines()
        fitting, giving, back, memory = (np.array(list(map(float, line.split()))) for line in told)
        rows += [
            figure(f"{answered} answered: one more answer to all seven", giving * 1000, "ms"),
            figure(f"{answered} answered: taken back, against giving", back / giving, most=BACK),
            Row(
                what=f"{answered} answered: fitting all of it",
                value=fitting[0],
                unit="s",
                note=f"{memory[0] / 1000:.2f} GB",
            ),
        ]
    return rows


if __name__ == "__main__":
    if sys.argv[1:]:
        with threadpool_limits(1):
            for part in one_size(int(sys.argv[1])):
                print(*part)
    else:
        run(measure)
