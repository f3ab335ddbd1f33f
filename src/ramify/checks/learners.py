"""What every learner does alike; each check takes a learner that is not fitted and raises AssertionError."""

import copy
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.base import clone

from ramify.checks.data import TAXONOMY, data
from ramify.data import Dataset, NameVectors
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.learners import Learner, load
from ramify.learners.cache import Cache
from ramify.taxonomy import Taxonomy

OTHER = Taxonomy({"plant": {"exhaustive": True, "tree": None, "moss": None}, "stone": ["marble"]})


def fitted(learner: Learner, **settings: Any) -> Learner:
    """A copy that has learned the checks' data."""
    fresh: Learner = clone(learner).set_params(**settings)
    return fresh.fit(*data())


# -- parameters --------------------------------------------------------------------------------------------------------


def check_parameters(learner: Learner) -> None:
    """Parameters can be read, set and cloned, as scikit-learn has it."""
    cloned = clone(learner)
    assert cloned.get_params() == learner.get_params()
    assert cloned.set_params(random_state=5).random_state == 5
    assert repr(learner).startswith(type(learner).__name__)


def check_search_space(learner: Learner) -> None:
    """What may be tuned are parameters, and a new learner of the kind begins within their limits."""
    defaults = type(learner)().get_params(deep=False)
    assert all(defaults[name] in limits for name, limits in learner.search_space.items())


def check_nothing_learned(learner: Learner) -> None:
    """Before the first fit there is nothing to predict with, and it says so."""
    assert not learner.is_fitted
    assert not hasattr(learner, "classes_")
    sentence = f"this {type(learner).__name__} has learned nothing yet: call fit first"
    assert _refusal(lambda: learner.predict_proba(data()[0])) == sentence


def check_labels_refused(learner: Learner) -> None:
    """A plain matrix in place of labels gets a sentence that says what to do."""
    features, labels = data()
    matrix: Any = labels.states()
    model = fitted(learner)
    for act in (clone(learner).fit, model.partial_fit, model.score):
        assert "Labels.from_matrix" in _refusal(partial(act, features, matrix))


# -- predictions -------------------------------------------------------------------------------------------------------


def check_probabilities(learner: Learner) -> None:
    """Items x fine concepts, single precision, from 0 to 1; and what scikit-learn wants to know."""
    features, _ = data()
    model = fitted(learner)
    probabilities = model.predict_proba(features)
    assert probabilities.shape == (len(features), len(TAXONOMY.leaves))
    assert probabilities.dtype == np.float32
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert model.classes_.tolist() == [TAXONOMY.path(leaf) for leaf in TAXONOMY.leaves]
    assert model.n_features_in_ == features.shape[1]
    assert model.predict_proba(features[:0]).shape == (0, len(TAXONOMY.leaves))


def check_predictions(learner: Learner) -> None:
    """The best k or all above a threshold, never a concept without its ancestors."""
    features, _ = data()
    model = fitted(learner)
    best, chosen = model.predict(features, top_k=2), model.predict(features, threshold=0.3)
    assert (best[:, TAXONOMY.leaves].sum(axis=1) == 2).all()
    assert np.array_equal(chosen[:, TAXONOMY.leaves], model.predict_proba(features) >= 0.3)
    for predicted in (best, chosen):
        for concept, parent in enumerate(TAXONOMY.parents):
            if parent >= 0:
                assert (predicted[:, parent] >= predicted[:, concept]).all()


def check_score(learner: Learner) -> None:
    """Only completely known items are scored, and it says so where others were left out."""
    features, labels = data(warm=60)
    model = fitted(learner)
    assert 0 <= model.score(features, labels) <= 1
    partly, known = data()[1], np.arange(20)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert model.score(features, partly) == model.score(features[known], labels.take(known))
    assert [str(warning.message) for warning in said] == [
        "scored on the 20 of 60 items whose fine entries are all known"
    ]


# -- the same again ----------------------------------------------------------------------------------------------------


def check_same_seed(learner: Learner) -> None:
    """The same seed gives the same model."""
    assert _same(fitted(learner, random_state=1), fitted(learner, random_state=1))


def check_refit(learner: Learner) -> None:
    """Fitting again, after other data with another taxonomy, equals a fresh fit."""
    rng = np.random.default_rng(1)
    other = Labels.from_matrix(OTHER, rng.integers(0, 2, (30, len(OTHER.leaves))))
    again = clone(learner).set_params(random_state=1).fit(rng.normal(size=(30, 7)).astype(np.float32), other)
    assert _same(again.fit(*data()), fitted(learner, random_state=1))


def check_saving(learner: Learner) -> None:
    """What was saved predicts the same, and goes on learning; what was copied predicts the same, too."""
    features, _ = data()
    model = fitted(learner)
    assert _same(copy.deepcopy(model), model)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    assert type(again) is type(learner)
    assert _same(again, model)
    assert again.partial_fit(features, data(warm=30)[1]) is again


def check_more_labels(learner: Learner) -> None:
    """``partial_fit`` takes in more labels, and begins where nothing was learned."""
    features, _ = data()
    model = fitted(learner)
    before = model.predict_proba(features)
    assert model.partial_fit(features, data(warm=30)[1]) is model
    assert not np.array_equal(model.predict_proba(features), before)
    seeded = clone(learner).set_params(random_state=1)
    assert _same(seeded.partial_fit(*data()), fitted(learner, random_state=1))


def check_learning_at_once(learner: Learner) -> None:
    """Where a learner says so, taking in some items equals taking in everything; it also sees what has changed."""
    features, labels = data()
    more = data(warm=24)[1]
    changed = np.arange(20, 24)
    first, second = (fitted(learner, random_state=1) for _ in range(2))
    learned = first.learned_items()
    assert learned is None or sorted(learned.tolist()) == list(range(20))
    if not learner.learns_at_once:
        assert not len(first.changed_items(more, changed))
        return
    assert not len(first.changed_items(labels, np.arange(20)))
    assert sorted(first.changed_items(more, changed).tolist()) == changed.tolist()
    first.partial_fit(features, more, items=changed)
    second.partial_fit(features, more)
    assert np.allclose(first.predict_proba(features), second.predict_proba(features), atol=1e-5)
    assert not len(first.changed_items(more, changed))


def check_validation(learner: Learner) -> None:
    """``fit`` takes a validation part and the truth, whether it makes use of them or not."""
    features, labels = data()
    part = Dataset(data(n_items=30, warm=30)[1], data(n_items=30)[0])
    model = clone(learner).fit(features, labels, validation=part, truth=data(warm=60)[1])
    assert np.isfinite(model.predict_proba(features)).all()


def check_names(learner: Learner) -> None:
    """``fit`` takes vectors of the concepts' names, in any space; a learner without use for them ignores them."""
    features, labels = data()
    without = fitted(learner, random_state=1)
    for width, shared in ((features.shape[1], True), (3, False)):
        vectors = np.random.default_rng(0).normal(size=(len(TAXONOMY), width)).astype(np.float32)
        model = clone(learner).set_params(random_state=1).fit(features, labels, names=NameVectors(vectors, shared))
        assert np.isfinite(model.predict_proba(features)).all()
        assert learner.uses_names or _same(model, without)


# -- features of other kinds -------------------------------------------------------------------------------------------


def check_sparse_features(learner: Learner) -> None:
    """Sparse features mean what they mean when dense."""
    features, labels = data()
    model = fitted(learner)
    dense = model.predict_proba(features)
    assert np.allclose(model.predict_proba(scipy.sparse.csr_array(features)), dense, atol=1e-6)
    mostly_zero = np.where(features > 1, features, 0)
    on_dense, on_sparse = (clone(learner).set_params(random_state=1) for _ in range(2))
    from_dense = on_dense.fit(mostly_zero, labels).predict_proba(mostly_zero)
    coo, csc = scipy.sparse.coo_array(mostly_zero), scipy.sparse.csc_array(mostly_zero)
    assert np.array_equal(on_sparse.fit(coo, labels).predict_proba(csc), from_dense)


def check_mapped_features(learner: Learner) -> None:
    """Memory maps of half precision do."""
    features, labels = data()
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "x.npy"), features.astype(np.float16))
        mapped = np.load(Path(folder, "x.npy"), mmap_mode="r")
        assert np.isfinite(clone(learner).fit(mapped, labels).predict_proba(mapped)).all()


# -- odd labels --------------------------------------------------------------------------------------------------------


def check_single_concept(learner: Learner) -> None:
    """One fine concept, three items."""
    features, _ = data()
    labels = Labels.from_matrix(Taxonomy({"animal": ["cat"]}), [[1], [0], [1]])
    assert clone(learner).fit(features[:3], labels).predict_proba(features).shape == (len(features), 1)


def check_item_for_each_concept(learner: Learner) -> None:
    """One item for each concept."""
    features, _ = data()
    labels = Labels.from_matrix(TAXONOMY, np.eye(len(TAXONOMY.leaves), dtype=int))
    assert np.isfinite(clone(learner).fit(features[: len(labels)], labels).predict_proba(features)).all()


def check_concept_of_nobody(learner: Learner) -> None:
    """A concept that is never relevant."""
    features, labels = data()
    states = labels.states()
    states[:, 0] = np.where(states[:, 0] == UNKNOWN, UNKNOWN, 0)
    nobody = Labels.from_matrix(TAXONOMY, states)
    assert np.isfinite(clone(learner).fit(features, nobody).predict_proba(features)).all()


def check_everything_known(learner: Learner) -> None:
    """Nothing left to be found out."""
    features, labels = data(warm=60)
    assert np.isfinite(clone(learner).fit(features, labels).predict_proba(features)).all()


# -- what a learner says it can do -------------------------------------------------------------------------------------


def check_opinions(learner: Learner) -> None:
    """Opinions are probabilities of all concepts, 0 below an irrelevant one; beliefs are the known labels."""
    features, labels = data()
    model = fitted(learner)
    opinions, beliefs = model.opinions(features, labels), model.beliefs(features, labels)
    states = labels.states(concepts=np.arange(len(TAXONOMY)))
    for part in (opinions, beliefs):
        assert part.shape == states.shape
        assert part.dtype == np.float32
        assert ((part >= 0) & (part <= 1)).all()
    parents = TAXONOMY.parents
    assert (opinions[(states[:, parents] == 0) & (parents >= 0)] == 0).all()
    assert (beliefs[states >= 0] == states[states >= 0]).all()
    items, concepts = labels.unknown()
    otherwise = np.full(len(items), 0.5, np.float32)
    pseudo = model.pseudo_labels(items, concepts, otherwise)
    assert ((pseudo >= 0) & (pseudo <= 1)).all()


def check_own_label(learner: Learner) -> None:
    """What is known of a concept itself does not change the opinion on it."""
    features, _ = data()
    model = fitted(learner)
    concept = TAXONOMY.index("sun")
    found = []
    for value in (-1, 0, 1):
        labels = Labels(TAXONOMY, np.ones((len(features), len(TAXONOMY.roots)), int))
        if value >= 0:
            labels.record(np.arange(len(features)), concept, value, "imported")
        found.append(model.opinions(features, labels)[:, concept])
    assert np.array_equal(found[1], found[2])
    assert np.allclose(found[0], found[1], atol=1e-6)


def check_look_ahead(learner: Learner) -> None:
    """What can be differentiated, if anything, gives the logits of its opinions on unknown entries."""
    features, labels = data(coarse=0.5)
    model = clone(learner).fit(features, labels)
    try:
        parameters, logits = model.differentiable()
    except RamifyError:
        return
    states = torch.from_numpy(labels.states(concepts=np.arange(len(TAXONOMY))))
    with torch.no_grad():
        z = logits(parameters, model.inputs(features), states)
    assert z.shape == labels.shape
    unknown = labels.unknown()
    assert np.allclose(z.sigmoid().cpu().numpy()[unknown], model.opinions(features, labels)[unknown], atol=1e-3)


def check_not_outgrown(learner: Learner) -> None:
    """With the labels that it was fitted with, nothing is outgrown."""
    assert fitted(learner).outgrown(data()[1]) is False


def check_estimates(learner: Learner) -> None:
    """What it tells of its own quality, if anything, are shares, and of how many items; so is what it says of items
    without their answers."""
    model = fitted(learner)
    learned = model.learned_items()
    estimate = model.estimate()
    assert all(0 <= value <= 1 or name == "items" for name, value in estimate.items())
    for coarse_known in (False, True):
        if learned is not None:
            states = np.full((len(learned), len(TAXONOMY)), UNKNOWN, np.int8)
            left_out = model.left_out(learned, states, coarse_known=coarse_known)
            assert left_out is None or ((left_out >= 0) & (left_out <= 1)).all()
            assert left_out is None or left_out.shape == states.shape


def check_evidence(learner: Learner) -> None:
    """Evidence, if there is any, is finite, of positive noise, and about the same from the cache as from the nets."""
    features, labels = data()
    model = fitted(learner)
    sample, items = np.arange(len(labels)), np.array([3, 0, 59])
    cache = _cache(model, features, labels)
    kept = model.evidence(features, labels, sample, 64, cache)
    fresh = model.evidence(features, labels, sample, 64)
    assert (fresh is None) == (kept is None)
    if fresh is None or kept is None:
        return
    assert fresh.prior_variance > 0
    for looks in (fresh.look(items), kept.look(items)):
        assert len(looks.phi) == 3
        assert looks.noise.shape == looks.matters.shape == (3, len(TAXONOMY))
        assert np.isfinite(looks.phi).all()
        assert (looks.noise > 0).all()
        assert (looks.matters >= 0).all()
    assert np.allclose(fresh.look(items).matters, kept.look(items).matters, atol=0.05)


def check_cache(learner: Learner) -> None:
    """What is kept of all items gives opinions and guesses without running anything."""
    features, labels = data()
    model = fitted(learner)
    cache, items = _cache(model, features, labels), np.array([59, 7])
    assert len(cache) == len(labels)
    kept = model.cached_opinions(cache, labels, items)
    assert np.allclose(kept, model.opinions(features, labels)[items], atol=0.05)
    guesses = model.guesses(cache, items)
    assert guesses.shape == (2, len(TAXONOMY))
    assert ((guesses >= 0) & (guesses <= 1)).all()


LEARNER_CHECKS: tuple[Callable[[Learner], None], ...] = (
    check_parameters,
    check_search_space,
    check_nothing_learned,
    check_labels_refused,
    check_probabilities,
    check_predictions,
    check_score,
    check_same_seed,
    check_refit,
    check_saving,
    check_more_labels,
    check_learning_at_once,
    check_validation,
    check_names,
    check_sparse_features,
    check_mapped_features,
    check_single_concept,
    check_item_for_each_concept,
    check_concept_of_nobody,
    check_everything_known,
    check_opinions,
    check_own_label,
    check_look_ahead,
    check_not_outgrown,
    check_estimates,
    check_evidence,
    check_cache,
)


def check_learner(learner: Learner) -> None:
    """All checks."""
    for check in LEARNER_CHECKS:
        check(learner)


def _same(first: Learner, second: Learner) -> bool:
    features, _ = data()
    return np.array_equal(first.predict_proba(features), second.predict_proba(features))


def _cache(model: Learner, features: Any, labels: Labels) -> Cache:
    with tempfile.TemporaryDirectory() as folder:  # what is mapped stays readable when its name is gone
        return Cache.write(Path(folder), model.to_cache(features, labels), len(labels))


def _refusal(act: Callable[[], object]) -> str:
    """The sentence with which something is refused."""
    try:
        act()
    except RamifyError as error:
        return str(error)
    raise AssertionError("it should have been refused")
