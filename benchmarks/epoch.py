"""One epoch of PseudoLabel at the paper's size, beside a plain supervised epoch in the same run, and its peak memory.

CPU time with one thread. The supervised epoch sees all fine labels of the same items (AllLabels). Memory is what a
process of its own needs at its peak to read the data and fit for one epoch, beyond Python and its libraries, against
the features as a net takes them (float32).

Run: python benchmarks/epoch.py [BUNDLE.npz]      without one, ../shared/data/coco_photos_full.npz, or drawn data
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

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


def seconds(learner, features, labels) -> float:
    start = time.process_time()
    learner.partial_fit(features, labels)
    return time.process_time() - start


def peak(path: str) -> None:
    """In a process of its own: fit for one epoch and print what its memory grew by at its peak, in bytes."""
    before = high_water()
    part = benchmark(data(path), ratio=RATIO).train
    PseudoLabel(epochs=1, random_state=0).fit(part.features, part.labels)
    print(high_water() - before)


def high_water() -> int:
    """The most memory this process has held (getrusage would also count what its parent held when it was started)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main(path: str = "") -> None:
    torch.set_num_threads(1)
    path = path or (str(FULL) if FULL.is_file() else "")
    part = benchmark(data(path), ratio=RATIO)
    features, shape = part.train.features, part.train.features.shape
    print(f"{path or 'drawn data'}: {shape[0]} x {shape[1]}, {len(part.warm)} warm items", flush=True)
    supervised = AllLabels(epochs=1, random_state=0).fit(features, part.answers)  # torch prepares in the first epoch
    learner = PseudoLabel(epochs=1, random_state=0).fit(features, part.train.labels)
    turns = [  # by turns, as a machine is not equally fast all the time
        (seconds(supervised, features, part.answers), seconds(learner, features, part.train.labels))
        for _ in range(TURNS)
    ]
    plain, pseudo = np.median(turns, axis=0)
    size = 4 * shape[0] * shape[1]
    used = int(subprocess.run([sys.executable, __file__, "--peak", path], check=True, capture_output=True).stdout)
    print(
        f"an epoch: supervised {plain:.1f} s, pseudo-label {pseudo:.1f} s of CPU time: "
        f"{pseudo / plain:.2f} x (at most {SLOWER})\n"
        f"peak memory beyond the libraries {used / 2**20:.0f} MiB, features as float32 {size / 2**20:.0f} MiB: "
        f"{used / size:.2f} x (at most {LARGER})"
    )
    if pseudo / plain > SLOWER or used / size > LARGER:
        sys.exit("a bound does not hold")


if __name__ == "__main__":
    peak(*sys.argv[2:]) if sys.argv[1:2] == ["--peak"] else main(*sys.argv[1:])
