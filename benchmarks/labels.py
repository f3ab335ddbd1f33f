"""Labels at size: 1 000 000 items x 1 000 fine concepts under 50 coarse ones, 3 relevant coarse concepts an item.

Run: python benchmarks/labels.py
"""

import numpy as np
from measure import Row, cpu, figure, resident, run

from ramify.labels import Labels
from ramify.taxonomy import Taxonomy

ITEMS, COARSE, CHILDREN, RELEVANT = 1_000_000, 50, 20, 3
BULK, SINGLE, TURNS = 100_000, 1_000, 10


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy(
        {f"c{c}": {"exhaustive": True, "children": [f"f{c}.{k}" for k in range(CHILDREN)]} for c in range(COARSE)}
    )
    coarse = np.zeros((ITEMS, COARSE), np.int8)
    chosen = rng.random((ITEMS, COARSE), np.float32).argpartition(RELEVANT, axis=1)[:, :RELEVANT]
    np.put_along_axis(coarse, chosen, 1, axis=1)
    made: list[Labels] = []
    built = cpu(lambda: made.append(Labels(taxonomy, coarse)))
    (labels,) = made
    open_entries = int(labels.open_entries()[taxonomy.leaves].sum())
    bound = (12 * open_entries + 2 * ITEMS * COARSE + 32 * ITEMS) / 2**20

    def open_cells(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        items = rng.integers(ITEMS, size=n)
        parents = chosen[items, rng.integers(RELEVANT, size=n)]
        return items, parents * CHILDREN + rng.integers(CHILDREN, size=n), (rng.random(n) < 0.1).astype(int)

    several = open_cells(BULK)
    bulk = cpu(lambda: labels.record(*several, "annotated"))
    answers = [[*zip(*(part.tolist() for part in open_cells(SINGLE)), strict=True)] for _ in range(TURNS)]

    def one_by_one(some: list[tuple[int, int, int]]) -> None:
        for item, concept, value in some:
            labels.record(item, concept, value, "annotated")

    each = [cpu(lambda some=some: one_by_one(some)) / SINGLE * 1e6 for some in answers]
    return [
        Row(what=f"build and deduce, {open_entries} open entries", value=built, unit="s"),
        Row(what=f"{BULK} answers in bulk", value=bulk, unit="s"),
        figure("one answer with its deduction", each, "microseconds", most=50),
        Row(what="counts per concept", value=cpu(labels.counts), unit="s"),
        Row(what="memory of Labels", value=labels.nbytes / 2**20, unit="MiB", most=round(bound)),
        Row(what="peak memory of the run", value=resident(), unit="MB"),
    ]


if __name__ == "__main__":
    run(measure)
