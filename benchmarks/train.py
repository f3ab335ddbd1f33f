"""What training the coarse stage costs: against the way it was trained before, and with more threads than one.

The old way is the old settings, torch's own dropout and plain AdamW. CPU time with one thread, in one run; the loss of
P(c | x) on items that were not trained on says that the cheaper nets are as good. Threads are compared by CPU time and
wall-clock, as the machine is and with a process that spins on every core.

Run: python benchmarks/train.py [BUNDLE.npz ...]      without bundles, on drawn data of 384 and 1280 columns
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from unittest import mock

import numpy as np
import torch

from ramify import benchmark, read
from ramify.labels import Labels
from ramify.learners import Refine, coarse_stage
from ramify.learners.coarse_stage import CoarseStage
from ramify.taxonomy import Taxonomy

OLD = {"hidden": (512, 512), "steps": 1500, "batch_size": 256, "lr": 1e-3, "patience": 6, "held_out": 2000}
ITEMS, TESTED, COARSE, TOPICS, NOISE = 4_000, 1_000, 12, 60, 8.0
CHEAPER, WORSE = 3.0, 1.02  # at least so many times; the loss relative to the old one at most
SHORT = {"steps": 40, "patience": 99}  # to compare threads, it need not be trained to the end
PREDICTED = 10_000
SPIN = "while True: pass"


@contextmanager
def old_way() -> Iterator[None]:
    plain = torch.optim.AdamW

    def not_fused(*parameters, fused=None, **settings):
        return plain(*parameters, **settings)

    with mock.patch("ramify.nets.Dropout", torch.nn.Dropout), mock.patch("torch.optim.AdamW", not_fused):
        yield


def drawn(width: int) -> tuple[np.ndarray, Labels, np.ndarray, np.ndarray]:
    """Items about some topics each, which say whether coarse concepts are relevant; features are noisy."""
    rng = np.random.default_rng(0)
    topics = (rng.random((ITEMS + TESTED, TOPICS)) < 0.05).astype(np.float32)
    features = topics @ rng.normal(size=(TOPICS, width)) + NOISE * rng.normal(size=(ITEMS + TESTED, width))
    states = (topics @ (rng.random((TOPICS, COARSE)) < 0.1) > 0).astype(np.int8)
    taxonomy = Taxonomy({f"c{n}": [f"f{n}.0", f"f{n}.1"] for n in range(COARSE)})
    return features[:ITEMS], Labels(taxonomy, states[:ITEMS]), features[ITEMS:], states[ITEMS:]


def of_bundle(path: str) -> tuple[np.ndarray, Labels, np.ndarray, np.ndarray]:
    data = benchmark(read(path), warm=0, seed=0)
    roots = data.train.labels.taxonomy.roots
    return data.train.features, data.train.labels, data.test.features, data.test.labels.states(concepts=roots)


def cpu_seconds(work: Callable[[], object]) -> tuple[float, float]:
    """CPU time, and by the clock."""
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - clock


def loss(learner: Refine, stage: CoarseStage, features: np.ndarray, states: np.ndarray) -> float:
    p = stage.probabilities(learner.inputs(features)).clamp(1e-6, 1 - 1e-6).numpy()
    return float(-np.where(states == 1, np.log(p), np.log(1 - p)).sum(axis=1).mean())


def against_the_old(name: str, data: tuple) -> bool:
    features, labels, tested, states = data
    taken, losses = {}, {}
    for way, settings, context in (("old", OLD, old_way), ("new", {}, nullcontext)):
        learner = Refine(random_state=0, **settings)
        with context():
            start = time.process_time()
            stage = learner.train_coarse(features, labels)
            taken[way] = time.process_time() - start
        losses[way] = loss(learner, stage, tested, states)
    cheaper, worse = taken["old"] / taken["new"], losses["new"] / losses["old"]
    print(
        f"{name}: {taken['old']:.1f} s before, {taken['new']:.1f} s now: {cheaper:.1f} x cheaper (at least {CHEAPER}), "
        f"loss {losses['old']:.3f} and {losses['new']:.3f} (at most {WORSE} x)",
        flush=True,
    )
    return cheaper < CHEAPER or worse > WORSE


def compare_threads(data: tuple) -> None:
    """Training and predicting with a thread for each core, relative to one thread."""
    features, labels, *_ = data
    cores = os.cpu_count() or 1
    many = np.tile(features, (PREDICTED // len(features) + 1, 1))[:PREDICTED]
    learner = Refine(random_state=0, **SHORT).fit(features, labels)
    works = {
        "training": lambda: Refine(random_state=0, **SHORT).train_coarse(features, labels),
        "predicting": lambda: learner.predict_proba(many),
    }
    for busy in (False, True):
        spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(cores if busy else 0)]
        try:
            for what, work in works.items():
                took = {}
                for threads in (1, cores):
                    with mock.patch.object(coarse_stage, "one_thread", nullcontext):
                        torch.set_num_threads(threads)
                        work()
                        took[threads] = np.array(cpu_seconds(work))
                cpu, clock = took[cores] / took[1]
                how = "beside spinning processes" if busy else "as the machine is"
                print(f"{what} with {cores} threads, {how}: {cpu:.2f} x the CPU time, {clock:.2f} x the time of one")
        finally:
            torch.set_num_threads(1)
            for process in spinning:
                process.kill()
                process.wait()


def main(*bundles: str) -> None:
    torch.set_num_threads(1)
    sources = {path: lambda path=path: of_bundle(path) for path in bundles} or {
        f"{width} columns": lambda width=width: drawn(width) for width in (384, 1280)
    }
    failed = [against_the_old(name, make()) for name, make in sources.items()]
    compare_threads(drawn(384))
    if any(failed):
        sys.exit("a bound does not hold")


if __name__ == "__main__":
    main(*sys.argv[1:])
