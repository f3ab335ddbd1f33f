"""Steps of training: the parameters of every net-trained learner are those of a plain computation of its objective."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from objectives import Objective
from ramify.labels import Labels
from ramify.learners import (
    LEML,
    ROLE,
    SPLC,
    AllLabels,
    Constrained,
    EntropyMaximisation,
    Factored,
    FullySupervised,
    Hill,
    LargeLoss,
    NoisyOr,
    OneClass,
    PseudoLabel,
)
from ramify.learners.guessing import GuessingLearner
from ramify.strategies import LookAhead
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy(
    {
        "animal": {"exhaustive": True, "cat": None, "dog": {"exhaustive": True, "poodle": None, "pug": None}},
        "food": {"exhaustive": True, "apple": None},
        "sky": ["sun", "moon"],
    }
)
# The whole pool is one batch, so nothing is drawn but the first weights; averages of weights are the last weights.
PLAIN = {"hidden": (7,), "optimizer": "sgd", "lr": 0.05, "batch_size": 99, "average": 0.0}
PLAIN |= {"epochs": 1, "shortest_epoch": 20}

LEARNERS = {
    "fully-supervised": FullySupervised(),
    "all-labels": AllLabels(),
    "leml": LEML(warm_weight=5.0),
    "leml, two hidden layers": LEML(warm_weight=0.5, hidden=(6, 5)),
    "leml, low rank": LEML(warm_weight=2.0, rank=2),
    "leml, answers only in the pool": LEML(warm_weight=0.0),
    "leml, every entry alike": LEML(warm_weight=None),
    "one-class": OneClass(),
    "one-class, every entry alike": OneClass(warm_weight=None),
    "one-class, other weights": OneClass(unknown_weight=0.4, warm_weight=0.5),
    "pseudo-label": PseudoLabel(),
    "pseudo-label, as printed": PseudoLabel(
        warm_weight=0.0, alpha=1.0, warm_batch=None, reset_pseudo_labels=True, shortest_epoch=20
    ),
    "pseudo-label, long steps": PseudoLabel(warm_weight=2.0, alpha=6.0, hidden=(6, 5)),
    "pseudo-label, smooth": PseudoLabel(assignment="smooth", alpha=1.0),
    "pseudo-label, smoother": PseudoLabel(assignment="smooth", smoothing=0.03, warm_weight=3.0, alpha=4.0),
    "factored": Factored(),
    "factored, other weight": Factored(warm_weight=4.0),
    "factored, every entry alike": Factored(warm_weight=None),
    "noisy-or": NoisyOr(),
    "noisy-or, other weight": NoisyOr(warm_weight=3.0),
    "role": ROLE(),
    "role, by the count": ROLE(count_weight=20.0, estimate_lr=0.3, warm_weight=2.0),
    "em": EntropyMaximisation(),
    "em, labels after one epoch": EntropyMaximisation(first_epochs=1, entropy_weight=0.5, negative_weight=0.7),
    "large-loss": LargeLoss(growth=0.2),
    "large-loss, temporary": LargeLoss(correction="temporary", growth=0.3, warm_weight=2.0),
    "large-loss, permanent": LargeLoss(correction="permanent", growth=0.3),
    "hill": Hill(),
    "hill, low": Hill(crest=0.6, warm_weight=2.0),
    "splc": SPLC(),
    "splc, low": SPLC(threshold=0.3, warm_weight=2.0),
    "c-hmcnn": Constrained(),
    "c-hmcnn, other weight": Constrained(warm_weight=2.0),
}


class Double(nn.Module):
    """A module of the user's own, in double precision."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(n_inputs, 6).double(), nn.Linear(6, n_outputs).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x.double()).relu())


def make_learner(name: str, **more):
    learner = clone(LEARNERS[name])
    own = {key: value for key, value in learner.get_params().items() if value != type(learner)().get_params()[key]}
    return learner.set_params(**PLAIN | own | {"random_state": 0} | more)


def data() -> tuple[np.ndarray, Labels, np.ndarray]:
    """30 items, and the truth: 6 warm, 8 partly answered (some above the fine concepts), some coarse labels unknown."""
    rng = np.random.default_rng(1)
    fine = (rng.random((30, len(TAXONOMY.leaves))) < 0.45).astype(int)
    coarse = np.stack([fine[:, :3].any(axis=1), fine[:, 3], fine[:, 4:].any(axis=1)], axis=1).astype(int)
    features = rng.normal(size=(30, 4)) + coarse @ rng.normal(size=(3, 4))
    coarse[[3, 9, 15, 27], [0, 1, 2, 0]] = -1
    labels = Labels(TAXONOMY, coarse)
    answer(labels, fine, range(6), TAXONOMY.leaves)
    answer(labels, fine, range(6, 11), [0, 4])
    labels.record([12, 13, 14], ["dog", "dog", "apple"], [1, 0, 1], "annotated")
    return features, labels, fine


def answer(labels: Labels, fine: np.ndarray, items, concepts) -> None:
    for item in items:
        for concept in concepts:
            if labels.states(item, concept)[0, 0] == -1:
                labels.record(item, int(concept), int(fine[item, concept]), "annotated")


def begun(learner, features, labels):
    """The learner's objective and its first weights, before any step."""
    return Objective(learner, clone(learner).set_params(epochs=0).fit(features, labels).net_, features, labels)


def check_equal(learner, objective, features, labels, tolerance) -> None:
    for weights, expected in zip(learner.net_.parameters(), objective.theta, strict=True):
        assert np.allclose(weights.detach().numpy(), expected.numpy(), rtol=0, atol=tolerance)
    if isinstance(learner, GuessingLearner):
        items, concepts = labels.unknown()
        assert list(zip(items.tolist(), concepts.tolist(), strict=True)) == list(objective.pseudo)
        pseudo = learner.pseudo_labels(items, concepts, np.full(len(items), np.nan, np.float32))
        expected = list(objective.pseudo.values())
        of_labels = 1e-6 if learner.name == "pseudo-label" else tolerance  # its labels are not predictions
        assert np.allclose(pseudo, expected, rtol=0, atol=of_labels, equal_nan=True)
    if learner.name != "factored":  # its scores are products
        z = objective.forward(objective.theta, objective.x).numpy()[:, : len(TAXONOMY.leaves)]
        assert np.allclose(learner.predict_proba(features), 1 / (1 + np.exp(-z)), rtol=0, atol=tolerance)


def test_the_data_have_every_kind_of_item():
    objective = Objective(LEML(), nn.Linear(1, 1), *data()[:2])
    assert objective.warm == list(range(6))
    assert objective.partly == [6, 7, 8, 9, 10, 12, 13, 14]
    assert objective.pool == list(range(6, 30))


IN_DOUBLE = ["leml", "one-class", "pseudo-label", "pseudo-label, smoother", "factored", "noisy-or"]
IN_DOUBLE += [
    "role, by the count",
    "em, labels after one epoch",
    "large-loss, permanent",
    "hill",
    "splc, low",
    "c-hmcnn",
]


@pytest.mark.parametrize(
    ("name", "module"), [*((name, None) for name in LEARNERS), *((name, Double) for name in IN_DOUBLE)]
)
def test_steps_are_those_of_the_documented_objective(name, module):
    features, labels, fine = data()
    learner = make_learner(name, module=module)
    tolerance = 2e-5 if module is None else 1e-6
    objective = begun(learner, features, labels)
    learner.fit(features, labels)
    losses = [objective.step() for _ in range(learner.n_steps_)]
    assert learner.n_steps_ > 0
    assert learner.history_[0]["loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    check_equal(learner, objective, features, labels, tolerance)

    # More answers: one more item is warm, more are partly answered, and what is still unknown keeps its pseudo-label.
    answer(labels, fine, [6], TAXONOMY.leaves)
    answer(labels, fine, [16, 17, 18], [1, 5])
    objective.look_at(labels)
    objective.next_epoch()
    learner.partial_fit(features, labels)
    for _ in range(learner.n_steps_ - len(losses)):
        objective.step()
    check_equal(learner, objective, features, labels, tolerance)


def test_look_ahead_takes_an_entry_that_would_change_nothing_for_relevant():
    """Item 1 has no feature in common with the warm item 0: its derivative is exactly 0, and its new label is 1."""
    # Each column has mean 0, so scaling keeps the zeros. Of items 2 and 3 all is known by their coarse label.
    features = np.array([[3.0, 0.0], [0.0, 3.0], [-1.0, 2.0], [-2.0, -5.0]])
    labels = Labels(Taxonomy({"animal": ["cat"]}), [[1], [1], [0], [0]])
    labels.record(0, "cat", 1, "annotated")

    def module(n_inputs: int, n_outputs: int) -> nn.Module:
        net = nn.Linear(n_inputs, n_outputs, bias=False)
        nn.init.constant_(net.weight, 0.5)
        return net

    learner = PseudoLabel(module=module, alpha=1.0, epochs=0, random_state=0).fit(features, labels)
    query = LookAhead(random_state=0).query(learner, features, labels, 5)
    assert (query.items.tolist(), query.concepts.tolist()) == ([1], [0])
    # One step over the pool (items 1, 2, 3) with the labels 1, 0, 0.
    x = features / features.std(axis=0)
    before = x @ [0.5, 0.5]
    gradient = sum((1 / (1 + np.exp(-before[n])) - (n == 1)) * x[n] for n in (1, 2, 3)) / 3
    after = x[1] @ ([0.5, 0.5] - gradient)
    p = 1 / (1 + np.exp(-before[1]))
    assert query.scores[0] == pytest.approx(np.log(1 + np.exp(after)) - p * after, rel=1e-5)
