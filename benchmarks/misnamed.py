"""Misleading names: the same data set with the names of siblings exchanged. Refine must lose nothing by them.

Run: python benchmarks/misnamed.py BUNDLE [WARM,WARM] [SEEDS] [OUT]
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from ramify.data import Dataset, NameVectors
from ramify.experiments.runs import run_comparison
from ramify.experiments.tables import as_markdown, comparison


def misnamed(data: Dataset) -> Dataset:
    """The same with every concept called like one of its siblings, wherever it has any."""
    assert data.name_vectors is not None, "these data have no name vectors"
    taxonomy, order = data.labels.taxonomy, np.arange(len(data.labels.taxonomy))
    random = np.random.default_rng(0)
    for parent in range(len(taxonomy)):
        siblings = random.permutation(taxonomy.children(parent))
        order[siblings] = np.roll(siblings, 1)
    return replace(data, name_vectors=NameVectors(data.name_vectors.vectors[order], data.name_vectors.shared))


def main(bundle: str, warm: str = "16,80", seeds: str = "5", out: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        misnamed(Dataset.load(bundle)).save(Path(folder, "data"))
        sizes = [float(size) for size in warm.split(",")]
        learners, kept = ["refine", "refine-nameless"], Path(out or Path(folder, "out"))
        done = run_comparison(str(Path(folder, "data")), learners, sizes, kept, seeds=int(seeds), how="serial")
    print(as_markdown(*comparison(done.summary)))
    by = {(row["learner"], row["warm"], row["seed"]): row for row in done.results}
    for size in sorted({row["warm"] for row in done.results}):
        for k in ("p@1", "p@3", "p@5"):
            lost = np.array([by["refine", size, s][k] - by["refine-nameless", size, s][k] for s in range(int(seeds))])
            error = lost.std(ddof=1) / len(lost) ** 0.5 if len(lost) > 1 else np.nan
            print(f"{size} warm, {k}: {lost.mean():+.4f} against nameless, standard error {error:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
