"""Whether wrong labels are found: some known labels are flipped at random, and all of them are ranked by doubt.

Coarse labels of all items and fine ones of the warm items; the share of wrong ones among the 100 most doubtful, and
the area under the curve (the chance that a wrong label is doubted more than a right one; .5 in a random order).

Run: python benchmarks/suspects.py BUNDLE WARM [SEEDS]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from ramify import Refine, benchmark, read
from ramify.data import Dataset
from ramify.labels import Labels
from ramify.learners.cache import Cache
from ramify.quality.suspects import suspects

RATES = 0.02, 0.05
ITEMS = 10_000  # at most
FIRST = 100


def main(path: str, warm: str, seeds: str = "3") -> None:
    data = read(path)
    print("| labels | wrong | ranked | wrong among the first 100 | by chance | area |\n|---|---|---|---|---|---|")
    for rate in RATES:
        found = [flipped(data, int(warm), rate, seed) for seed in range(int(seeds))]
        for kind in ("coarse", "fine"):
            figures = np.array([figures[kind] for figures in found])
            mean, spread = figures.mean(axis=0), figures.std(axis=0, ddof=1)
            print(
                f"| {kind} | {rate:.0%} | {mean[0]:.0f} | {mean[1]:.3f} ± {spread[1]:.3f} | {mean[2]:.3f} "
                f"| {mean[3]:.3f} ± {spread[3]:.3f} |",
                flush=True,
            )


def flipped(data: Dataset, warm: int, rate: float, seed: int) -> dict[str, tuple[float, ...]]:
    """Of coarse and of fine labels: how many are ranked, precision among the first, share of wrong ones, area."""
    drawn, rng = benchmark(data, warm=warm, seed=seed), np.random.default_rng(seed)
    taxonomy = drawn.answers.taxonomy
    items = np.concatenate([drawn.warm, drawn.pool[: ITEMS - warm]])  # the warm ones come first
    truth = drawn.answers.states(items, np.arange(len(taxonomy)))
    wrong = rng.random(truth.shape) < rate
    wrong[:warm, taxonomy.roots] = False  # a wrong coarse label would leave nothing to say below it
    said = np.where(wrong, 1 - truth, truth)
    labels = Labels(taxonomy, said[:, taxonomy.roots])
    rows, fine = np.nonzero(truth[:warm, taxonomy.parents[taxonomy.leaves]] == 1)
    labels.record(rows, fine, said[rows, fine], "annotated")
    features = drawn.train.features[items]
    learner = Refine(random_state=seed).fit(features, labels, names=data.name_vectors)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache.write(Path(folder), learner.to_cache(features, labels), len(labels))
        ranked = suspects(learner, cache, labels, np.arange(len(labels)), least=0.0)
    assert ranked is not None
    figures = {}
    coarse = np.isin(ranked.concepts, taxonomy.roots)
    for kind, chosen in (("coarse", coarse & (ranked.items >= warm)), ("fine", ~coarse)):
        own = ranked.where(chosen)
        hits = wrong[own.items, own.concepts]
        figures[kind] = (len(hits), hits[:FIRST].mean(), hits.mean(), roc_auc_score(hits, own.doubts))
    return figures


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
