"""How CPU time grows: its exponent in items, concepts and answers.

One of the three is doubled twice while the others stay: 4 000 items of 64 features, 80 fine concepts under 10,
three relevant coarse concepts an item, 100 items answered. An exponent of 1 means twice the time for twice as much.

Run: python benchmarks/growth.py
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from measure import Row, growth, run

from ramify.labels import Labels
from ramify.learners import PseudoLabel, Refine
from ramify.strategies import ExpectedGain, LookAhead
from ramify.taxonomy import Taxonomy

WIDTH, CHILDREN, RELEVANT, ROUNDS, ASKED = 64, 8, 3, 3, 100
TIMES = 25  # as many items for deduction, which is so quick that calling it would be what is measured
USUAL = {"items": 4_000, "concepts": 80, "answered": 100}
SIZES = {
    "items": (4_000, 8_000, 16_000),
    "concepts": (80, 160, 320),
    "answered": (100, 200, 400),
}
MOST = {"items": 1.05}


@dataclass
class Case:
    items: int
    concepts: int
    answered: int

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        roots = self.concepts // CHILDREN
        self.taxonomy = Taxonomy(
            {f"c{c}": {"exhaustive": True, "children": [f"f{c}.{k}" for k in range(CHILDREN)]} for c in range(roots)}
        )
        self.coarse = np.zeros((self.items, roots), np.int8)
        np.put_along_axis(self.coarse, rng.random((self.items, roots)).argsort(axis=1)[:, :RELEVANT], 1, axis=1)
        self.features = rng.normal(size=(self.items, WIDTH)).astype(np.float32)
        self.labels = Labels(self.taxonomy, self.coarse)
        self.record(self.labels, slice(self.answered))
        self.next = self.answered

    def record(self, labels: Labels, items: slice) -> None:
        """Of each relevant concept the child with the item's own number is relevant, and no other."""
        items, concepts = labels.unknown(items)
        labels.record(items, concepts, (concepts % CHILDREN == items % CHILDREN).astype(int), "annotated")

    @cached_property
    def refine(self) -> Refine:
        return Refine(steps=20, deep_below=0, random_state=0).fit(self.features, self.labels)

    @cached_property
    def net(self) -> PseudoLabel:
        return PseudoLabel(epochs=1, random_state=0).fit(self.features, self.labels)

    def deduce(self) -> None:
        self.record(Labels(self.taxonomy, np.tile(self.coarse, (TIMES, 1))), slice(self.answered))

    def fit(self) -> None:
        self.refine.partial_fit(self.features, self.labels)

    def one_more(self) -> None:
        for item in range(self.next, self.next + 5):
            self.record(self.labels, slice(item, item + 1))
            self.refine.partial_fit(self.features, self.labels, items=[item])
        self.next += 5

    def predict(self) -> None:
        self.refine.predict_proba(self.features)

    def gain(self) -> None:
        ExpectedGain(random_state=0).query(self.refine, self.features, self.labels, ASKED)

    def look_ahead(self) -> None:
        LookAhead(random_state=0).query(self.net, self.features, self.labels, ASKED)


WORKS: dict[str, Callable[[Case], None]] = {
    f"deduction (of {TIMES} times the items)": Case.deduce,
    "Refine's fine stage fitted": Case.fit,
    "five more items answered": Case.one_more,
    "prediction": Case.predict,
    "ExpectedGain over the pool": Case.gain,
    "LookAhead over the pool": Case.look_ahead,
}


def measure() -> Iterator[Row]:
    for grown, sizes in SIZES.items():
        cases = {size: Case(**(USUAL | {grown: size})) for size in sizes}
        for name, work in WORKS.items():
            calls = {size: (lambda case=case, work=work: work(case)) for size, case in cases.items()}
            yield growth(f"{name}, in {grown}", calls, ROUNDS, MOST.get(grown))


if __name__ == "__main__":
    run(measure)
