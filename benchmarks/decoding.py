"""What choosing labels costs and brings: a half for all, at least one child, and thresholds by left-out scores.

Run: python benchmarks/decoding.py BUNDLE WARM [SEEDS]
"""

import sys

import numpy as np

from ramify import Refine, benchmark, read
from ramify.labels import Labels
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT, choose
from ramify.quality.thresholds import thresholds_of

POOL = 5000  # items whose labels are chosen


def main(path: str, warm: str, seeds: str = "3") -> None:
    data = read(path)
    rows: dict[str, list[list[float]]] = {}
    for seed in range(int(seeds)):
        drawn = benchmark(data, warm=int(warm), seed=seed)
        labels, taxonomy = drawn.train.labels, drawn.train.labels.taxonomy
        learner = Refine(random_state=seed)
        learner.fit(drawn.train.features, labels, names=data.name_vectors)
        coarse = Labels(taxonomy, labels.states(concepts=taxonomy.roots))
        pool = np.sort(np.random.default_rng(seed).permutation(drawn.pool)[:POOL])
        states = labels.states(pool, np.arange(len(taxonomy)))
        p = learner.opinions(drawn.train.features[pool], labels.take(pool))
        truth = drawn.answers.states(pool) == 1
        own = thresholds_of(learner, labels, coarse)
        for name, least, fill in (
            ("a half for all", MORE_PROBABLE_THAN_NOT, False),
            ("and at least one child", MORE_PROBABLE_THAN_NOT, True),
            ("thresholds by left-out scores", own, False),
            ("both", own, True),
        ):
            chosen = choose(p, states, taxonomy, least, fill=fill)[:, taxonomy.leaves]
            hits = (chosen & truth).sum()
            shares = [hits / chosen.sum(), hits / truth.sum(), 2 * hits / (chosen.sum() + truth.sum())]
            rows.setdefault(name, []).append(shares)
            print(seed, name, np.round(shares, 4), flush=True, file=sys.stderr)
    print("| choice | precision | recall | F1 |\n|---|---|---|---|")
    for name, shares in rows.items():
        spread = np.std(shares, axis=0, ddof=1)
        pairs = zip(np.mean(shares, axis=0), spread, strict=True)
        print(f"| {name} | " + " | ".join(f"{mean:.3f} ± {wide:.3f}" for mean, wide in pairs) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
