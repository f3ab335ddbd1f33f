"""Refine at size: one more answer, and predicting many items.

12 coarse / 80 fine concepts; known entries come from items with 3 relevant coarse concepts each. Times are medians.

Run: python benchmarks/refine.py
"""

import statistics
import sys
import time

import numpy as np
import torch

from ramify.labels import Labels
from ramify.learners import Refine
from ramify.taxonomy import Taxonomy

WIDTH, ITEMS, ANSWERS, PREDICTED = 384, 12_000, 60, 100_000
SIZES = [1, 8, 5, 10, 7, 5, 10, 10, 6, 6, 5, 7]  # fine concepts of each coarse one, as in COCO


def main() -> None:
    rng = np.random.default_rng(0)
    names = [[f"f{c}.{k}" for k in range(size)] for c, size in enumerate(SIZES)]
    taxonomy = Taxonomy({f"c{c}": {"exhaustive": True, "children": fine} for c, fine in enumerate(names)})
    coarse = np.zeros((ITEMS, len(SIZES)), int)
    chosen = rng.random(coarse.shape).argsort(axis=1)[:, :3]
    np.put_along_axis(coarse, chosen, 1, axis=1)
    features = rng.normal(size=(ITEMS, WIDTH)).astype(np.float32)
    truth = rng.random((ITEMS, sum(SIZES))) < 0.1  # besides one child of every relevant concept, so nothing contradicts
    first = np.cumsum(SIZES) - SIZES
    for c, size in enumerate(SIZES):
        truth[np.arange(ITEMS), first[c] + rng.integers(size, size=ITEMS)] = True
    failed = False
    for wanted, bound in ((2_000, 5), (50_000, 50)):
        labels = Labels(taxonomy, coarse)
        items, concepts = labels.unknown()
        answers = truth[items, concepts].astype(int)
        labels.record(items[:wanted], concepts[:wanted], answers[:wanted], "annotated")
        # The coarse stage is trained once and not measured here.
        learner = Refine(steps=50, random_state=0).fit(features, labels)
        known = sum(len(ridge) for ridge in learner.fine_.ridges)
        taken = []
        for item, concept in zip(items[wanted : wanted + ANSWERS], concepts[wanted : wanted + ANSWERS], strict=True):
            labels.record(int(item), int(concept), int(truth[item, concept]), "annotated")
            start = time.perf_counter()
            learner.partial_fit(features, labels, items=[item])
            taken.append((time.perf_counter() - start) * 1000)
        typical = statistics.median(taken)
        failed |= typical > bound
        print(
            f"one more answer to {known:6} known entries: {typical:6.2f} ms, slowest {max(taken):.1f} (at most {bound})"
        )

    torch.set_num_threads(1)
    many = np.tile(features, (PREDICTED // ITEMS + 1, 1))[:PREDICTED]
    x = torch.from_numpy(many)
    predicted, plain = [], []
    learner.predict_proba(many[:100])  # calibrates
    for _ in range(3):
        start = time.process_time()
        learner.predict_proba(many)
        predicted.append(time.process_time() - start)
        start = time.process_time()
        with torch.no_grad():
            for first in range(0, PREDICTED, 8192):
                for net in learner.coarse_.nets:
                    net(x[first : first + 8192])
        plain.append(time.process_time() - start)
    ratio = statistics.median(predicted) / statistics.median(plain)
    failed |= ratio > 2
    print(f"predicting {PREDICTED} items: {ratio:.2f} x three plain forward passes (at most 2)")
    if failed:
        sys.exit("a bound does not hold")


if __name__ == "__main__":
    main()
