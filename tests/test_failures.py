"""Failures that are seen: in threads, in trainings, in the files of models; and questions that end."""

import logging
import shutil

import numpy as np
import pytest

from ramify.checks.data import TAXONOMY, data
from ramify.labels import Labels
from ramify.learners import Refine, cache
from ramify.project.live import background, shortlists, training
from ramify.project.live.model import Model
from ramify.project.live.service import Service
from ramify.project.live.shortlists import Questions
from ramify.project.live.status import read_status
from ramify.project.live.suggesting import suggest
from ramify.project.live.training import choose_learner
from ramify.project.store.store import Store
from ramify.project.transfer.answer_table import answer_from_table
from ramify.strategies.groups import GroupList
from ramify.strategies.shortlist import Entries
from ramify.taxonomy import Taxonomy
from test_service import SMALL, TRUTH, make, true_answers, until


@pytest.fixture
def trained(tmp_path):
    return make(tmp_path / "project", warm=12, train=True)


@pytest.mark.parametrize("error", [ValueError("a learner's own fault"), MemoryError(), KeyError("phi")])
def test_a_thread_that_fails_says_so_and_goes_on(trained, monkeypatch, caplog, error):
    """It ended silently once, on anything but RamifyError: answers went on, learning had stopped."""
    monkeypatch.setattr(background, "LEAST_PAUSE", 0.01)
    learn = Model.learn
    broken = [True]

    def sometimes(self, *arguments):
        if broken[0]:
            raise error
        learn(self, *arguments)

    monkeypatch.setattr(Model, "learn", sometimes)
    with Service(trained) as service, caplog.at_level(logging.ERROR, "ramify.project"):
        (screen,) = service.next("ann")
        service.answer("a key", "ann", true_answers(service, screen))
        until(lambda: service.status().problems)
        (problem,) = service.status().problems
        assert problem.what.startswith(f"learning from answers failed, and is tried again: {type(error).__name__}")
        assert any(record.exc_info for record in caplog.records)
        broken[0] = False
        until(lambda: screen.item.item in service.state.model.learner.fine_.slot_of)
        until(lambda: not service.status().problems)


def test_lists_that_cannot_be_made_are_seen_and_questions_go_on(trained, monkeypatch):
    monkeypatch.setattr(background, "LEAST_PAUSE", 0.01)
    with Service(trained) as service:
        monkeypatch.setattr(Questions, "make", lambda self, **_: 1 / 0)
        service.questions.complete = False
        until(lambda: any("ZeroDivisionError" in problem.what for problem in service.status().problems))
        assert service.next("ann")


def test_a_training_that_crashes_leaves_its_traceback_and_one_sentence(trained, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(training, "make_learner", crash)
    assert training.main(str(trained)) == 1
    with Store(trained) as store:
        status = read_status(store)
    assert "ZeroDivisionError: deep inside" in status.training.error
    assert "\n" not in status.training.error
    log = trained / "training.log"
    assert "Traceback (most recent call last)" in log.read_text()
    monkeypatch.undo()
    assert training.main(str(trained)) == 0
    assert not log.exists()


DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "empty": lambda path: path.write_bytes(b""),
    "deleted": lambda path: path.unlink(),
    "flipped": lambda path: path.write_bytes(bytes(255 - byte for byte in path.read_bytes())),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["learner/learner.json", "learner/arrays.safetensors", "count.npy", "phi.npy"])
def test_a_damaged_model_is_left_out(trained, damage, name):
    """One such file made the whole project unopenable once."""
    with Store(trained) as store:
        training.train(store)
    DAMAGE[damage](trained / "models" / "0002" / name)
    with Service(trained, background=False) as service:
        assert service.state.model.version == 1
        (problem,) = service.status().problems
        assert problem.what.startswith("model 2 is damaged and was left out (")
        assert service.next("ann")[0].guess
    DAMAGE[damage](trained / "models" / "0001" / name)
    with Service(trained, background=False) as service:
        assert service.state.model.version is None
        assert service.next("bob")


def test_a_damaged_model_is_not_loaded_again_and_again(trained, monkeypatch):
    """One of the right size is found out only by loading it: that was tried four times a second."""
    with Store(trained) as store:
        training.train(store)
    DAMAGE["flipped"](trained / "models" / "0002" / "learner" / "learner.json")
    with Service(trained, background=False) as service:
        loaded = []
        load = service.state.load_model
        monkeypatch.setattr(service.state, "load_model", lambda: loaded.append(1) or load())
        for _ in range(5):
            service.background._take_new_model()
        assert len(loaded) <= 1
        assert service.state.model.version == 1


def test_a_project_without_its_models_can_be_asked(trained):
    shutil.rmtree(trained / "models")
    with Service(trained, background=False) as service:
        assert service.next("ann")
        assert service.state.outdated()


def test_a_large_project_that_is_fully_answered_has_nothing_to_ask(tmp_path):
    """More items than one sample of the first list: it looked for questions without end once."""
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}})
    count = 9000
    labels = Labels.from_matrix(taxonomy, np.tile([1, 0], (count, 1)))
    with Store.create(tmp_path / "project", taxonomy) as store:
        store.add([str(n) for n in range(count)], None, None, None, labels)
    with Service(tmp_path / "project", background=False) as service:
        assert service.next("ann") == []
        assert service.status().unknown == 0


def test_more_questions_than_a_list_holds_can_be_asked_at_once(tmp_path, monkeypatch):
    """Thousands, for a file: lists are made again as long as anything is open."""
    monkeypatch.setattr(shortlists, "LENGTH", 10)
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
    labels = Labels(taxonomy, np.ones((60, 2), int))
    labels.record([0, 0], ["cat", "dog"], [1, 0], "imported")
    features = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    with Store.create(tmp_path / "project", taxonomy) as store:
        store.add([str(n) for n in range(60)], None, None, features, labels)
        training.train(store, parameters={"steps": 3, "hidden": [4, 4]})
    for strategy in ("expected-gain", "uncertainty", "random-items"):
        with Service(tmp_path / "project", strategy=strategy, background=False) as service:
            asked = [(e.item, e.concept) for s in service.next(f"ann {strategy}", count=500) for e in s.entries]
            assert len(asked) == len(set(asked)) == 60 * 4 - 2
            service.leases.release(f"ann {strategy}", asked)


def test_deep_questions_begin_at_the_first_unknown_level(tmp_path):
    """Nobody is asked which poodle it is before it is known to be a dog; the answers lead down."""
    taxonomy = Taxonomy(
        {"leisure": {"sport": ["ball", "bat"], "accessory": {"bag": ["suitcase", "backpack"], "tie": None}}}
    )
    with Store.create(tmp_path / "project", taxonomy) as store:
        store.add(["a"], ["a thing"], None, None, Labels(taxonomy, [[1]]))
    with Service(tmp_path / "project", background=False) as service:
        asked = []
        yes = {"accessory", "bag", "suitcase"}
        while screens := service.next("ann"):
            (screen,) = screens
            asked.append((screen.path, [entry.name for entry in screen.entries]))
            said = [(e.item, e.concept, "yes" if e.name in yes else "no") for e in screen.entries]
            service.answer(f"key {len(asked)}", "ann", said)
        assert asked == [
            (["leisure"], ["sport", "accessory"]),
            (["leisure", "accessory"], ["tie", "bag"]),
            (["leisure", "accessory", "bag"], ["suitcase", "backpack"]),
        ]
        assert not len(service.state.labels.unknown()[0])


def test_coarse_labels_that_are_unknown_are_asked_first(tmp_path):
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        store.add(["a"], ["a thing"], None, None, Labels(TAXONOMY, [[-1, 0, 0]]))
    with Service(tmp_path / "project", background=False) as service:
        (screen,) = service.next("ann")
        assert (screen.concept, screen.path, [entry.name for entry in screen.entries]) == (None, [], ["animal"])
        service.answer("a key", "ann", [(0, screen.entries[0].concept, "yes")])
        (screen,) = service.next("ann")
        assert sorted(entry.name for entry in screen.entries) == ["cat", "dog"]


@pytest.mark.parametrize("mode", ["group", "single", "grid"])
@pytest.mark.parametrize("learner", ["refine", "noisy-or"])
def test_whatever_is_known_of_coarse_labels_the_answers_lead_to_the_end(tmp_path, learner, mode):
    """Of roots, inner and fine concepts, with a model: nothing is asked twice, nor below what is not known yet."""
    features, labels = data(n_items=24, warm=6, coarse=0.5)
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        choose_learner(store, learner, SMALL[learner])
        store.add([str(n) for n in range(24)], None, None, features, labels)
        training.train(store)
    with Service(tmp_path / "project", background=False) as service:
        asked = []
        while screens := service.next("ann", mode=mode, count=5):
            for screen in screens:
                for entry in screen.entries:
                    number = service.store.number_of[entry.concept]
                    parent = int(TAXONOMY.parents[number])
                    assert parent < 0 or service.state.labels.states(entry.item, parent)[0, 0] == 1
                    asked.append((entry.item, number))
                said = [
                    (item, concept, "yes" if TRUTH[item, service.store.number_of[concept]] == 1 else "no")
                    for item, concept in ((entry.item, entry.concept) for entry in screen.entries)
                ]
                service.answer(f"key {len(asked)}", "ann", said)
        assert len(asked) == len(set(asked))
        assert {number >= len(TAXONOMY.leaves) for _, number in asked} == {True, False}
        assert np.array_equal(service.state.labels.states(), TRUTH[:24, TAXONOMY.leaves])


def test_a_project_with_coarse_labels_only_asks_by_design_once_it_is_trained(tmp_path):
    folder = make(tmp_path / "project", train=True)
    with Service(folder, background=False) as service:
        assert not len(service.state.answered())
        assert isinstance(service.questions.shortlist, GroupList)
        assert service.next("ann")[0].guess
    with Service(make(tmp_path / "untrained"), background=False) as service:
        assert isinstance(service.questions.shortlist, Entries)  # random items
    with Service(folder, strategy="uncertainty", background=False) as service:
        (screen,) = service.next("bob")
        assert isinstance(service.questions.shortlist, Entries)
        coarse = [(e.item, e.concept, "no") for e in screen.entries if screen.concept is None]
        if coarse:
            service.answer("a key", "bob", coarse)
            assert not len(service.state.answered())  # a coarse label is nothing fine


def test_a_model_that_is_outgrown_is_trained_anew_once(trained, monkeypatch):
    """Asked when lists are renewed and when a new model is there, and only where something was answered since.

    What runs is not started twice.
    """
    monkeypatch.setattr(background, "LEAST_PAUSE", 0.01)
    monkeypatch.setattr(background, "RELIST_AFTER", 1)
    outgrown, asked, started, ended = [False], [], [], []
    monkeypatch.setattr(Refine, "outgrown", lambda self, labels: asked.append(len(labels)) or outgrown[0])

    class Running:
        """A training that ends when it is told to."""

        def poll(self):
            return 0 if ended else None

        def terminate(self):
            pass

        wait = terminate

    monkeypatch.setattr(training, "start", lambda folder: started.append(folder) or Running())
    with Service(trained) as service:

        def answer_one(key):
            before = len(asked)
            (screen,) = service.next("ann")
            service.answer(key, "ann", true_answers(service, screen))
            until(lambda: len(asked) > before)

        answer_one("first key")
        assert not started
        outgrown[0] = True
        answer_one("second key")
        until(lambda: started)
        answer_one("third key")
        assert started == [trained]
        ended.append(True)
        with Store(trained) as store:
            training.train(store)
        until(lambda: started == [trained, trained])  # for what was answered while the first one ran


def test_a_model_of_an_earlier_version_is_left_out(trained, monkeypatch):
    """It did not say how many items it knew."""
    with Store(trained) as store:
        with monkeypatch.context() as earlier:
            earlier.setattr(cache, "COUNT", "predictions")
            training.train(store)
        model = Model.load(store, store.features(), store.labels(), store.answered_items())
    assert model.version == 1
    sentence = "model 2 is damaged and was left out (it was trained by an earlier version): train a new one"
    assert model.problem == sentence


def test_tables_ask_and_answer_coarse_and_inner_concepts(tmp_path):
    taxonomy = Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}, "food": ["apple"]})
    with Store.create(tmp_path / "project", taxonomy) as store:
        store.add(["a"], ["a thing"], None, None, Labels(taxonomy, [[-1, -1]]))
    asked = []
    for answer in ("animal", "dog", "pug"):
        with Service(tmp_path / "project", background=False) as service:
            table = suggest(service, "ann", 5)
        asked.append((table["group"], table["choices"]))
        table["answer"] = [answer]
        with Store(tmp_path / "project") as store:
            answer_from_table(store, table)
    assert asked == [([""], ["animal;food"]), (["animal"], ["cat;dog"]), (["animal > dog"], ["poodle;pug"])]
    with Service(tmp_path / "project", background=False) as service:
        assert suggest(service, "ann", 5, single=True)["id"] == []
        assert not len(service.state.labels.unknown()[0])


def test_an_undone_answer_comes_back_with_what_was_said(tmp_path):
    """After a reload as well: the server sends the answers it documents."""
    folder = make(tmp_path / "project")
    with Service(folder, background=False) as service:
        (screen,) = service.next("ann")
        said = [(e.item, e.concept, word) for e, word in zip(screen.entries, ["yes", "skip", "no"] * 9, strict=False)]
        service.answer("a key", "ann", said)
    with Service(folder, background=False) as service:
        undone = service.undo("another key", "ann")
    assert [(entry.item, entry.concept, entry.answer) for entry in undone.undone] == said
    assert {(e.item, e.concept) for e in undone.task.entries} == {(item, concept) for item, concept, _ in said}


def test_nothing_changes_the_priority_of_a_process_it_did_not_start(trained):
    import os

    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert training.main(str(trained)) == 0
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_training_uses_one_thread_and_leaves_the_others_as_they_were(trained, monkeypatch):
    """On a busy machine many threads took six to eight times the time of one."""
    import torch

    seen = []
    monkeypatch.setattr(training, "_train", lambda *_: seen.append(torch.get_num_threads()) or 1)
    torch.set_num_threads(2)
    try:
        with Store(trained) as store:
            training.train(store)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(1)


def test_settings_of_a_learner_hold_for_later_trainings(tmp_path):
    folder = make(tmp_path / "project", warm=12)
    with Store(folder) as store:
        choose_learner(store, "noisy-or", {"epochs": 1, "hidden": [4], "shortest_epoch": 2})
        training.train(store)
        assert Model.load(store, store.features(), store.labels(), store.answered_items()).learner.hidden == (4,)
    features, labels = data()
    assert len(features) == len(labels)
