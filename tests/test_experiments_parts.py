"""Numbers of compare, simulate and the loop, computed once more by hand: from the right labels, on the right part."""

import numpy as np
import pytest
from sklearn.base import clone

from ramify.data import Dataset, benchmark
from ramify.experiments import compare as comparing
from ramify.experiments import simulate as simulating
from ramify.experiments.common import VARIANTS, Conditions
from ramify.labels import Labels
from ramify.learners import LEARNERS, LEML, FullySupervised, Refine
from ramify.loop import ActiveLoop, Truth
from ramify.metrics import recovery_f1_loss
from ramify.strategies import STRATEGIES, Random
from ramify.taxonomy import Taxonomy

WARM = 12
NET, COARSE = {"hidden": (16,)}, {"hidden": (16, 16), "steps": 60}
TAXONOMY = Taxonomy(
    {
        "animal": {"exhaustive": True, "cat": None, "dog": None},
        "food": {"exhaustive": True, "apple": None, "pear": None},
        "sky": {"exhaustive": True, "sun": None, "moon": None, "star": None},
    }
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name in LEARNERS:
        settings = COARSE if name in ("coarse-prior", "refine") else NET
        monkeypatch.setitem(VARIANTS, name, (name, settings))


@pytest.fixture
def data():
    """200 items with 3 coarse and 7 fine concepts that the features show only dimly."""
    rng = np.random.default_rng(0)
    truth = (rng.random((200, 7)) < 0.35).astype(int)
    features = truth @ rng.normal(size=(7, 6)) + 0.7 * rng.normal(size=(200, 6))
    return Dataset(Labels.from_matrix(TAXONOMY, truth), features)


def precisions(learner, part) -> dict[str, float]:
    """P@1, 3 and 5 by sorting."""
    truth, scores = part.labels.states(), learner.predict_proba(part.features)
    ranked = np.argsort(-scores, axis=1, kind="stable")
    return {
        f"p@{k}": float(np.mean([truth[item, best[:k]].mean() for item, best in enumerate(ranked)])) for k in (1, 3, 5)
    }


# -- compare -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["leml", "pseudo-label", "all-labels", "refine"])
def test_a_cell_stops_early_on_validation_and_is_measured_on_test(name, data, tmp_path):
    data.save(tmp_path / "data")
    source = str(tmp_path / "data")
    cells = comparing.plan(source, [name], [WARM], False, 2, True)[1:]
    (result,) = comparing.compare(source, cells, tmp_path / "out", Conditions(epochs=1), how="serial")

    drawn = benchmark(data, warm=WARM, seed=1)
    labels = drawn.answers if name == "all-labels" else drawn.train.labels
    if name == "refine":
        learner = Refine(**COARSE, random_state=1).fit(drawn.train.features, labels)
        assert result["history"] == []
        assert result["estimate"] == learner.estimate()
    else:
        learner = LEARNERS[name](**NET, epochs=1, random_state=1)
        learner.fit(drawn.train.features, labels, validation=drawn.validation, truth=drawn.answers)
        assert result["history"] == learner.history_
        stopped = max(epoch["validation"] for epoch in learner.history_)
        assert np.mean(list(precisions(learner, drawn.validation).values())) == pytest.approx(stopped)
    measured = {key: result[key] for key in ("p@1", "p@3", "p@5")}
    assert measured == pytest.approx(precisions(learner, drawn.test))
    assert measured != pytest.approx(precisions(learner, drawn.validation))


def test_recovery_is_that_of_beliefs_about_entries_unknown_in_training(data, tmp_path):
    data.save(tmp_path / "data")
    source = str(tmp_path / "data")
    names = ["pseudo-label", "refine", "leml"]
    cells = comparing.plan(source, names, [WARM], False, 1, True)
    results = {
        r["learner"]: r for r in comparing.compare(source, cells, tmp_path / "out", Conditions(epochs=1), how="serial")
    }
    drawn = benchmark(data, warm=WARM, seed=0)
    unknown = drawn.train.labels.states() == -1
    truth = drawn.answers.states()
    assert results["leml"]["unknown_share"] == pytest.approx(truth[unknown].mean())

    learner = LEARNERS["pseudo-label"](**NET, epochs=1, random_state=0)
    learner.fit(drawn.train.features, drawn.train.labels, validation=drawn.validation)
    claimed = np.zeros(truth.shape, int)
    claimed[unknown] = learner.pseudo_labels(*np.nonzero(unknown), np.full(unknown.sum(), np.nan, np.float32))
    expected = recovery_f1_loss(truth, claimed, unknown)
    assert results["pseudo-label"]["recovery_f1_loss"] == pytest.approx(expected)
    learner.fit(drawn.train.features, drawn.train.labels, truth=drawn.answers)  # the history is that of epochs' ends
    claimed[unknown] = learner.pseudo_labels_[2]
    assert learner.history_[-1]["recovery_f1_loss"] == pytest.approx(recovery_f1_loss(truth, claimed, unknown))

    others = {
        "refine": Refine(**COARSE, random_state=0).fit(drawn.train.features, drawn.train.labels),
        "leml": LEML(**NET, epochs=1, random_state=0).fit(
            drawn.train.features, drawn.train.labels, validation=drawn.validation
        ),
    }
    for name, learner in others.items():
        beliefs = learner.beliefs(drawn.train.features, drawn.train.labels)[np.nonzero(unknown)]
        ranked = np.sort(beliefs)[::-1]
        f1 = [2 * ranked[:n].sum() / (n + ranked.sum()) for n in range(1, len(ranked) + 1)]  # as it expects itself
        claimed[unknown] = beliefs >= ranked[np.argmax(f1)]
        assert results[name]["recovery_f1_loss"] == pytest.approx(recovery_f1_loss(truth, claimed, unknown))


# -- simulate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", simulating.PARTS)
def test_a_simulation_is_measured_on_the_part_that_was_asked_for(part, data, tmp_path):
    data.save(tmp_path / "data")
    planned = simulating.plan(
        str(tmp_path / "data"), ["random-items"], warm=WARM, batch=9, rounds=2, seeds=2, part=part
    )
    results = simulating.simulate(planned, tmp_path / "out", how="serial")
    memory = str(tmp_path / "memory")  # of coarse stages
    assert [(r["strategy"], r["seed"]) for r in results] == planned.runs
    for result in results:
        drawn = benchmark(data, warm=WARM, seed=result["seed"])
        train, labels = drawn.train.features, drawn.train.labels.take(None)
        strategy = STRATEGIES[result["strategy"]](random_state=result["seed"])
        views = 0
        for number, row in enumerate(result["curve"]):
            if number:
                query = strategy.query(learner, train, labels, 9)  # noqa: F821  (of the round before)
                answers = drawn.answers.states()[query.items, query.concepts]
                labels.record(query.items, query.concepts, answers, "annotated")
                views += len(set(query.items.tolist()))
            learner = Refine(**COARSE, random_state=result["seed"], memory=memory).fit(train, labels)
            measured = precisions(learner, {"test": drawn.test, "validation": drawn.validation}[part])
            expected = {"round": number, "answers": 9 * number, "item_views": views, **measured}
            assert {name: row[name] for name in expected} == pytest.approx(expected)
            assert set(row) == {*expected, "seconds", "pool_f1", "settled_share", "settled_right"}
        other = {"test": drawn.validation, "validation": drawn.test}[part]
        assert measured != pytest.approx(precisions(learner, other))


# -- the loop ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "restart_every"),
    [(Refine(**COARSE, random_state=0), 10), (FullySupervised(hidden=(8,), epochs=2, random_state=0), 2),
     (LEML(hidden=(8,), epochs=2, random_state=0), 10)],
    ids=["refine", "fully-supervised", "leml"],
)  # fmt: skip
def test_every_round_is_measured_after_learning_from_its_answers(learner, restart_every, data, tmp_path):
    if "memory" in learner.get_params():
        learner.set_params(memory=str(tmp_path))
    drawn = benchmark(data, warm=WARM, seed=0)
    loop = ActiveLoop(
        drawn.train,
        clone(learner),
        Random(random_state=0),
        Truth(drawn.answers),
        batch_size=40,
        test=drawn.test,
        restart_every=restart_every,
    )
    known = []
    loop.run(rounds=4, on_round=lambda row: known.append(loop.labels.take(None)))
    assert [row["answers"] for row in loop.curve_] == [0, 40, 80, 120, 160]
    by_hand = clone(learner)
    before = {}
    for number, (row, labels) in enumerate(zip(loop.curve_, known, strict=True)):
        if number % restart_every == 0 or learner.name == "refine":
            by_hand = clone(learner).fit(drawn.train.features, labels)
        else:
            by_hand.partial_fit(drawn.train.features, labels)
        measured = precisions(by_hand, drawn.test)
        assert {key: row[key] for key in measured} == pytest.approx(measured)
        assert measured != before  # or measuring before learning would not be seen
        before = measured
