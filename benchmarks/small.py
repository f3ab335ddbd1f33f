"""Small warm sets: refine (without names) against coarse-prior, on sets made hard on purpose. It must not lose.

- shuffled: the features of a bundle in ../shared/data belong to other items, so they say nothing;
- yeast-like: 14 labels in 5 groups, four of them an item, and features that say little;
- many children: 3 coarse concepts with 40 fine ones each.

Run: python benchmarks/small.py [SEEDS]
"""

import sys
from pathlib import Path

import numpy as np
import torch

from ramify.data import Dataset, benchmark
from ramify.data.bundle import known_labels
from ramify.learners import CoarsePrior, Refine
from ramify.metrics import precision_at_k
from ramify.taxonomy import Taxonomy

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shuffled(name: str) -> Dataset:
    whole = Dataset.load(SHARED / f"{name}.npz")
    random = np.random.default_rng(0)
    part = whole.take(np.sort(random.permutation(len(whole))[:3000]))
    return Dataset(part.labels, np.asarray(part.features)[random.permutation(len(part))])


def drawn(sizes: list[int], scores: np.ndarray, features: np.ndarray, limits: np.ndarray) -> Dataset:
    parents = np.repeat(np.arange(len(sizes)), sizes) + sum(sizes)
    names = [*(f"fine {n}" for n in range(sum(sizes))), *(f"coarse {n}" for n in range(len(sizes)))]
    taxonomy = Taxonomy.from_arrays(names, [*parents, *[-1] * len(sizes)], exhaustive=True)
    return Dataset(known_labels(taxonomy, (scores > limits).astype(int)), features.astype(np.float32))


def yeast_like() -> Dataset:
    random, sizes = np.random.default_rng(5), [3, 3, 3, 3, 2]
    features = random.normal(size=(2400, 103))
    group = random.normal(size=(2400, 5))[:, np.repeat(np.arange(5), sizes)]
    scores = features @ random.normal(size=(103, 14)) * 0.09 + 0.8 * group + 0.6 * random.normal(size=(2400, 14))
    return drawn(sizes, scores, features, random.uniform(-0.2, 1.2, size=14))


def many_children() -> Dataset:
    random = np.random.default_rng(6)
    features = random.normal(size=(3000, 60))
    scores = features @ random.normal(size=(60, 120)) * 0.35 + random.normal(size=(3000, 120))
    return drawn([40, 40, 40], scores, features, np.quantile(scores, 0.97, axis=0))


def main(seeds: int = 5) -> None:
    torch.set_num_threads(1)
    sets = {"yeast-like": yeast_like(), "many children": many_children()}
    if SHARED.is_dir():
        sets |= {f"shuffled {name}": shuffled(name) for name in ("coco_captions", "goemotions", "mirflickr_tags")}
    for name, data in sets.items():
        for warm in (8, 16):
            found: dict[str, list[list[float]]] = {}
            for seed in range(seeds):
                draw = benchmark(data, warm=warm, seed=seed)
                truth = draw.test.labels.states()
                for kind in (CoarsePrior, Refine):
                    learner = kind(random_state=seed).fit(draw.train.features, draw.train.labels)
                    p = learner.predict_proba(draw.test.features)
                    found.setdefault(kind.name, []).append([precision_at_k(truth, p, k) for k in (1, 3, 5)])
            prior, refine = (np.array(found[kind]) for kind in ("coarse-prior", "refine"))
            error = (refine - prior).std(axis=0, ddof=1) / seeds**0.5
            shown = [prior.mean(axis=0), refine.mean(axis=0), (refine - prior).mean(axis=0), error]
            print(f"{name}, {warm} warm:", *(np.array2string(part, precision=3, floatmode="fixed") for part in shown))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
