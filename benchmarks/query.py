"""What choosing questions costs: against one forward pass over the pool, and against summing scores.

- A COCO-like set (20 000 x 2048 features, 12 coarse / 80 fine concepts, 80 warm items): CPU time of each strategy's
  query for 1 000 answers relative to one forward pass of its own learner over all items, and its peak memory.
- The best 1 000 of 10^7 streamed scores, relative to summing them.

Run: python benchmarks/query.py
"""

import ctypes
from functools import partial
from pathlib import Path

import numpy as np
import torch
from measure import Row, Work, by_turns, cpu, figure, resident, run

from ramify.labels import Labels
from ramify.learners import PseudoLabel, Refine
from ramify.strategies import ExpectedGain, LookAhead, Random, Uncertainty
from ramify.strategies.select import Best
from ramify.taxonomy import Taxonomy

ITEMS, WIDTH, WARM, ANSWERS, ROUNDS = 20_000, 2048, 80, 1000, 3
PART = 10_000  # items that the coarse stage is trained on: how well it is does not change what a query costs
MEGABYTES = 300  # that a query may take on top of what was there
COCO = {  # fine concepts of each coarse one, and how often it is relevant
    "person": (1, 0.45), "vehicle": (8, 0.14), "outdoor": (5, 0.06), "animal": (10, 0.15), "accessory": (5, 0.08),
    "sports": (10, 0.12), "kitchen": (7, 0.10), "food": (10, 0.10), "furniture": (6, 0.14), "electronic": (6, 0.08),
    "appliance": (5, 0.05), "indoor": (7, 0.09),
}  # fmt: skip
PEAK = Path("/proc/self/clear_refs")  # where Linux is told to measure the peak of resident memory anew
SCORES, BLOCK = 10**8, 10**6
SHORT = 50  # steps of the coarse stage: training is not measured here


def megabytes(work: Work) -> float:
    """That the resident memory rises by; NaN where the kernel does not tell its peak."""
    if not PEAK.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)  # memory that was freed but kept for later would hide what is taken anew
    PEAK.write_text("5")  # forgets the peak so far
    before = resident("VmRSS")
    work()
    return resident() - before


def tree(sizes: dict[str, int]) -> Taxonomy:
    return Taxonomy(
        {name: {"exhaustive": True, "children": [f"{name} {k}" for k in range(n)]} for name, n in sizes.items()}
    )


def know_all(labels: Labels, truth: np.ndarray, n_items: int) -> None:
    items, concepts = labels.unknown(slice(n_items))
    labels.record(items, concepts, truth[items, concepts].astype(int), "annotated")


def coco_sized() -> tuple[np.ndarray, Labels]:
    """Non-negative features, as a pretrained net gives them, that tell the fine concepts; labels of the coarse ones."""
    rng = np.random.default_rng(0)
    sizes, rates = (np.array(part) for part in zip(*COCO.values(), strict=True))
    coarse = rng.random((ITEMS, len(COCO))) < rates
    empty = np.flatnonzero(~coarse.any(axis=1))
    coarse[empty, rng.choice(len(COCO), len(empty), p=rates / rates.sum())] = True
    truth = rng.random((ITEMS, sizes.sum())) < 0.1
    for c, (first, size) in enumerate(zip(np.cumsum(sizes) - sizes, sizes, strict=True)):
        common = 1 / np.arange(1, size + 1)  # some fine concepts are much more frequent than others
        truth[np.arange(ITEMS), first + rng.choice(size, ITEMS, p=common / common.sum())] = True
        truth[:, first : first + size] &= coarse[:, [c]]
    directions = 0.5 * rng.standard_normal((sizes.sum(), WIDTH), np.float32)
    features = rng.standard_normal((ITEMS, WIDTH), np.float32)
    for first in range(0, ITEMS, 8192):
        block = features[first : first + 8192]
        block += 0.5 + truth[first : first + 8192].astype(np.float32) @ directions
        np.maximum(block, 0, out=block)
    labels = Labels(tree(dict(zip(COCO, sizes.tolist(), strict=True))), coarse.astype(int))
    know_all(labels, truth, WARM)
    return features, labels


def whole_pool() -> list[Row]:
    features, labels = coco_sized()
    net = PseudoLabel(epochs=1, batch_size=1024, random_state=0).fit(features, labels)
    part = labels.take(slice(PART))
    refine = Refine(steps=SHORT, random_state=0).fit(features[:PART], part).partial_fit(features, labels)
    weights = [layer.weight.detach().T.contiguous() for layer in net.net_.layers]

    @torch.no_grad()
    def multiply() -> None:
        for first in range(0, ITEMS, 8192):
            block = torch.from_numpy(features[first : first + 8192])
            for weight in weights:
                block = block @ weight

    passes: dict[str, Work] = {
        "products": multiply,
        "net": partial(net.predict_proba, features),
        "refine": partial(refine.predict_proba, features),
    }
    queries = {
        strategy.name: partial(strategy.query, learner, features, labels, ANSWERS)
        for strategy, learner in (
            (Random(random_state=0), net),
            (Uncertainty(random_state=0), net),
            (LookAhead(random_state=0), net),
            (ExpectedGain(random_state=0), refine),
        )
    }
    taken = by_turns(passes | queries, ROUNDS)
    own = {"expected-gain": "refine"}
    unknown = len(np.unique(labels.unknown()[0])) / ITEMS
    most = {"uncertainty": 1.3, "look-ahead": 3, "expected-gain": 2}
    rows = [
        figure("a forward pass of the net, against its bare products of matrices", taken["net"] / taken["products"])
    ]
    for name, query in queries.items():
        by = own.get(name, "net")
        words = "Refine's" if by == "refine" else "the net's"
        what = f"{name}: {ANSWERS} answers of {ITEMS} items, against {words} own forward pass"
        rows.append(figure(what, taken[name] / taken[by], most=most.get(name), note=f"{unknown:.0%} of items are open"))
        rows.append(Row(what=f"{name}: memory", value=megabytes(query), unit="MB", most=MEGABYTES))
    return rows


def selection() -> Row:
    items, concepts = np.divmod(np.arange(BLOCK), 10)
    ratios = []
    for seed in range(ROUNDS):
        rng, best = np.random.default_rng(seed), Best(ANSWERS, seed)
        summing = selecting = 0.0
        for number in range(SCORES // BLOCK):
            scores = rng.random(BLOCK, np.float32)  # every block is new: one seen before has nothing to select
            first = number % 2  # whoever comes second finds the scores in the cache
            for way in (first, 1 - first):
                if way:
                    summing += cpu(scores.sum)
                else:
                    selecting += cpu(partial(best.offer, scores, items, concepts))
        ratios.append((selecting + cpu(best.ranked)) / summing)
    return figure(f"the best {ANSWERS} of {SCORES} scores, against summing them", ratios, most=3)


def measure() -> list[Row]:
    return [selection(), *whole_pool()]  # first: memory that others left behind would make its beginning quicker


if __name__ == "__main__":
    run(measure)
