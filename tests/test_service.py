import threading
import time
from typing import get_args

import numpy as np
import pytest
from fastapi.testclient import TestClient

from ramify.checks.data import TAXONOMY, data
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.project.live import training
from ramify.project.live.service import Service
from ramify.project.live.shapes import Sort
from ramify.project.live.state import State
from ramify.project.live.status import next_100
from ramify.project.live.training import choose_learner
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy
from ramify.web import create_app

N_ITEMS = 60
TRUTH = data(n_items=N_ITEMS, warm=N_ITEMS)[1].states(concepts=np.arange(len(TAXONOMY)))
FINE = TRUTH[:, TAXONOMY.leaves]


SMALL = {"refine": {"steps": 40, "hidden": (16, 16)}, "noisy-or": {"epochs": 1, "hidden": (16,), "shortest_epoch": 5}}


def make(folder, *, warm=0, train=False, learner="refine"):
    features, labels = data(n_items=N_ITEMS, warm=warm)
    with Store.create(folder, TAXONOMY) as store:
        choose_learner(store, learner, SMALL[learner])
        store.add([f"img_{n}" for n in range(N_ITEMS)], [f"text {n}" for n in range(N_ITEMS)], None, features, labels)
        if train:
            training.train(store)
    return folder


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Without a model, and without one being trained at once."""
    monkeypatch.setattr(State, "outdated", lambda self: False)
    with Service(make(tmp_path / "project")) as opened:
        yield opened


@pytest.fixture
def trained(tmp_path):
    with Service(make(tmp_path / "project", warm=12, train=True)) as opened:
        yield opened


def true_answers(service, task):
    number = service.store.number_of
    return [(e.item, e.concept, "yes" if TRUTH[e.item, number[e.concept]] else "no") for e in task.entries]


def entries(tasks):
    return {(e.item, e.concept) for task in tasks for e in task.entries}


def until(condition, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


# -- asking ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", ["service", "trained"])
def test_a_question_is_a_group_with_all_that_a_screen_shows(opened, request):
    service = request.getfixturevalue(opened)
    (task,) = service.next("ann")
    number, taxonomy = service.store.number_of, service.store.taxonomy
    concepts = [number[e.concept] for e in task.entries]
    item = task.item.item
    assert task.mode == "group"
    assert len({int(taxonomy.parents[c]) for c in concepts}) == 1
    assert task.item.model_dump() == {"item": item, "id": f"img_{item}", "text": f"text {item}", "picture": None}
    states = service.state.labels.states(item, np.arange(len(taxonomy)))[0]
    if task.concept is None:  # asked from the first unknown level, which may be the coarse one
        assert task.path == []
        asked = taxonomy.roots
    else:
        assert task.path == taxonomy.path(number[task.concept]).split(" > ")
        assert states[number[task.concept]] == 1
        asked = taxonomy.children(number[task.concept])
    assert sorted(concepts) == sorted(c for c in asked if states[c] == UNKNOWN)
    assert task.until > time.time() + 500
    assert bool(task.guess) == (opened == "trained")


def test_two_annotators_never_get_the_same_question(trained):
    ann, bob = trained.next("ann", count=5), trained.next("bob", count=5)
    assert len(ann) == len(bob) == 5
    assert not entries(ann) & entries(bob)
    assert entries(trained.next("ann", count=5)) == entries(ann)  # a reload shows what is theirs
    more = trained.next("ann", count=7)
    assert entries(ann) < entries(more)


def test_a_restart_shows_the_same_questions(tmp_path):
    folder = make(tmp_path / "project", warm=12, train=True)
    with Service(folder) as service:
        before = service.next("ann", count=3)
    with Service(folder) as service:
        assert entries(service.next("ann", count=3)) == entries(before)
        assert not entries(service.next("bob", count=3)) & entries(before)


def test_leases_end_and_questions_return(tmp_path):
    with Service(make(tmp_path / "project"), lease_seconds=0.2) as service:
        first = service.next("ann", count=40)
        time.sleep(0.3)
        found = set()
        for _ in range(200):
            tasks = service.next("bob", count=5)
            found |= entries(tasks)
            for task in tasks:
                service.answer(f"k{len(found)}{task.task}", "bob", true_answers(service, task))
            if not len(service.state.labels.unknown()[0]):
                break
            if not tasks:  # until it is worth looking again
                time.sleep(0.1)
        assert len(entries(first) & found) > len(entries(first)) / 2
        assert not len(service.state.labels.unknown()[0])  # the rest was deduced


@pytest.mark.parametrize("mode", ["single", "grid"])
@pytest.mark.parametrize("opened", ["service", "trained"])
def test_other_modes(mode, opened, request):
    service = request.getfixturevalue(opened)
    tasks = service.next("ann", mode=mode, count=2)
    sizes = [len(task.entries) for task in tasks]
    assert sizes == [1, 1] if mode == "single" else all(1 <= size <= 12 for size in sizes)
    assert all(len({e.concept for e in task.entries}) == 1 for task in tasks)
    assert [len(task.items) for task in tasks] == (sizes if mode == "grid" else [0, 0])
    assert tasks[0].concept == tasks[0].entries[0].concept
    assert len(entries(tasks)) == sum(sizes)


@pytest.mark.parametrize("mode", ["group", "single", "grid"])
def test_answering_to_the_end_settles_everything(mode, trained):
    asked = 0
    for turn in range(1000):
        tasks = trained.next("ann", mode=mode, count=3)
        if not tasks:
            break
        for task in tasks:
            asked += len(task.entries)
            trained.answer(f"{turn}-{task.task}", "ann", true_answers(trained, task))
    assert not len(trained.state.labels.unknown()[0])
    assert (trained.state.labels.states() == FINE).all()
    assert trained.status().answers == asked
    with Store(trained.store.folder) as store:
        assert (store.labels().states() == FINE).all()


def test_skipped_questions_go_to_the_back(service):
    (first,) = service.next("ann")
    service.answer("s", "ann", [(item, concept, "skip") for item, concept, _ in true_answers(service, first)])
    later = []
    for turn in range(1000):
        tasks = service.next("ann")
        if not tasks:
            break
        later.append(entries(tasks))
        service.answer(f"k{turn}", "ann", true_answers(service, tasks[0]))
    assert not any(entries([first]) & each for each in later[:5])
    service.answer("s1", "bob", [(0, 1, "skip"), (1, 1, "skip")])
    service.answer("s2", "bob", [(0, 1, "skip")])
    assert service.leases.skipped("bob") == [(1, 1), (0, 1)]  # what was seen last comes last
    assert entries([first]) & set().union(*later)
    assert not len(service.state.labels.unknown()[0])


@pytest.fixture
def few(tmp_path):
    """Three animals, of which a dog has kinds; nothing is done in the background, and each new list is counted."""
    deep = Taxonomy({"animal": {"cat": [], "dog": ["poodle", "terrier"]}})
    with Store.create(tmp_path / "few", deep) as store:
        store.add(["a", "b", "c"], None, None, None, Labels(deep, [[1]] * 3))
    with Service(tmp_path / "few", background=False) as service:
        service.lists, make_list = 0, service.questions.make

        def counted(**how):
            service.lists += 1
            make_list(**how)

        service.questions.make = counted
        yield service


def skip(service, key, who):
    (task,) = service.next(who)
    service.answer(key, who, [(entry.item, entry.concept, "skip") for entry in task.entries])
    return task.item.item


def test_skipped_questions_come_back_at_once_and_after_what_answers_open(few):
    seen = [skip(few, f"s{turn}", "ann") for turn in range(9)]
    assert seen == seen[:3] * 3
    assert few.lists == 0  # a look at all items would take seconds in a large project
    (task,) = few.next("ann")
    number = few.store.number_of
    names, said = few.store.taxonomy.names, {"cat": "no", "dog": "yes"}
    few.answer(
        "dog", "ann", [(entry.item, entry.concept, said[names[number[entry.concept]]]) for entry in task.entries]
    )
    few._worth_again_at = 0.0  # else it would take half a second at least
    (task,) = few.next("ann")
    assert {names[number[entry.concept]] for entry in task.entries} == {"poodle", "terrier"}
    few.answer("kinds", "ann", [(entry.item, entry.concept, "no") for entry in task.entries])
    few._worth_again_at, lists = 0.0, few.lists
    assert [skip(few, f"t{turn}", "ann") for turn in range(6)] == seen[1:3] * 3
    assert few.lists == lists == 1  # nothing was opened since


def test_one_look_at_all_items_serves_everybody(few):
    """Else some who have nothing left would keep all threads of a server busy, and nobody could answer."""
    assert len(few.next("ann", count=9)) == 3
    few.lists, few._worth_again_at = 0, 0.0
    looking, finished = threading.Event(), threading.Event()

    def make_list(**how):
        few.lists += 1
        looking.set()
        assert finished.wait(60)

    few.questions.make = make_list
    first = threading.Thread(target=few.next, args=("bob",))
    first.start()
    try:
        assert looking.wait(60)
        others = [threading.Thread(target=few.next, args=(name,), daemon=True) for name in "cde"]
        for other in others:
            other.start()
        for other in others:
            other.join(60)
        assert not any(other.is_alive() for other in others)
    finally:
        finished.set()
        first.join(60)
    assert few.lists == 1


def test_a_budget_ends_the_questions(tmp_path):
    with Service(make(tmp_path / "project"), budget=3) as service:
        turn = 0
        while tasks := service.next("ann"):
            service.answer(f"k{turn}", "ann", true_answers(service, tasks[0]))
            turn += 1
        assert 3 <= service.status().answers < 10
        assert service.status().budget == 3


# -- answering ---------------------------------------------------------------------------------------------------------


def test_the_same_key_counts_once(service):
    (task,) = service.next("ann")
    first = service.answer("k", "ann", true_answers(service, task))
    assert service.answer("k", "ann", true_answers(service, task)).events == first.events
    assert service.status().answers == len(task.entries)


def test_undo_without_limit_survives_a_restart(tmp_path):
    folder = make(tmp_path / "project")
    with Service(folder) as service:
        before = service.state.labels.states()
        done = []
        for turn in range(4):
            (task,) = service.next("ann")
            done.append(entries([task]))
            service.answer(f"k{turn}", "ann", true_answers(service, task))
        undone = service.undo("u0", "ann")
        assert entries([undone.task]) == done[-1]
        assert {(e.item, e.concept, e.answer) for e in undone.undone} == set(true_answers(service, undone.task))
        again = service.undo("u0", "ann")  # the same request again
        assert again.task is None
        assert again.undone == undone.undone
    with Service(folder) as service:
        for turn in range(3):
            assert {(e.item, e.concept) for e in service.undo(f"u{turn + 1}", "ann").undone} == done[2 - turn]
        assert service.undo("u9", "ann").model_dump() == {"undone": [], "task": None}
        assert (service.state.labels.states() == before).all()
        assert service.status().answers == 0
        history = service.history("ann", 50)
        assert all(answer.undone for answer in history)


def test_the_coarse_label_is_wrong(service):
    """A person's no outranks the import: everything below is settled, and it is listed; undo brings it back."""
    animal = service.store.taxonomy.index("animal")
    item = int(np.flatnonzero(service.state.labels.states(concepts=animal)[:, 0] == 1)[0])
    before = service.state.labels.states(item)
    concept = int(service.store.id_of[animal])
    lower = [(item, int(service.store.id_of[child])) for child in service.store.taxonomy.children(animal)]
    assert service.leases.lease("ann", [lower]) == [True]
    found = service.answer("w", "ann", [(item, concept, "no")])
    assert found.deduced >= 2
    assert service.leases.own("ann")[0] == []  # else the same question would come again, and count as out
    below = [c for c in service.store.taxonomy.descendants(animal) if c < len(TAXONOMY.leaves)]
    assert (service.state.labels.states(item, below) == 0).all()
    assert service.state.labels.contradictions() == []
    assert [wrong.item.item for wrong in service.review().coarse_wrong] == [item]
    with Store(service.store.folder) as store:
        assert (store.labels().states(item, below) == 0).all()
    why = service.why(item, int(service.store.id_of[below[0]]))
    assert (why.state, why.source) == ("no", "deduced")
    reason = why.reasons[-1]
    assert (reason.kind, reason.rule) == ("deduction", "parent-irrelevant")
    assert reason.path in ("animal", "animal > dog")
    again = service.undo("u", "ann").task
    assert (service.state.labels.states(item) == before).all()
    assert sorted(entries([again])) == sorted(lower)  # what was asked then
    service.leases.release("ann", lower)
    service.answer("confirmed", "ann", [(item, concept, "yes")])  # in Browse: nobody asked what is below
    assert service.undo("u2", "ann").task is None
    assert service.leases.own("ann")[0] == []


def test_overlap_asks_twice_flags_and_settles(tmp_path):
    with Service(make(tmp_path / "project"), overlap=2) as service:
        (task,) = service.next("ann", mode="single")
        entry = (task.entries[0].item, task.entries[0].concept)
        service.answer("a", "ann", [(*entry, "yes")])
        (same,) = service.next("bob", mode="single")
        assert entries([same]) == entries([task])
        service.answer("b", "bob", [(*entry, "no")])
        assert service.status().disagreements == 1
        (torn,) = service.review().disagreements
        assert torn.answers == {"ann": "yes", "bob": "no"}
        item, number = entry[0], service.store.number_of[entry[1]]
        assert service.state.labels.states(item, number)[0, 0] == UNKNOWN
        about = {"concept": entry[1], "state": "disputed"}
        for filters in (about, {"state": "disputed"}):
            assert [known.item.item for known in service.browse(**filters).items] == [item]
        assert service.browse(**about).items[0].entries[0].disputed
        assert service.browse(**about, query="no such text").total == 0
        service.answer("c", "carol", [(*entry, "no")], settles=True)
        assert service.browse(**about).total == 0
        assert service.state.labels.states(item, number)[0, 0] == 0
        assert service.review().disagreements == []
        assert {who.name for who in service.status().annotators} == {"ann", "bob", "carol"}


def test_bad_requests_get_one_sentence_and_change_nothing(service):
    (task,) = service.next("ann")
    good = true_answers(service, task)[0]
    for wrong, sentence in (
        ((999, *good[1:]), "there is no item 999"),
        (("0", *good[1:]), "there is no item '0'"),
        ((good[0], 999, good[2]), "there is no concept with the id 999 in the project"),
        ((*good[:2], "maybe"), "an answer is yes, no, skip, not 'maybe'"),
    ):
        with pytest.raises(RamifyError, match=sentence):
            service.answer("k", "ann", [good, wrong])
    for name in ("", " ", "a" * 101, "a\nb"):
        with pytest.raises(RamifyError, match="an annotator is a name"):
            service.next(name)
    with pytest.raises(RamifyError, match="the mode is group, single, grid"):
        service.next("ann", mode="pairs")
    with pytest.raises(RamifyError, match="at least one entry"):
        service.answer("k", "ann", [])
    assert service.status().answers == 0


# -- learning ----------------------------------------------------------------------------------------------------------


def test_the_model_learns_from_every_answer(trained):
    (task,) = trained.next("ann")
    item = task.item.item
    assert item not in trained.state.model.learner.fine_.slot_of
    trained.answer("k", "ann", true_answers(trained, task))
    until(lambda: item in trained.state.model.learner.fine_.slot_of)
    fine = trained.state.model.learner.fine_
    until(
        lambda: (
            fine.states[fine.slot_of[item]] == trained.state.labels.states(item, np.arange(len(TAXONOMY)))[0]
        ).all()
    )


def test_a_new_model_takes_over_and_the_question_stays(trained):
    before = trained.next("ann", count=2)
    (other,) = trained.next("bob")
    trained.answer("k", "bob", true_answers(trained, other))
    training.train(trained.store)
    until(lambda: trained.state.model.version == 2)
    assert entries(trained.next("ann", count=2)) == entries(before)
    until(lambda: other.item.item in trained.state.model.learner.fine_.slot_of)
    assert trained.status().model.version == 2


def test_a_failed_training_is_reported_and_the_old_model_stays(trained, monkeypatch):
    trained.store.set_setting("learner", "no-such")
    assert training.main(str(trained.store.folder)) == 1
    status = trained.status()
    assert "there is no learner 'no-such'" in status.training.error
    assert status.model.version == 1
    assert trained.next("ann")


def test_the_first_model_is_trained_by_itself_in_a_process_of_its_own(tmp_path):
    with Service(make(tmp_path / "project", warm=12)) as service:
        assert service.next("ann")[0].guess == {}
        assert service.train().reason == "a model is being trained already"
        assert service.status().training.running  # from the first moment on
        until(lambda: service.store.training() is not None)
        with Store(service.store.folder) as other, pytest.raises(RamifyError, match="is training a model already"):
            training.train(other)
        until(lambda: service.state.model.version == 1)
        assert service.status().training.error is None
        assert service.next("bob")[0].guess
        until(lambda: service.train().started)  # the process may still be ending
    with Store(service.store.folder) as store:
        assert not store.training()["running"]  # nobody is left to use it


def test_a_training_that_is_interrupted_says_so(trained, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "_train", interrupt)
    with pytest.raises(KeyboardInterrupt):
        training.train(trained.store)
    assert trained.status().training.error == "it was interrupted"


def test_more_questions_than_there_are_may_be_asked_for(service):
    assert len(entries(service.next("ann", count=10**11))) == len(entries(service.next("ann", count=10**4))) > 0


def test_slow_learners_are_trained_again_after_some_answers(tmp_path):
    folder = make(tmp_path / "project", warm=12, train=True, learner="noisy-or")
    with Service(folder, train_every=10) as service:
        while service.status().answers < 10:
            (task,) = service.next("ann")
            service.answer(f"key {task.task}", "ann", true_answers(service, task))
        until(lambda: service.state.model.version == 2)


def test_other_learners_ask_too(tmp_path):
    folder = make(tmp_path / "project", warm=12, train=True, learner="noisy-or")
    with Service(folder) as service:
        for turn in range(5):
            (task,) = service.next("ann")
            assert task.guess
            service.answer(f"k{turn}", "ann", true_answers(service, task))


def test_items_added_and_concepts_split_by_another_process_are_taken_up(tmp_path):
    folder = make(tmp_path / "project", warm=12, train=True)
    with Service(folder) as service:
        (task,) = service.next("ann")
        service.answer("k", "ann", true_answers(service, task))
        features, labels = data(n_items=N_ITEMS + 5, warm=0)
        with Store(folder) as other:
            new = np.arange(N_ITEMS, N_ITEMS + 5)
            other.add([f"new_{n}" for n in new], None, None, features[new], labels.take(new))
            other.split("cat", ["tabby", "siamese"])
        until(lambda: len(service.state.labels) == N_ITEMS + 5 and "tabby" in service.store.taxonomy.names)
        assert service.next("ann")
        until(lambda: service.state.model.version == 2 and service.state.model.learner is not None)


# -- showing -----------------------------------------------------------------------------------------------------------


def test_status_counts_and_estimates(trained):
    status = trained.status()
    counts = {counted.path: counted for counted in status.concepts}
    yes, no, unknown = trained.state.labels.counts()
    for number in range(len(TAXONOMY)):
        counted = counts[TAXONOMY.path(number)]
        assert (counted.yes, counted.no, counted.unknown) == (yes[number], no[number], unknown[number])
    assert status.items == N_ITEMS
    assert status.unknown == len(trained.state.labels.unknown()[0])
    for turn in range(20):
        (task,) = trained.next("ann")
        trained.answer(f"k{turn}", "ann", true_answers(trained, task))
    until(lambda: trained.status().curve)
    assert 0 <= trained.status().curve[-1]["p@1"] <= 1
    assert next_100([]) is None


def test_browse_filters_by_state_probability_and_text(trained):
    cat = TAXONOMY.index("cat")
    concept = int(trained.store.id_of[cat])
    found = trained.browse(concept=concept, state="yes", limit=200)
    assert found.total == int((trained.state.labels.states(concepts=cat) == 1).sum())
    assert all(known.entries[0].state == "yes" for known in found.items)
    assert [known.item.id for known in trained.browse(query="img_7").items] == ["img_7"]
    assert trained.browse(query="%").total == 0
    page = trained.browse(offset=50, limit=20)
    assert page.total == N_ITEMS
    assert len(page.items) == 10
    animal = int(trained.store.id_of[TAXONOMY.index("animal")])
    for wrong in ({"low": 0.5}, {"high": 0.5, "concept": animal}):
        with pytest.raises(RamifyError, match="probabilities are those of a fine concept"):
            trained.browse(**wrong)
    for wrong in ({"state": "maybe"}, {"low": 0.9, "high": 0.1}, {"concept": 999}, {"limit": 100000}):
        with pytest.raises(RamifyError):
            trained.browse(**wrong)


def test_browse_filters_by_the_probabilities_that_it_shows_and_they_follow_the_answers(trained):
    """They were frozen at the last training once, while the cards showed what was learned since."""
    cat = TAXONOMY.index("cat")
    concept = int(trained.store.id_of[cat])

    def shown():
        return {
            known.item.item: known.entries[0].probability for known in trained.browse(concept=concept, limit=200).items
        }

    before = shown()
    exact = trained.state.model.learner.opinions(trained.state.features, trained.state.labels)[:, cat]
    assert np.abs(np.array([before[n] for n in range(N_ITEMS)]) - exact).max() < 0.02
    items = np.flatnonzero(trained.state.labels.states(concepts=cat)[:, 0] == UNKNOWN)[:8].tolist()
    trained.answer("k", "ann", [(item, concept, "yes") for item in items])
    until(lambda: shown() != before)
    until(lambda: set(items) <= set(trained.state.model.learner.fine_.slot_of))
    after = shown()
    for low, high in ((0.5, 1.0), (0.0, 0.3), (0.31, 0.7)):
        listed = {known.item.item for known in trained.browse(concept=concept, low=low, high=high, limit=200).items}
        assert listed == {item for item, p in after.items() if low <= p <= high}


@pytest.mark.parametrize("sort", get_args(Sort))
def test_browse_sorts(trained, sort):
    """By what a model says of a fine concept, or by how many say otherwise than most; else items keep their order."""
    cat, animal = (int(trained.store.id_of[TAXONOMY.index(name)]) for name in ("cat", "animal"))
    dog = int(trained.store.id_of[TAXONOMY.index("dog")])
    for who, said in (
        ("ann", [(40, cat, "yes"), (50, cat, "yes"), (50, dog, "yes"), (30, cat, "yes"), (20, cat, "yes")]),
        ("bob", [(40, cat, "no"), (50, cat, "no"), (50, dog, "no"), (30, cat, "no"), (20, cat, "yes")]),
        ("cid", [(50, cat, "yes")]),
    ):
        trained.answer(who, who, said)
    trained.answer("settled", "dan", [(30, cat, "no")], settles=True)
    client = TestClient(create_app(trained, hosts=("testserver",)))

    def listed(**wanted):
        reply = client.get("/api/browse", params={"sort": sort, "limit": 200, **wanted})
        assert reply.status_code == 200, reply.text
        return reply.json()["items"]

    found = listed(concept=cat)
    assert sorted(known["item"]["item"] for known in found) == list(range(N_ITEMS))
    if sort == "disagreement":
        rest = [n for n in range(N_ITEMS) if n not in (40, 50)]
        assert [known["item"]["item"] for known in found] == [40, 50, *rest]  # of three, one says otherwise
        assert [known["item"]["item"] for known in listed()][:3] == [50, 40, 0]  # of two of its concepts they disagree
        assert [known["item"]["item"] for known in listed(concept=animal)] == list(range(N_ITEMS))
        return

    def worth():
        p = np.array([known["entries"][0]["probability"] for known in listed(concept=cat)], float)
        return {"likely": -p, "unlikely": p, "unsure": np.abs(p - 0.5)}[sort]

    assert np.ptp(worth()) > 0
    until(lambda: (np.diff(worth()) >= 0).all())  # the model may learn from the answers while items are listed
    for wanted in ({}, {"concept": animal}):
        reply = client.get("/api/browse", params={"sort": sort, **wanted})
        assert "choose one, or leave low, high and sort out" in reply.json()["error"]


def test_predictions_and_reasons(trained):
    found = trained.predictions(3)
    by_path = {entry.path: entry for entry in found.entries}
    assert set(by_path) == {TAXONOMY.path(n) for n in range(len(TAXONOMY))}
    assert by_path["animal > cat"].probability is not None
    assert by_path["animal"].probability is None
    known = trained.why(3, by_path["animal > cat"].concept)
    assert known.source == "imported"
    assert known.reasons[0].model_dump() == {"kind": "import", "value": known.state}
    (task,) = trained.next("ann")
    entry = task.entries[0]
    assert trained.why(entry.item, entry.concept).reasons == []
    trained.answer("k", "ann", [(entry.item, entry.concept, "yes")])
    reason = trained.why(entry.item, entry.concept).reasons[0]
    assert (reason.kind, reason.annotator, reason.answer, reason.settles) == ("answer", "ann", "yes", False)
    with pytest.raises(RamifyError, match="there is no item"):
        trained.predictions(10**6)


def test_it_is_told_what_only_an_answer_that_settles_changes(service):
    item, dog = 3, int(service.store.id_of[service.store.taxonomy.index("dog")])

    def shown():
        (entry,) = (entry for entry in service.predictions(item).entries if entry.concept == dog)
        (found,) = (found for found in service.browse(concept=dog, limit=200).items if found.item.item == item)
        assert found.entries == [entry]
        return entry.state, entry.settled

    service.answer("a", "ann", [(item, dog, "yes")])
    assert shown() == ("yes", False)
    service.answer("b", "bob", [(item, dog, "no")], settles=True)
    assert shown() == ("no", True)
    service.answer("c", "ann", [(item, dog, "yes")])
    assert shown() == ("no", True)
    service.undo("u1", "bob")
    assert shown() == ("yes", False)


def test_contradictions_are_listed_as_statements(service):
    """No sentence is parsed again: the page gets what contradicts what."""
    cat = int(service.store.id_of[TAXONOMY.index("cat")])
    item = int(np.flatnonzero(service.state.labels.states(concepts="animal")[:, 0] == 0)[0])
    service.answer("c", "ann", [(item, cat, "yes")])
    service.count()
    (torn,) = service.review().contradictions
    said = [(statement.path, statement.value, statement.source) for statement in torn.said]
    assert (torn.item.item, said) == (item, [("animal > cat", "yes", "annotated"), ("animal", "no", "imported")])
    why = service.why(item, cat)
    assert why.state == "unknown"
    assert [statement.path for statement in why.reasons[-1].said] == ["animal > cat", "animal"]


def test_pictures_stay_in_their_folder(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"png")
    (tmp_path / "secret.txt").write_text("secret")
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        pictures = ["a.png", "../secret.txt", str(tmp_path / "secret.txt"), None]
        labels = Labels(TAXONOMY, [[1, 1, 1]] * 4)
        store.add(list("abcd"), None, pictures, np.zeros((4, 2), np.float32), labels)
        store.set_setting("images", str(tmp_path / "images"))
    with Service(tmp_path / "project") as service:
        assert service.picture(0).read_bytes() == b"png"
        for item in (1, 2, 3, 4, -1):
            with pytest.raises(RamifyError):
                service.picture(item)
