"""Labels at size: 1 000 000 items x 1 000 fine concepts under 50 coarse ones, 3 relevant coarse concepts an item.

Run: python benchmarks/labels.py [items]
"""

import resource
import sys
import time

import numpy as np

from ramify.labels import Labels
from ramify.taxonomy import Taxonomy

COARSE, CHILDREN, RELEVANT = 50, 20, 3
BULK, SINGLE = 100_000, 10_000


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(n_items: int = 1_000_000) -> None:
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy(
        {f"c{c}": {"exhaustive": True, "children": [f"f{c}.{k}" for k in range(CHILDREN)]} for c in range(COARSE)}
    )
    coarse = np.zeros((n_items, COARSE), np.int8)
    chosen = rng.random((n_items, COARSE), np.float32).argpartition(RELEVANT, axis=1)[:, :RELEVANT]
    np.put_along_axis(coarse, chosen, 1, axis=1)
    before = peak()

    start = time.perf_counter()
    labels = Labels(taxonomy, coarse)
    built = time.perf_counter() - start
    open_entries = int(labels.open_entries()[taxonomy.leaves].sum())
    bound = 12 * open_entries + 2 * n_items * COARSE + 32 * n_items
    print(f"{n_items} items x {len(taxonomy.leaves)} fine concepts, {open_entries} open entries")
    print(f"build and deduce         {built:8.2f} s")

    def open_cells(n: int) -> tuple[np.ndarray, np.ndarray]:
        items = rng.integers(n_items, size=n)
        parents = chosen[items, rng.integers(RELEVANT, size=n)]
        return items, parents * CHILDREN + rng.integers(CHILDREN, size=n)

    items, concepts = open_cells(BULK)
    start = time.perf_counter()
    labels.record(items, concepts, (rng.random(BULK) < 0.1).astype(int), "annotated")
    print(f"{BULK} answers in bulk   {time.perf_counter() - start:8.2f} s")

    items, concepts = open_cells(SINGLE)
    answers = [*zip(items.tolist(), concepts.tolist(), (rng.random(SINGLE) < 0.1).astype(int).tolist(), strict=True)]
    start = time.perf_counter()
    for item, concept, value in answers:
        labels.record(item, concept, value, "annotated")
    each = (time.perf_counter() - start) / SINGLE * 1e6
    print(f"{SINGLE} answers one by one {each:7.1f} microseconds each (at most 50)")

    start = time.perf_counter()
    labels.counts()
    print(f"counts per concept       {time.perf_counter() - start:8.2f} s")
    print(f"Labels takes             {labels.nbytes / 2**20:8.0f} MiB (at most {bound / 2**20:.0f})")
    print(f"peak memory of the run   {peak():8.0f} MiB, {before:.0f} of it before Labels")
    if labels.nbytes > bound or each > 50:
        sys.exit("a bound does not hold")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
