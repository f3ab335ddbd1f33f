"""A learner and a strategy of somebody else's, in one file, go everywhere: checks, compare, simulate, train, serve."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from starlette.testclient import TestClient

import ramify
from outside import Likeliest, Nearest
from ramify.checks import LEARNER_CHECKS, STRATEGY_CHECKS
from ramify.checks.data import TAXONOMY, data
from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.experiments import compare, simulate
from ramify.experiments.common import Conditions
from ramify.learners import learner_class
from ramify.project.live.service import Service
from ramify.strategies import STRATEGIES, strategy_class
from ramify.taxonomy import Taxonomy
from ramify.web import create_app

LEARNER, STRATEGY = "outside:Nearest", "outside:Likeliest"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """For the processes that train and compare."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
def test_the_learner_passes_the_checks(check):
    check(Nearest(random_state=0))


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
def test_the_strategy_passes_the_checks(check):
    check(Likeliest(), Nearest(random_state=0))


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "look-ahead"])
def test_other_strategies_ask_with_the_learner(name):
    for check in STRATEGY_CHECKS:
        check(STRATEGIES[name](), Nearest(random_state=0))


def test_names_that_lead_nowhere_are_refused():
    assert learner_class(LEARNER) is Nearest
    assert strategy_class(STRATEGY) is Likeliest
    for name in ("outside:Farthest", "nowhere:Nearest", ":", "outside:"):
        with pytest.raises(RamifyError, match=r"cannot be loaded .*: check module and class"):
            learner_class(name)


@pytest.fixture
def source(tmp_path):
    children = {"animal": ("cat", "dog"), "sky": ("sun", "moon", "star")}
    exhaustive = {name: {"exhaustive": True, **dict.fromkeys(finer)} for name, finer in children.items()}
    features, labels = data(n_items=120, warm=120, taxonomy=Taxonomy(exhaustive))  # so all coarse labels are known
    Dataset(labels, features).save(tmp_path / "data")
    return str(tmp_path / "data")


def test_it_is_compared(source, tmp_path):
    cells = compare.plan(source, [LEARNER, "fully-supervised"], [10], False, 1, True)
    results = compare.compare(source, cells, tmp_path / "out", Conditions(epochs=1), how="serial")
    by_learner = {result["learner"]: result for result in results}
    assert 0 < by_learner[LEARNER]["p@1"] <= 1


def test_it_is_simulated(source, tmp_path):
    planned = simulate.plan(source, [STRATEGY, "random"], LEARNER, warm=10, batch=5, rounds=2, seeds=1)
    results = simulate.simulate(planned, tmp_path / "out", how="serial")
    assert {result["strategy"] for result in results} == {STRATEGY, "random"}
    assert all(len(result["curve"]) == 3 for result in results)


@pytest.mark.parametrize("strategy", [STRATEGY, "expected-gain", "finish", "random-items"])
def test_it_is_trained_served_and_asked(tmp_path, strategy):
    features, labels = data(warm=12)
    project = ramify.Project.create(tmp_path / "project", TAXONOMY)
    ids = [f"item {n}" for n in range(len(features))]
    from ramify.project.store.store import Store

    with Store(project.folder) as store:
        store.add(ids, ids, None, features, labels)
    assert project.train(LEARNER, k=2) == 1
    assert project.status().model.learner == "nearest"
    assert project.predict().shape == (60, 2 + len(TAXONOMY.leaves))
    with (
        Service(project.folder, strategy=strategy) as service,
        TestClient(create_app(service, hosts=["testserver"])) as page,
    ):
        (question,) = page.post("/api/next", json={"annotator": "ann"}).json()
        assert question["guess"]
        answers = [{"item": e["item"], "concept": e["concept"], "answer": "no"} for e in question["entries"]]
        said = page.post("/api/answers", json={"key": "a-key-of-ours", "annotator": "ann", "answers": answers}).json()
        assert said["saved"] == len(answers)
        assert page.get("/api/status").json()["problems"] == []
        known = page.get(f"/api/predictions/{question['item']['item']}").json()
        assert all(0 <= entry["probability"] <= 1 for entry in known["entries"] if entry["fine"])


def test_scikit_learn_selects_models_with_it():
    features, labels = data(warm=60)
    x, _, y, _ = train_test_split(features, labels, random_state=0)
    scores = cross_val_score(Nearest(random_state=0), x, y, cv=3)
    assert np.isfinite(scores).all()
    found = GridSearchCV(Nearest(random_state=0), {"k": [1, 5]}, cv=3).fit(x, y)
    assert found.best_params_["k"] in (1, 5)
