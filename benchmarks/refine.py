"""Refine at size: one more answer, without and with names, and predicting many items.

12 coarse / 80 fine concepts; known entries come from items with 3 relevant coarse concepts each. Times are medians of
CPU time. Taking in an answer changes regressions; the next use of the model chooses lambda and combines them again.

Run: python benchmarks/refine.py
"""

import statistics
import sys
import time

import numpy as np
import torch

from ramify.data import NameVectors
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
    names = NameVectors(rng.normal(size=(len(taxonomy), WIDTH)), shared=True)
    failed = False
    torch.set_num_threads(1)
    for wanted, bound in ((2_000, 5), (50_000, 50)):
        medians = {}
        for called, vectors in (("without names", None), ("with names", names)):
            labels = Labels(taxonomy, coarse)
            items, concepts = labels.unknown()
            answers = truth[items, concepts].astype(int)
            labels.record(items[:wanted], concepts[:wanted], answers[:wanted], "annotated")
            # The coarse stage is trained once and not measured here.
            learner = Refine(steps=50, random_state=0).fit(features, labels, names=vectors)
            known = sum(len(ridge) for ridge in learner.fine_.ridges)
            taken, used = [], []
            for number in range(wanted, wanted + ANSWERS):
                item, concept = int(items[number]), int(concepts[number])
                labels.record(item, concept, int(truth[item, concept]), "annotated")
                start = time.process_time()
                learner.partial_fit(features, labels, items=[item])
                middle = time.process_time()
                _ = learner.fine_.solution
                taken.append((middle - start) * 1000)
                used.append((time.process_time() - middle) * 1000)
            medians[called] = statistics.median(taken), statistics.median(used)
            print(
                f"one more answer to {known:6} known entries, {called}: {medians[called][0]:6.2f} ms, slowest "
                f"{max(taken):.1f} (at most {bound}), and {medians[called][1]:.2f} ms at the next use"
            )
        ratio = medians["with names"][0] / medians["without names"][0]
        print(f"  names make an answer {ratio:.2f} times as costly (at most 1.5)")
        failed |= max(median for median, _ in medians.values()) > bound or ratio > 1.5

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
