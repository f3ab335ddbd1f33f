"""The conformance suite: what every learner does alike, in code that a new learner's author can call too."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

import ramify
from ramify.labels import UNKNOWN, Labels
from ramify.learners import Learner
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy(
    {
        "animal": {"exhaustive": True, "cat": None, "dog": {"exhaustive": True, "poodle": None, "pug": None}},
        "food": {"exhaustive": True, "apple": None},
        "sky": ["sun", "moon"],
    }
)


def data(n_items: int = 60, warm: int = 20, taxonomy: Taxonomy = TAXONOMY) -> tuple[np.ndarray, Labels]:
    """Features that show the labels, and labels of which the first ``warm`` items are fully known."""
    rng = np.random.default_rng(0)
    fine = (rng.random((n_items, len(taxonomy.leaves))) < 0.4).astype(int)
    truth = Labels.from_matrix(taxonomy, fine)
    everything = truth.states(concepts=np.arange(len(taxonomy)))
    features = everything @ rng.normal(size=(len(taxonomy), 12)) + 0.1 * rng.normal(size=(n_items, 12))
    labels = Labels(taxonomy, truth.states(concepts=taxonomy.roots))
    below = np.flatnonzero(taxonomy.parents >= 0)
    items, places = np.nonzero(truth.states(np.arange(warm), below) != UNKNOWN)
    labels.record(items, below[places], truth.states(items, below)[np.arange(len(items)), places], "imported")
    return features.astype(np.float32), labels


def check_learner(learner: Learner, folder: Path) -> None:
    """Check everything; raises AssertionError where a learner does something else."""
    features, labels = data()
    _check_parameters(learner)
    fitted = clone(learner).fit(features, labels)
    probabilities = fitted.predict_proba(features)
    assert probabilities.shape == (len(features), len(TAXONOMY.leaves))
    assert probabilities.dtype == np.float32
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert np.array_equal(clone(learner).fit(features, labels).predict_proba(features), probabilities)
    _check_predictions(fitted, features, labels)
    fitted.save(folder / "saved")
    again = ramify.load(folder / "saved")
    assert type(again) is type(learner)
    assert np.array_equal(again.predict_proba(features), probabilities)
    assert np.allclose(fitted.predict_proba(scipy.sparse.csr_array(features)), probabilities, atol=1e-6)

    more = data(warm=30)[1]
    for each in (fitted, again):
        assert each.partial_fit(features, more) is each
    assert not np.array_equal(fitted.predict_proba(features), probabilities)
    _check_other_features(learner, features, labels, folder)
    _check_odd_labels(learner, features)


def _check_parameters(learner: Learner) -> None:
    parameters = learner.get_params()
    copy = clone(learner)
    assert copy.get_params() == parameters
    assert copy.set_params(random_state=5).random_state == 5
    assert repr(learner).startswith(type(learner).__name__)


def _check_predictions(learner: Learner, features: Any, labels: Labels) -> None:
    probabilities = learner.predict_proba(features)
    best = learner.predict(features, top_k=2)
    assert (best[:, TAXONOMY.leaves].sum(axis=1) == 2).all()
    chosen = learner.predict(features, threshold=0.3)
    assert np.array_equal(chosen[:, TAXONOMY.leaves], probabilities >= 0.3)
    for predicted in (best, chosen):
        for concept, parent in enumerate(TAXONOMY.parents):
            if parent >= 0:
                assert (predicted[:, parent] >= predicted[:, concept]).all()
    assert 0 <= learner.score(features, labels) <= 1


def _check_other_features(learner: Learner, features: np.ndarray, labels: Labels, folder: Path) -> None:
    sparse = np.where(features > 1, features, 0)
    from_dense = clone(learner).fit(sparse, labels).predict_proba(sparse)
    from_sparse = (
        clone(learner).fit(scipy.sparse.coo_array(sparse), labels).predict_proba(scipy.sparse.csc_array(sparse))
    )
    assert np.array_equal(from_dense, from_sparse)
    np.save(folder / "x.npy", features.astype(np.float16))
    mapped = np.load(folder / "x.npy", mmap_mode="r")
    assert np.isfinite(clone(learner).fit(mapped, labels).predict_proba(mapped)).all()


def _check_odd_labels(learner: Learner, features: np.ndarray) -> None:
    single = Taxonomy({"animal": ["cat"]})
    one = Labels.from_matrix(single, [[1], [0], [1]])
    assert clone(learner).fit(features[:3], one).predict_proba(features).shape == (len(features), 1)

    one_each = Labels.from_matrix(TAXONOMY, np.eye(len(TAXONOMY.leaves), dtype=int))
    assert np.isfinite(clone(learner).fit(features[: len(one_each)], one_each).predict_proba(features)).all()

    empty = data()[1].states()
    empty[:, 0] = np.where(empty[:, 0] == UNKNOWN, UNKNOWN, 0)  # nobody has a cat
    assert np.isfinite(clone(learner).fit(features, Labels.from_matrix(TAXONOMY, empty)).predict_proba(features)).all()

    all_known = data(warm=len(features))[1]
    assert np.isfinite(clone(learner).fit(features, all_known).predict_proba(features)).all()
