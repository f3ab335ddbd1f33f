"""A project with very many answers: what one more costs, one taken back, and reading them all when it is opened.

50 000 items under 12 / 80 concepts; 8 annotators answer groups of four. CPU time of the store alone, at 20 000 answers
and ten times as many.

Run: python benchmarks/project_answers.py
"""

import itertools
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from measure import Row, cpu, figure, run
from serve import SIZES

from ramify.labels import Labels
from ramify.project.store.answers import Request
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy

ITEMS, GROUP, ANNOTATORS, REPEATS = 50_000, 4, 8, 50
FEW, MANY = 20_000, 200_000


def requests(store: Store) -> Iterator[Request]:
    """Group after group of four children of an item's relevant root: one yes, three no."""
    roots = [np.flatnonzero(store.taxonomy.parents == root) for root in store.taxonomy.roots]
    wide = [store.id_of[children[:GROUP]].tolist() for children in roots if len(children) >= GROUP]
    number = 0
    for children in wide:
        for item in range(ITEMS):
            answers = [(item, child, "yes" if place == 0 else "no") for place, child in enumerate(children)]
            yield Request(f"key {number}", f"ann {number % ANNOTATORS}", answers)
            number += 1


def measure() -> Iterator[Row]:
    taxonomy = Taxonomy({f"c{c}": [f"c{c}f{f}" for f in range(n)] for c, n in enumerate(SIZES)})
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder, "project"), taxonomy) as store:
        ids = [f"item_{n}" for n in range(ITEMS)]
        store.add(ids, ids, None, None, Labels(taxonomy, np.ones((ITEMS, len(SIZES)), np.int8)))
        coming, given, taken = requests(store), 0, {}
        for wanted in (FEW, MANY):
            while given < wanted:
                some = list(itertools.islice(coming, 500))
                store.record_all(some)
                given += sum(len(request.answers) for request in some)
            one = [cpu(lambda: store.record_all([next(coming)])) * 1000 for _ in range(REPEATS)]
            undo = [partial(store.undo, f"back {given} {n}", f"ann {n % ANNOTATORS}") for n in range(REPEATS)]
            back = [cpu(work) * 1000 for work in undo]
            given += REPEATS * GROUP
            taken[wanted] = np.median(one), np.median(back)
            yield figure(f"four more answers to {wanted} of a project, kept on disk", one, "ms")
            yield figure(f"the last four of somebody taken back, of {wanted}", back, "ms")
            read = [cpu(store.labels) for _ in range(3)]
            yield figure(f"all labels of {ITEMS} items with {wanted} answers read", read, "s")
        for name, few, many in zip(("given", "taken back"), *taken.values(), strict=True):
            yield Row(what=f"ten times the answers make one that is {name} costlier", value=float(many / few), most=1.5)


if __name__ == "__main__":
    run(measure)
