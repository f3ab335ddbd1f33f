"""The paper's claims, each held against what was measured: pure functions over results, verdicts with their figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import pearsonr, spearmanr

METRICS = ("p@1", "p@3", "p@5")
RIVALS = ("fully-supervised", "leml", "one-class")
NOT_MEASURED = "not measured"

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
    >>> first_everywhere(rows, "pseudo-label").text
    'pseudo-label is better than leml in every cell of the table'
    """
    values = {(row["ratio"], row["warm"], row["learner"]): row for row in summary}
    present = [name for name in RIVALS if any(learner == name for _, _, learner in values)]
    text = f"{ours} is better than {' and '.join(present) or 'its rivals'} in every cell of the table"
    ahead, lost = 0, []
    for ratio, warm, learner in values:
        if learner != ours:
            continue
        for metric in METRICS:
            rivals = {
                name: value
                for name in present
                if (value := values.get((ratio, warm, name), {}).get(metric)) is not None
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
        return Claim(text, NOT_MEASURED, "")
    evidence = f"ahead in {ahead} of {cells} cells" + (f"; behind at {', '.join(lost[:3])}" if lost else "")
    return Claim(text, _verdict(ahead, cells), evidence + (" ..." if len(lost) > 3 else ""))


def supervised_ahead(summary: Results) -> Claim:
    """Whether learning from the warm set alone beats LEML, and OCC, in half of the cells or more."""
    text = "FS, which sees the warm set only, is ahead of LEML and of OCC in many cells"
    values = {(row["ratio"], row["warm"], row["learner"]): row for row in summary}
    counts = {name: [0, 0] for name in RIVALS[1:]}
    for (ratio, warm, learner), row in values.items():
        own = values.get((ratio, warm, "fully-supervised"))
        if learner in counts and own is not None:
            for metric in METRICS:
                if row[metric] is not None and own[metric] is not None:
                    counts[learner][0] += own[metric] > row[metric]
                    counts[learner][1] += 1
    if not all(of for _, of in counts.values()):
        return Claim(text, NOT_MEASURED, "")
    evidence = ", ".join(f"ahead of {name} in {won} of {of} cells" for name, (won, of) in counts.items())
    return Claim(text, _verdict(sum(won >= of / 2 for won, of in counts.values()), len(counts)), evidence)


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
    return Claim(text, _verdict(held, len(others)), "P@1 on test: " + "; ".join(said))


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
    return Claim(text, _verdict(int(losses[-1] < ones) + int(losses[-1] < chance), 2), evidence)


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


def asking_order(summary: Results, learner: str) -> Claim:
    """Whether look-ahead and uncertainty are above random questions, and look-ahead above uncertainty, mostly.

    The paper's own Table 3 has seven of nine such comparisons on MirFlickr, and all nine on COCO.
    """
    text = f"with {learner}, look-ahead and uncertainty mostly ask better than chance, and look-ahead better than it"
    rows = {row["strategy"]: row for row in summary}
    pairs = [("look-ahead", "random"), ("uncertainty", "random"), ("look-ahead", "uncertainty")]
    held, of, said = 0, 0, []
    for better, worse in pairs:
        areas = [[rows.get(name, {}).get(f"auc_{metric}") for name in (better, worse)] for metric in METRICS]
        compared = [(high, low) for high, low in areas if high is not None and low is not None]
        if not compared:
            return Claim(text, NOT_MEASURED, "")
        held, of = held + sum(high > low for high, low in compared), of + len(compared)
        shown = ", ".join(f"{high - low:+.3f}" for high, low in compared)
        said.append(f"{better} - {worse} {shown}")
    verdict = "holds" if held >= 7 * of / 9 else "holds in part" if held >= of / 3 else "does not hold"
    return Claim(text, verdict, f"AUC of P@1, P@3, P@5: {'; '.join(said)} ({held} of {of})")


def _verdict(held: int, of: int) -> str:
    return "holds" if held == of else "does not hold" if held == 0 else "holds in part"
