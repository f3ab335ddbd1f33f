"""A project that is audited: drawn questions among the others, and what is said of the labels."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from ramify import Project
from ramify.checks.data import TAXONOMY, data
from ramify.errors import RamifyError
from ramify.pace import GRID
from ramify.project.live.service import Service
from ramify.project.live.status import noted, progress_sentence, read_status
from ramify.project.live.training import choose_learner, train
from ramify.project.store.store import Store
from ramify.web import create_app

TOKEN = "0" * 24
HEADERS = {"authorization": f"Bearer {TOKEN}"}
N_ITEMS = 60
TRUTH = data(n_items=N_ITEMS, warm=N_ITEMS)[1].states(concepts=np.arange(len(TAXONOMY)))


@pytest.fixture
def folder(tmp_path):
    features, labels = data(n_items=N_ITEMS, warm=0)
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        choose_learner(store, "refine", {"steps": 30, "hidden": (12,)})
        store.add([f"i{n}" for n in range(N_ITEMS)], None, None, features, labels)
        train(store)
    return tmp_path / "project"


def answer(service, screen, key):
    number = service.store.number_of
    said = [(e.item, e.concept, "yes" if TRUTH[e.item, number[e.concept]] else "no") for e in screen.entries]
    service.answer(key, "ann", said)


@pytest.mark.parametrize("mode", ["group", "single", "grid"])
def test_all_questions_may_be_drawn_and_what_is_drawn_is_asked_to_its_end(folder, mode):
    with Service(folder, audit=1.0, background=False) as service:
        for turn in range(400):
            screens = service.next("ann", mode=mode)
            if not screens:
                break
            answer(service, screens[0], f"key-{turn}")
            if turn == 20:  # one unit after another, and none left waiting but the last, or the last grid's
                assert len(service.auditing._pending) <= (GRID if mode == "grid" else 1)
        drawn = service.store.audits.all()
        assert not len(service.state.labels.unknown()[0])
    units = {(row.item, row.concept) for row in drawn}
    assert len(units) == len(drawn)
    roots = {int(service.store.id_of[root]) for root in TAXONOMY.roots}
    assert {row.concept for row in drawn} <= roots
    assert all(1 <= row.drawn_from <= N_ITEMS and row.items == N_ITEMS for row in drawn)
    of_animals = [row.drawn_from for row in drawn if row.concept == drawn[0].concept]
    assert of_animals == sorted(of_animals, reverse=True)  # fewer are left each time


def test_no_share_draws_nothing_and_the_share_holds_from_then_on(folder):
    with Service(folder, audit=0.0, background=False) as service:
        service.next("ann", count=20)
        assert service.store.audits.all() == []
    with Service(folder, background=False) as service:
        assert service.auditing.share == 0.0
    with pytest.raises(RamifyError, match="the audit is a share of the questions from 0 to 1, not 2"):
        Service(folder, audit=2.0, background=False)


def test_an_undone_answer_is_asked_again(folder):
    with Service(folder, audit=1.0, background=False) as service:
        (screen,) = service.next("ann")
        asked = {(entry.item, entry.concept) for entry in screen.entries}
        answer(service, screen, "key-1")
        service.undo("key-2", "ann")
        again = service.next("ann", count=3)
        assert asked <= {(entry.item, entry.concept) for screen in again for entry in screen.entries}
        assert [(row.item, row.concept) for row in service.store.audits.all()].count(next(iter(asked))) <= 1


def test_what_is_said_of_the_labels_by_command_endpoint_and_python(folder):
    with pytest.raises(RamifyError, match="nothing says yet how good the labels"):
        Project(folder).quality()
    with Service(folder, audit=0.7, background=False) as service:
        client = TestClient(create_app(service, hosts=None, token=TOKEN), headers=HEADERS)
        for turn in range(60):
            for screen in service.next("ann"):
                answer(service, screen, f"key-{turn}")
        assert client.get("/api/quality").json() is None
    with Service(folder, background=False) as service:  # with a model that took in all answers
        client = TestClient(create_app(service, hosts=None, token=TOKEN), headers=HEADERS)
        found = service.judge()
        assert found is not None
        assert client.get("/api/quality").json() == found.model_dump()
        assert client.get("/api/status").json()["advice"] == found.advice.model_dump()
    assert found.all.draws >= 20
    assert found.all.f1.low <= found.all.f1.value <= found.all.f1.high <= 1
    assert [c.path for c in found.concepts] == [TAXONOMY.path(leaf) for leaf in TAXONOMY.leaves]
    exact = Project(folder).quality()
    assert exact.all.draws == found.all.draws
    assert exact.all.f1.value == pytest.approx(found.all.f1.value, abs=0.1)
    with Store(folder) as store:
        assert noted(store) == exact
        assert read_status(store).answers == exact.answers
        assert read_status(store).progress.endswith("settled.")  # fewer than thirty say nothing of all
    told = exact.model_copy(update={"all": exact.all.model_copy(update={"draws": 30})})
    f1 = f"{exact.all.f1.value:.2f} ({exact.all.f1.low:.2f} to {exact.all.f1.high:.2f}, from 30 audited)"
    assert progress_sentence(100, 29, told) == f"Fine labels: 71 % settled, estimated F1 {f1}."
    true = TRUTH[:, TAXONOMY.leaves]
    labels = Project(folder).predict()["labels"]
    chosen = np.array([[TAXONOMY.path(leaf) in row for leaf in TAXONOMY.leaves] for row in labels])
    hits = (chosen & (true == 1)).sum()
    assert exact.all.precision.low <= hits / chosen.sum() <= exact.all.precision.high
    with pytest.raises(RamifyError, match=r"a precision of 0\.99 cannot be promised yet: .*(more audit answers|teach)"):
        Project(folder).predict(precision=0.99)
    promised = Project(folder).predict(recall=0.2)
    assert len(promised) == N_ITEMS


def test_only_what_was_known_when_it_was_drawn_counts_as_known(folder):
    """The states before a draw are those of the import and of earlier answers, not of its own."""
    from ramify.project.transfer.measuring import answered, drawn_before
    from ramify.quality.audit import Draws

    with Service(folder, audit=1.0, background=False) as service:
        store = service.store
        for turn in range(6):
            for screen in service.next("ann"):
                answer(service, screen, f"key-{turn}")
        labels, imported = store.labels(), store.imported()
        rows = store.audits.all()
        draws = Draws(
            *np.array([(r.item, store.number_of[r.concept], r.drawn_from, r.items, r.after) for r in rows], np.intp).T
        )
        before = drawn_before(answered(store, labels), imported, draws)
    for row, item, root in zip(before, draws.items, draws.roots, strict=True):
        below = np.flatnonzero(TAXONOMY.root_of == root)
        assert (row[below] == imported.states(item, below)[0]).all()
