"""Whether Refine is right in every tree: a loop against a fresh fit on its labels, what lessons are worth, reliability.

Run: python benchmarks/trees.py loops|flat|lessons|opinions [SEEDS]
     python benchmarks/trees.py mirflickr [SEEDS] [BUNDLE]
     python benchmarks/trees.py reliability BUNDLE WARM [SEEDS] [FOLDER WITH COARSE STAGES]
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np

from ramify import ActiveLoop, ExpectedGain, Refine, Truth, benchmark, read
from ramify.checks.trees import drawn, tree, with_coarse
from ramify.data import Dataset
from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.learners import CoarsePrior, Factored, Learner
from ramify.learners.lessons import lessons
from ramify.metrics import precision_at_k
from ramify.taxonomy import Taxonomy

SMALL = {"hidden": (32,), "steps": 300}
MIRFLICKR = Path(__file__).parents[2] / "shared/data/mirflickr_tags.npz"


def precisions(learner: Learner, test: Dataset, ks: tuple[int, ...]) -> list[float]:
    scores, truth = learner.predict_proba(test.features), test.labels.states()
    return [precision_at_k(truth, scores, k) for k in ks]


def with_error(differences: np.ndarray) -> str:
    """Means over seeds, and their standard errors."""
    errors = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    return " / ".join(f"{d:+.4f} ± {e:.4f}" for d, e in zip(differences.mean(axis=0), errors, strict=True))


def means(values: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in values.mean(axis=0))


def fresh(loop: ActiveLoop, learner: Refine) -> Refine:
    """What the loop's learner is compared with: all learned anew from what the loop found out."""
    return learner.fit(loop.dataset.features, loop.labels)


# -- a loop against a fresh fit ----------------------------------------------------------------------------------------


def loops(seeds: int) -> None:
    """Three levels; after the 7th and the 8th round, since one of them may have just trained the nets."""
    print("| tree | coarse known | answers | loop P@1 P@3 | fresh P@1 P@3 | loop - fresh |\n|---|---|---|---|---|---|")
    for exhaustive in (True, False):
        for share in (0.0, 0.5, 1.0):
            rows = np.array([_loop(exhaustive, share, seed) for seed in range(seeds)])
            for number, answers in enumerate((420, 480)):
                ours, anew = rows[:, number].swapaxes(0, 1)
                print(
                    f"| {'' if exhaustive else 'not '}exhaustive | {share:.0%} | {answers} "
                    f"| {means(ours)} | {means(anew)} | {with_error(ours - anew)} |",
                    flush=True,
                )


def _loop(exhaustive: bool, share: float, seed: int) -> list[list[list[float]]]:
    features, truth = drawn(tree((3, 2, 3), exhaustive=exhaustive), 2600, seed, noise=1.0)
    train, held_out = np.arange(600), np.arange(600, 2600)
    test = Dataset(truth.take(held_out), features[held_out])
    dataset, oracle = with_coarse(features[train], truth.take(train), share, seed), Truth(truth.take(train))
    learner, strategy = Refine(**SMALL, random_state=seed), ExpectedGain(random_state=seed)
    loop, found = ActiveLoop(dataset, learner, strategy, oracle, batch_size=60), []
    for rounds in (7, 8):
        loop.run(rounds=rounds)
        anew = fresh(loop, Refine(**SMALL, random_state=seed))
        found.append([precisions(learner, test, (1, 3)) for learner in (loop.learner, anew)])
    return found


def flat(seeds: int) -> None:
    """Roots are leaves and nothing is known at first."""
    print("| answers | loop P@1 P@3 | fresh P@1 P@3 | loop - fresh |\n|---|---|---|---|")
    found: dict[int, list[list[list[float]]]] = {}
    for seed in range(seeds):
        features, truth = drawn(tree((20,), exhaustive=False), 2000, seed, noise=0.5)
        train, test = np.arange(1000), Dataset(truth.take(np.arange(1000, 2000)), features[1000:])
        dataset, oracle = with_coarse(features[train], truth.take(train), 0.0), Truth(truth.take(train))
        learner = Refine(**SMALL, random_state=seed)
        loop = ActiveLoop(dataset, learner, ExpectedGain(random_state=seed), oracle, batch_size=100)
        for rounds in (2, 4, 8, 12, 16):
            loop.run(rounds=rounds)
            anew = fresh(loop, Refine(**SMALL, random_state=seed))
            pair = [precisions(learner, test, (1, 3)) for learner in (loop.learner, anew)]
            found.setdefault(100 * rounds, []).append(pair)
    for answers, pairs in found.items():
        ours, anew = np.array(pairs).swapaxes(0, 1)
        print(f"| {answers} | {means(ours)} | {means(anew)} | {with_error(ours - anew)} |")


def mirflickr(seeds: int, path: Path = MIRFLICKR) -> None:
    """Groups, what is in a picture, and what it is clearly about (x_r1, inside x)."""
    if not path.exists():
        print(f"skipped: {path} is not there")
        return
    truth, features, test = _mirflickr(path)
    print("| coarse known | loop P@1 P@3 P@5 | fresh P@1 P@3 P@5 | loop - fresh |\n|---|---|---|---|")
    for share in (0.5, 1.0):
        rows = []
        for seed in range(seeds):
            dataset = with_coarse(features, truth, share, seed)
            learner, strategy = Refine(random_state=seed), ExpectedGain(random_state=seed)
            loop = ActiveLoop(dataset, learner, strategy, Truth(truth), batch_size=100).run(rounds=10)
            anew = fresh(loop, Refine(random_state=seed))
            rows.append([precisions(each, test, (1, 3, 5)) for each in (loop.learner, anew)])
            print(share, seed, np.round(rows[-1], 4).tolist(), file=sys.stderr, flush=True)
        ours, anew = np.array(rows).swapaxes(0, 1)
        print(f"| {share:.0%} | {means(ours)} | {means(anew)} | {with_error(ours - anew)} |", flush=True)


def _mirflickr(path: Path) -> tuple[Labels, np.ndarray, Dataset]:
    """The true labels and features of the training part, and the test part."""
    arrays = np.load(path)
    names = arrays["fine"].tolist()
    narrower = {name.removesuffix("_r1"): name for name in names if name.endswith("_r1")}
    groups = {
        f"group {group}": {
            "exhaustive": True,
            "children": {
                name: [narrower[name]] if name in narrower else None
                for name, parent in zip(names, arrays["parent"], strict=True)
                if parent == place and not name.endswith("_r1")
            },
        }
        for place, group in enumerate(arrays["coarse"].tolist())
    }
    taxonomy = Taxonomy(groups)
    true = np.zeros((len(arrays["Y"]), len(taxonomy)), np.int8)
    for place, name in enumerate(names):
        true[:, taxonomy.index(name)] = arrays["Y"][:, place]
    for concept in taxonomy.preorder[::-1].tolist():  # four pictures are clearly of people and not of people
        if taxonomy.parents[concept] >= 0:
            true[:, taxonomy.parents[concept]] |= true[:, concept]
    truth = Labels(taxonomy, true[:, taxonomy.roots])
    items, concepts = np.nonzero(truth.states(concepts=np.arange(len(taxonomy))) == UNKNOWN)
    truth.record(items, concepts, true[items, concepts], "imported")
    features = arrays["X"].astype(np.float32)
    train, test = (np.flatnonzero(arrays["split"] == part) for part in (0, 2))
    return truth.take(train), features[train], Dataset(truth.take(test), features[test])


# -- what lessons are worth --------------------------------------------------------------------------------------------


def known_below_relevant(taxonomy: Taxonomy, states: np.ndarray, *rest: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Lessons as they were before: known states below known relevant parents, each with weight 1."""
    values, _ = lessons(taxonomy, states, *rest)
    parents = taxonomy.parents
    return values, ((states != UNKNOWN) & ((parents < 0) | (states[:, parents] == RELEVANT))).astype(np.float64)


def ablation(seeds: int) -> None:
    """Three levels, not exhaustive, all coarse labels, and 2 000 answers to random fine questions."""
    kinds: dict[str, Callable[[int], Learner]] = {
        "refine": lambda seed: Refine(**SMALL, random_state=seed),
        "factored": lambda seed: Factored(hidden=(32,), epochs=20, random_state=seed),
        "coarse-prior": lambda seed: CoarsePrior(**SMALL, random_state=seed),
    }
    print("| learner | lessons P@1 P@3 | as before P@1 P@3 | difference |\n|---|---|---|---|")
    for name, make in kinds.items():
        rows = []
        for seed in range(seeds):
            features, truth = drawn(tree((4, 3, 3), exhaustive=False), 3000, seed)
            train, held_out = np.arange(1000), np.arange(1000, 3000)
            dataset, answers = with_coarse(features[train], truth.take(train), 1.0), truth.states()
            items, concepts = dataset.labels.unknown()
            some = np.random.default_rng(seed).permutation(len(items))[:2000]
            items, concepts = items[some], concepts[some]
            dataset.labels.record(items, concepts, answers[items, concepts], "annotated")
            test = Dataset(truth.take(held_out), features[held_out])
            now = make(seed).fit(dataset.features, dataset.labels)
            with ExitStack() as stack:
                for module in ("fine_stage", "factored", "warm"):
                    stack.enter_context(patch(f"ramify.learners.{module}.lessons", known_below_relevant))
                before = make(seed).fit(dataset.features, dataset.labels)
                rows.append([precisions(learner, test, (1, 3)) for learner in (now, before)])
        now_, before_ = np.array(rows).swapaxes(0, 1)
        print(f"| {name} | {means(now_)} | {means(before_)} | {with_error(now_ - before_)} |", flush=True)


# -- whether opinions may be believed ----------------------------------------------------------------------------------


def opinions(seeds: int) -> None:
    """Two levels, exhaustive: 100 warm items, and 1 000 answers to random fine questions."""
    p, true = [], []
    for seed in range(seeds):
        features, truth = drawn(tree((6, 5), exhaustive=True), 2000, seed)
        dataset, answers = with_coarse(features, truth, 1.0), truth.states()
        items, concepts = dataset.labels.unknown()
        warm = items < 100
        some = warm | (np.random.default_rng(seed).permutation(len(items)) < 1000)
        items, concepts = items[some], concepts[some]
        dataset.labels.record(items, concepts, answers[items, concepts], "annotated")
        learner = Refine(**SMALL, random_state=seed).fit(features, dataset.labels)
        unknown = dataset.labels.states() == UNKNOWN
        p.append(learner.opinions(features, dataset.labels)[:, : unknown.shape[1]][unknown])
        true.append(answers[unknown])
    _bins(np.concatenate(p), np.concatenate(true))


def reliability(path: str, warm: int, seeds: int, memory: str | None) -> None:
    """The same on real data: of the unknown entries of 3 000 training items."""
    p, true = [], []
    for seed in range(seeds):
        parts = benchmark(read(path), warm=warm, seed=seed)
        learner = Refine(random_state=seed, memory=memory).fit(parts.train.features, parts.train.labels)
        shown = np.sort(np.random.default_rng(seed).permutation(parts.pool)[:3000])
        labels = parts.train.labels.take(shown)
        unknown = labels.states() == UNKNOWN
        p.append(learner.opinions(parts.train.features[shown], labels)[:, : unknown.shape[1]][unknown])
        true.append(parts.answers.states(shown)[unknown])
    _bins(np.concatenate(p), np.concatenate(true))


def _bins(p: np.ndarray, true: np.ndarray) -> None:
    print("| opinion | entries | mean | share true |\n|---|---|---|---|")
    place = np.minimum((p * 10).astype(int), 9)
    gap = 0.0
    for n in range(10):
        of_bin = place == n
        if of_bin.any():
            mean, share = p[of_bin].mean(dtype=np.float64), true[of_bin].mean()
            gap += of_bin.mean() * abs(mean - share)
            print(f"| {n / 10:.1f} to {n / 10 + 0.1:.1f} | {of_bin.sum()} | {mean:.3f} | {share:.3f} |")
    print(f"\nExpected calibration error {gap:.4f}, Brier score {((p - true) ** 2).mean():.4f}.")


def main(what: str, *rest: str) -> None:
    if what == "reliability":
        path, warm, *more = rest
        reliability(path, int(warm), int(more[0]) if more else 3, more[1] if len(more) > 1 else None)
    elif what == "mirflickr":
        mirflickr(int(rest[0]) if rest else 2, Path(rest[1]) if len(rest) > 1 else MIRFLICKR)
    else:
        runs = {"loops": loops, "flat": flat, "lessons": ablation, "opinions": opinions}
        runs[what](int(rest[0]) if rest else 4)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
