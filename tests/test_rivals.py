"""The rivals from other papers: each loss against its formula, labels of unknown entries that stay, what is refused."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

import ramify
from ramify.checks.data import TAXONOMY, data
from ramify.errors import RamifyError
from ramify.learners import LEARNERS, ROLE, SPLC, EntropyMaximisation, Hill, LargeLoss
from ramify.learners.constrained import constrained, constraint_loss
from ramify.learners.em import least_probable, unknown_losses
from ramify.learners.guessing import UnknownEntries
from ramify.learners.hill import hill
from ramify.learners.large_loss import largest
from ramify.learners.role import count_penalty, moved

SMALL = {"hidden": (16,), "epochs": 3, "shortest_epoch": 10, "random_state": 0}
LOGITS = st.floats(-20, 20, width=32)


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


# -- unknown entries ---------------------------------------------------------------------------------------------------


@given(arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 5))), st.data())
def test_unknown_entries_are_found_as_in_a_matrix(unknown, draw):
    entries = UnknownEntries(*np.nonzero(unknown))
    values = np.arange(len(entries), dtype=np.float32)
    matrix = np.full(unknown.shape, -1, np.float32)
    matrix[unknown] = values
    items = np.array(draw.draw(st.lists(st.integers(0, len(unknown) - 1), max_size=8)), np.intp)
    rows, concepts, places = entries.of_batch(items)
    batch = np.full((len(items), unknown.shape[1]), -1, np.float32)
    batch[rows, concepts] = values[places]
    assert np.array_equal(batch, matrix[items])
    everything = np.indices(unknown.shape).reshape(2, -1)
    assert np.array_equal(entries.read(values, *everything, np.full(unknown.size, -1, np.float32)), matrix.ravel())


KEEPS_LABELS = {
    "role": ROLE(**SMALL),
    "em": EntropyMaximisation(first_epochs=1, **SMALL),
    "large-loss": LargeLoss(correction="permanent", growth=0.2, **SMALL),
}


@pytest.mark.parametrize("name", KEEPS_LABELS)
def test_labels_stay_while_more_is_known_and_on_disk(name, tmp_path):
    features, labels = data()
    learner = clone(KEEPS_LABELS[name]).fit(features, labels)
    before = labels.unknown()
    nowhere = np.full(len(before[0]), -1, np.float32)
    given_labels = learner.pseudo_labels(*before, nowhere)
    assert (given_labels >= 0).any()
    learner.save(tmp_path)
    again = ramify.load(tmp_path)
    more = data(warm=25)[1]
    for model in (learner, again):
        assert np.array_equal(model.pseudo_labels(*before, nowhere), given_labels)
        model.partial_fit(features, more, epochs=0)
        still = more.states()[before] < 0
        assert 0 < still.sum() < len(still)
        assert np.array_equal(model.pseudo_labels(*before, nowhere), np.where(still, given_labels, -1))
        model.partial_fit(features, more, epochs=2)
    assert np.array_equal(learner.predict_proba(features), again.predict_proba(features))


def test_labels_are_told_of_where_every_unknown_entry_has_one():
    features, labels = data()
    for name, learner in KEEPS_LABELS.items():
        record = clone(learner).fit(features, labels, truth=data(warm=60)[1]).history_[-1]
        assert ("recovery_f1_loss" in record) == (name == "role")


# -- ROLE --------------------------------------------------------------------------------------------------------------


def test_an_estimate_moves_towards_the_net_and_towards_the_count():
    # logit(1/2) = 0; slope 1/2 - 3/4 = -1/4, and 0.8 * 1/4 from the count: together -0.05, times 2.
    assert moved(np.array([0.5]), np.array([0.75]), 0.8, 2.0)[0] == pytest.approx(sigmoid(0.1))
    assert moved(np.array([0.5]), np.array([0.0]), 0.0, 99.0)[0] == 0.01
    # Of three concepts 3/2 and 1/2 are expected to be relevant, 1 on average.
    p = torch.tensor([[1.0, 0.5, 0.0], [0.0, 0.25, 0.25]])
    assert count_penalty(p, 2.5).item() == pytest.approx(1.5**2 / 3)


def test_role_counts_on_the_warm_set_alone():
    features, labels = data()
    learner = ROLE(**SMALL).fit(features, labels)
    assert learner._count == pytest.approx(labels.states(np.arange(20)).sum() / 20)
    items, concepts, estimates = learner.pseudo_labels_
    assert np.array_equal(np.stack([items, concepts]), np.stack(labels.unknown()))
    assert ((estimates >= 0.01 - 1e-6) & (estimates <= 0.99 + 1e-6)).all()


# -- entropy maximisation ----------------------------------------------------------------------------------------------


def test_unknown_entries_are_drawn_to_one_half_and_labelled_ones_to_their_label():
    z = torch.tensor([1.0, -2.0, 1.0], requires_grad=True)
    losses = unknown_losses(z, torch.tensor([torch.nan, torch.nan, 0.2]), 0.3, 0.7)
    p, q = sigmoid(1.0), sigmoid(-2.0)
    expected = [
        0.3 * (p * math.log(p) + (1 - p) * math.log(1 - p)),
        0.3 * (q * math.log(q) + (1 - q) * math.log(1 - q)),
    ]
    expected.append(-0.7 * (0.2 * math.log(p) + 0.8 * math.log(1 - p)))
    assert losses.tolist() == pytest.approx(expected)
    losses.sum().backward()
    assert z.grad.tolist() == pytest.approx([0.3 * p * (1 - p), -2 * 0.3 * q * (1 - q), 0.7 * (p - 0.2)])
    assert unknown_losses(torch.tensor([90.0]), torch.tensor([torch.nan]), 1.0, 1.0).item() == pytest.approx(
        0, abs=1e-6
    )


@given(st.lists(st.tuples(st.integers(0, 3), LOGITS), max_size=40), st.floats(0, 1))
def test_the_least_probable_of_each_concept_are_chosen(entries, share):
    concepts = np.array([concept for concept, _ in entries], np.intp)
    p = np.array([value for _, value in entries])
    chosen = least_probable(concepts, p, share)
    for concept in range(4):
        own, taken = p[concepts == concept], p[(concepts == concept) & chosen]
        assert len(taken) == int(share * len(own) + 1e-9)
        assert sorted(taken) == sorted(own)[: len(taken)]


def test_pseudo_labels_come_after_the_first_epochs_and_grow_to_their_share():
    features, labels = data()
    _, concepts = labels.unknown()
    counts = np.bincount(concepts)
    shares = []

    class Listen:
        def on_epoch_end(self, learner, record):
            has_one = ~np.isnan(learner.pseudo_labels_[2])
            shares.append(np.bincount(concepts[has_one], minlength=len(counts)).tolist())

    learner = EntropyMaximisation(**SMALL | {"epochs": 4}, first_epochs=2, negative_share=0.8)
    learner.fit(features, labels, callbacks=[Listen()])
    half, full = ([int(share * count + 1e-9) for count in counts] for share in (0.4, 0.8))
    assert shares == [[0] * len(counts), [0] * len(counts), half, full]


# -- large losses ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(LOGITS, st.booleans()), max_size=40), st.floats(0, 1))
def test_exactly_the_share_of_largest_losses_is_found(entries, share):
    logits = np.array([z for z, _ in entries])
    corrected = np.array([was for _, was in entries], bool)
    large = largest(logits, share, corrected)
    assert large[corrected].all()
    assert large.sum() == max(int(share * len(logits) + 1e-9), corrected.sum())
    others = ~corrected
    if (large & others).any() and (~large).any():
        assert logits[large & others].min() >= logits[~large].max()


@pytest.mark.parametrize("correction", ["reject", "temporary", "permanent"])
def test_large_losses_are_left_out_or_corrected(correction):
    features, labels = data()
    learner = LargeLoss(correction=correction, growth=0.1, **SMALL).fit(features, labels)
    pool = np.unique(labels.unknown()[0])
    x = learner.inputs(features)[pool]
    states = labels.states(pool)
    permanent = learner.pseudo_labels(*labels.unknown(), np.zeros(len(labels.unknown()[0]), np.float32)) == 1
    n_unknown = (states < 0).sum()
    assert permanent.any() == (correction == "permanent")
    learner.history_ = learner.history_[:2]  # the third epoch
    with torch.no_grad():
        z = learner.net_(x).double().numpy()
        loss = learner._loss(pool, x, learner.net_(x), labels).item()
    losses = np.log1p(np.exp(z))
    order = np.argsort(-np.where(states < 0, z, -np.inf).ravel())
    large = np.zeros(states.size, bool)
    if correction == "permanent":  # the batches of a share of 0.2 corrected all that are too large
        large[(states < 0).ravel()] = permanent
    else:
        large[order[: int(0.2 * n_unknown)]] = True
    large = large.reshape(states.shape)
    expected = np.where(states == 1, losses - z, losses)
    expected = np.where(large, 0 if correction == "reject" else losses - z, expected)
    assert loss == pytest.approx(expected.sum() / len(pool), rel=1e-5)


# -- Hill and SPLC -----------------------------------------------------------------------------------------------------


def test_the_hill_has_its_crest_where_it_says():
    p = torch.linspace(0.01, 0.99, 99, dtype=torch.float64)
    for crest in (0.5, 0.8, 1.0):
        z = p.logit().requires_grad_()
        hill(z, crest).sum().backward()
        assert np.allclose(z.grad.numpy(), (3 * p * (crest - p) * p * (1 - p)).numpy())
        assert np.array_equal(z.grad.numpy().round(12) > 0, p.numpy().round(2) < crest)


def test_the_gradient_of_the_hill_vanishes_near_one():
    """Where cross-entropy pushes hardest: its slope is p."""
    z = torch.tensor([0.999, 0.6, 0.001]).logit().requires_grad_()
    hill(z).sum().backward()
    assert abs(z.grad[0].item()) < 1e-5
    assert z.grad[1].item() == pytest.approx(3 * 0.6**2 * 0.4**2)
    assert abs(z.grad[2].item()) < 1e-5
    assert hill(torch.tensor([1.0])).item() == pytest.approx((1.5 - sigmoid(1)) * sigmoid(1) ** 2)


def test_splc_believes_the_net_from_the_second_epoch_on():
    features, labels = data()
    learner = SPLC(**SMALL, threshold=0.3).fit(features, labels)
    items = np.arange(20, 60)
    x, states = learner.inputs(features)[items], labels.states(items)
    with torch.no_grad():
        z = learner.net_(x).double().numpy()
        found = [learner._loss(items, x, learner.net_(x), labels).item()]
        learner.history_ = []
        found.append(learner._loss(items, x, learner.net_(x), labels).item())
    probable = 1 / (1 + np.exp(-z)) > 0.3
    assert probable[states < 0].any()
    for loss, believed in zip(found, (probable, np.zeros_like(probable)), strict=True):
        y = np.where(states < 0, believed, states)
        assert loss == pytest.approx((np.log1p(np.exp(z)) - y * z).sum() / len(items), rel=1e-5)


# -- C-HMCNN -----------------------------------------------------------------------------------------------------------


@given(arrays(np.float32, (3, len(TAXONOMY)), elements=LOGITS))
def test_constrained_outputs_never_violate_the_hierarchy(logits):
    found = constrained(torch.from_numpy(logits), TAXONOMY).numpy()
    for concept, parent in enumerate(TAXONOMY.parents):
        below = [concept, *TAXONOMY.descendants(concept).tolist()]
        assert np.array_equal(found[:, concept], logits[:, below].max(axis=1))
        if parent >= 0:
            assert (found[:, parent] >= found[:, concept]).all()


def test_the_loss_of_constrained_outputs_is_the_papers_on_known_concepts():
    names = {name: TAXONOMY.index(name) for name in TAXONOMY.names}
    states, logits = torch.full((1, len(TAXONOMY)), -1), torch.zeros(1, len(TAXONOMY))
    for name, state, z in [
        ("animal", 1, 0.1),
        ("dog", 1, 0.5),
        ("poodle", -1, 3.0),  # does not explain the dog: nobody said that it is one
        ("pug", 1, 0.3),
        ("cat", 0, 2.0),
        ("sky", 0, -1.0),
        ("sun", 0, 1.5),
        ("moon", 0, 0.7),
    ]:
        states[0, names[name]], logits[0, names[name]] = state, z
    logits.requires_grad_()
    loss = constraint_loss(logits, states, TAXONOMY)
    explained, refused = [0.5, 0.5, 0.3], [2.0, 1.5, 1.5, 0.7]  # animal, dog, pug; cat, sky, sun, moon
    expected = -sum(math.log(sigmoid(z)) for z in explained) - sum(math.log(1 - sigmoid(z)) for z in refused)
    assert loss.item() == pytest.approx(expected)
    loss.backward()
    assert logits.grad[0, names["poodle"]] == logits.grad[0, names["animal"]] == logits.grad[0, names["apple"]] == 0
    assert logits.grad[0, names["dog"]].item() == pytest.approx(2 * (sigmoid(0.5) - 1))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "warm", "message"),
    [
        (
            ROLE(),
            0,
            "role counts relevant concepts on items whose fine entries are all known, and there is none: "
            "answer all questions about some items first, or use refine",
        ),
        (ROLE(count_weight=-1), 20, "count_weight is -1: give a number of 0 or more"),
        (ROLE(estimate_lr=0.0), 20, "estimate_lr is 0.0: give a number above 0"),
        (EntropyMaximisation(entropy_weight=-0.1), 20, "entropy_weight is -0.1: give a number of 0 or more"),
        (EntropyMaximisation(negative_weight=math.nan), 20, "negative_weight is nan: give a number of 0 or more"),
        (EntropyMaximisation(negative_share=90), 20, "negative_share is 90: give a share from 0 to 1"),
        (
            EntropyMaximisation(first_epochs=0),
            20,
            "first_epochs is 0: give 1 or more, as nothing is predicted before the first epoch",
        ),
        (
            LargeLoss(correction="hope"),
            20,
            "the correction is 'reject', 'temporary' or 'permanent', not 'hope'",
        ),
        (LargeLoss(growth=2), 20, "growth is 2: give a share from 0 to 1"),
        (Hill(crest=0), 20, "crest is 0: give a number above 0"),
        (SPLC(threshold=60), 20, "threshold is 60: give a probability from 0 to 1"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(learner, warm, message):
    with pytest.raises(RamifyError) as error:
        learner.fit(*data(warm=warm))
    assert str(error.value) == message


def test_rivals_are_called_by_their_names():
    assert {"role", "em", "large-loss", "hill", "splc", "c-hmcnn"} <= set(LEARNERS)
