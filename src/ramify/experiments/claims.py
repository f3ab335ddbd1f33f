"""The paper's claims, each held against what was measured: pure functions over results, verdicts with their figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import pearsonr, spearmanr
from scipy.stats import t as student

METRICS = ("p@1", "p@3", "p@5")
RIVALS = ("fully-supervised", "leml", "one-class")
NOT_MEASURED = "not measured"

Results = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Claim:
    """What the paper says, whether it holds here, and the figures that say so."""

    text: str
    verdict: str
    """"holds", "does not hold", "holds in part", "undecided" over these seeds, or "not measured"."""
    evidence: str


def lead(own: Mapping[int, float], other: Mapping[int, float]) -> int:
    """1 for ahead, -1 for behind, 0 where the paired difference over the seeds of both does not decide (95 %).

    >>> lead({0: 0.6, 1: 0.7, 2: 0.8}, {0: 0.5, 1: 0.61, 2: 0.69}), lead({0: 0.6, 1: 0.7}, {0: 0.5, 1: 0.71})
    (1, 0)
    """
    differences = np.array([own[seed] - other[seed] for seed in own.keys() & other.keys()])
    if len(differences) < 2:
        return 0
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    decides = abs(differences.mean()) > student.ppf(0.975, len(differences) - 1) * error
    return int(np.sign(differences.mean())) if decides else 0


def first_everywhere(results: Results, ours: str) -> Claim:
    """Whether the paper's learner is ahead of each of its three rivals at every size of the warm set.

    >>> row = {"ratio": None, "warm": 8, "p@3": None, "p@5": None}
    >>> of = lambda learner, *values: [{**row, "learner": learner, "seed": s, "p@1": v} for s, v in enumerate(values)]
    >>> claim = first_everywhere(of("leml", 0.5, 0.4) + of("pseudo-label", 0.61, 0.5), "pseudo-label")
    >>> claim.text, claim.evidence
    ('pseudo-label is better than leml in every cell of the table', 'ahead in 1 of 1 cells')
    """
    values = _by_cell(results)
    present = [name for name in RIVALS if any(learner == name for _, learner in values)]
    text = f"{ours} is better than {', '.join(present) or 'its rivals'} in every cell of the table"
    leads, lost = [], []
    for (cell, learner), own in values.items():
        rivals = {name: values[cell, name] for name in present if (cell, name) in values}
        if learner != ours or not rivals:
            continue
        leads.append(min(lead(own, of_rival) for of_rival in rivals.values()))
        if leads[-1] < 0:
            best = max(rivals, key=lambda name: _mean(rivals[name]))
            warm, metric = cell[1:]
            lost.append(f"{metric.upper()} with {warm}: {best} {_mean(rivals[best]):.3f}, it {_mean(own):.3f}")
    if not leads:
        return Claim(text, NOT_MEASURED, "")
    evidence = _counted(leads) + (f": {', '.join(lost[:3])}" if lost else "") + (" ..." if len(lost) > 3 else "")
    return Claim(text, _verdict(leads), evidence)


def supervised_ahead(results: Results) -> Claim:
    """Whether learning from the warm set alone beats LEML, and OCC, in half of the cells or more."""
    text = "FS, which sees the warm set only, is ahead of LEML and of OCC in many cells"
    values = _by_cell(results)
    leads: dict[str, list[int]] = {name: [] for name in RIVALS[1:]}
    for (cell, learner), of_rival in values.items():
        if learner in leads and (cell, RIVALS[0]) in values:
            leads[learner].append(lead(values[cell, RIVALS[0]], of_rival))
    if not all(leads.values()):
        return Claim(text, NOT_MEASURED, "")
    evidence = "; ".join(f"{name}: {_counted(found)}" for name, found in leads.items())
    return Claim(text, _verdict([_many(found, 1 / 2) for found in leads.values()]), evidence)


def _by_cell(results: Results) -> dict[tuple[tuple[Any, Any, str], str], dict[int, float]]:
    """The value of each seed, by ((ratio, warm items, metric), learner)."""
    values: dict[tuple[tuple[Any, Any, str], str], dict[int, float]] = {}
    for row in results:
        for metric in METRICS:
            if row[metric] is not None:
                cell = (row["ratio"], row["warm"], metric)
                values.setdefault((cell, row["learner"]), {})[row["seed"]] = row[metric]
    return values


def overfitting(curves: Results, warm: int) -> Claim:
    """Whether LEML and OCC lose again what they had reached early, on test, where nothing stops them; more than FS."""
    text = "LEML and OCC soon reach what FS reaches or more, then fall by overfitting"
    said, means = [], {}
    for name in RIVALS:
        histories = [
            [epoch["test_p@1"] for epoch in result["history"]]
            for result in curves
            if result["learner"] == name and result["warm"] == warm and result["history"]
        ]
        if histories:
            length = min(map(len, histories))
            mean = means[name] = np.mean([history[:length] for history in histories], axis=0)
            best = int(np.argmax(mean))
            said.append(f"{name} {mean[best]:.3f} after epoch {best + 1}, {mean[-1]:.3f} after {length}")
    if len(means) < len(RIVALS):
        return Claim(text, NOT_MEASURED, "; ".join(said))
    supervised, *others = means.values()
    reached, fallen = supervised.max(), supervised.max() - supervised[-1]
    held = sum(
        bool(
            mean.max() - mean[-1] > max(0.01, fallen)
            and mean.max() >= reached - 0.01
            and np.argmax(mean) <= (len(mean) - 1) / 2
        )
        for mean in others
    )
    return Claim(text, _share(held, len(others)), "P@1 on test: " + "; ".join(said))


def recovers(curves: Results, ours: str, warm: int) -> Claim:
    """Whether pseudo-labels are nearer to the truth than calling all unknown entries relevant, or tossing a coin.

    At the end of the curves, where nothing stopped the learner; the evidence says how it was on the way.
    """
    text = f"the pseudo-labels of {ours} recover unknown entries better than all ones and better than chance"
    rows = [row for row in curves if row["learner"] == ours and row["warm"] == warm and row["history"]]
    if not rows or "recovery_f1_loss" not in rows[0]["history"][0]:
        return Claim(text, NOT_MEASURED, "")
    share = float(np.mean([row["unknown_share"] for row in rows]))
    ones, chance = bars(share)
    length = min(len(row["history"]) for row in rows)
    losses = np.mean([[e["recovery_f1_loss"] for e in row["history"][:length]] for row in rows], axis=0)
    evidence = (
        f"F1-loss {losses[-1]:.3f} in the last epoch ({losses.min():.3f} to {losses.max():.3f} on the way), "
        f"all ones {ones:.3f}, chance {chance:.3f} ({share:.0%} of the entries are relevant)"
    )
    return Claim(text, _share(int(losses[-1] < ones) + int(losses[-1] < chance), 2), evidence)


def bars(share: float) -> tuple[float, float]:
    """The F1-loss of calling all unknown entries relevant, and of a coin, where a share of them is relevant.

    >>> [round(bar, 3) for bar in bars(1.0)]
    [0.0, 0.333]
    """
    return 1 - 2 * share / (share + 1), 1 - share / (share + 0.5)


def correlation(points: Sequence[tuple[float, float]]) -> Claim:
    """Whether better recovered pseudo-labels go with better predictions, over epochs and seeds."""
    text = "recovery and classification performance are strongly correlated"
    if len(points) < 3 or len({x for x, _ in points}) < 2 or len({y for _, y in points}) < 2:
        return Claim(text, NOT_MEASURED, "")
    x, y = zip(*points, strict=True)
    r, rank = float(pearsonr(x, y).statistic), float(spearmanr(x, y).statistic)
    verdict = "holds" if r >= 0.7 else "holds in part" if r >= 0.3 else "does not hold"
    return Claim(text, verdict, f"r = {r:.2f}, by ranks {rank:.2f}, over {len(points)} epochs of all seeds")


def asking_order(areas: Mapping[str, Mapping[int, Mapping[str, float | None]]], learner: str) -> Claim:
    """Whether look-ahead and uncertainty are above random questions, and look-ahead above uncertainty, mostly.

    By the areas of each strategy and seed. The paper's own Table 3 has seven of nine such comparisons on MirFlickr, and
    all nine on COCO.
    """
    text = f"with {learner}, look-ahead mostly asks better than uncertainty, and both better than chance"
    leads, said = [], []
    for better, worse in (("look-ahead", "random"), ("uncertainty", "random"), ("look-ahead", "uncertainty")):
        shown = []
        for metric in METRICS:
            own, other = (
                {
                    seed: area
                    for seed, found in areas.get(name, {}).items()
                    if (area := found[f"auc_{metric}"]) is not None
                }
                for name in (better, worse)
            )
            if own and other:
                leads.append(lead(own, other))
                shown.append(f"{_mean(own) - _mean(other):+.3f}")
        if not shown:
            return Claim(text, NOT_MEASURED, "")
        said.append(f"{better} - {worse} {', '.join(shown)}")
    mostly = _many(leads, 7 / 9)
    in_part = leads.count(1) >= len(leads) / 3
    verdict = "holds in part" if mostly < 0 and in_part else _verdict([mostly])
    return Claim(text, verdict, f"AUC of P@1, P@3, P@5: {'; '.join(said)} ({_counted(leads)})")


def _mean(by_seed: Mapping[int, float]) -> float:
    return float(np.mean(list(by_seed.values())))


def _many(leads: Sequence[int], share: float) -> int:
    """1 where it leads in such a share of the comparisons, 0 where the undecided ones could bring it there, else -1."""
    least = share * len(leads)
    return 1 if leads.count(1) >= least else 0 if leads.count(1) + leads.count(0) >= least else -1


def _counted(leads: Sequence[int]) -> str:
    parts = [f"ahead in {leads.count(1)} of {len(leads)} cells"]
    parts += [f"undecided in {leads.count(0)}"] if 0 in leads else []
    return ", ".join(parts + ([f"behind in {leads.count(-1)}"] if -1 in leads else []))


def _verdict(leads: Sequence[int]) -> str:
    """Of a claim about all of them."""
    if 1 not in leads:
        return "does not hold" if -1 in leads else "undecided"
    return "holds" if set(leads) == {1} else "holds in part"


def _share(held: int, of: int) -> str:
    return _verdict([1] * held + [-1] * (of - held))
