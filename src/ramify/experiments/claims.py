"""The paper's claims, each held against what was measured: pure functions over results, verdicts with their figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import pearsonr, spearmanr

METRICS = ("p@1", "p@3", "p@5")
RIVALS = ("fully-supervised", "leml", "one-class")

Results = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Claim:
    """What the paper says, whether it holds here, and the figures that say so."""

    text: str
    verdict: str
    """"holds", "does not hold", "holds in part", or "not measured"."""
    evidence: str


def first_everywhere(summary: Results, ours: str) -> Claim:
    """Whether the paper's learner is ahead of its three rivals at every size of the warm set.

    >>> row = {"ratio": None, "warm": 8, "p@3": None, "p@5": None}
    >>> rows = [{**row, "learner": "leml", "p@1": 0.5}, {**row, "learner": "pseudo-label", "p@1": 0.6}]
    >>> first_everywhere(rows, "pseudo-label").verdict
    'holds'
    """
    text = f"{ours} is better than FS, LEML and OCC in every cell of the table"
    values = {(row["ratio"], row["warm"], row["learner"]): row for row in summary}
    ahead, lost = 0, []
    for ratio, warm, learner in values:
        if learner != ours:
            continue
        for metric in METRICS:
            rivals = {
                name: value for name in RIVALS if (value := values.get((ratio, warm, name), {}).get(metric)) is not None
            }
            own = values[ratio, warm, ours][metric]
            if own is None or not rivals:
                continue
            best = max(rivals, key=lambda name: rivals[name])
            if own > rivals[best]:
                ahead += 1
            else:
                lost.append(f"{metric.upper()} with {warm}: {best} {rivals[best]:.3f}, it {own:.3f}")
    cells = ahead + len(lost)
    if not cells:
        return Claim(text, "not measured", "")
    evidence = f"ahead in {ahead} of {cells} cells" + (f"; behind at {', '.join(lost[:3])}" if lost else "")
    return Claim(text, _verdict(ahead, cells), evidence + (" ..." if len(lost) > 3 else ""))


def supervised_ahead(summary: Results) -> Claim:
    """Whether learning from the warm set alone often beats LEML and OCC."""
    text = "FS, which sees the warm set only, is ahead of LEML and OCC in many cases"
    values = {(row["ratio"], row["warm"], row["learner"]): row for row in summary}
    counts = {name: [0, 0] for name in RIVALS[1:]}
    for (ratio, warm, learner), row in values.items():
        own = values.get((ratio, warm, "fully-supervised"))
        if learner in counts and own is not None:
            for metric in METRICS:
                if row[metric] is not None and own[metric] is not None:
                    counts[learner][0] += own[metric] > row[metric]
                    counts[learner][1] += 1
    ahead, cells = (sum(part) for part in zip(*counts.values(), strict=True))
    if not cells:
        return Claim(text, "not measured", "")
    evidence = ", ".join(f"ahead of {name} in {won} of {of} cells" for name, (won, of) in counts.items())
    return Claim(text, "holds" if ahead >= cells / 2 else _verdict(ahead, cells), evidence)


def overfitting(curves: Results, warm: int) -> Claim:
    """Whether LEML and OCC lose again what they had reached early, on test, where nothing stops them."""
    text = "LEML and OCC soon reach what FS reaches or more, then fall by overfitting"
    said, falls = [], []
    for name in RIVALS:
        histories = [
            [epoch["test_p@1"] for epoch in result["history"]]
            for result in curves
            if result["learner"] == name and result["warm"] == warm and result["history"]
        ]
        if not histories:
            continue
        length = min(map(len, histories))
        mean = np.mean([history[:length] for history in histories], axis=0)
        best = int(np.argmax(mean))
        said.append(f"{name} {mean[best]:.3f} after epoch {best + 1}, {mean[-1]:.3f} after {length}")
        falls.append((name, float(mean[best] - mean[-1]), float(mean[best])))
    if len(falls) < len(RIVALS):
        return Claim(text, "not measured", "; ".join(said))
    (_, _, supervised), *others = falls
    held = sum(fall > 0.01 and best >= supervised - 0.01 for _, fall, best in others)
    return Claim(text, _verdict(held, len(others)), "P@1 on test: " + "; ".join(said))


def recovers(results: Results, ours: str, warm: int) -> Claim:
    """Whether pseudo-labels are nearer to the truth than calling all unknown entries relevant, or tossing a coin."""
    text = f"the pseudo-labels of {ours} recover unknown entries better than all ones and better than chance"
    rows = [r for r in results if r["learner"] == ours and r["warm"] == warm and r["recovery_f1_loss"] is not None]
    if not rows:
        return Claim(text, "not measured", "")
    share = float(np.mean([row["unknown_share"] for row in rows]))
    ones, chance = bars(share)
    loss = float(np.mean([row["recovery_f1_loss"] for row in rows]))
    evidence = f"F1-loss {loss:.3f}, all ones {ones:.3f}, chance {chance:.3f} ({share:.0%} of the entries are relevant)"
    return Claim(text, _verdict((loss < ones) + (loss < chance), 2), evidence)


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
        return Claim(text, "not measured", "")
    x, y = zip(*points, strict=True)
    r, rank = float(pearsonr(x, y).statistic), float(spearmanr(x, y).statistic)
    verdict = "holds" if r >= 0.7 else "holds in part" if r >= 0.3 else "does not hold"
    return Claim(text, verdict, f"r = {r:.2f}, by ranks {rank:.2f}, over {len(points)} epochs of all seeds")


def asking_order(summary: Results, learner: str) -> Claim:
    """Whether look-ahead is above uncertainty, and both above random questions."""
    text = f"with {learner}, look-ahead asks better than uncertainty, and uncertainty better than chance"
    rows = {row["strategy"]: row for row in summary}
    pairs = [("look-ahead", "uncertainty"), ("uncertainty", "random")]
    held, said = 0, []
    for better, worse in pairs:
        for metric in METRICS:
            high, low = (rows.get(name, {}).get(f"auc_{metric}") for name in (better, worse))
            if high is not None and low is not None:
                held += high > low
                said.append(f"{metric.upper()} {better} {high:.3f}, {worse} {low:.3f}")
    if not said:
        return Claim(text, "not measured", "")
    evidence = "; ".join(said)
    return Claim(text, _verdict(held, len(said)), evidence)


def _verdict(held: int, of: int) -> str:
    return "holds" if held == of else "does not hold" if held == 0 else "holds in part"
