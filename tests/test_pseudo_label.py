"""Algorithm 1, literally: a hand-worked example of three items and two concepts."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import PseudoLabel
from ramify.learners.scaling import Scaler
from ramify.meta import bce, pseudo_label_gradient
from ramify.nets import MLP
from ramify.taxonomy import Taxonomy

# Items 0 and 1 are the pool, item 2 is warm. One feature; the net is z_k = w_k x + b_k, all weights 0 at first.
X = np.array([[1.0], [-1.0], [1.0]], np.float32)
TAXONOMY = Taxonomy({"c": ["a", "b"]})


def labels() -> Labels:
    found = Labels(TAXONOMY, [[1], [1], [1]])
    found.record([2, 2], ["a", "b"], [1, 0], "annotated")
    return found


def zero_linear(n_inputs: int, n_outputs: int) -> nn.Module:
    net = nn.Linear(n_inputs, n_outputs)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    return net


def zero_mlp(n_inputs: int, n_outputs: int) -> nn.Module:
    net = MLP(n_inputs, n_outputs, hidden=())
    for value in net.parameters():
        nn.init.zeros_(value)
    return net


SIGMOID_QUARTER = 1 / (1 + math.exp(-0.25))


def test_the_intermediate_values():
    net = zero_linear(1, 2)
    x, x_warm = torch.tensor(X[:2]), torch.tensor(X[2:])
    # At the beginning pseudo-labels are the siblings' rates: a (1 + 1/2) / (1 + 1), b (0 + 1/2) / (1 + 1).
    y, y_warm = torch.tensor([[0.75, 0.25], [0.75, 0.25]]), torch.tensor([[1.0, 0.0]])
    # Pseudo-update: deltas (1/2 - y) / 2 = (-1/8, 1/8) for both items; they cancel in w (x = 1 and -1), not in b.
    gradients = torch.autograd.grad(bce(net(x), y), list(net.parameters()))
    assert gradients[0].tolist() == [[0.0], [0.0]]
    assert gradients[1].tolist() == [-0.25, 0.25]
    # theta' = theta - gradient (alpha = 1): w' = 0, b' = (1/4, -1/4). The warm item's deltas there:
    d = 1 - SIGMOID_QUARTER  # sigmoid(1/4) - 1 = -d for a, sigmoid(-1/4) - 0 = d for b
    # Along v = (w: (-d, d), b: (-d, d)) item 0 moves by w x + b = (-2d, 2d), item 1 by (0, 0); times alpha / B = 1/2.
    expected = torch.tensor([[-d, d], [0.0, 0.0]])
    for method in ("jvp", "double-backward"):
        found = pseudo_label_gradient(net, x, y, x_warm, y_warm, 1.0, method=method)
        assert torch.allclose(found, expected, atol=1e-7)
    assert torch.allclose(pseudo_label_gradient(zero_mlp(1, 2), x, y, x_warm, y_warm, 1.0), expected, atol=1e-7)


@pytest.mark.parametrize("module", [zero_linear, zero_mlp])
def test_one_step_as_printed(module, monkeypatch):
    monkeypatch.setattr(Scaler, "fitted", lambda x: Scaler(np.zeros(1, np.float32), np.ones(1, np.float32), False))
    learner = PseudoLabel(
        module=module,
        assignment="sign",
        alpha=1.0,
        lr=0.5,
        optimizer="sgd",
        warm_weight=0.0,
        batch_size=2,
        epochs=1,
        shortest_epoch=1,
    ).fit(X, labels())
    # Assigned is 1 where the gradient is <= 0: (1, 0) for item 0, and (1, 1) for item 1, whose gradient is exactly 0.
    items, concepts, pseudo = learner.pseudo_labels_
    assert items.tolist() == [0, 0, 1, 1]
    assert concepts.tolist() == [0, 1, 0, 1]
    assert pseudo.tolist() == [1.0, 0.0, 1.0, 1.0]
    # Real update with these: deltas (-1/4, 1/4) and (-1/4, -1/4), so the gradient is (0, 1/2) in w, (-1/2, 0) in b.
    weight, bias = learner.net_.parameters()
    assert weight.flatten().tolist() == [0.0, -0.25]
    assert bias.tolist() == [0.25, 0.0]
    # Its loss is that of z = 0: two concepts of log 2 each, whatever the labels.
    assert learner.history_[0]["loss"] == pytest.approx(2 * math.log(2))


def test_smoothing_moves_only_part_of_the_way(monkeypatch):
    monkeypatch.setattr(Scaler, "fitted", lambda x: Scaler(np.zeros(1, np.float32), np.ones(1, np.float32), False))
    learner = PseudoLabel(
        module=zero_mlp, assignment="smooth", alpha=1.0, batch_size=2, epochs=1, shortest_epoch=1
    ).fit(X, labels())
    assert learner.pseudo_labels_[2].tolist() == pytest.approx([0.775, 0.225, 0.775, 0.325])


def test_only_unknown_entries_have_pseudo_labels_and_they_go_on():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, 4))
    known = Labels(TAXONOMY, (np.arange(20) % 3 < 2).astype(int)[:, None])
    known.record([0, 0, 1, 1], ["a", "b", "a", "b"], [1, 0, 0, 1], "annotated")
    learner = PseudoLabel(hidden=(8,), epochs=1, random_state=0).fit(features, known)
    items, concepts, before = learner.pseudo_labels_
    assert set(before.tolist()) <= {0.0, 1.0}
    assert np.array_equal(np.stack([items, concepts]), np.stack(known.unknown()))
    known.record(int(items[0]), int(concepts[0]), 1, "annotated")
    learner.epochs = 0
    learner.partial_fit(features, known, epochs=0)
    assert np.array_equal(learner.pseudo_labels_[2], before[1:])


def known_items(count: int) -> tuple[np.ndarray, Labels, Labels]:
    """Features, what is known (the first five items in full, of the others the coarse label), and all labels."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(count, 4))
    fine = (features[:, :2] > 0).astype(int)
    fine[fine.sum(axis=1) == 0, 0] = 1
    truth = Labels.from_matrix(TAXONOMY, fine)
    known = Labels(TAXONOMY, np.ones((count, 1), int))
    for item in range(5):
        known.record([item, item], ["a", "b"], fine[item], "annotated")
    return features, known, truth


def test_pseudo_labels_begin_anew_after_more_answers_where_that_is_asked_for():
    features, known, _ = known_items(20)
    learner = PseudoLabel(hidden=(8,), epochs=1, random_state=0, reset_pseudo_labels=True).fit(features, known)
    assert set(learner.pseudo_labels_[2].tolist()) <= {0.0, 1.0}
    known.record(int(learner.pseudo_labels_[0][0]), int(learner.pseudo_labels_[1][0]), 1, "annotated")
    learner.partial_fit(features, known, epochs=0)
    assert len(set(learner.pseudo_labels_[2].tolist()) - {0.0, 1.0}) == 2  # the siblings' rates, as at the beginning


@pytest.mark.parametrize(("fixed", "judges"), [(True, [0]), (False, [0, 1])])
def test_answers_leave_the_warm_set_of_algorithm_2_as_it_was(fixed, judges):
    features, truth = np.arange(4.0).reshape(4, 1), [[1, 0], [0, 1], [1, 1], [1, 0]]
    known = Labels(TAXONOMY, np.ones((4, 1), int))
    for item, source in enumerate(["imported", "annotated"]):
        known.record([item, item], ["a", "b"], truth[item], source)
    drawn = set()

    class Watch(PseudoLabel):
        """Remembers which items were in a mini-batch."""

        def _loss(self, items, x, logits, labels):
            drawn.update(items.tolist())
            return super()._loss(items, x, logits, labels)

    learner = Watch(hidden=(8,), epochs=1, random_state=0, fixed_warm_set=fixed, batch_size=1).fit(features, known)
    assert learner._warm.states[:, :2].tolist() == [truth[item] for item in judges]
    assert drawn == {0, 1, 2, 3} - set(judges)


def test_without_imported_items_a_fixed_warm_set_is_empty():
    features, known, _ = known_items(20)
    with pytest.raises(RamifyError, match="there is none"):
        PseudoLabel(fixed_warm_set=True).fit(features, known)


def test_after_stopping_early_the_pseudo_labels_are_those_of_the_net_that_predicts(tmp_path):
    features, known, truth = known_items(60)

    class Keep(PseudoLabel):
        """Remembers what both were at every look at the validation part."""

        moments: list = []  # noqa: RUF012

        def _look(self, validation):
            looked = super()._look(validation)
            self.moments.append((looked["validation"], self.predict_proba(features), self._pseudo.copy()))
            return looked

    learner = Keep(hidden=(8,), epochs=6, look_every=2, shortest_epoch=10, batch_size=8, lr=0.02, random_state=0)
    learner.fit(features, known, validation=Dataset(truth, features))
    best = max(range(len(Keep.moments)), key=lambda place: Keep.moments[place][0])
    _, predicted, pseudo = Keep.moments[best]
    assert best < len(Keep.moments) - 1, "the best moment must not be the last one here"
    assert np.array_equal(learner.predict_proba(features), predicted)
    assert np.array_equal(learner.pseudo_labels_[2], pseudo)
    assert not np.array_equal(pseudo, Keep.moments[-1][2])


def test_the_whole_warm_set_may_join_every_step():
    features, known, _ = known_items(20)
    seen = set()

    class Watched(PseudoLabel):
        def _loss(self, items, x, logits, labels):
            seen.add(len(self._warm.draw(self.warm_batch, self._generator)[0]))
            return super()._loss(items, x, logits, labels)

    for warm_batch in (2, None):
        Watched(hidden=(4,), epochs=1, shortest_epoch=2, warm_batch=warm_batch, random_state=0).fit(features, known)
    assert seen == {2, 5}
