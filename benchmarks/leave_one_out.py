"""How close Refine's leave-one-out estimate of P@k, which needs no held-out data, comes to P@k on test.

Run: python benchmarks/leave_one_out.py BUNDLE WARM[,WARM...] [SEEDS] [FOLDER WITH COARSE STAGES]
"""

import sys

import numpy as np

from ramify import Refine, benchmark, read
from ramify.metrics import precision_at_k


def main(path: str, sizes: str, seeds: str = "5", memory: str | None = None) -> None:
    data = read(path)
    print("| warm | metric | leave-one-out | test | difference |\n|---|---|---|---|---|")
    for warm in map(int, sizes.split(",")):
        rows = []
        for seed in range(int(seeds)):
            drawn = benchmark(data, warm=warm, seed=seed)
            learner = Refine(random_state=seed, memory=memory).fit(drawn.train.features, drawn.train.labels)
            truth, scores = drawn.test.labels.states(), learner.predict_proba(drawn.test.features)
            rows.append([(learner.estimate()[f"p@{k}"], precision_at_k(truth, scores, k)) for k in (1, 3, 5)])
        for k, pairs in zip((1, 3, 5), np.array(rows).transpose(1, 0, 2), strict=True):
            estimate, test = pairs.mean(axis=0)
            spread = pairs.std(axis=0, ddof=1) if len(pairs) > 1 else [0, 0]
            gap = np.abs(pairs[:, 0] - pairs[:, 1]).mean()
            print(
                f"| {warm} | P@{k} | {estimate:.3f} ± {spread[0]:.3f} | {test:.3f} ± {spread[1]:.3f} "
                f"| {estimate - test:+.3f} (a seed: {gap:.3f}) |"
            )


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
