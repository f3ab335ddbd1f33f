"""What choosing questions costs: against a forward pass over the pool, against summing scores, and against ALiPy.

- A COCO-sized set (82 081 x 2048 features, 12 coarse / 80 fine concepts, 80 warm items): CPU time of each strategy's
  query for 1 000 answers relative to one plain forward pass over all items, its peak memory, and ExpectedGain's steps.
- The best 1 000 of 10^8 streamed scores, relative to summing them.
- 1 000 x 50 features with 20 labels: one answer, relative to AUDI of ALiPy in an environment of its own.

One thread, CPU time, medians of interleaved rounds. About five minutes.

Run: python benchmarks/query.py
"""

import cProfile
import ctypes
import pstats
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from alipy_audi import audi_seconds
from threadpoolctl import threadpool_limits

from ramify.labels import Labels
from ramify.learners import PseudoLabel, Refine
from ramify.strategies import ExpectedGain, LookAhead, Random, Uncertainty
from ramify.strategies.select import Best
from ramify.taxonomy import Taxonomy

ITEMS, WIDTH, WARM, ANSWERS, ROUNDS = 82_081, 2048, 80, 1000, 3
PART = 10_000  # items that the coarse stage is trained on: how well it is does not change what a query costs
MEGABYTES = 300  # that a query may take on top of what was there
COCO = {  # fine concepts of each coarse one, and how often it is relevant
    "person": (1, 0.45), "vehicle": (8, 0.14), "outdoor": (5, 0.06), "animal": (10, 0.15), "accessory": (5, 0.08),
    "sports": (10, 0.12), "kitchen": (7, 0.10), "food": (10, 0.10), "furniture": (6, 0.14), "electronic": (6, 0.08),
    "appliance": (5, 0.05), "indoor": (7, 0.09),
}  # fmt: skip
PEAK = Path("/proc/self/clear_refs")  # where Linux is told to measure the peak of resident memory anew
SCORES, BLOCK = 10**8, 10**6
SMALL_ITEMS, SMALL_WIDTH, SMALL_COARSE, SMALL_FINE, SMALL_WARM, SMALL_ANSWERS = 1000, 50, 4, 5, 40, 100
FASTER = 100
OWN = ("expected_gain.py", "evidence.py", "groups.py", "refine.py")
SHORT = 50  # steps of the coarse stage: training is not measured here
STEPS = {  # what the functions of ExpectedGain and of Refine's evidence do
    "features of a sample": ("_leading", "_stages_along"),
    "their leading directions": ("leading",),
    "P(c | x), features along directions": ("look", "stages", "given_parent", "parents_relevant", "spread", "doubles"),
    "T and S matrices": ("of",),
    "gains": ("forms",),
    "groups and shortlists": ("list_groups",),
    "greedy picks": ("__init__", "take", "take_best", "gains", "ask", "_turn", "next"),
}


broken: list[str] = []


def held(what: str, value: float, bound: float, *, at_least: bool = False) -> str:
    """The words for a bound; one that does not hold is remembered."""
    if value < bound if at_least else value > bound:
        broken.append(what)
    return f"(at {'least' if at_least else 'most'} {bound:g})"


def cpu_seconds(work: Callable[..., object], *arguments: object) -> float:
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def cost(work: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """CPU seconds, and the megabytes that the resident memory rises by; NaN where the kernel does not tell its peak."""
    if not PEAK.exists():
        return cpu_seconds(work, *arguments), float("nan")
    ctypes.CDLL(None).malloc_trim(0)  # memory that was freed but kept for later would hide what is taken anew
    PEAK.write_text("5")  # forgets the peak so far
    before = resident("VmRSS")
    seconds = cpu_seconds(work, *arguments)
    return seconds, (resident("VmHWM") - before) / 1e6


def resident(name: str) -> int:
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024


def tree(sizes: dict[str, int]) -> Taxonomy:
    return Taxonomy(
        {name: {"exhaustive": True, "children": [f"{name} {k}" for k in range(n)]} for name, n in sizes.items()}
    )


def know_all(labels: Labels, truth: np.ndarray, n_items: int) -> None:
    items, concepts = labels.unknown(slice(n_items))
    labels.record(items, concepts, truth[items, concepts].astype(int), "annotated")


def coco_sized() -> tuple[np.ndarray, Labels]:
    """Non-negative features, as a pretrained net gives them, that tell the fine concepts; labels of the coarse ones."""
    rng = np.random.default_rng(0)
    sizes, rates = (np.array(part) for part in zip(*COCO.values(), strict=True))
    coarse = rng.random((ITEMS, len(COCO))) < rates
    empty = np.flatnonzero(~coarse.any(axis=1))
    coarse[empty, rng.choice(len(COCO), len(empty), p=rates / rates.sum())] = True
    truth = rng.random((ITEMS, sizes.sum())) < 0.1
    for c, (first, size) in enumerate(zip(np.cumsum(sizes) - sizes, sizes, strict=True)):
        common = 1 / np.arange(1, size + 1)  # some fine concepts are much more frequent than others
        truth[np.arange(ITEMS), first + rng.choice(size, ITEMS, p=common / common.sum())] = True
        truth[:, first : first + size] &= coarse[:, [c]]
    directions = 0.5 * rng.standard_normal((sizes.sum(), WIDTH), np.float32)
    features = rng.standard_normal((ITEMS, WIDTH), np.float32)
    for first in range(0, ITEMS, 8192):
        block = features[first : first + 8192]
        block += 0.5 + truth[first : first + 8192].astype(np.float32) @ directions
        np.maximum(block, 0, out=block)
    labels = Labels(tree(dict(zip(COCO, sizes.tolist(), strict=True))), coarse.astype(int))
    know_all(labels, truth, WARM)
    return features, labels


def whole_pool() -> None:
    features, labels = coco_sized()
    items, _ = labels.unknown()
    relevant = labels.states(concepts=labels.taxonomy.roots).sum(axis=1).mean()
    print(f"{ITEMS} items x {WIDTH} features, {relevant:.2f} relevant coarse concepts an item,")
    print(f"{len(items)} unknown entries in {len(np.unique(items))} items")
    learner = PseudoLabel(epochs=1, batch_size=1024, random_state=0).fit(features, labels)
    work: dict[str, Callable[[], object]] = {"a forward pass": partial(learner.predict_proba, features)}
    for strategy in (Random(random_state=0), Uncertainty(random_state=0), LookAhead(random_state=0)):
        work[strategy.name] = partial(strategy.query, learner, features, labels, ANSWERS)
    costs = [{name: cost(one) for name, one in work.items()} for _ in range(ROUNDS)]
    forward = statistics.median(each["a forward pass"][0] for each in costs)
    print(f"a forward pass over all items {forward:.2f} s; relative to it, for {ANSWERS} answers:")
    for name, bound in (("random", None), ("uncertainty", 1.3), ("look-ahead", 7)):
        seconds = statistics.median(each[name][0] for each in costs)
        print_cost(name, seconds / forward, max(each[name][1] for each in costs), bound)
    refine = (
        Refine(steps=SHORT, random_state=0).fit(features[:PART], labels.take(slice(PART))).partial_fit(features, labels)
    )
    profile = cProfile.Profile(time.process_time)
    query = partial(ExpectedGain(random_state=0).query, refine, features, labels, ANSWERS)
    seconds, megabytes = cost(profile.runcall, query)
    print_cost("expected-gain", seconds / forward, megabytes)
    print_steps(profile)


def print_cost(name: str, ratio: float, megabytes: float, bound: float | None = None) -> None:
    words = held(f"the time of {name}", ratio, bound) if bound else ""
    limit = held(f"the memory of {name}", megabytes, MEGABYTES)
    print(f"  {name:14} {ratio:5.2f} x {words:15} and {megabytes:4.0f} MB {limit}")


def print_steps(profile: cProfile.Profile) -> None:
    """The share of each of ExpectedGain's functions: its own time, and that of all it calls outside of the strategy."""
    timed = pstats.Stats(profile).stats  # (file, line, name): (..., seconds with callees, {caller: (..., seconds)})
    own = [where for where in timed if Path(where[0]).name in OWN]

    def step(where: tuple[str, int, str]) -> str:
        if where[2].startswith("<"):  # a comprehension belongs to the function that it stands in
            return step(next(iter(timed[where][-1])))
        return next((name for name, functions in STEPS.items() if where[2] in functions), "the rest")

    seconds: Counter[str] = Counter()
    for where in own:
        *_, taken, callers = timed[where]
        seconds[step(where)] += taken
        for caller in set(own) & callers.keys():
            seconds[step(caller)] -= callers[caller][-1]
    for name, taken in seconds.most_common():
        print(f"    {name:36} {taken / seconds.total():6.1%}")


def selection() -> None:
    items, concepts = np.divmod(np.arange(BLOCK), 10)
    ratios = []
    for seed in range(ROUNDS):
        rng, best = np.random.default_rng(seed), Best(ANSWERS, seed)
        summing = selecting = 0.0
        for number in range(SCORES // BLOCK):
            scores = rng.random(BLOCK, np.float32)  # every block is new: one seen before has nothing to select
            first = number % 2  # whoever comes second finds the scores in the cache
            for way in (first, 1 - first):
                if way:
                    summing += cpu_seconds(scores.sum)
                else:
                    selecting += cpu_seconds(best.offer, scores, items, concepts)
        selecting += cpu_seconds(best.ranked)
        ratios.append(selecting / summing)
    ratio = statistics.median(ratios)
    print(f"the best {ANSWERS} of {SCORES} scores: {ratio:.2f} x summing them {held('selecting', ratio, 3)}")


def against_alipy() -> None:
    """Every coarse concept is relevant everywhere: nothing is deduced, and both choose among the same entries."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((SMALL_ITEMS, SMALL_WIDTH))
    signal = features @ rng.standard_normal((SMALL_WIDTH, SMALL_COARSE * SMALL_FINE))
    truth = signal > np.quantile(signal, 0.85)
    groups = signal.reshape(SMALL_ITEMS, SMALL_COARSE, SMALL_FINE)
    np.put_along_axis(truth.reshape(groups.shape), groups.argmax(axis=2)[..., None], True, axis=2)
    audi = audi_seconds(features, truth, SMALL_WARM, SMALL_ANSWERS)
    labels = Labels(tree({f"c{c}": SMALL_FINE for c in range(SMALL_COARSE)}), np.ones((SMALL_ITEMS, SMALL_COARSE), int))
    know_all(labels, truth, SMALL_WARM)
    if audi:
        ready, retrained = audi["ready"] * 1000, audi["retrained"] * 1000
        print(f"ALiPy's AUDI: {ready:.0f} ms an answer with its model at hand, {retrained:.0f} ms as it is by default")
    for strategy, learner in ((Uncertainty(random_state=0), PseudoLabel(epochs=1, random_state=0)),
                              (ExpectedGain(random_state=0), Refine(steps=SHORT, random_state=0))):  # fmt: skip
        learner.fit(features, labels)
        single, batch = (
            statistics.median(cpu_seconds(strategy.query, learner, features, labels, n) for _ in range(5 * ROUNDS))
            for n in (1, SMALL_ANSWERS)
        )
        print(f"{strategy.name}: {single * 1000:.1f} ms for one answer, {batch * 1000:.1f} ms for {SMALL_ANSWERS}")
        if audi:
            times = audi["ready"] * SMALL_ANSWERS / batch
            bound = held(f"{strategy.name} against AUDI", times, FASTER, at_least=True)
            print(f"  {times:.0f} times faster an answer {bound}; {audi['ready'] / single:.0f} times for one alone")


def main() -> None:
    torch.set_num_threads(1)
    with threadpool_limits(1):
        selection()  # first: memory that others left behind would make its beginning quicker
        whole_pool()
        against_alipy()
    if broken:
        sys.exit("a bound does not hold: " + ", ".join(broken))


if __name__ == "__main__":
    main()
