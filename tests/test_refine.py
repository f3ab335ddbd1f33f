"""Refine: closed forms against direct ones, single answers against starting again, estimates against leaving out."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify import progress
from ramify.checks.data import TAXONOMY, data
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.learners import LEARNERS, Refine, coarse_stage, refine
from ramify.learners.base import Inputs
from ramify.learners.choice import NAMELESS, Answers
from ramify.learners.coarse_stage import CoarseStage
from ramify.learners.factors import factors_of
from ramify.learners.ridge import Ridge
from ramify.learners.rows import LAMBDAS
from ramify.learners.tree import given_known
from ramify.learners.warm import answered_items
from ramify.nets import MLP
from ramify.taxonomy import Taxonomy

COARSE = {"hidden": (16, 16), "steps": 60, "random_state": 0}


def direct_ridge(phi, y, m, lam, weights=None):
    """Minimise sum o (y - m - b - w.phi)^2 + lam |w|^2 + lam b^2 / (lam + .1) by the normal equations."""
    o = np.ones(len(phi)) if weights is None else weights
    design = np.column_stack([phi, np.ones(len(phi))])
    penalty = np.diag([*[lam] * phi.shape[1], lam / (lam + 0.1)])
    solution = np.linalg.solve((design.T * o) @ design + penalty, (design.T * o) @ (y - m))
    return solution[:-1], solution[-1]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 12), st.floats(0, 1), st.booleans())
def test_ridge_is_the_direct_solution_and_its_residuals_are_left_out_ones(seed, n, m, weighted):
    rng = np.random.default_rng(seed)
    phi, y = rng.normal(size=(n, 5)), rng.integers(0, 2, n).astype(float)
    o = rng.uniform(0.1, 1, n) if weighted else np.ones(n)
    ridge = Ridge(factors_of(list(range(n)), o, phi), y[None])
    answers = Answers.of([ridge], [np.full(n, m)])
    for number, lam in enumerate(LAMBDAS):
        alpha = ridge.solutions[number, 0] - m * ridge.of_ones[number]
        w, b = direct_ridge(phi, y, m, lam, o)
        assert np.allclose(phi.T @ alpha, w, atol=1e-9)
        assert np.allclose((lam + 0.1) * alpha.sum(), b, atol=1e-9)
        for i in range(n):
            others = np.arange(n) != i
            w, b = direct_ridge(phi[others], y[others], m, lam, o[others])
            left_out = y[i] - m - b - w @ phi[i]
            assert np.allclose(answers.residuals(NAMELESS)[number, i], left_out, atol=1e-8)
        if weighted:
            continue
        new = rng.normal(size=5)
        new /= np.linalg.norm(new)
        # The posterior of w.phi + b, with prior variances 1 for w and lam + .1 for b, and noise lam.
        design = np.column_stack([phi, np.ones(n)])
        precision = design.T @ design / lam + np.diag([1.0] * 5 + [1 / (lam + 0.1)])
        at = np.append(new, 1.0)
        assert np.allclose(ridge.variances(number, new[None])[0], at @ np.linalg.solve(precision, at))


def with_coarse_stage_of(learner: Refine) -> Refine:
    """Another Refine that has everything but the fine stage in common with this one."""
    other = Refine(**COARSE)
    for part in ("taxonomy_", "scaler_", "coarse_", "trained_", "taught_", "names_"):
        setattr(other, part, getattr(learner, part))
    return other


def small_refine(labels: Labels, features, **more) -> Refine:
    return Refine(**COARSE, **more).fit(features, labels)


@settings(max_examples=15, deadline=None)
@given(st.data())
@pytest.mark.parametrize("shrinkage", [None, 4.0])
def test_single_answers_equal_starting_again(shrinkage, data_fixture, data):
    features, labels, learner = data_fixture
    labels = labels.take(None)
    learner.shrinkage = shrinkage
    learner.partial_fit(features, labels)
    for _ in range(data.draw(st.integers(1, 8))):
        item = data.draw(st.integers(0, len(labels) - 1))
        concept = data.draw(st.sampled_from(np.flatnonzero(TAXONOMY.parents >= 0).tolist()))
        value = data.draw(st.sampled_from([0, 1, None]))
        if value is None:
            labels.retract(item, concept, "imported")
            labels.retract(item, concept, "annotated")
        else:
            labels.record(item, concept, value, "annotated")
        learner.partial_fit(features, labels, items=[item])
    again = with_coarse_stage_of(learner).set_params(shrinkage=shrinkage)
    again.partial_fit(features, labels)
    assert learner.fine_.lam == again.fine_.lam
    assert np.allclose(learner.fine_.weights, again.fine_.weights, atol=1e-8)
    assert np.allclose(learner.fine_.biases, again.fine_.biases, atol=1e-8)
    assert np.allclose(learner.variance(features), again.variance(features), atol=1e-8)
    assert np.allclose(learner.predict_proba(features), again.predict_proba(features), atol=1e-6)


@pytest.fixture(scope="module")
def data_fixture():
    features, labels = data()
    return features, labels, small_refine(labels, features)


def test_items_that_came_later_can_be_answered(data_fixture):
    features, labels, learner = data_fixture
    learner.shrinkage = None
    learner.partial_fit(features, labels)
    more = np.concatenate([features, features[:1] + 1])
    coarse = np.concatenate([labels.states(concepts=TAXONOMY.roots), [[1, 0, 0]]])
    longer = Labels(TAXONOMY, coarse)
    longer.record(60, "cat", 1, "annotated")
    learner.partial_fit(more.tolist(), longer, items=60)
    assert 60 in learner.fine_.slot_of
    assert np.isfinite(learner.predict_proba(more)).all()


def test_of_many_items_that_were_added_some_correct_the_coarse_stage(monkeypatch):
    features, labels = data(40, warm=5)
    learner = Refine(**COARSE).fit(features[:10], labels.take(slice(10)))
    answered = answered_items(labels)
    learner.partial_fit(features, labels)
    assert set(range(10, 40)) <= set(learner.learned_items().tolist())
    monkeypatch.setattr(refine, "MOST_NEW", 7)  # all of them would take memory by the square of their number
    learner.partial_fit(features, labels)
    learned = set(learner.learned_items().tolist())
    assert set(answered.tolist()) <= learned
    assert 7 <= len(learned) <= 7 + len(answered)


def test_predictions_are_the_product_of_both_stages(data_fixture):
    """Along the whole path, with the noisy-OR normalisation where children are exhaustive, written out by hand."""
    features, labels, learner = data_fixture
    learner.shrinkage = None
    learner.partial_fit(features, labels)
    x = torch.from_numpy(learner.scaler_.transform(features))
    phi = learner.coarse_.features(x).numpy()
    assert np.allclose(np.linalg.norm(phi, axis=1), 1)
    fine = dict(
        zip(learner.fine_.concepts.tolist(), (phi @ learner.fine_.weights.T + learner.fine_.biases).T, strict=True)
    )
    q = {TAXONOMY.names[concept]: np.clip(values, 1e-3, 1) for concept, values in fine.items()}
    assert "apple" not in q  # an only child follows its parent
    coarse = learner.coarse_.probabilities(x).double().numpy()
    corrected = np.clip(coarse + np.stack([fine[root] for root in TAXONOMY.roots], axis=1), 0, 1)
    assert np.array_equal(corrected[:, :2], coarse[:, :2])  # some skies are unknown, with neither sun nor moon
    p = dict(zip(["animal", "food", "sky"], corrected.T, strict=True))
    animal = 1 - (1 - q["cat"]) * (1 - q["dog"])
    dog = 1 - (1 - q["poodle"]) * (1 - q["pug"])
    by_hand = {
        "cat": p["animal"] * q["cat"] / animal,
        "poodle": p["animal"] * q["dog"] / animal * q["poodle"] / dog,
        "pug": p["animal"] * q["dog"] / animal * q["pug"] / dog,
        "apple": p["food"],
        "sun": p["sky"] * q["sun"],
        "moon": p["sky"] * q["moon"],
    }
    scores = learner._forest.scores(*learner._both_stages(x)).numpy()
    for name, expected in by_hand.items():
        assert np.allclose(scores[:, TAXONOMY.index(name)], expected, atol=2e-5), name
    order = np.argsort(scores, axis=None)
    assert (np.diff(learner.predict_proba(features).ravel()[order]) >= -1e-7).all()  # calibration keeps the ranking


def test_leave_one_out_never_saw_the_item(data_fixture):
    features, labels, learner = data_fixture
    learner.partial_fit(features, labels)
    fine = learner.fine_
    items, scores = learner.leave_one_out()
    assert set(items) == set(range(20))
    for place, item in enumerate(items[:5]):
        slots = np.array([slot for other, slot in fine.slot_of.items() if other != item])
        mine = fine.slot_of[item]
        given, offsets, phi = np.zeros(len(fine.concepts)), fine._offsets()[0], fine.looks.features
        for number, (concept, parent) in enumerate(zip(fine.concepts, fine.parents, strict=True)):
            o = fine.lesson_weights[slots, number]
            if parent >= 0:
                known = (fine.states[slots, parent] == 1) & (fine.states[slots, concept] != UNKNOWN)
                assert np.array_equal(o == 1, known)
            answered = slots[o > 0]
            w, b = direct_ridge(phi[answered], fine.targets[answered, number], offsets[number], fine.lam, o[o > 0])
            given[number] = offsets[number] + b + w @ phi[mine]
        x = torch.from_numpy(learner.scaler_.transform(features[[item]]))
        unseen = learner.coarse_.nets[learner.coarse_.folds[item]]
        with torch.no_grad():
            coarse = unseen(x).sigmoid().double()
        expected = learner._forest.scores(coarse, torch.from_numpy(given[None])).numpy()[0]
        assert np.allclose(scores[place], expected, atol=1e-6)
    assert set(learner.estimate()) == {"items", "p@1", "p@3", "p@5"}


def test_folds_cover_all_items_and_hold_them_out(monkeypatch):
    features, labels = data()
    seen: dict[int, set[int]] = {}
    original, train = Inputs.__getitem__, coarse_stage._train
    training: list[int] = []

    def watched_train(inputs, states, folds, fold, *rest):
        training.append(fold)
        try:
            return train(inputs, states, folds, fold, *rest)
        finally:
            training.clear()

    def watched(self, items):
        if training and torch.is_grad_enabled() and len(items) > 1:  # not the look at one item's width
            seen.setdefault(training[0], set()).update(items.tolist())
        return original(self, items)

    monkeypatch.setattr(coarse_stage, "_train", watched_train)
    monkeypatch.setattr(Inputs, "__getitem__", watched)
    folds = Refine(**COARSE).fit(features, labels).coarse_.folds
    assert sorted(np.bincount(folds)) == [20, 20, 20]
    for net in range(3):
        assert seen[net] == set(np.flatnonzero(folds != net).tolist())


def test_what_is_seen_multiplies_as_the_features_do():
    torch.manual_seed(0)
    nets = [MLP(6, 3, (8, 7)).eval() for _ in range(3)]
    stage = CoarseStage(nets, np.zeros(0, np.intp), [0.1 * torch.randn(6), *(0.1 * torch.randn(8) for _ in nets)])
    x, weights = torch.randn(9, 6), torch.randn(6 + 3 * 8, 4)
    coarse, z = stage.see(x)
    assert torch.allclose(z @ stage.along(weights), (stage.features(x) @ weights.double()).float(), atol=1e-5)
    assert torch.allclose(coarse, stage.probabilities(x), atol=1e-6)
    nothing = torch.zeros(1, 6)  # an item without any tag
    assert torch.allclose(
        stage.see(nothing)[1] @ stage.along(weights), (stage.features(nothing) @ weights.double()).float(), atol=1e-5
    )


def test_the_first_answer_equals_starting_again():
    features, labels = data(warm=0)
    for seed in range(3):
        learner = Refine(**COARSE | {"random_state": seed}).fit(features, labels)
        answered = labels.take(None)
        answered.record(int(answered.unknown()[0][0]), int(answered.unknown()[1][0]), 1, "annotated")
        learner.partial_fit(features, answered, items=answered.assertions().items[-1:])
        item = int(answered.unknown()[0][0])
        learner.partial_fit(features, answered, items=[item])
        one_by_one = learner.predict_proba(features)
        assert np.allclose(learner.partial_fit(features, answered).predict_proba(features), one_by_one, atol=1e-6)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x: np.where(x == x[3, 0], np.nan, x), "the features of row 0, column 0 are nan"),
        (lambda x: x[:, :5], "the features have 5 columns, but the learner was fitted with 12"),
        (lambda x: x[:9], "9 rows of features for 60 labelled items"),
    ],
)
def test_a_single_answer_with_bad_features_is_refused(data_fixture, spoil, message):
    features, labels, learner = data_fixture
    before = learner.fine_.weights.copy()
    with pytest.raises(RamifyError, match=message):
        learner.partial_fit(spoil(features), labels, items=[3])
    assert np.array_equal(learner.fine_.weights, before)


def test_beliefs_respect_what_is_known(data_fixture):
    features, labels, learner = data_fixture
    learner.partial_fit(features, labels)
    beliefs, states = learner.beliefs(features, labels), labels.states(concepts=np.arange(len(TAXONOMY)))
    assert np.array_equal(beliefs[states != UNKNOWN], states[states != UNKNOWN])
    unknown = beliefs[states == UNKNOWN]
    assert ((unknown > 0) & (unknown < 1)).any()


def test_opinions_use_everything_known_but_an_entry_of_its_own(data_fixture):
    """Of unknown concepts given all that is known, of known ones given those above; in both cases calibrated."""
    features, labels, learner = data_fixture
    learner.partial_fit(features, labels)
    stages = learner._both_stages(learner.inputs(features))
    given, independent = (
        part(*stages).double() for part in (learner._forest.given_parent, learner._forest.independent)
    )
    states = labels.states(concepts=np.arange(len(TAXONOMY)))
    everything = given_known(independent, torch.from_numpy(states), TAXONOMY)
    above = torch.where(torch.from_numpy(TAXONOMY.parents >= 0), everything[:, TAXONOMY.parents], 1.0)
    expected = torch.where(torch.from_numpy(states >= 0), given * above, everything)
    below = TAXONOMY.parents >= 0
    expected[:, below] = learner._calibration(coarse_known=True)(expected[:, below])
    assert np.allclose(learner.opinions(features, labels), expected, atol=1e-5)


def test_a_known_sibling_changes_the_opinion_of_the_others():
    """An animal that is no cat is a dog or an owl."""
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None, "owl": None}})
    rng = np.random.default_rng(0)
    labels = Labels(taxonomy, np.ones((40, 1), int))
    learner = Refine(**COARSE).fit(rng.normal(size=(40, 4)), labels)
    before = learner.opinions(np.zeros((40, 4)), labels)[0, :3]
    labels.record(0, "cat", 0, "annotated")
    after = learner.opinions(np.zeros((40, 4)), labels)[0, :3]
    dog, owl = taxonomy.indices(["dog", "owl"])
    assert after[dog] > before[dog] + 0.1
    assert 1 - (1 - after[dog]) * (1 - after[owl]) > 0.8
    labels.record(0, "dog", 1, "annotated")  # what must be there is: the owl is as likely as any
    assert learner.opinions(np.zeros((40, 4)), labels)[0, owl] < after[owl] - 0.1


def test_left_out_opinions_are_those_of_a_model_that_never_saw_the_item(data_fixture):
    features, labels, learner = data_fixture
    learner.partial_fit(features, labels)
    items = learner.leave_one_out()[0]
    states = labels.states(items)
    above = labels.states(items, np.arange(len(TAXONOMY)))
    above[:, TAXONOMY.leaves] = UNKNOWN
    found = learner.left_out(items, above, coarse_known=True)[:, TAXONOMY.leaves]
    seen = learner.opinions(features[items], labels.take(items))[:, TAXONOMY.leaves]
    assert np.abs(found - seen)[states >= 0].max() > 0.01  # it is not what the model says of what it learned
    taxonomy = labels.taxonomy
    assert (found[labels.states(items, taxonomy.parents[taxonomy.leaves]) == 0] == 0).all()


def test_the_coarse_stage_is_kept_and_found_again(tmp_path, monkeypatch):
    features, labels = data()
    first = Refine(**COARSE, memory=str(tmp_path)).fit(features, labels)
    assert len(list(tmp_path.iterdir())) == 1

    def refuse(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr(CoarseStage, "fitted", refuse)
    second = Refine(**COARSE, memory=str(tmp_path)).fit(features, data(warm=5)[1])
    assert np.array_equal(
        second.coarse_.probabilities(torch.zeros(1, 12)), first.coarse_.probabilities(torch.zeros(1, 12))
    )
    with pytest.raises(AssertionError, match="trained again"):
        Refine(**COARSE | {"random_state": 1}, memory=str(tmp_path)).fit(features, labels)


def test_other_settings_train_another_coarse_stage(tmp_path):
    features, labels = data()
    for settings_ in ({}, {"steps": 20}, {"dropout": 0.1}, {"nets": 2}, {"hidden": (8, 8)}):
        Refine(**COARSE | settings_, memory=str(tmp_path)).prepare(features, labels)
    assert len(list(tmp_path.iterdir())) == 5
    two = Refine(**COARSE | {"nets": 2}, memory=str(tmp_path)).fit(features, labels)
    assert len(two.coarse_.nets) == 2
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("name", ["refine", "coarse-prior", "noisy-or"])
def test_verbose_shows_how_far_it_is_also_where_output_is_redirected(name, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PLAIN_FIRST", 0.0)
    short = {"epochs": 2, "shortest_epoch": 2} if name == "noisy-or" else {"steps": 3}
    for verbose in (True, False):
        LEARNERS[name](hidden=(4,), verbose=verbose, random_state=0, **short).fit(*data())
        first = capsys.readouterr().err.partition("\n")[0]
        assert first.startswith({"noisy-or": "noisy-or: 1 of "}.get(name, "coarse stage: 1 of 9") if verbose else "")
        assert bool(first) is verbose


def test_a_watched_fit_tells_how_far_it_is():
    """Nets stop early: how many steps there will be is an estimate, but never fewer than there were."""
    told = []
    learner = Refine(**COARSE | {"steps": 3000, "look_every": 5, "patience": 1})
    learner.watch(lambda *how_far: told.append(how_far)).fit(*data())
    assert [what for what, *_ in told] == ["coarse stage"] * (len(told) - 1) + ["fine stage"]
    coarse = told[:-1]
    assert [done for _, done, _ in coarse] == list(range(1, len(coarse) + 1))
    assert all(done <= total for _, done, total in coarse)
    assert coarse[0][2] == 3 * coarse_stage.USUAL
    assert len(coarse) < 3 * learner.steps
    assert "_report" not in learner.get_params()


def test_nets_are_trained_by_one_thread_and_the_others_come_back(monkeypatch):
    """Threads spin: on a busy machine two of them took many times the CPU time of one (benchmarks/train.py)."""
    threads = []
    train = coarse_stage._train
    monkeypatch.setattr(coarse_stage, "_train", lambda *a: threads.append(torch.get_num_threads()) or train(*a))
    torch.set_num_threads(2)
    try:
        Refine(**COARSE).fit(*data())
        assert (threads, torch.get_num_threads()) == ([1, 1, 1], 2)
    finally:
        torch.set_num_threads(1)


def test_what_is_prepared_is_not_learned(tmp_path):
    learner = Refine(**COARSE, memory=str(tmp_path))
    learner.prepare(*data())
    assert not learner.is_fitted


@pytest.mark.parametrize("exhaustive", [True, False])
def test_an_only_child_follows_its_parent_only_where_it_must(exhaustive):
    """A child that need not be relevant starts at one half, and learns from its answers."""
    taxonomy = Taxonomy({"animal": {"exhaustive": exhaustive, "cat": None}, "food": ["apple", "banana"]})
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 4)).astype(np.float32)
    labels = Labels(taxonomy, np.ones((40, 2), int))
    learner = Refine(**COARSE).fit(features, labels)
    cat = taxonomy.index("cat")
    assert np.allclose(learner.opinions(features, labels)[:, cat], 1.0 if exhaustive else 0.5, atol=1e-6)
    if not exhaustive:
        labels.record(np.arange(10), "cat", np.zeros(10, int), "annotated")
        assert learner.partial_fit(features, labels).opinions(features, labels)[10:, cat].max() < 0.2


def test_calibration_moves_counts_towards_the_truth():
    rng = np.random.default_rng(1)
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "children": [f"a{n}" for n in range(6)]}})
    fine = np.zeros((300, 6), int)
    fine[np.arange(300), rng.integers(0, 6, 300)] = 1
    features = fine @ rng.normal(size=(6, 10)) + rng.normal(size=(300, 10))
    labels = Labels(taxonomy, np.ones((300, 1), int))
    items, concepts = np.divmod(np.arange(150 * 6), 6)
    labels.record(items, concepts, fine[items, concepts], "annotated")
    learner = Refine(**COARSE).fit(features, labels)
    found = learner.predict_proba(features[150:]).sum(axis=1).mean()
    assert 0.8 < found < 1.2  # one label an item is true


def test_before_the_first_answer_all_regressions_share_what_they_compute():
    """Ten thousand concepts of which nobody was asked must not take memory each."""
    features, labels = data(warm=0)
    learner = Refine(**COARSE).fit(features, labels)
    assert len({id(ridge.factors) for ridge in learner.fine_.ridges}) == 1
