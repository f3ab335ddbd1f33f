"""What the figures show, read from the drawing: lines, bands, bars, and the words beside them."""

import re

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from ramify.experiments import figures


def lines_of(axes):
    """The drawn lines by the name in the legend: points of curves, heights of horizontal lines."""
    return {line.get_label(): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines}


def band_of(axes, number):
    """The lower and upper edge of a band, by x."""
    band = [part for part in axes.collections if isinstance(part, PolyCollection)][number]
    points = band.get_paths()[0].vertices
    x = np.unique(points[:, 0])
    edges = [[points[points[:, 0] == place, 1].min(), points[points[:, 0] == place, 1].max()] for place in x]
    return x, *np.array(edges).T


def words_of(path):
    """The words in an SVG file, which matplotlib notes beside their outlines."""
    return re.findall(r"<!-- (.*) -->", path.read_text(encoding="utf-8"))


def result(learner, seed, p1, history=(), *, warm=8, recovery=None, share=0.25):
    """A row of a comparison; the other metrics are told apart from P@1 by their size."""
    epochs = [dict(epoch) for epoch in history]
    return {
        "learner": learner, "ratio": None, "warm": warm, "seed": seed, "p@1": p1, "p@3": p1 / 2, "p@5": p1 / 4,
        "recovery_f1_loss": recovery, "seconds": 1.0, "history": epochs, "unknown_share": share,
    }  # fmt: skip


def epoch(p1, recovery=None):
    found = {"loss": 9.0, "p@1": p1, "p@3": p1 / 2, "p@5": p1 / 4, "validation": 0.99}
    return found | ({} if recovery is None else {"recovery_f1_loss": recovery})


RESULTS = [
    result("leml", 0, 0.9, [epoch(0.2), epoch(0.4), epoch(0.6)]),
    result("leml", 1, 0.9, [epoch(0.4), epoch(0.8)]),  # stopped early
    result("pseudo-label", 0, 0.9, [epoch(0.3, 0.5), epoch(0.5, 0.7)], recovery=0.7),
    result("refine", 0, 0.5, recovery=0.3),
    result("refine", 1, 0.7, recovery=0.4, share=0.75),
    result("coarse-prior", 0, 0.1),
    result("leml", 0, 0.95, [epoch(0.9)], warm=16),
]


def test_learning_curves_are_p_at_1_on_validation_by_epoch():
    (axes,) = figures.learning_curves(RESULTS, 8).axes
    lines = lines_of(axes)
    assert list(lines) == ["leml", "pseudo-label", "refine (test)", "coarse-prior (test)"]
    assert lines["leml"][0].tolist() == [1, 2, 3]
    assert lines["leml"][1] == pytest.approx([0.3, 0.6, 0.7])
    assert lines["pseudo-label"][1] == pytest.approx([0.3, 0.5])
    assert lines["refine (test)"][1] == pytest.approx([0.6, 0.6])
    assert lines["coarse-prior (test)"][1] == pytest.approx([0.1, 0.1])
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("epoch", "P@1 (validation)", "8 warm items")


def test_bands_are_one_standard_deviation_as_in_the_tables():
    (axes,) = figures.learning_curves(RESULTS, 8).axes
    x, low, high = band_of(axes, 0)
    spread = [np.std(pair, ddof=1) for pair in ([0.2, 0.4], [0.4, 0.8], [0.6, 0.8])]
    assert x.tolist() == [1, 2, 3]
    assert low == pytest.approx(np.array([0.3, 0.6, 0.7]) - spread)
    assert high == pytest.approx(np.array([0.3, 0.6, 0.7]) + spread)
    _, low, high = band_of(axes, 1)  # a single seed has no spread
    assert low.tolist() == high.tolist() == [0.3, 0.5]


def test_recovery_has_its_two_bars():
    (axes,) = figures.recovery_curves(RESULTS, 8).axes
    lines = lines_of(axes)
    assert list(lines) == ["pseudo-label", "refine", "all ones", "random"]
    assert lines["pseudo-label"][1] == pytest.approx([0.5, 0.7])
    assert lines["refine"][1] == pytest.approx([0.35, 0.35])
    assert axes.get_ylabel() == "F1-loss on unknown entries"
    # By counting: of 1200 unknown entries this share is relevant. All are called so, or every second one.
    shares = [row["unknown_share"] for row in RESULTS if row["warm"] == 8]
    relevant = 1200 * np.mean(shares)
    for name, claimed in (("all ones", 1200), ("random", 600)):
        hits = relevant * claimed / 1200
        precision, recall = hits / claimed, hits / relevant
        assert lines[name][1] == pytest.approx([1 - 2 * precision * recall / (precision + recall)] * 2)


def test_figures_are_written_for_each_warm_size_where_there_is_something_to_show(tmp_path):
    written = figures.write_comparison(RESULTS, tmp_path)
    names = ("learning-curves-8", "recovery-8", "learning-curves-16")
    assert [path.name for path in written] == [f"{name}{ending}" for name in names for ending in (".png", ".svg")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written[::2])
    for path, words in zip(
        written[1::2], ("P@1 (validation)", "F1-loss on unknown entries", "16 warm items"), strict=True
    ):
        assert words in words_of(path)


# -- strategies --------------------------------------------------------------------------------------------------------


def row(strategy, seed, number, p1, views):
    return {
        "strategy": strategy, "seed": seed, "round": number, "answers": 100 * number, "item_views": views,
        "p@1": p1, "p@3": p1 / 2, "p@5": p1 / 4,
    }  # fmt: skip


ROWS = [
    *(row("random", 0, n, p1, 90 * n) for n, p1 in enumerate([0.1, 0.3, 0.5])),
    *(row("random", 1, n, p1, 70 * n) for n, p1 in enumerate([0.3, 0.5, 0.9])),
    *(row("expected-gain", 0, n, p1, 10 * n) for n, p1 in enumerate([0.2, 0.6, 0.8])),
    *(row("expected-gain", 1, n, p1, 10 * n) for n, p1 in enumerate([0.2, 0.8])),
]


@pytest.mark.parametrize("by_views", [False, True])
def test_progression_shows_each_metric_by_answers_or_views(by_views):
    plots = figures.al_curve(ROWS, by_views=by_views).axes
    assert [axes.get_title() for axes in plots] == ["P@1", "P@3", "P@5"]
    for axes, part in zip(plots, (1, 1 / 2, 1 / 4), strict=True):
        lines = lines_of(axes)
        assert list(lines) == ["random", "expected-gain", "random's end"]
        begin = 1 if by_views else 0  # a logarithm has no place for zero
        assert lines["random"][0].tolist() == ([80, 160] if by_views else [0, 100, 200])
        assert lines["expected-gain"][0].tolist() == ([10, 15] if by_views else [0, 100, 200])
        assert lines["random"][1] == pytest.approx(np.array([0.2, 0.4, 0.7])[begin:] * part)
        assert lines["expected-gain"][1] == pytest.approx(np.array([0.2, 0.7, 0.8])[begin:] * part)
        assert lines["random's end"][1] == pytest.approx(np.array([0.7, 0.7]) * part)
        spread = np.array([np.std(pair, ddof=1) for pair in ([0.1, 0.3], [0.3, 0.5], [0.5, 0.9])])[begin:]
        _, low, high = band_of(axes, 0)
        assert low == pytest.approx((np.array([0.2, 0.4, 0.7])[begin:] - spread) * part)
        assert high == pytest.approx((np.array([0.2, 0.4, 0.7])[begin:] + spread) * part)
        assert axes.get_xlabel() == ("item views" if by_views else "answers")
        assert axes.get_xscale() == ("log" if by_views else "linear")


def test_progression_is_written_by_answers_and_by_views(tmp_path):
    written = figures.write_progression(ROWS, tmp_path)
    names = ("al_curve", "al_curve_views")
    assert [path.name for path in written] == [f"{name}{ending}" for name in names for ending in (".png", ".svg")]
    assert ["answers" in words_of(written[1]), "item views" in words_of(written[3])] == [True, True]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written[::2])
