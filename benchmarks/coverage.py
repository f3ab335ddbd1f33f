"""Whether the audit's intervals and promises hold: many small projects, drawn, answered, and compared with the truth.

Run: python benchmarks/coverage.py [PROJECTS] [STRATEGY,STRATEGY...] [FIRST SEED]
"""

import sys
from collections import Counter

import numpy as np

from ramify import Refine
from ramify.engine import one_thread
from ramify.labels import Labels
from ramify.quality.audit import Audit, Draws, Known, audit
from ramify.quality.decoding import choose
from ramify.quality.drawing import Drawn, Units
from ramify.quality.estimate import Counts, Quality, quality
from ramify.quality.promise import Kind, promise_of
from ramify.strategies import Pool, strategy_class
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy(
    {
        "animal": {"exhaustive": True, "cat": None, "dog": {"poodle": None, "pug": None}, "bird": None},
        "food": ["apple", "bread", "cheese"],
        "sky": {"exhaustive": True, "sun": None, "moon": None},
    }
)
WISHES: tuple[tuple[Kind, float], ...] = (("precision", 0.6), ("precision", 0.8), ("recall", 0.7))
EVERY = np.arange(len(TAXONOMY))
EVERY_SO_MANY = 40  # screens: a new list of questions, by what was learned since


class Simulated:
    """A project that was answered: by a strategy, and for the audit one screen in some, all by the truth."""

    def __init__(self, seed: int, strategy: str, *, screens: int = 200, share: float = 0.3, items: int = 250) -> None:
        rng = np.random.default_rng(seed)
        self.taxonomy = TAXONOMY
        self._draw_truth(rng, items)
        self.labels, self.imported = (Labels(TAXONOMY, self.roots) for _ in range(2))
        self.learner = Refine(steps=15, hidden=(8,), random_state=seed).fit(self.features, self.labels)
        self.draws: list[tuple[int, ...]] = []
        self.before: list[np.ndarray] = []
        self.settled: dict[tuple[int, int], int] = {}
        self.seq, self.changed = 0, set[int]()
        units, pending = Units(self.labels), []
        for number in range(screens):
            if number % EVERY_SO_MANY == 0:
                self._learn()
                pool = Pool(self.features, self.labels, np.empty(0, np.intp))
                listed = strategy_class(strategy)(random_state=number).shortlist(self.learner, pool, 64)
            if pending or rng.random() < share:
                drawn = pending.pop() if pending else self._drawn(units, rng)
                if drawn is None:
                    break
                _, concepts = self.labels.questions(drawn.item)
                concepts = concepts[units.root_of[concepts] == drawn.root]
                if not len(concepts):
                    continue
                item, group = drawn.item, concepts[TAXONOMY.parents[concepts] == TAXONOMY.parents[concepts[0]]]
                pending.append(drawn)  # what lies below is asked next
            else:
                taken = listed.take_group()
                if taken is None:
                    continue
                item, group = taken
            self._answer(item, group)
            units.look_again(self.labels, [item])
        self._learn()

    def _draw_truth(self, rng: np.random.Generator, items: int) -> None:
        """Concepts that features show more or less clearly, some of them rare."""
        leaves, width = len(TAXONOMY.leaves), 10
        x = rng.normal(size=(items, width))
        clear = rng.uniform(0.3, 4, leaves)
        logits = clear * (x @ rng.normal(size=(width, leaves)) / np.sqrt(width)) + rng.normal(-1.2, 0.7, leaves)
        fine = rng.random((items, leaves)) < 1 / (1 + np.exp(-logits))
        self.truth = np.zeros((items, len(TAXONOMY)), np.int8)
        self.truth[:, TAXONOMY.leaves] = fine
        for inner in TAXONOMY.preorder[::-1]:
            if len(children := TAXONOMY.children(inner)):  # some are of no kind, where there need not be one
                other = (rng.random(items) < 0.15) & ~TAXONOMY.exhaustive[inner]
                self.truth[:, inner] = self.truth[:, children].any(axis=1) | other
        self.roots, self.features = self.truth[:, TAXONOMY.roots], x.astype(np.float32)

    def _drawn(self, units: Units, rng: np.random.Generator) -> Drawn | None:
        drawn = units.draw(rng.random())
        if drawn is not None:
            self.draws.append((drawn.item, drawn.root, drawn.drawn_from, len(self.labels), self.seq))
            self.before.append(self.labels.states(drawn.item, EVERY)[0])
        return drawn

    def _answer(self, item: int, concepts: np.ndarray) -> None:
        before = self.labels.states(item)[0]
        self.labels.record([item] * len(concepts), concepts, self.truth[item, concepts], "annotated")
        self.seq += 1
        for fine in np.flatnonzero((before < 0) & (self.labels.states(item)[0] >= 0)).tolist():
            self.settled[item, fine] = self.seq
        self.changed.add(item)

    def _learn(self) -> None:
        if self.changed:
            self.learner.partial_fit(self.features, self.labels, items=sorted(self.changed))
        self.changed = set()

    def audit(self) -> Audit:
        """What the audit says."""
        draws = Draws(*np.array(self.draws, np.intp).reshape(-1, 5).T)
        known = Known(*np.array(list(self.settled), np.intp).reshape(-1, 2).T, np.array(list(self.settled.values())))
        found = audit(
            self.learner,
            draws,
            np.array(self.before, np.int8).reshape(-1, len(TAXONOMY)),
            self.labels,
            known,
            lambda items: self.imported.states(items, EVERY),
        )
        assert found is not None
        return found

    def chosen(self) -> np.ndarray:
        """The labels as they would be exported."""
        p = self.learner.opinions(self.features, self.labels)
        return choose(p, self.labels.states(concepts=EVERY), TAXONOMY)[:, TAXONOMY.leaves]

    def counts(self) -> Counts:
        """How many labels there are."""
        counts = Counts.empty(len(TAXONOMY.leaves))
        counts.add(self.labels.states(), self.chosen())
        return counts

    def true_quality(self, concepts: np.ndarray | None = None) -> dict[str, float]:
        """What precision, recall and F1 really are."""
        wanted = slice(None) if concepts is None else concepts
        truth, chosen = self.truth[:, TAXONOMY.leaves][:, wanted] == 1, self.chosen()[:, wanted]
        hits = (truth & chosen).sum()
        with np.errstate(invalid="ignore"):
            return {
                "precision": hits / chosen.sum(),
                "recall": hits / truth.sum(),
                "f1": 2 * hits / (chosen.sum() + truth.sum()),
            }


def holds(project: Simulated, kind: Kind, target: float, found: Audit, tally: Counter) -> None:
    """Whether what is promised for all concepts together holds of the unknown entries."""
    promised = promise_of(found, TAXONOMY.leaves, kind, target)
    tally[kind, target, "asked"] += 1
    if promised.threshold is None:
        return
    p = project.learner.opinions(project.features, project.labels)[:, TAXONOMY.leaves]
    unknown, truth = project.labels.states() < 0, project.truth[:, TAXONOMY.leaves] == 1
    chosen = unknown & (p >= promised.threshold)
    whole = chosen.sum() if kind == "precision" else (unknown & truth).sum()
    tally[kind, target, "given"] += 1
    tally[kind, target, "held"] += (chosen & truth).sum() >= target * whole


def compare(found: Quality, true: dict[str, float], tally: Counter, rows: dict[str, list], what: str) -> None:
    for name, value in true.items():
        interval = getattr(found, name)
        if interval is None or np.isnan(value):
            tally[what, name, "none"] += 1
            continue
        tally[what, name, "all"] += 1
        tally[what, name, "covered"] += interval.low <= value <= interval.high
        tally[what, name, "below"] += value < interval.low
        rows.setdefault(f"{what} {name}", []).append((interval.value - value, interval.high - interval.low))


def show(strategy: str, tally: Counter, rows: dict[str, list]) -> None:
    for kind, target in WISHES:
        asked, given, held = (tally[kind, target, what] for what in ("asked", "given", "held"))
        print(f"{strategy}: {kind} {target} was promised {given} times of {asked}, and held {held}")
    for what in ("all", "concept"):
        for name in ("precision", "recall", "f1"):
            count, covered = tally[what, name, "all"], tally[what, name, "covered"]
            bias, width = np.mean(rows[f"{what} {name}"], axis=0)
            print(
                f"| {strategy} | {what} | {name} | {count} | {covered / count:.3f} "
                f"| {tally[what, name, 'below'] / count:.3f} | {bias:+.3f} | {width:.3f} |",
                flush=True,
            )


def main(projects: str = "1000", strategies: str = "expected-gain,random", first: str = "0") -> None:
    print(
        "| questions by | of | figure | intervals | covered | true one lower | bias | mean width |\n" + "|---" * 8 + "|"
    )
    for strategy in strategies.split(","):
        tally: Counter = Counter()
        rows: dict[str, list] = {}
        with one_thread():
            for seed in range(int(first), int(first) + int(projects)):
                project = Simulated(seed, strategy, screens=int(np.random.default_rng(seed).integers(80, 260)))
                if not project.draws:
                    continue
                found, counts = project.audit(), project.counts()
                for kind, target in WISHES:
                    holds(project, kind, target, found, tally)
                compare(quality(found, counts), project.true_quality(), tally, rows, "all")
                for fine in TAXONOMY.leaves:
                    one = np.array([fine])
                    compare(quality(found, counts, one), project.true_quality(one), tally, rows, "concept")
                if seed % 50 == 49:  # how far it is
                    show(strategy, tally, rows)
        show(strategy, tally, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
