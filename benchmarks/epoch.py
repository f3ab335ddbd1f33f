"""One epoch of PseudoLabel at the paper's size, beside a plain supervised epoch in the same run, and its peak memory.

CPU time with one thread. The supervised epoch sees all fine labels of the same items (AllLabels). Memory is what a
process of its own needs at its peak to read the data and fit for one epoch, beyond Python and its libraries, against
the features as a net takes them (float32).

Run: python benchmarks/epoch.py      on ../shared/data/coco_photos_full.npz, or drawn data where it is missing
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from measure import Row, cpu, figure, resident, run

from ramify import benchmark, read
from ramify.data import Dataset
from ramify.data.bundle import known_labels
from ramify.learners import AllLabels, PseudoLabel
from ramify.taxonomy import Taxonomy

FULL = Path(__file__).resolve().parents[2] / "shared" / "data" / "coco_photos_full.npz"
ITEMS, WIDTH, COARSE, FINE = 82_081, 1280, 12, 80
SLOWER, LARGER = 2.5, 1.5  # an epoch's time and the peak memory, at most
RATIO = -8
TURNS = 3


def drawn() -> Dataset:
    rng = np.random.default_rng(0)
    parents = np.sort(np.arange(FINE) % COARSE) + FINE
    names = [*(f"fine {n}" for n in range(FINE)), *(f"coarse {n}" for n in range(COARSE))]
    taxonomy = Taxonomy.from_arrays(names, [*parents, *[-1] * COARSE], exhaustive=True)
    labels = known_labels(taxonomy, (rng.random((ITEMS, FINE)) < 0.037).astype(int))
    return Dataset(labels, rng.integers(0, 256, (ITEMS, WIDTH), np.uint8))


def data(path: str) -> Dataset:
    return read(path) if path else drawn()


def peak(path: str) -> None:
    """In a process of its own: fit for one epoch and print what its memory grew by at its peak, in MB."""
    before = resident()
    part = benchmark(data(path), ratio=RATIO).train
    PseudoLabel(epochs=1, random_state=0).fit(part.features, part.labels)
    print(resident() - before)


def measure() -> list[Row]:
    path = str(FULL) if FULL.is_file() else ""
    part = benchmark(data(path), ratio=RATIO)
    features, shape = part.train.features, part.train.features.shape
    supervised = AllLabels(epochs=1, random_state=0).fit(features, part.answers)  # torch prepares in the first epoch
    learner = PseudoLabel(epochs=1, random_state=0).fit(features, part.train.labels)
    ways = {
        "plain": lambda: supervised.partial_fit(features, part.answers),
        "pseudo-label": lambda: learner.partial_fit(features, part.train.labels),
    }
    taken = np.array([[cpu(work) for work in ways.values()] for _ in range(TURNS)])
    size = 4 * shape[0] * shape[1] / 1e6
    used = float(subprocess.run([sys.executable, __file__, "--peak", path], check=True, capture_output=True).stdout)
    note = f"{Path(path).stem or 'drawn data'}: {shape[0]} x {shape[1]}, {len(part.warm)} warm items"
    return [
        figure(
            "an epoch of PseudoLabel, against a plain supervised one", taken[:, 1] / taken[:, 0], most=SLOWER, note=note
        ),
        Row(what="peak memory beyond the libraries, against the features as float32", value=used / size, most=LARGER),
    ]


if __name__ == "__main__":
    peak(*sys.argv[2:]) if sys.argv[1:2] == ["--peak"] else run(measure)
