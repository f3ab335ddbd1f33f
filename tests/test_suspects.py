"""Doubted labels: found by models that did not see them, listed, settled by table and on the page."""

import csv
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from browsers import expect, needs_browser
from ramify import Project
from ramify.cli import app
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners.cache import Cache
from ramify.project.live.model import Model
from ramify.project.live.service import Service
from ramify.project.live.training import train
from ramify.project.store.store import Store
from ramify.quality.suspects import suspects
from ramify.taxonomy import Taxonomy
from web_projects import LocalServer

ITEMS, ANSWERED = 120, 60
WRONG_COARSE = [(70, 0), (85, 1)]  # items, and which of the roots
WRONG_FINE = [(5, "cat"), (10, "apple")]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A project whose coarse labels are imported and whose fine ones are half answered; some of them are wrong."""
    folder = tmp_path_factory.mktemp("suspects") / "project"
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "pear"]})
    kind = np.arange(ITEMS) % 4  # cat, dog, apple, pear
    rng = np.random.default_rng(0)
    features = (4 * np.eye(4)[kind] + rng.normal(size=(ITEMS, 4)) / 4).astype(np.float32)
    coarse = np.stack([kind < 2, kind >= 2], axis=1).astype(int)
    for item, root in WRONG_COARSE:
        coarse[item, root] = 1 - coarse[item, root]
    with Store.create(folder, taxonomy) as store:
        ids = [f"i{n}" for n in range(ITEMS)]
        store.add(ids, [f"text {n}" for n in range(ITEMS)], None, features, Labels(taxonomy, coarse))
        said = []
        for item in range(ANSWERED):
            pair = ("cat", "dog") if kind[item] < 2 else ("apple", "pear")
            for name in pair:
                right = name == ("cat", "dog", "apple", "pear")[kind[item]]
                about = int(store.id_of[taxonomy.index(name)])
                said.append((item, about, "yes" if right != ((item, name) in WRONG_FINE) else "no"))
        store.record("first", "ann", said)
        train(store, learner="refine", parameters={"steps": 200, "hidden": [16]})
    return folder


@pytest.fixture
def project(original, tmp_path):
    return Project(shutil.copytree(original, tmp_path / "project"))


def test_wrong_labels_come_first_coarse_and_fine(project):
    found = project.suspects()
    first = set(zip(found["id"], found["concept"], strict=True))
    assert {(f"i{item}", name) for item, name in WRONG_FINE} <= first
    assert {("i70", "animal"), ("i85", "food")} <= first
    assert found["doubt"].is_monotonic_decreasing
    assert found["doubt"].min() >= 0.5
    assert len(project.suspects(2)) == 2
    assert set(project.suspects(concept="food")["concept"]) == {"food"}
    wrong = found.set_index(["id", "concept"])["label"]
    assert wrong["i5", "cat"] == "yes"
    assert wrong["i10", "apple"] == "no"


def test_a_label_is_judged_by_what_did_not_see_it(project):
    """Coarse ones by the net that held the item out, fine ones as if the item had never been answered."""
    with Store(project.folder) as store:
        labels, features = store.labels(), store.features()
        model = Model.load(store, features, labels, store.answered_items())
        learner, cache = model.learner, model.cache
        items, every = np.arange(ITEMS), np.arange(len(labels.taxonomy))
        found = suspects(learner, cache, labels, items, least=0.0)
    by_net = learner.coarse_.out_of_fold(learner.inputs(features), learner.coarse_.folds).numpy()
    roots = labels.taxonomy.roots
    coarse = np.isin(found.concepts, roots) & (found.items >= ANSWERED)  # of the others more than the nets is known
    place = np.searchsorted(roots, found.concepts[coarse])
    expected = np.abs(found.values[coarse] - by_net[found.items[coarse], place])
    np.testing.assert_allclose(found.doubts[coarse], expected, atol=1e-6)
    learned = learner.learned_items()
    left_out = learner.left_out(learned, store_states(labels, learned, every), coarse_known=True)
    fine = np.flatnonzero(~np.isin(found.concepts, roots))
    rows = np.searchsorted(learned, found.items[fine])
    expected = np.abs(found.values[fine] - left_out[rows, found.concepts[fine]])
    np.testing.assert_allclose(found.doubts[fine], expected, atol=1e-9)


def store_states(labels, items, every):
    """What is known above the fine concepts."""
    states = labels.states(items, every)
    states[:, labels.taxonomy.leaves] = -1
    return states


def test_what_follows_from_a_label_does_not_speak_for_it():
    """An item that is an animal only because somebody called it a cat: both the animal and the cat may be wrong."""
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "pear"]})
    labels = Labels(taxonomy, [[-1, -1]])
    labels.record(0, "cat", 1, "annotated")

    class Sees:
        def unseen(self, cache, items, states):
            self.states = states
            return np.zeros(states.shape)

    sees, cache = Sees(), Cache({"count": np.array([1])})
    found = suspects(sees, cache, labels, np.array([0]))
    assert (sees.states == -1).all()
    assert found.doubts.tolist() == [1.0]
    assert found.concepts.tolist() == [taxonomy.index("cat")]
    labels.record(0, "cat", 1, "imported")  # two who say the same
    assert len(suspects(sees, cache, labels, np.array([0])).items) == 0


def test_a_table_settles_many_at_once(project, tmp_path):
    run, table = CliRunner(), tmp_path / "table.csv"
    folder = str(project.folder)
    shown = run.invoke(app, ["suspects", folder, "-n", "3"])
    assert shown.exit_code == 0
    assert "3 of " in shown.stdout
    assert "i10" in shown.stdout
    written = run.invoke(app, ["suspects", folder, "--out", str(table)])
    assert f"ramify answer {folder} {table}" in written.stdout.replace("\n", " ")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    changed = {("i5", "cat"), ("i70", "animal")}
    for row in rows:
        opposite = {"yes": "no", "no": "yes"}[row["label"]]
        row["answer"] = opposite if (row["id"], row["concept"]) in changed else row["label"]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    refused = run.invoke(app, ["suspects", folder, "--out", str(table)])
    assert str(refused.exception) == f"{table} holds answers, which would be lost: give another name, or remove it"
    taken = run.invoke(app, ["answer", folder, str(table), "--annotator", "bob"])
    assert taken.stdout == f"Saved {len(rows)} answers.\n"
    assert "0 answers" in run.invoke(app, ["answer", folder, str(table), "--annotator", "bob"]).stdout
    labels = project.labels()
    assert labels.states(5, "cat")[0, 0] == 0
    assert labels.states(70, "animal")[0, 0] == 0  # 70 % 4 == 2: an apple
    left = set(zip(project.suspects()["id"], project.suspects()["concept"], strict=True))
    assert not left & {(row["id"], row["concept"]) for row in rows}  # kept or changed, they are settled


def test_browse_lists_what_is_doubted_and_one_undo_takes_it_back(project):
    with Service(project.folder, background=False) as service:
        food = int(service.store.id_of[service.store.taxonomy.index("food")])
        items = service.found(concept=food, state="doubted").items
        assert {85, 70} & set(items)
        service.answer("keep", "bob", [(item, food, "yes") for item in items], settles=True)
        assert service.browse(concept=food, state="doubted").total == 0
        service.undo("back", "bob")
        assert service.found(concept=food, state="doubted").items == items
        with pytest.raises(RamifyError, match="a state is yes, no, unknown, disputed or doubted, not 'odd'"):
            service.browse(concept=food, state="odd")


def test_without_a_model_it_is_said_in_a_sentence(tmp_path):
    pets = Project.create(tmp_path / "pets", {"animal": ["cat", "dog"]})
    with pytest.raises(RamifyError) as refused:
        pets.suspects()
    assert str(refused.value) == (
        "there is no model yet that can judge a label without having seen it: train refine, the default, first"
    )


@needs_browser
def test_doubted_labels_are_kept_or_changed_at_once_on_the_page(project, visit):
    server = LocalServer(project.folder)
    try:
        page = visit(server, "Bea")
        page.keyboard.press("b")
        page.locator("select[name=concept]").select_option(label="\u2003cat")
        page.locator("select[name=state]").select_option("doubted")
        count = page.locator("#browse .count")
        expect(count).to_have_text("1 to 1 of 1 items")
        expect(page.locator(".found-id")).to_have_text("i5")
        page.get_by_role("button", name="Choose all 1").click()
        page.get_by_role("button", name="No to 1").click()
        expect(count).to_have_text("No item fits these filters.")
        with Store(project.folder) as store:
            last = store.events()[-1]
            assert (last.item, last.answer, last.settles) == (5, "no", True)
            assert store.labels().states(5, "cat")[0, 0] == 0  # whatever ann has said
        page.keyboard.press("u")
        expect(count).to_have_text("1 to 1 of 1 items")
    finally:
        server.stop()
