import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ramify import metrics
from ramify.errors import RamifyError

SHAPES = st.tuples(st.integers(1, 5), st.integers(2, 5))
TIED_SCORES = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0])
INFINITE_TOO = st.one_of(TIED_SCORES, st.sampled_from([-np.inf, np.inf]))

RANKED = [
    pytest.param(lambda truth, scores: metrics.precision_at_k(truth, scores, 2), id="precision_at_k"),
    pytest.param(lambda truth, scores: metrics.ndcg_at_k(truth, scores, 2), id="ndcg_at_k"),
    pytest.param(metrics.coverage, id="coverage"),
    pytest.param(metrics.ranking_loss, id="ranking_loss"),
    pytest.param(metrics.mean_average_precision, id="mean_average_precision"),
]
PREDICTED = [
    pytest.param(metrics.f1_micro, id="f1_micro"),
    pytest.param(metrics.f1_macro, id="f1_macro"),
    pytest.param(metrics.per_concept, id="per_concept"),
    pytest.param(
        lambda truth, claimed: metrics.recovery_f1_loss(truth, claimed, np.ones(np.shape(claimed), bool)),
        id="recovery_f1_loss",
    ),
]


def for_all(*strategies, **named):
    """Hypothesis without a deadline, which a busy machine would miss now and then."""
    return lambda test: settings(deadline=None)(given(*strategies, **named)(test))


@st.composite
def cases(draw, states=(-1, 0, 1), values=TIED_SCORES):
    """Truth with at least one known entry, scores or predictions of the same shape, and a valid k."""
    shape = draw(SHAPES)
    truth = draw(arrays(np.int8, shape, elements=st.sampled_from(states)).filter(lambda drawn: (drawn >= 0).any()))
    return truth, draw(arrays(np.float64, shape, elements=values)), draw(st.integers(1, shape[1]))


known_cases = cases(states=(0, 1))
partial_cases = cases(values=INFINITE_TOO)
known_predictions = cases(states=(0, 1), values=st.sampled_from([0.0, 1.0]))
partial_predictions = cases(values=st.sampled_from([0.0, 1.0]))


def mean_over_items(truth, scores, of_item: Callable):
    """The mean of a loop over the known entries of each item, as lists of (truth, score, column)."""
    found = []
    for states, row in zip(truth.tolist(), scores.tolist(), strict=True):
        entries = [(t, s, column) for column, (t, s) in enumerate(zip(states, row, strict=True)) if t >= 0]
        if entries:
            found.append(of_item(entries))
    return sum(found) / len(found)


def counts(truth, predicted):
    """True positives, predicted and relevant entries among the known ones, counted one by one."""
    known = [(t, p) for t, p in zip(np.ravel(truth).tolist(), np.ravel(predicted).tolist(), strict=True) if t >= 0]
    return sum(t == p == 1 for t, p in known), sum(p == 1 for _, p in known), sum(t == 1 for t, _ in known)


def f1_of(truth, predicted, otherwise=0.0):
    right, claimed, relevant = counts(truth, predicted)
    return 2 * right / (claimed + relevant) if claimed + relevant else otherwise


# -- against scikit-learn, fully known truth -------------------------------------------------------------------------


@for_all(known_cases)
def test_ndcg_is_that_of_scikit_learn(case):
    truth, scores, k = case
    assert metrics.ndcg_at_k(truth, scores, k) == pytest.approx(sklearn.metrics.ndcg_score(truth, scores, k=k))


@for_all(known_cases)
def test_coverage_is_that_of_scikit_learn(case):
    truth, scores, _ = case
    assert metrics.coverage(truth, scores) == pytest.approx(sklearn.metrics.coverage_error(truth, scores))


@for_all(known_cases)
def test_ranking_loss_is_that_of_scikit_learn(case):
    truth, scores, _ = case
    assert metrics.ranking_loss(truth, scores) == pytest.approx(sklearn.metrics.label_ranking_loss(truth, scores))


@for_all(known_cases.filter(lambda case: case[0].any()))
def test_mean_average_precision_is_that_of_scikit_learn(case):
    truth, scores, _ = case
    each = [
        sklearn.metrics.average_precision_score(truth[:, concept], scores[:, concept])
        for concept in np.flatnonzero(truth.any(axis=0))
    ]
    assert metrics.mean_average_precision(truth, scores) == pytest.approx(np.mean(each))


@for_all(known_predictions)
def test_f1_is_that_of_scikit_learn(case):
    truth, predicted, _ = case
    for ours, average in ((metrics.f1_micro, "micro"), (metrics.f1_macro, "macro")):
        theirs = sklearn.metrics.f1_score(truth, predicted, average=average, zero_division=0)
        assert ours(truth, predicted) == pytest.approx(theirs)


@for_all(known_predictions)
def test_precision_and_recall_per_concept_are_those_of_scikit_learn(case):
    truth, predicted, _ = case
    ours = metrics.per_concept(truth, predicted)
    for each, theirs in ((ours.precision, "precision_score"), (ours.recall, "recall_score")):
        expected = getattr(sklearn.metrics, theirs)(truth, predicted, average=None, zero_division=np.nan)
        np.testing.assert_allclose(each, expected)


@for_all(known_predictions)
def test_recovery_loss_is_one_minus_the_f1_of_scikit_learn(case):
    truth, predicted, _ = case
    theirs = sklearn.metrics.f1_score(truth.ravel(), predicted.ravel(), zero_division=1)
    assert metrics.recovery_f1_loss(truth, predicted, np.ones(truth.shape, bool)) == pytest.approx(1 - theirs)


@pytest.mark.parametrize("levels", [3, 50, 10**9])
def test_large_arrays_agree_with_scikit_learn(levels):
    rng = np.random.default_rng(levels)
    truth = rng.random((500, 40)) < rng.random((500, 1)) ** 3
    scores = rng.integers(levels, size=truth.shape) / levels
    assert not truth.any(axis=1).all()
    order = np.argsort(-scores, axis=1, kind="stable")
    for k in (1, 7, 40):
        best = np.take_along_axis(truth, order[:, :k], axis=1)
        assert metrics.precision_at_k(truth, scores, k) == pytest.approx(best.mean())
        assert metrics.ndcg_at_k(truth, scores, k) == pytest.approx(sklearn.metrics.ndcg_score(truth, scores, k=k))
    assert metrics.coverage(truth, scores) == pytest.approx(sklearn.metrics.coverage_error(truth, scores))
    assert metrics.ranking_loss(truth, scores) == pytest.approx(sklearn.metrics.label_ranking_loss(truth, scores))
    expected = sklearn.metrics.average_precision_score(truth, scores, average="macro")
    assert metrics.mean_average_precision(truth, scores) == pytest.approx(expected)


# -- against loops, partial truth ------------------------------------------------------------------------------------


@for_all(partial_cases)
def test_precision_at_k_by_loop(case):
    truth, scores, k = case

    def of_item(entries):
        best = sorted(entries, key=lambda entry: (-entry[1], entry[2]))[:k]
        return sum(state for state, _, _ in best) / k

    assert metrics.precision_at_k(truth, scores, k) == pytest.approx(mean_over_items(truth, scores, of_item))


@for_all(partial_cases)
def test_ndcg_by_loop_over_all_orders_of_ties(case):
    truth, scores, k = case

    def gain(order):
        return sum(state / math.log2(rank + 2) for rank, (state, _, _) in enumerate(order[:k]))

    def of_item(entries):
        orders = [
            order
            for order in itertools.permutations(entries)
            if all(before[1] >= after[1] for before, after in itertools.pairwise(order))
        ]
        ideal = gain(sorted(entries, reverse=True))
        return sum(map(gain, orders)) / len(orders) / ideal if ideal else 0

    assert metrics.ndcg_at_k(truth, scores, k) == pytest.approx(mean_over_items(truth, scores, of_item))


@for_all(partial_cases)
def test_coverage_by_loop(case):
    truth, scores, _ = case

    def of_item(entries):
        ranks = [sum(other >= score for _, other, _ in entries) for state, score, _ in entries if state == 1]
        return max(ranks, default=0)

    assert metrics.coverage(truth, scores) == pytest.approx(mean_over_items(truth, scores, of_item))


@for_all(partial_cases)
def test_ranking_loss_by_loop(case):
    truth, scores, _ = case

    def of_item(entries):
        wrong = [p <= n for t, p, _ in entries if t == 1 for u, n, _ in entries if u == 0]
        return sum(wrong) / len(wrong) if wrong else 0

    assert metrics.ranking_loss(truth, scores) == pytest.approx(mean_over_items(truth, scores, of_item))


@for_all(partial_cases.filter(lambda case: (case[0] == 1).any()))
def test_mean_average_precision_by_loop(case):
    truth, scores, _ = case
    each = []
    for states, column in zip(truth.T, scores.T, strict=True):
        relevant = (states == 1).sum()
        if not relevant:
            continue
        average, recall = 0.0, 0.0
        for threshold in sorted(set(column[states >= 0]), reverse=True):
            retrieved = states[(states >= 0) & (column >= threshold)]
            average += (retrieved.sum() / relevant - recall) * retrieved.mean()
            recall = retrieved.sum() / relevant
        each.append(average)
    assert metrics.mean_average_precision(truth, scores) == pytest.approx(np.mean(each))


@for_all(partial_predictions)
def test_f1_by_loop(case):
    truth, predicted, _ = case
    assert metrics.f1_micro(truth, predicted) == pytest.approx(f1_of(truth, predicted))
    each = [f1_of(t, p) for t, p in zip(truth.T, predicted.T, strict=True) if (t >= 0).any()]
    assert metrics.f1_macro(truth, predicted) == pytest.approx(np.mean(each))


@for_all(partial_predictions)
def test_precision_and_recall_per_concept_by_loop(case):
    truth, predicted, _ = case
    precision, recall = metrics.per_concept(truth, predicted)
    for concept in range(truth.shape[1]):
        right, claimed, relevant = counts(truth[:, concept], predicted[:, concept])
        assert precision[concept] == pytest.approx(right / claimed if claimed else np.nan, nan_ok=True)
        assert recall[concept] == pytest.approx(right / relevant if relevant else np.nan, nan_ok=True)


@for_all(partial_predictions, st.data())
def test_recovery_loss_by_loop(case, data):
    truth, pseudo, _ = case
    unknown = data.draw(arrays(np.bool_, truth.shape))
    expected = 1 - f1_of(truth[unknown], pseudo[unknown], otherwise=1.0)
    assert metrics.recovery_f1_loss(truth, pseudo, unknown) == pytest.approx(expected)


# -- what an unknown entry means -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", RANKED)
@for_all(case=cases().filter(lambda case: (case[0] == 1).any()), data=st.data())
def test_the_score_of_an_unknown_entry_does_not_matter(metric, case, data):
    truth, scores, _ = case
    other = np.where(truth >= 0, scores, data.draw(arrays(np.float64, truth.shape, elements=INFINITE_TOO)))
    assert metric(truth, scores) == metric(truth, other)


@pytest.mark.parametrize("metric", PREDICTED)
@for_all(case=partial_predictions)
def test_the_prediction_of_an_unknown_entry_does_not_matter(metric, case):
    truth, predicted, _ = case
    np.testing.assert_equal(metric(truth, predicted), metric(truth, np.where(truth >= 0, predicted, 1 - predicted)))


@pytest.mark.parametrize("metric", [*RANKED, *PREDICTED])
def test_nan_and_minus_one_both_mean_unknown(metric):
    truth = np.array([[1, 0, -1], [-1, 1, 0], [0, -1, 1]])
    other = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 1]])
    np.testing.assert_equal(metric(truth, other), metric(np.where(truth == -1, np.nan, truth), other))


@pytest.mark.parametrize("metric", [*RANKED, *PREDICTED])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64, list])
def test_any_kind_of_number_will_do(metric, dtype):
    truth, other = [[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]]
    given_truth, given_other = (truth, other) if dtype is list else (np.array(truth, dtype), np.array(other, dtype))
    np.testing.assert_equal(metric(given_truth, given_other), metric(np.array(truth), np.array(other)))


@pytest.mark.parametrize("metric", [*RANKED, *PREDICTED])
def test_arguments_stay_as_they_are(metric):
    truth, other = np.array([[1.0, 0, np.nan], [0, 1, 0]]), np.array([[1.0, 1, 0], [0, 1, 0]])
    truth.flags.writeable = other.flags.writeable = False
    metric(truth, other)


def test_an_item_with_fewer_than_k_known_entries_is_divided_by_k():
    assert metrics.precision_at_k([[1, -1, -1], [1, 1, 0]], [[0.1, 0.9, 0.5], [0.9, 0.8, 0.1]], 2) == 0.75


@pytest.mark.parametrize("metric", RANKED[:4])
def test_an_item_with_no_known_entry_is_left_out_of_the_mean(metric):
    truth, scores = np.array([[1, 0, 0], [-1, -1, -1]]), np.array([[0.1, 0.5, 0.2], [0.3, 0.2, 0.1]])
    assert metric(truth, scores) == metric(truth[:1], scores[:1])


def test_of_tied_concepts_the_lower_column_is_the_better():
    assert metrics.precision_at_k([[0, 1, 1, 0, 0]], [[0.5, 0.5, 0.9, 0.5, 0.5]], 2) == 0.5
    assert metrics.precision_at_k([[-1, 1, 1, 0, 0]], [[0.5, 0.5, 0.9, 0.5, 0.5]], 2) == 1.0
    assert metrics.precision_at_k([[-1, 0, 1]], [[-np.inf, -np.inf, -np.inf]], 1) == 0.0


def test_no_relevant_entry_and_none_claimed_loses_nothing():
    nothing = np.zeros((2, 3))
    assert metrics.recovery_f1_loss(nothing, nothing, nothing == 0) == 0
    assert metrics.recovery_f1_loss(nothing + 1, nothing, nothing == 1) == 0
    assert metrics.recovery_f1_loss(nothing - 1, nothing + 1, nothing == 0) == 0
    assert metrics.recovery_f1_loss(nothing, nothing + 1, nothing == 0) == 1
    assert metrics.recovery_f1_loss(nothing + 1, nothing, nothing == 0) == 1


# -- progression curves ----------------------------------------------------------------------------------------------

steps = st.lists(st.integers(0, 1000), min_size=2, max_size=8).filter(any)
height = st.floats(-10, 10)


@st.composite
def curves(draw):
    answers = np.cumsum([draw(st.integers(0, 100)), *draw(steps)])
    return answers, np.array(draw(st.lists(height, min_size=len(answers), max_size=len(answers))))


@for_all(curves(), height)
def test_a_constant_curve_scores_its_constant(curve, constant):
    answers, values = curve
    assert metrics.curve_auc(answers, np.full(len(values), constant)) == pytest.approx(constant)


@for_all(curves(), st.floats(0.01, 100), st.floats(-1000, 1000))
def test_rescaling_the_answers_changes_nothing(curve, scale, shift):
    answers, values = curve
    assert metrics.curve_auc(answers * scale + shift, values) == pytest.approx(
        metrics.curve_auc(answers, values), abs=1e-8
    )


@for_all(curves(), st.data())
def test_the_areas_of_two_parts_make_up_the_whole(curve, data):
    answers, values = curve
    cut = data.draw(st.integers(1, len(answers) - 2))
    area = 0.0
    for part in (slice(None, cut + 1), slice(cut, None)):
        width = answers[part][-1] - answers[part][0]
        area += width * metrics.curve_auc(answers[part], values[part]) if width else 0
    assert metrics.curve_auc(answers, values) * (answers[-1] - answers[0]) == pytest.approx(area, abs=1e-6)


@for_all(curves(), st.data())
def test_a_curve_is_linear_in_its_values_and_stays_between_them(curve, data):
    answers, values = curve
    others = np.array(data.draw(st.lists(height, min_size=len(values), max_size=len(values))))
    score = metrics.curve_auc(answers, values)
    assert values.min() - 1e-9 <= score <= values.max() + 1e-9
    assert metrics.curve_auc(answers, values + 2 * others) == pytest.approx(
        score + 2 * metrics.curve_auc(answers, others), abs=1e-8
    )


def test_a_single_point_scores_its_value_and_a_jump_has_no_width():
    assert metrics.curve_auc([7], [0.3]) == 0.3
    assert metrics.curve_auc([0, 1, 1, 2], [0, 0, 1, 1]) == 0.5


# -- mistakes --------------------------------------------------------------------------------------------------------


def message_of(metric, *arguments):
    with pytest.raises(RamifyError) as caught:
        metric(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("metric", [*RANKED, *PREDICTED])
@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([1, 0], "truth has the shape (2,): give a table of items x concepts"),
        (np.empty((0, 2)), "truth is empty, its shape is (0, 2): give at least one item and one concept"),
        (np.empty((2, 0)), "truth is empty, its shape is (2, 0): give at least one item and one concept"),
        ([[1, 0], [1]], "truth has rows of different lengths: give a value for every entry"),
        ([["a", "b"]], "truth has the type <U1: give a dense array of numbers"),
        (
            [[1, 0], [0, 2]],
            "truth is 2 at item 1, concept 1: write 1 for relevant, 0 for irrelevant, -1 or NaN for unknown",
        ),
        (
            [[0.5, np.nan]],
            "truth is 0.5 at item 0, concept 0: write 1 for relevant, 0 for irrelevant, -1 or NaN for unknown",
        ),
    ],
)
def test_truth_that_is_none(metric, truth, message):
    assert message_of(metric, truth, [[0, 0]]) == message


@pytest.mark.parametrize("metric", [*RANKED, *PREDICTED[:3]])
def test_truth_that_knows_nothing(metric):
    assert message_of(metric, [[-1, -1]], [[0, 0]]) == (
        "truth is unknown everywhere: at least one entry must be 1 or 0"
    )


@pytest.mark.parametrize("metric", RANKED)
def test_scores_that_do_not_fit(metric):
    assert message_of(metric, [[1, 0, 0]], [[0.5, 0.5]]) == (
        "scores has the shape (1, 2) but truth has (1, 3): give the same items and concepts"
    )
    assert message_of(metric, [[1, -1]], [[0.5, np.nan]]) == (
        "scores is nan at item 0, concept 1: every entry needs a score that is a number"
    )


@pytest.mark.parametrize("metric", PREDICTED)
def test_predictions_that_do_not_fit(metric, request):
    name = "pseudo" if "recovery" in request.node.name else "predicted"
    assert message_of(metric, [[1, 0, 0]], [[1, 0]]) == (
        f"{name} has the shape (1, 2) but truth has (1, 3): give the same items and concepts"
    )
    assert message_of(metric, [[1, 0]], [[1, -1]]) == (
        f"{name} is -1 at item 0, concept 1: write 1 for relevant, 0 for irrelevant"
    )


@pytest.mark.parametrize("metric", [metrics.precision_at_k, metrics.ndcg_at_k])
@pytest.mark.parametrize("k", [0, -1, 4, 1.5])
def test_k_must_be_a_number_of_concepts(metric, k):
    assert message_of(metric, [[1, 0, 0]], [[3, 2, 1]], k) == (
        f"k is {k}: choose a whole number from 1 to 3, the number of concepts"
    )


def test_average_precision_needs_something_relevant():
    assert message_of(metrics.mean_average_precision, [[0, -1]], [[1, 0]]) == (
        "no concept has a known relevant item: mean average precision needs at least one"
    )


def test_the_mask_of_unknown_entries_must_be_one():
    assert message_of(metrics.recovery_f1_loss, [[1, 0]], [[1, 0]], [[1, 0]]) == (
        "unknown has the type int64: give a mask of True and False"
    )
    assert message_of(metrics.recovery_f1_loss, [[1, 0]], [[1, 0]], [[True]]) == (
        "unknown has the shape (1, 1) but truth has (1, 2): give the same items and concepts"
    )


@pytest.mark.parametrize(
    ("answers", "values", "message"),
    [
        ([], [], "answers has the shape (0,): give a list of at least one number"),
        ([[1, 2]], [1, 2], "answers has the shape (1, 2): give a list of at least one number"),
        ([1, 2], 3, "values has the shape (): give a list of at least one number"),
        ([1, 2, 3], [1, 2], "answers has 3 points but values has 2: give one value for each"),
        ([1, 2], [0, np.nan], "values is nan at point 1: every point needs a finite number"),
        ([0, 5, 3], [1, 1, 1], "answers falls from 5 to 3: give the points in the order they were reached"),
        ([5, 5], [0, 1], "answers is 5 at every point: give a single point or a curve that goes on"),
    ],
)
def test_curves_that_are_none(answers, values, message):
    assert message_of(metrics.curve_auc, answers, values) == message
