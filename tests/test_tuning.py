"""Tuning: the same budget for all, trials on disk, interrupted and killed ones go on, what fails is told."""

import json

import pytest

from ramify.data import benchmark
from ramify.errors import RamifyError
from ramify.experiments import common, tuning
from ramify.experiments.common import OURS, PAPERS, VARIANTS, Conditions
from ramify.experiments.runs import run_comparison
from ramify.learners import LEML, learner_class
from ramify.learners.search import Between
from test_cli import run_in_process

QUICK = {"hidden": (8,), "epochs": 1, "shortest_epoch": 4, "look_every": 2, "patience": 99}


@pytest.fixture
def scenes_folder(tmp_path):
    from ramify.demo import scenes

    scenes.read(120).save(tmp_path / "scenes")
    return str(tmp_path / "scenes")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name in ("leml", "fully-supervised", "pseudo-label"):
        monkeypatch.setitem(VARIANTS, name, (name, QUICK))


def test_every_learner_gets_the_same_number_of_trials_and_begins_as_it_is(scenes_folder, tmp_path):
    reports = []
    names = ["leml", "fully-supervised", "coarse-prior"]  # the last has nothing to tune
    chosen = tuning.tune(
        scenes_folder, names, 8, 4, tmp_path / "trials", how="serial", report=lambda *n: reports.append(n)
    )
    assert [(best.learner, best.trials, best.failures) for best in chosen] == [
        ("leml", 4, ()),
        ("fully-supervised", 4, ()),
    ]
    assert reports[0] == (0, 8)
    assert reports[-1] == (8, 8)
    drawn = benchmark(common.data_of(scenes_folder, True), warm=8, seed=0)
    for best in chosen:
        assert set(best.parameters) == set(learner_class(best.learner).search_space)
        own = learner_class(best.learner)(random_state=0, **QUICK)
        own.fit(drawn.train.features, drawn.train.labels, validation=drawn.validation)
        assert best.untuned == pytest.approx(max(record["validation"] for record in own.history_))
        tuned = own.set_params(**best.parameters)
        tuned.fit(drawn.train.features, drawn.train.labels, validation=drawn.validation)
        assert best.value == pytest.approx(max(record["validation"] for record in tuned.history_))
        assert best.value >= best.untuned


def test_trials_are_found_again_and_more_can_be_added(scenes_folder, tmp_path, monkeypatch):
    def tune(trials):
        return tuning.tune(scenes_folder, ["leml"], 8, trials, tmp_path / "trials", how="serial")[0]

    fits = []
    fit = LEML.fit
    monkeypatch.setattr(LEML, "fit", lambda self, *given, **more: fits.append(1) or fit(self, *given, **more))
    first = tune(3)
    assert (len(fits), first.trials) == (3, 3)
    assert tune(3) == first
    assert len(fits) == 3
    assert tune(5).trials == 5
    assert len(fits) == 5
    whole = tuning.tune(scenes_folder, ["leml"], 8, 5, tmp_path / "whole", how="serial")[0]
    assert whole == tune(5), "in two sittings the same is tried as in one"


def test_what_the_paper_fixes_is_not_tuned(tmp_path):
    assert set(tuning.search_space("leml", OURS)) == {"lr", "warm_weight"}
    assert set(tuning.search_space("leml", PAPERS)) == {"lr"}
    assert common.make_learner("one-class", 8, 0, PAPERS, tmp_path).average == 0.0
    assert common.make_learner("pseudo-label-averaged", 8, 0, PAPERS, tmp_path).average == 0.98
    assert common.make_learner("refine", 8, 0, PAPERS, tmp_path).average == 0.98
    assert set(tuning.search_space("pseudo-label-literal", PAPERS)) == {"lr", "alpha"}
    assert tuning.search_space("refine", OURS) == {}


def test_a_trial_that_fails_is_told_and_the_others_count(scenes_folder, tmp_path, monkeypatch):
    fit = LEML.fit

    def failing(self, *given, **more):
        if self.lr != LEML().lr:
            raise RamifyError("it went wrong")
        return fit(self, *given, **more)

    monkeypatch.setattr(LEML, "fit", failing)
    (best,) = tuning.tune(scenes_folder, ["leml"], 8, 3, tmp_path / "trials", how="serial")
    assert (best.trials, best.failures) == (3, ("it went wrong",))
    assert best.parameters["lr"] == pytest.approx(LEML().lr)


def test_a_trial_that_was_cut_off_is_run_again(scenes_folder, tmp_path, monkeypatch):
    """An interrupt ends a trial as a kill does: nothing of it is written any more."""
    tried, fit = [], LEML.fit

    def cut_off(self, *given, **more):
        tried.append(self.lr)
        if len(tried) == 3:
            raise KeyboardInterrupt
        return fit(self, *given, **more)

    monkeypatch.setattr(LEML, "fit", cut_off)

    def tune():
        return tuning.tune(scenes_folder, ["leml"], 8, 4, tmp_path / "trials", how="serial")[0]

    with pytest.raises(KeyboardInterrupt):
        tune()
    best = tune()
    assert (best.trials, best.failures) == (4, ())
    assert len(tried) == 5
    assert tried[3] == tried[2]


def test_the_learner_as_it_is_is_told_also_when_its_trial_was_cut_off(scenes_folder, tmp_path, monkeypatch):
    fit, tried = LEML.fit, []

    def cut_off(self, *given, **more):
        tried.append(self.lr)
        if len(tried) == 1:
            raise KeyboardInterrupt
        return fit(self, *given, **more)

    monkeypatch.setattr(LEML, "fit", cut_off)
    with pytest.raises(KeyboardInterrupt):
        tuning.tune(scenes_folder, ["leml"], 8, 2, tmp_path / "trials", how="serial")
    (best,) = tuning.tune(scenes_folder, ["leml"], 8, 2, tmp_path / "trials", how="serial")
    assert tried[:2] == [LEML().lr] * 2
    assert best.untuned is not None


def test_cells_are_computed_with_what_was_chosen(scenes_folder, tmp_path):
    done = run_comparison(
        scenes_folder, ["leml", "refine-nameless"], [4, 8, 16], tmp_path / "out", seeds=1, tune=2, how="serial"
    )
    (best,) = done.chosen
    kept = json.loads((tmp_path / "out" / "cells" / "leml-4-0.json").read_text())
    assert {name: kept["settings"]["parameters"][name] for name in best.parameters} == best.parameters
    assert "| leml | lr " in done.table.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--tune", "-1"], "-1 trials: give at least 1")],
)
def test_a_mistake_is_one_sentence(scenes_folder, tmp_path, arguments, message):
    result = run_in_process("compare", scenes_folder, "--warm", "8", "--out", tmp_path / "out", *arguments)
    assert str(result.exception) == message


def test_without_optuna_it_says_what_to_install(scenes_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(RamifyError, match=r"^tuning needs Optuna: install ramify\[tune\]$"):
        tuning.tune(scenes_folder, ["leml"], 8, 1, tmp_path / "trials", Conditions(), how="serial")


def test_a_range_holds_what_lies_inside_it():
    limits = Between(0.1, 1.0)
    assert 0.1 in limits
    assert 1.0 in limits
    assert 2.0 not in limits
    assert float("nan") not in limits
    assert None not in limits
