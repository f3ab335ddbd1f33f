"""Labels and learners in scikit-learn's model selection."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    check_cv,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.utils import resample, shuffle
from sklearn.utils.multiclass import type_of_target

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import CoarsePrior, FullySupervised
from ramify.taxonomy import Taxonomy

PETS = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
N = 24


def data() -> tuple[np.ndarray, Labels]:
    """Items whose features are their fine labels, and a little noise."""
    rng = np.random.default_rng(0)
    truth = np.eye(4, dtype=int)[rng.integers(0, 4, N)]
    labels = Labels(PETS, np.stack([truth[:, :2].any(1), truth[:, 2:].any(1)], axis=1))
    items, concepts = np.nonzero(np.ones_like(truth))
    labels.record(items, concepts, truth[items, concepts], "annotated")
    return truth + rng.normal(0, 0.1, truth.shape), labels


def learner() -> FullySupervised:
    return FullySupervised(epochs=1, hidden=(8,), random_state=0, device="cpu")


EVEN = np.arange(N) % 2 == 0


@pytest.mark.parametrize(
    ("rows", "items"),
    [
        (np.array([3, 1, 1]), [3, 1, 1]),
        ([2, 0], [2, 0]),
        (slice(1, 10, 4), [1, 5, 9]),
        (EVEN, range(0, N, 2)),
        (EVEN.tolist(), range(0, N, 2)),
        (5, [5]),
        ([], []),
    ],
)
def test_rows_of_labels_are_labels(rows, items):
    _, labels = data()
    assert labels[rows] == labels[rows, ...] == labels.take(list(items))
    assert labels[rows].shape == (len(items), 4) == labels.states(list(items)).shape


def test_labels_are_an_array_of_states_but_no_list():
    _, labels = data()
    labels.retract(0, [0, 1, 2, 3], "annotated")
    assert np.array_equal(np.asarray(labels), labels.states())
    assert np.asarray(labels, float).dtype == float
    with pytest.raises(TypeError, match="not iterable"):
        iter(labels)
    with pytest.raises(RamifyError) as error:
        labels[0, 1]
    assert str(error.value) == "labels are indexed by items, labels[items]: for some concepts, see states"
    with pytest.raises(RamifyError, match="there is no item 24: items are numbered 0 to 23"):
        labels[[24]]


def test_splits_keep_items_and_labels_together():
    x, labels = data()
    numbers = np.arange(N)
    parts = train_test_split(x, labels, numbers, random_state=0)
    for features, known, items in (parts[::2], parts[1::2]):
        assert known == labels.take(items)
        assert np.array_equal(features, x[items])
    features, known, items = shuffle(x, labels, numbers, random_state=0)
    assert known == labels.take(items)
    assert len(resample(labels, n_samples=7)) == 7


def test_the_folds_of_labels_are_plain_ones():
    """Also for a classifier, whose folds scikit-learn would like to balance."""
    _, labels = data()
    assert isinstance(check_cv(3, labels, classifier=False), KFold)
    assert isinstance(check_cv(3, labels, classifier=True), KFold)
    assert type_of_target(labels) == "multilabel-indicator"


@pytest.mark.parametrize("cv", [3, KFold(3)])
def test_scores_are_those_of_learners_fitted_by_hand(cv):
    x, labels = data()
    scores = cross_val_score(learner(), x, labels, cv=cv)
    by_hand = [
        learner().fit(x[train], labels.take(train)).score(x[test], labels.take(test))
        for train, test in KFold(3).split(x)
    ]
    assert scores.tolist() == by_hand


def test_a_grid_is_searched_and_the_best_is_fitted_again():
    x, labels = data()
    search = GridSearchCV(learner(), {"epochs": [1, 3], "hidden": [(), (8,)]}, cv=3).fit(x, labels)
    assert len(search.cv_results_["params"]) == 4
    best = learner().set_params(**search.best_params_).fit(x, labels)
    assert np.array_equal(search.predict_proba(x), best.predict_proba(x))
    assert search.score(x, labels) == best.score(x, labels)


def test_other_tools_of_model_selection():
    x, labels = data()
    sizes, _, scores = learning_curve(CoarsePrior(steps=5, hidden=(4, 4)), x, labels, cv=3, train_sizes=[0.5, 1.0])
    assert (sizes.tolist(), scores.shape) == ([8, 16], (2, 3))
    assert cross_val_predict(learner(), x, labels, cv=3).shape == (N, len(PETS))
