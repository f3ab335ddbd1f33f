"""Refine at size: one more answer, without and with names, and predicting many items.

12 coarse / 80 fine concepts; known entries come from items with 3 relevant coarse concepts each. Taking in an answer
changes regressions; the next use of the model chooses lambda and combines them again.

Run: python benchmarks/refine.py
"""

from functools import partial

import numpy as np
import torch
from measure import Row, by_turns, cpu, figure, run

from ramify.data import NameVectors
from ramify.labels import Labels
from ramify.learners import Refine
from ramify.taxonomy import Taxonomy

WIDTH, ITEMS, ANSWERS, PREDICTED, ROUNDS = 384, 12_000, 40, 40_000, 5
SIZES = [1, 8, 5, 10, 7, 5, 10, 10, 6, 6, 5, 7]  # fine concepts of each coarse one, as in COCO


def measure() -> list[Row]:
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
    vectors = NameVectors(rng.normal(size=(len(taxonomy), WIDTH)), shared=True)
    rows = []
    for wanted, most in ((2_000, 5), (50_000, 50)):
        medians = []
        for called, given in (("", None), (", with names", vectors)):
            labels = Labels(taxonomy, coarse)
            items, concepts = labels.unknown()
            answers = truth[items, concepts].astype(int)
            labels.record(items[:wanted], concepts[:wanted], answers[:wanted], "annotated")
            # The coarse stage is trained once and not measured here.
            learner = Refine(steps=50, random_state=0).fit(features, labels, names=given)
            taken, used = [], []
            for number in range(wanted, wanted + ANSWERS):
                item, concept = int(items[number]), int(concepts[number])
                labels.record(item, concept, int(truth[item, concept]), "annotated")
                taken.append(cpu(partial(learner.partial_fit, features, labels, items=[item])) * 1000)
                used.append(cpu(partial(getattr, learner.fine_, "solution")) * 1000)
            medians.append(np.median(taken))
            rows.append(figure(f"one more answer to {wanted} known{called}", taken, "ms", most=most))
            rows.append(figure(f"the next use of the model after it{called}", used, "ms"))
        rows.append(Row(what="names make an answer costlier", value=float(medians[1] / medians[0]), most=1.5))

    many = np.tile(features, (PREDICTED // ITEMS + 1, 1))[:PREDICTED]
    x = torch.from_numpy(many)

    @torch.no_grad()
    def plain() -> None:
        for begin in range(0, PREDICTED, 8192):
            for net in learner.coarse_.nets:
                net(x[begin : begin + 8192])

    seconds = by_turns({"Refine": lambda: learner.predict_proba(many), "plain": plain}, ROUNDS)
    what = f"predicting {PREDICTED} items, with names, against three plain forward passes"
    return [*rows, figure(what, seconds["Refine"] / seconds["plain"], most=2)]


if __name__ == "__main__":
    run(measure)
