"""Refine with names: the joint regression of all concepts against a direct one, gates, saving, no answer at all."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.checks.data import TAXONOMY, data
from ramify.data.name_vectors import NameVectors
from ramify.labels import UNKNOWN, Labels
from ramify.learners import Refine, load
from ramify.learners.choice import ALIKE, ALSO_NEAR, NAMELESS, PRIOR, Answers, Model, choose
from ramify.learners.factors import factors_of
from ramify.learners.names import Names
from ramify.learners.ridge import Ridge
from ramify.learners.rows import LAMBDAS
from ramify.metrics import precision_at_k
from ramify.taxonomy import Taxonomy

COARSE = {"hidden": (16, 16), "steps": 60, "random_state": 0}


def joint(ridges, offset, lam, model):
    """All concepts at once, by the normal equations: own weights and bias for each, beta shared."""
    count, width = len(ridges), ridges[0][0].shape[1] + 1
    blocks, targets, weights = [], [], []
    for number, (phi, z, y, o) in enumerate(ridges):
        own = np.zeros((len(phi), count * width))
        own[:, number * width : (number + 1) * width] = np.column_stack([phi, np.ones(len(phi))])
        blocks.append(np.hstack([own, z[:, list(model.features)]]))
        targets.append(y - offset)
        weights.append(o)
    design, y, o = np.vstack(blocks), np.concatenate(targets), np.concatenate(weights)
    penalty = np.diag([*([lam] * (width - 1) + [lam / (lam + 0.1)]) * count, *[PRIOR] * len(model.features)])
    start = np.concatenate([np.zeros(count * width), PRIOR * np.array(model.start)])
    solution = np.linalg.solve((design.T * o) @ design + penalty, (design.T * o) @ y + start)
    return solution[count * width :], design, y, o, penalty, start


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([*ALIKE, NAMELESS, *ALSO_NEAR.values()]), st.sampled_from(range(7)))
def test_shared_coefficients_and_left_out_residuals_are_those_of_leaving_out(seed, model, number):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(3):
        n = int(rng.integers(1, 7))
        parts.append(
            (rng.normal(size=(n, 4)), rng.normal(size=(n, 3)), rng.integers(0, 2, n) * 1.0, rng.uniform(0.2, 1, n))
        )
    ridges = [Ridge(factors_of(list(range(len(y))), o, phi), np.concatenate([y[None], z.T])) for phi, z, y, o in parts]
    answers = Answers.of(ridges, [np.full(len(ridge), 0.3) for ridge in ridges])
    lam = LAMBDAS[number]
    beta, design, y, o, penalty, start = joint(parts, 0.3, lam, model)
    assert np.allclose(answers.coefficients(model)[0][number], beta, atol=1e-8)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        weighed = design[others].T * o[others]
        left = np.linalg.solve(weighed @ design[others] + penalty, weighed @ y[others] + start)
        assert np.allclose(answers.residuals(model)[number, i], y[i] - design[i] @ left, atol=1e-8)


def named(features, seed=0, spoil=None) -> NameVectors:
    """Vectors in the features' own space that point to where the items of a concept lie."""
    _, labels = data(warm=60)
    states = labels.states(concepts=np.arange(len(TAXONOMY))) == 1
    vectors = states.T @ (features - features.mean(axis=0)) + 1e-3
    if spoil is not None:
        vectors = vectors[spoil]
    return NameVectors(vectors.astype(np.float32), True)


@pytest.fixture(scope="module")
def fitted():
    features, labels = data()
    return features, labels, Refine(**COARSE).fit(features, labels, names=named(features))


@settings(max_examples=15, deadline=None)
@given(st.data())
@pytest.mark.parametrize("shared", [True, False])
def test_single_answers_equal_starting_again_with_names(shared, fitted, data):
    features, labels, learner = fitted
    labels = labels.take(None)
    if not shared:
        learner = Refine(**COARSE).fit(features, labels, names=NameVectors(np.eye(len(TAXONOMY)) + 0.3, False))
    learner.partial_fit(features, labels)
    for _ in range(data.draw(st.integers(1, 6))):
        item = data.draw(st.integers(0, len(labels) - 1))
        concept = data.draw(st.integers(0, len(TAXONOMY) - 1))
        labels.record(item, concept, data.draw(st.sampled_from([0, 1])), "annotated")
        learner.partial_fit(features, labels, items=[item])
    one_by_one = learner.fine_.solution
    again = learner.partial_fit(features, labels).fine_.solution
    assert one_by_one.model == again.model
    assert one_by_one.lam == again.lam
    for name in ("weights", "biases", "beta"):
        assert np.allclose(getattr(one_by_one, name), getattr(again, name), atol=1e-8), name


def test_predictions_are_the_formula(fitted):
    """y_f = m_c + z.beta + b_f + w_f.phi, computed with every part for itself."""
    features, labels, learner = fitted
    learner.partial_fit(features, labels)
    fine, names = learner.fine_, learner.names_
    x = torch.from_numpy(learner.scaler_.transform(features)).double()
    phi = learner.coarse_.features(x).numpy()
    cosines = torch.nn.functional.cosine_similarity(
        torch.from_numpy(features).double()[:, None], names.vectors[None], dim=2
    ).numpy()
    alike = np.zeros_like(cosines)
    for parent in range(len(TAXONOMY)):
        children = TAXONOMY.children(parent)
        if len(children):
            exps = np.exp(10 * cosines[:, children])
            alike[:, children] = exps / exps.sum(axis=1, keepdims=True) - 1 / len(children)
    assert np.allclose(learner._likeness(x).numpy(), alike, atol=1e-5)
    z = np.stack([alike, phi @ names.student[:-1] + names.student[-1], np.tile(names.nearness, (60, 1))])
    solution = fine.solution
    shared = np.einsum("f,fnc->nc", solution.beta, z[list(solution.model.features)])[:, fine.concepts]
    offsets, _ = fine._offsets()
    own = np.zeros((60, len(fine.concepts)))
    for place, ridge in enumerate(fine.ridges):
        answers = Answers.of([ridge], [np.full(len(ridge), offsets[place])])
        alpha = (
            answers.solutions[solution.number]
            - solution.beta @ answers.of_features[solution.number, list(solution.model.features)]
        )
        own[:, place] = phi @ ridge.factors.features(len(ridge)).T @ alpha + (solution.lam + 0.1) * alpha.sum()
    _, given = learner._both_stages(x.float())
    assert np.allclose(given.numpy(), offsets + shared + own, atol=1e-4)


def test_the_student_reads_items_like_their_names(fitted):
    """g is the ridge regression of the sharp softmax on phi's leading directions, over the items of the parent."""
    features, labels, learner = fitted
    x = torch.from_numpy(learner.scaler_.transform(features))
    phi = learner.coarse_.features(x, exact=False).double()
    names = learner.names_
    _, _, v = torch.linalg.svd(phi, full_matrices=False)
    inputs = torch.cat([phi @ v.T, torch.ones(60, 1)], dim=1)  # 60 items: all directions are among the first 200
    cat, dog = TAXONOMY.index("cat"), TAXONOMY.index("dog")
    animal = labels.states(concepts=TAXONOMY.index("animal"))[:, 0] == 1
    read = (
        20
        * torch.nn.functional.cosine_similarity(
            torch.from_numpy(features).double()[:, None], names.vectors[[cat, dog]][None], dim=2
        )
    ).softmax(dim=1)
    f = inputs[animal].double()
    w = torch.linalg.solve(f.T @ f + 3 * torch.eye(f.shape[1]), f.T @ read[animal])
    expected = (inputs.double() @ w - 0.5).numpy()
    found = phi.numpy() @ names.student[:-1] + names.student[-1]
    assert np.allclose(found[:, [cat, dog]], expected, atol=1e-3)


def test_no_fine_label_at_all_is_the_coarse_stage_times_the_student():
    features, labels = data(warm=0)
    learner = Refine(**COARSE).fit(features, labels, names=named(features))
    solution = learner.fine_.solution
    assert solution.model == ALIKE[0]
    assert solution.beta.tolist() == [0.0, 1.0]
    nameless = Refine(**COARSE).fit(features, labels)
    truth = data(warm=60)[1].states()
    precise = [precision_at_k(truth, model.predict_proba(features), 1) for model in (learner, nameless)]
    assert precise[0] > precise[1] + 0.1
    assert learner.estimate() == {}
    opinions = learner.opinions(features, labels)
    assert ((opinions >= 0) & (opinions <= 1)).all()


def test_without_names_or_with_names_switched_off_it_is_the_same_to_the_bit(fitted):
    features, labels, _ = fitted
    plain = Refine(**COARSE).fit(features, labels)
    off = Refine(**COARSE, use_names=False).fit(features, labels, names=named(features))
    assert np.array_equal(plain.predict_proba(features), off.predict_proba(features))
    assert plain.fine_.solution.model == NAMELESS


def test_misleading_names_are_left_out_once_there_are_answers():
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "children": [f"a{n}" for n in range(6)]}})
    kind = rng.integers(0, 6, 400)
    features = np.eye(6)[kind] @ rng.normal(size=(6, 20)) + 0.5 * rng.normal(size=(400, 20))
    centres = np.stack([features[kind == n].mean(axis=0) for n in range(6)])
    labels = Labels(taxonomy, np.ones((400, 1), int))
    items, concepts = np.divmod(np.arange(60 * 6), 6)
    labels.record(items, concepts, (kind[items] == concepts).astype(int), "annotated")
    right, wrong = (
        NameVectors(np.vstack([centres[order], features.mean(axis=0)]).astype(np.float32), True)
        for order in (range(6), [1, 2, 3, 4, 5, 0])
    )
    learned = {
        name: Refine(**COARSE).fit(features, labels, names=vectors)
        for name, vectors in (("right", right), ("wrong", wrong), ("none", None))
    }
    assert learned["right"].fine_.solution.model != NAMELESS
    truth = np.eye(6)[kind[60:]]
    precise = {name: precision_at_k(truth, model.predict_proba(features[60:]), 1) for name, model in learned.items()}
    assert precise["wrong"] >= precise["none"] - 0.02
    assert precise["right"] >= precise["none"]


def test_in_another_space_only_nearness_is_used(fitted):
    features, labels, _ = fitted
    vectors = np.random.default_rng(0).normal(size=(len(TAXONOMY), 5))
    learner = Refine(**COARSE).fit(features, labels, names=NameVectors(vectors.astype(np.float32), False))
    assert learner.names_.count == 1
    assert learner._likeness(learner.inputs(features)).shape == (60, 0)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cat, dog, animal = (unit[TAXONOMY.index(name)] for name in ("cat", "dog", "animal"))
    near = np.array([cat @ animal, dog @ animal])
    assert np.allclose(learner.names_.nearness[TAXONOMY.indices(["cat", "dog"])], near - near.mean())
    assert learner.fine_.solution.model in (NAMELESS, Model((0,), (0.0,)))


@pytest.mark.parametrize("useful", [True, False])
def test_nearness_must_be_worth_it(useful):
    """It takes part only where it lowers the left-out error by more than one in a hundred."""
    rng = np.random.default_rng(1)
    ridges = []
    for number in range(20):
        often = number % 2 == 0
        near = (1.0 if often else -1.0) if useful else float(rng.choice([-1, 1]))
        y = (rng.random(2) < (0.9 if often else 0.1)).astype(float)
        ridges.append(Ridge(factors_of([0, 1], np.ones(2), rng.normal(size=(2, 3))), np.stack([y, np.full(2, near)])))
    chosen = choose(Answers.of(ridges, [np.full(2, 0.5)] * 20))[1]
    assert chosen == (Model((0,), (0.0,)) if useful else NAMELESS)


def test_names_are_saved_and_loaded(fitted, tmp_path):
    features, labels, learner = fitted
    learner.partial_fit(features, labels)
    learner.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(features), learner.predict_proba(features))
    assert np.array_equal(again.names_.source.vectors, learner.names_.source.vectors)
    more = labels.take(None)
    items, concepts = more.unknown()
    more.record(items[0], concepts[0], 1, "annotated")
    for model in (learner, again):
        model.partial_fit(features, more, items=[int(items[0])])
    assert np.array_equal(again.predict_proba(features), learner.predict_proba(features))


def test_what_is_kept_of_all_items_knows_the_names(fitted, tmp_path):
    from ramify.learners.cache import Cache

    features, labels, learner = fitted
    learner.partial_fit(features, labels)
    cache = Cache.write(tmp_path, learner.to_cache(features, labels), len(labels))
    kept = learner.cached_opinions(cache, labels, np.arange(60))
    assert np.allclose(kept, learner.opinions(features, labels), atol=0.02)


def test_names_of_a_flat_taxonomy_say_nothing():
    taxonomy = Taxonomy({"cat": None, "dog": None})
    labels = Labels(taxonomy, [[1, -1], [0, 1], [-1, -1], [1, 0]])
    features = np.eye(4, 3, dtype=np.float32)
    names = NameVectors(np.eye(2, 3, dtype=np.float32), True)
    learner = Refine(**COARSE).fit(features, labels, names=names)
    assert np.isfinite(learner.predict_proba(features)).all()
    assert isinstance(learner.names_, Names)
    assert (learner.names_.nearness == 0).all()
    assert (labels.states() == UNKNOWN).any()
