"""The paper's claims against made-up results, whose verdicts are plain to see."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from ramify.experiments import claims
from ramify.experiments.printed import PRINTED


def rows(seeds=2, **values):
    """Results of one size: P@1, P@3 and P@5 of each learner, the same with every seed."""
    return [
        {"learner": name.replace("_", "-"), "ratio": -8, "warm": 9, "seed": seed, "p@1": one, "p@3": three, "p@5": five}
        for name, (one, three, five) in values.items()
        for seed in range(seeds)
    ]


def test_a_lead_is_one_where_a_paired_test_says_so():
    rng = np.random.default_rng(0)
    found = []
    for shift in rng.uniform(-0.4, 0.4, 200):
        own, other = rng.normal(shift, 0.3, 8), rng.normal(0, 0.3, 8)
        found.append(claims.lead(dict(enumerate(own)), {**dict(enumerate(other)), 99: 5.0}))
        test = ttest_rel(own, other)
        assert found[-1] == (np.sign(test.statistic) if test.pvalue < 0.05 else 0)
    assert set(found) == {-1, 0, 1}
    assert claims.lead({0: 0.9}, {0: 0.1}) == 0  # one seed says nothing of the spread


def test_what_seeds_do_not_decide_is_said():
    leml = [{**row, "p@1": row["p@1"] + 0.2 * row["seed"]} for row in rows(leml=(0.5, 0.4, 0.3))]
    claim = claims.first_everywhere(leml + rows(pseudo_label=(0.55, 0.4, 0.3)), "pseudo-label")
    assert claim.verdict == "undecided"
    assert claim.evidence == "ahead in 0 of 3 cells, undecided in 3"


def test_ahead_in_every_cell_in_some_and_in_none():
    rivals = {"fully_supervised": (0.5, 0.4, 0.3), "leml": (0.6, 0.3, 0.2), "one_class": (0.4, 0.35, 0.35)}
    for own, verdict, ahead in (
        ((0.7, 0.5, 0.4), "holds", 3),
        ((0.7, 0.5, 0.3), "holds in part", 2),
        ((0.5, 0.3, 0.35), "does not hold", 0),  # level is not ahead
    ):
        claim = claims.first_everywhere(rows(**rivals, pseudo_label=own), "pseudo-label")
        assert claim.verdict == verdict
        assert claim.evidence.startswith(f"ahead in {ahead} of 3 cells")
    assert "P@1 with 9: leml 0.600, it 0.500" in claim.evidence
    assert claims.first_everywhere([], "pseudo-label").verdict == "not measured"


def test_supervised_ahead_counts_both_rivals():
    claim = claims.supervised_ahead(
        rows(fully_supervised=(0.5, 0.4, 0.3), leml=(0.6, 0.3, 0.2), one_class=(0.4, 0.3, 0.2))
    )
    assert claim.verdict == "holds"
    assert claim.evidence == "leml: ahead in 2 of 3 cells, behind in 1; one-class: ahead in 3 of 3 cells"
    behind = rows(fully_supervised=(0.5, 0.4, 0.3), leml=(0.6, 0.5, 0.4), one_class=(0.4, 0.3, 0.2))
    assert claims.supervised_ahead(behind).verdict == "holds in part"  # of LEML it is not
    assert claims.supervised_ahead(behind[:4]).verdict == "not measured"


def test_overfitting_is_a_fall_after_a_good_beginning():
    def curve(name, *values):
        return {"learner": name, "warm": 9, "history": [{"test_p@1": value} for value in values]}

    falling = [curve("fully-supervised", 0.5, 0.5), curve("leml", 0.55, 0.4), curve("one-class", 0.6, 0.3)]
    claim = claims.overfitting(falling, 9)
    assert claim.verdict == "holds"
    assert "leml 0.550 after epoch 1, 0.400 after 2" in claim.evidence
    all_fall = [curve("fully-supervised", 0.6, 0.2), *falling[1:]]  # not peculiar to them
    assert claims.overfitting(all_fall, 9).verdict == "does not hold"
    late = [falling[0], curve("leml", 0.4, 0.5, 0.6, 0.5), falling[2]]  # not soon
    assert claims.overfitting(late, 9).verdict == "holds in part"
    steady = [falling[0], curve("leml", 0.4, 0.55), curve("one-class", 0.3, 0.2)]  # rising; never as good as FS
    assert claims.overfitting(steady, 9).verdict == "does not hold"
    assert claims.overfitting(falling[:2], 9).verdict == "not measured"


def test_recovery_is_held_against_both_bars():
    def recovered(loss):
        history = [{"recovery_f1_loss": 0.1}, {"recovery_f1_loss": loss}]
        result = {"learner": "pseudo-label", "warm": 9, "history": history, "unknown_share": 0.5}
        return claims.recovers([result], "pseudo-label", 9)

    assert claims.bars(0.5) == (pytest.approx(1 / 3), 0.5)
    assert recovered(0.2).verdict == "holds"
    assert recovered(0.4).verdict == "holds in part"
    assert recovered(0.6).verdict == "does not hold"


def test_correlation_says_its_coefficient():
    claim = claims.correlation([(0.1, 0.2), (0.2, 0.4), (0.3, 0.6)])
    assert (claim.verdict, claim.evidence) == ("holds", "r = 1.00, by ranks 1.00, over 3 epochs of all seeds")
    assert claims.correlation([(0.1, 0.6), (0.2, 0.4), (0.3, 0.2)]).verdict == "does not hold"
    assert claims.correlation([(0.1, 0.6)]).verdict == "not measured"
    assert claims.correlation([(0.1, 0.6)] * 5).verdict == "not measured"  # nothing varies


def test_the_papers_own_table_3_holds():
    for numbers in PRINTED.values():
        own = {
            name: {key: {f"auc_{metric}": numbers.area(name, metric) for metric in claims.METRICS} for key in range(2)}
            for name in ("random", "uncertainty", "look-ahead")
        }
        assert claims.asking_order(own, "pseudo-label").verdict == "holds"


def test_asking_needs_look_ahead_above_uncertainty_above_chance():
    def asked(**areas):
        return {
            name.replace("_", "-"): {key: {f"auc_{metric}": area for metric in claims.METRICS} for key in range(2)}
            for name, area in areas.items()
        }

    assert claims.asking_order(asked(random=0.1, uncertainty=0.2, look_ahead=0.3), "refine").verdict == "holds"
    assert claims.asking_order(asked(random=0.2, uncertainty=0.1, look_ahead=0.3), "refine").verdict == "holds in part"
    assert claims.asking_order(asked(random=0.2, uncertainty=0.3), "refine").verdict == "not measured"
    assert claims.asking_order(asked(random=0.3, uncertainty=0.2, look_ahead=0.1), "refine").verdict == "does not hold"
    assert claims.asking_order(asked(random=0.3), "refine").verdict == "not measured"
