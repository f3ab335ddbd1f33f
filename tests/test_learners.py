"""Every learner passes the conformance suite; objectives, the training loop, and what is refused."""

import numpy as np
import pytest
import torch
from torch import nn

import ramify
from ramify.checks import LEARNER_CHECKS
from ramify.checks.data import TAXONOMY, data
from ramify.data import Dataset, benchmark
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.learners import LEARNERS, LEML, FullySupervised, PseudoLabel, Refine
from ramify.learners.noisy_or import posterior
from ramify.learners.one_class import one_class_loss
from ramify.learners.scaling import Scaler
from ramify.learners.warm import warm_items
from ramify.meta import masked_bce
from ramify.metrics import precision_at_k
from ramify.taxonomy import Taxonomy

SMALL = {"hidden": (16,), "epochs": 2, "shortest_epoch": 10, "random_state": 0}


COARSE = {"hidden": (16, 16), "steps": 40, "random_state": 0}


def small(name: str):
    learner = LEARNERS[name]
    return learner(**COARSE if "steps" in learner().get_params() else SMALL)


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_conformance(name, check):
    check(small(name))


@pytest.mark.parametrize("name", [name for name in LEARNERS if LEARNERS[name]().can_begin(data(warm=0)[1])])
def test_nothing_known_but_coarse_labels_is_enough(name):
    features, labels = data(warm=0)
    assert np.isfinite(small(name).fit(features, labels).predict_proba(features)).all()
    unknown = Labels(TAXONOMY, np.full((len(features), 3), UNKNOWN))
    assert np.isfinite(small(name).fit(features, unknown).predict_proba(features)).all()


# -- objectives, by a loop over the paper's equations --------------------------------------------------------------


def cross_entropy(z: float, y: float) -> float:
    p = 1 / (1 + np.exp(-z))
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def test_leml_and_one_class_are_the_papers_objectives():
    rng = np.random.default_rng(0)
    logits, states = rng.normal(size=(5, 4)), rng.integers(-1, 2, (5, 4))
    observed = sum(
        cross_entropy(logits[i, j], states[i, j]) for i in range(5) for j in range(4) if states[i, j] != UNKNOWN
    )
    z, y = torch.tensor(logits), torch.tensor(states)
    assert masked_bce(z, y).item() == pytest.approx(observed / 5)
    weight = 0.07
    all_entries = sum(
        (weight if states[i, j] == UNKNOWN else 1)
        * cross_entropy(logits[i, j], 1 if states[i, j] == UNKNOWN else states[i, j])
        for i in range(5)
        for j in range(4)
    )
    assert one_class_loss(z, y, weight).item() == pytest.approx(all_entries / 5)


def test_leml_adds_the_warm_set_and_can_be_low_rank():
    """The loss of a step is Eq. leml: observed entries of the batch, plus all entries of the warm items."""
    features, labels = data(n_items=12, warm=4)
    learner = LEML(hidden=(6,), epochs=1, rank=2, random_state=0).fit(features, labels)
    assert learner.net_.layers[-1][0].weight.shape == (2, 6)
    x = torch.from_numpy(learner.scaler_.transform(features))
    with torch.no_grad():
        z = learner.net_(x).numpy().astype(float)
    pool = np.arange(4, 12)
    states = labels.states()
    by_hand = (
        sum(
            cross_entropy(z[i, j], states[i, j])
            for i in pool
            for j in range(states.shape[1])
            if states[i, j] != UNKNOWN
        )
        / len(pool)
        + sum(cross_entropy(z[i, j], states[i, j]) for i in range(4) for j in range(states.shape[1])) / 4
    )
    warm = torch.from_numpy(labels.states(np.arange(4), np.arange(len(TAXONOMY))))
    with torch.no_grad():
        logits = learner.net_(x)
        loss = learner._loss(pool, x[pool], logits[pool], labels) + learner._warm_loss(logits[:4], warm)
    assert loss.item() == pytest.approx(by_hand, rel=1e-5)


def test_noisy_or_posterior_is_bayes_rule():
    """By enumeration: children are independent, and at least one must be relevant."""
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None, "fish": None}})
    p = np.array([0.2, 0.5, 0.7])
    for known in ([-1, -1, -1], [0, -1, -1], [1, -1, -1]):
        weights = np.zeros(3)
        total = 0.0
        for world in np.ndindex(2, 2, 2):
            if not any(world) or any(k not in (-1, w) for k, w in zip(known, world, strict=True)):
                continue
            chance = np.prod([p[n] if w else 1 - p[n] for n, w in enumerate(world)])
            total += chance
            weights += chance * np.array(world)
        found = posterior(torch.tensor(p[None]), torch.tensor([[*known, 1]]), taxonomy)
        assert np.allclose(found.numpy()[0], weights / total)
    untouched = posterior(torch.tensor(p[None]), torch.tensor([[-1, -1, -1, -1]]), taxonomy)
    assert np.allclose(untouched.numpy()[0], p)


# -- the training loop -----------------------------------------------------------------------------------------------


def as_dataset(n_items: int = 30) -> Dataset:
    features, labels = data(n_items=n_items, warm=n_items)
    return Dataset(labels, features)


def test_history_early_stopping_and_callbacks():
    features, labels = data()
    truth = data(warm=60)[1]
    seen = []

    class Listen:
        def on_epoch_end(self, learner, record):
            seen.append(record["epoch"])

    learner = PseudoLabel(hidden=(16,), epochs=40, patience=7, random_state=0)
    learner.fit(features, labels, validation=as_dataset(), truth=truth, callbacks=[Listen()])
    assert [record["epoch"] for record in learner.history_] == seen
    assert len(seen) < 40
    for record in learner.history_:
        assert {"loss", "p@1", "p@3", "p@5", "recovery_f1_loss"} <= set(record)
    values = [record["validation"] for record in learner.history_]
    assert learner.history_[-1]["looks_since_best"] == 7
    assert len(values) - 1 - int(np.argmax(values)) in (1, 2)  # an epoch of 50 steps has four looks
    probabilities = learner.predict_proba(as_dataset().features)
    kept = np.mean([precision_at_k(as_dataset().labels.states(), probabilities, k) for k in (1, 3, 5)])
    assert kept == pytest.approx(max(values))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pseudo-label", {}),
        ("factored", {}),
        ("role", {}),
        ("em", {}),
        ("large-loss", {"correction": "permanent"}),
    ],
)
def test_an_interrupted_fit_goes_on_where_it_stopped(name, settings, tmp_path):
    features, labels = data()
    validation = as_dataset()

    class StopError(Exception):
        pass

    class Interrupt:
        def on_epoch_end(self, learner, record):
            if record["epoch"] == 2:
                raise StopError

    def fit(folder, **more):
        learner = LEARNERS[name](hidden=(16,), epochs=5, patience=99, random_state=3, **settings)
        return learner.fit(features, labels, validation=validation, checkpoint=folder, **more)

    whole = fit(tmp_path / "whole")
    with pytest.raises(StopError):
        fit(tmp_path / "cut", callbacks=[Interrupt()])
    resumed = fit(tmp_path / "cut")
    assert len(resumed.history_) == 5
    assert resumed.history_ == whole.history_
    assert np.array_equal(resumed.predict_proba(features), whole.predict_proba(features))
    unknown = labels.unknown()
    otherwise = np.full(len(unknown[0]), -1, np.float32)
    assert np.array_equal(resumed.pseudo_labels(*unknown, otherwise), whole.pseudo_labels(*unknown, otherwise))


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    features, labels = data()
    LEML(**SMALL).fit(features, labels, checkpoint=tmp_path)
    with pytest.raises(RamifyError, match=r"holds a checkpoint of other settings: give another folder, or remove it$"):
        LEML(**SMALL | {"lr": 0.1}).fit(features, labels, checkpoint=tmp_path)
    with pytest.raises(RamifyError, match=r"holds a checkpoint of other data: give another folder, or remove it$"):
        LEML(**SMALL).fit(features + 1, labels, checkpoint=tmp_path)
    other = Labels(Taxonomy({"animal": ["cat", "dog"]}), np.ones((60, 1), int))
    with pytest.raises(
        RamifyError, match=r"holds a checkpoint of another taxonomy: give another folder, or remove it$"
    ):
        LEML(**SMALL).fit(features, other, checkpoint=tmp_path)


def test_any_module_can_take_the_place_of_the_mlp(tmp_path):
    features, labels = data()

    def make(n_inputs: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_inputs, 8), nn.Tanh(), nn.Linear(8, n_outputs))

    for name in ("pseudo-label", "noisy-or"):
        learner = LEARNERS[name](module=make, epochs=1, random_state=0).fit(features, labels)
        learner.save(tmp_path / name)
        with pytest.raises(RamifyError, match="was saved with a module of your own: give it again"):
            ramify.load(tmp_path / name)
        again = ramify.load(tmp_path / name, module=make)
        assert np.array_equal(again.predict_proba(features), learner.predict_proba(features))


def test_a_fit_that_stopped_early_stays_where_it_is(tmp_path):
    features, labels = data()

    def fit():
        learner = LEML(hidden=(16,), epochs=30, patience=1, random_state=0)
        return learner.fit(features, labels, validation=as_dataset(), checkpoint=tmp_path)

    first, again = fit(), fit()
    assert first.history_ == again.history_
    assert np.array_equal(first.predict_proba(features), again.predict_proba(features))


def test_after_a_fit_with_validation_learning_goes_on_from_the_best_moment():
    """It went on from the last one, whatever came of it."""
    features, labels = data()
    ruined = {"lr": 0.3, "epochs": 6, "patience": 99, "hidden": (16,), "shortest_epoch": 20, "random_state": 0}
    learner = LEML(**ruined).fit(features, labels, validation=as_dataset())
    best = learner.predict_proba(features)
    now = learner.net_.eval()(learner.inputs(features)).sigmoid().detach().numpy()
    assert np.allclose(now, best, atol=1e-6)
    assert np.array_equal(learner.partial_fit(features, labels, epochs=0).predict_proba(features), best)


def test_a_module_that_draws_at_random_is_repeatable():
    features, labels = data()

    def make(n_inputs: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_inputs, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, n_outputs))

    one, two = (PseudoLabel(module=make, epochs=1, random_state=0).fit(features, labels) for _ in range(2))
    assert np.array_equal(one.predict_proba(features), two.predict_proba(features))


def test_items_without_any_label_are_learned_from():
    """A flat taxonomy, and items to which nothing applies, count as known like all others."""
    features = data()[0]
    flat = Labels.from_matrix(Taxonomy({"cat": None, "dog": None}), np.arange(120).reshape(60, 2) % 2)
    assert FullySupervised(**SMALL).fit(features, flat).predict_proba(features).shape == (60, 2)
    truth = np.zeros((60, len(TAXONOMY)), int)
    truth[:20, TAXONOMY.indices(["cat", "animal"])] = 1
    drawn = benchmark(Dataset(Labels.from_matrix(TAXONOMY, truth, range(len(TAXONOMY))), features), warm=20)
    assert warm_items(drawn.train.labels).tolist() == drawn.warm.tolist()


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda x, labels: FullySupervised().fit(x, data(warm=0)[1]),
            "fully-supervised learns from items with fine labels, and there is none: "
            "answer questions about some items first, or use refine",
        ),
        (
            lambda x, labels: PseudoLabel().fit(x, data(warm=0)[1]),
            "pseudo-label measures its guesses on items whose fine entries are all known, and there is none: "
            "answer all questions about some items first, or use refine",
        ),
        (lambda x, labels: LEML().fit(x[:5], labels), "5 rows of features for 60 labelled items: they must agree"),
        (
            lambda x, labels: LEML().fit(np.where(x == x.max(), np.nan, x), labels),
            "the features of row 9, column 9 are nan: replace what is not a finite number",
        ),
        (lambda x, labels: LEML().predict_proba(x), "this LEML has learned nothing yet: call fit first"),
        (
            lambda x, labels: LEML(**SMALL).fit(x, labels).predict(x[:, :7]),
            "the features have 7 columns, but the learner was fitted with 12",
        ),
        (
            lambda x, labels: Refine(**COARSE).fit(x, labels).partial_fit(x, Labels(Taxonomy({"a": ["b"]}), [[1]])),
            "these labels have another taxonomy than the learner was fitted with: fit a new learner",
        ),
        (
            lambda x, labels: LEML(device="abacus").fit(x, labels),
            "there is no device 'abacus': say 'auto', 'cpu' or 'cuda'",
        ),
        (lambda x, labels: LEML(optimizer="hope").fit(x, labels), "the optimizer is 'adam' or 'sgd', not 'hope'"),
        (
            lambda x, labels: PseudoLabel(assignment="guess").fit(x, labels),
            "the assignment is 'sign' or 'smooth', not 'guess'",
        ),
        (lambda x, labels: LEML().fit(x[:0], labels.take([])), "there is no item to learn from"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(act, message):
    features, labels = data()
    with pytest.raises(RamifyError) as error:
        act(features, labels)
    assert str(error.value) == message


def test_a_fit_that_was_refused_leaves_nothing_behind():
    learner = FullySupervised()
    with pytest.raises(RamifyError):
        learner.fit(data()[0], data(warm=0)[1])
    with pytest.raises(RamifyError, match="has learned nothing yet"):
        learner.predict_proba(data()[0])


def test_a_damaged_or_foreign_folder_is_refused(tmp_path):
    features, labels = data()
    with pytest.raises(RamifyError, match="is not a learner that Ramify saved"):
        ramify.load(tmp_path)
    LEML(**SMALL).fit(features, labels).save(tmp_path)
    path = tmp_path / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(RamifyError, match="is not a learner that Ramify saved"):
        ramify.load(tmp_path)


# -- scaling ---------------------------------------------------------------------------------------------------------


def test_scaling_follows_the_kind_of_features():
    rng = np.random.default_rng(0)
    dense = rng.normal(3, 5, (5000, 4))
    dense[:, 2] = 7.0
    scaled = Scaler.fitted(dense).transform(dense)
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(scaled.std(axis=0), [1, 1, 0, 1], atol=1e-4)
    assert (scaled[:, 2] == 0).all()
    tags = (rng.random((50, 64)) < 0.1).astype(np.uint8)
    scaler = Scaler.fitted(tags)
    assert scaler.by_row
    norms = np.linalg.norm(scaler.transform(tags), axis=1)
    assert np.allclose(norms[tags.any(axis=1)], np.sqrt(64) / 4)
