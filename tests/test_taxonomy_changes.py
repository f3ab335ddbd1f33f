"""Taxonomies that change in the middle of a project: what becomes of labels and answers, back and forth."""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from ramify import Labels, Project, RamifyError, Taxonomy
from ramify.cli import app
from ramify.project.live import changing
from ramify.project.live.service import Service
from ramify.project.live.state import State
from ramify.project.live.status import training_due
from ramify.project.store.changes import Change
from ramify.project.store.store import Store
from store_checks import coarse, files, filled, ids, process
from test_cli_project import refused, run
from test_service import until
from web_projects import pets_project

TREE = {
    "animal": {"children": {"cat": ["siamese", "tabby"], "dog": None, "owl": None}, "exhaustive": True},
    "food": ["apple", "banana"],
    "sky": None,
}
ITEMS = 4
WHO = ("ann", "bob")
VALUES = {"yes": 1, "no": 0}


class Rebuilt:
    """All that was ever said, by stable ids, and which ids are there: labels are built from it again each time."""

    def __init__(self, store):
        self.claims, self.answers, self.merged, self.past = {}, [], {}, []
        self.there = dict(enumerate(store.id_of.tolist()))

    def says(self, item, concept):
        """Import and answers about an entry, after what was merged into it."""
        latest = {who: value for who, i, c, value, undone in self.answers if (i, c) == (item, concept) and not undone}
        said = set(latest.values())
        answered = said.pop() if len(said) == 1 else None
        claimed = self.claims.get((item, concept))
        parts = [self.says(item, part) for part in self.merged.get(concept, ())]
        if parts:
            values = [claim if answer is None else answer for claim, answer in parts]
            value = 1 if 1 in values else 0 if all(value == 0 for value in values) else None
            by_people = [answer for _, answer in parts if answer == 1 or (value == 0 and answer is not None)]
            if by_people:
                answered = value if answered is None else answered
            elif claimed is None:
                claimed = value
        return claimed, answered

    def labels(self, taxonomy, id_of):
        labels = Labels(taxonomy, np.full((ITEMS, len(taxonomy.roots)), -1, np.int8))
        for item in range(ITEMS):
            for number, concept in enumerate(id_of.tolist()):
                claimed, answered = self.says(item, concept)
                if claimed is not None and answered in (None, claimed):
                    labels.record(item, number, claimed, "imported")
                if answered is not None:
                    labels.record(item, number, answered, "annotated")
        return labels


def some_change(draw, taxonomy):
    """A change that may make sense."""
    concepts = list(range(len(taxonomy)))
    kind = draw(st.sampled_from(["rename", "merge", "move", "add", "remove", "split", "describe"]))
    concept = draw(st.sampled_from(concepts))
    name = f"new{draw(st.integers(0, 5))}"
    siblings = [n for n in concepts if taxonomy.parents[n] == taxonomy.parents[concept] and n != concept]
    if kind == "merge" and siblings:
        return Change(kind, [concept, draw(st.sampled_from(siblings))], [draw(st.sampled_from([name, "cat"]))])
    if kind == "move":
        return Change(kind, [concept], below=draw(st.sampled_from([None, *concepts])))
    if kind == "add":
        return Change(kind, draw(st.sampled_from([[], [concept]])), [name])
    if kind == "split":
        return Change(kind, [concept], [name, f"{name}b"], exhaustive=draw(st.booleans()))
    if kind == "describe":
        return Change(kind, [concept], description=name, exhaustive=draw(st.sampled_from([None, False, True])))
    return Change("rename", [concept], [name]) if kind != "remove" else Change(kind, [concept])


@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],  # every step writes to the disk: to look for shorter ones takes minutes
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_labels_are_those_rebuilt_from_the_events_whatever_changed_and_was_undone(data):
    draw = data.draw
    with tempfile.TemporaryDirectory() as place, closing(Store.create(Path(place, "p"), Taxonomy(TREE))) as store:
        rebuilt = Rebuilt(store)
        blank = np.full((ITEMS, 3), -1, np.int8)
        store.add([f"i{n}" for n in range(ITEMS)], None, None, None, Labels(store.taxonomy, blank))
        served = State(Store(store.folder))
        depth = 0
        for step in range(draw(st.integers(4, 12))):
            concept = draw(st.sampled_from(store.id_of.tolist()))
            item, who, answer = (draw(st.sampled_from(some)) for some in (range(ITEMS), WHO, list(VALUES)))
            what = draw(st.sampled_from(["answer", "answer", "import", "take back", "change", "change", "undo"]))
            if what == "answer":
                store.record(f"k{step}", who, [(item, concept, answer)])
                rebuilt.answers.append([who, item, concept, VALUES[answer], False])
            elif what == "take back":
                store.undo(f"k{step}", who)
                own = [said for said in rebuilt.answers if said[0] == who and not said[4]]
                if own:
                    own[-1][4] = True
            elif what == "import":
                labels = Labels(store.taxonomy, np.full((1, len(store.taxonomy.roots)), -1, np.int8))
                labels.record(0, store.number_of[concept], VALUES[answer], "imported")
                store.add([f"i{item}"], None, None, None, labels)
                rebuilt.claims[item, concept] = VALUES[answer]
            elif what == "change":
                before = store.taxonomy, store.id_of.tolist(), dict(rebuilt.merged)
                change = some_change(draw, store.taxonomy)
                try:
                    foreseen = store.changes.change(change, dry_run=True)
                except RamifyError:
                    assert (store.taxonomy, store.id_of.tolist()) == before[:2]
                    continue
                assert (store.taxonomy, store.id_of.tolist()) == before[:2]
                assert store.changes.change(change) == foreseen
                rebuilt.past.append(before)
                depth += 1
                if change.kind == "merge":
                    (new,) = set(store.id_of.tolist()) - set(before[1])
                    rebuilt.merged[new] = [before[1][number] for number in change.concepts]
            elif depth:
                store.changes.undo()
                taxonomy, ids, rebuilt.merged = rebuilt.past.pop()
                assert (store.taxonomy, store.id_of.tolist()) == (taxonomy, ids)
                depth -= 1
            expected = rebuilt.labels(store.taxonomy, store.id_of)
            assert store.labels() == expected
            served.reload()  # a server that runs
            entries, newest = served.others()
            if entries:
                served.apply(entries)
                served.have_seen(newest)
            assert served.labels.arrays().keys() == expected.arrays().keys()
            assert Labels.__eq__(served.labels.copy(), expected)
        while depth:  # all the way back
            store.changes.undo()
            depth -= 1
        rebuilt.merged = {}
        assert store.taxonomy == Taxonomy(TREE)
        assert store.labels() == rebuilt.labels(store.taxonomy, store.id_of)
        served.store.close()
        with pytest.raises(RamifyError) as error:
            store.changes.undo()
        assert str(error.value) == f"the taxonomy of {store.folder} has not been changed: there is nothing to undo"


@pytest.fixture
def store(tmp_path, address):
    with filled(tmp_path / "project", address=address) as made:
        yield made


def test_a_change_that_is_killed_leaves_the_old_taxonomy_or_the_new(store):
    cat, dog = ids(store, "cat", "dog")
    store.record("k", "ann", [(0, cat, "yes"), (1, dog, "no")])
    before, events = str(store.taxonomy), store.events()
    store.close()
    states = json.loads(process("changes", store.folder).communicate(timeout=600)[0])
    after = before.replace("├── cat", "├── cat\n│   ├── tabby\n│   └── siamese")
    assert len(states) > 10
    assert states == [before] * (len(states) - 1) + [after]
    store.refresh()
    assert str(store.taxonomy) == after
    assert store.events() == events
    assert store.changes.undo().said == "taken back: 'animal > cat' is split into 'tabby', 'siamese'"
    assert str(store.taxonomy) == before
    assert len(files(store)) == 3  # features, what was imported, and the mark: nothing that the killed have left
    with pytest.raises(RamifyError):
        store.changes.undo()  # it was done once


@pytest.mark.slow
def test_people_who_answer_while_it_changes_lose_nothing_whoever_is_killed(store):
    before = store.taxonomy
    heard = json.loads(process("both", store.folder, 3).communicate(timeout=3600)[0])
    assert store.database.damage() is None
    answered = {event.key for event in store.events()}
    acknowledged = {key for keys in heard[::2] for key in keys if int(key.split("-")[1]) % 4 < 3}
    assert acknowledged <= answered
    store.refresh()
    assert store.labels().taxonomy == store.taxonomy
    while store.changes.last():
        store.changes.undo()
    assert store.taxonomy == before
    with filled(store.folder.parent / "plain") as plain:  # the same answers, and no change: the same labels
        undone = {event.undoes for event in store.events()}
        for event in store.events():
            if event.concept in plain.number_of and not event.undoes and event.seq not in undone:
                plain.record(f"{event.key}:{event.seq}", event.annotator, [(event.item, event.concept, event.answer)])
        assert plain.labels() == store.labels()


def test_crack_becomes_crack_on_glass_and_crack_in_paint(tmp_path, address):
    """In the middle of a project, in every way in which people would do it; and all the way back."""
    taxonomy = Taxonomy({"damage": ["crack", "dent", "scratch"], "fine": ["new"]})
    with Store.create(tmp_path / "p", taxonomy, address=address) as store:
        labels = Labels(taxonomy, [[1, 0]] * 4)
        labels.record([0], ["scratch"], [1], "imported")
        store.add(list("abcd"), None, None, None, labels)
        crack, dent, scratch = ids(store, "crack", "dent", "scratch")
        store.record("k1", "ann", [(0, crack, "yes"), (1, crack, "no"), (2, crack, "yes")])
        store.record("k2", "bob", [(0, scratch, "no"), (1, dent, "no"), (3, dent, "yes")])
        before = store.labels()

        told = store.changes.change(Change("split", ["crack"], ["crack on glass", "crack in paint"]), dry_run=True)
        assert told.lines() == ["All other labels stay as they are."]
        assert [row.line() for row in told.rows] == [
            "damage > crack > crack on glass, new: 0 yes, 1 no, 3 unknown",
            "damage > crack > crack in paint, new: 0 yes, 1 no, 3 unknown",
        ]
        assert store.labels() == before
        store.changes.change(Change("split", ["crack"], ["crack on glass", "crack in paint"]))
        states = store.labels().states(None, ["crack", "crack on glass", "crack in paint"]).tolist()
        assert states == [[1, -1, -1], [0, 0, 0], [1, -1, -1], [-1, -1, -1]]

        # dents and scratches are one: yes where one was, no where both were; an answer outranks what was imported
        told = store.changes.change(Change("merge", ["dent", "scratch"], ["mark"]))
        assert told.answers_leave == told.claims_leave == 0
        assert store.labels().states(None, "mark").ravel().tolist() == [-1, -1, -1, 1]
        store.record("k3", "bob", [(0, ids(store, "mark")[0], "no")])
        store.undo("k4", "bob")
        assert store.labels().states(0, "mark").tolist() == [[-1]]
        store.undo("k5", "bob")  # also what he said of the two
        assert store.labels().states(None, "mark").ravel().tolist() == [1, -1, -1, -1]

        told = store.changes.change(Change("remove", ["crack"]))
        assert told.lines() == ["3 answers no longer count (kept, and back with an undo)."]
        with pytest.raises(RamifyError) as error:
            store.record("k6", "ann", [(3, crack, "yes")])
        assert str(error.value) == (
            "'damage > crack' is no concept any more: somebody has changed the taxonomy; nothing was saved: take the "
            "next question"
        )
        store.changes.undo()
        told = store.changes.change(Change("move", ["crack"], below="fine"))
        assert told.contradictions == 2
        assert told.torn[0] == ("a", "'fine > crack' is relevant (annotated) against 'fine' is irrelevant (imported)")
        assert "2 new contradictions arise (none of what contradicts counts until one is mended)." in told.lines()
        for _ in range(3):
            store.changes.undo()
        assert store.taxonomy == taxonomy
        store.record("k7", "bob", [(0, scratch, "no"), (1, dent, "no"), (3, dent, "yes")])
        assert store.labels() == before


def test_who_records_with_an_old_taxonomy_at_hand_is_told_and_new_concepts_are_known(store):
    with Store(store.folder) as other:
        other.changes.change(Change("remove", ["dog"]))
        other.changes.change(Change("add", ["animal"], ["dog"]))  # of the same name, and not the same
        (new,) = ids(other, "dog")
    (old,) = ids(store, "dog")
    assert new != old
    with pytest.raises(RamifyError, match="'animal > dog' is no concept any more"):
        store.record("k", "ann", [(0, old, "yes")])
    store.record("k", "ann", [(0, new, "yes")])
    assert store.leases().lease("ann", [[(1, new)]]) == [True]
    with Store(store.folder) as other:
        other.changes.undo()
        assert other.database.damage() is None
    store.refresh()
    assert store.labels().states(None, "cat").ravel().tolist() == [-1] * 3  # nobody said anything of cats
    assert store.last_paths()[new] == "animal > dog"


def test_a_server_takes_up_what_its_store_has_seen_before(tmp_path):
    with filled(tmp_path / "p") as own, Store(own.folder) as other:
        cat, dog = ids(own, "cat", "dog")
        served = State(own)
        other.record("k1", "ann", [(0, dog, "yes"), (1, cat, "yes")])
        other.changes.change(Change("remove", ["cat"]))
        own.imported()  # the file that it knew is gone: the store looks again
        assert own.taxonomy == other.taxonomy != served.labels.taxonomy == served.snapshot().contents.taxonomy
        served.apply([(0, dog), (1, cat)])  # numbers are those of the labels, not those of the store
        assert served.labels.states([0, 1], ["cat", "dog"]).tolist() == [[-1, 1], [1, -1]]
        assert served.reload()
        assert Labels.__eq__(served.labels.copy(), other.labels())
        assert not served.reload()


def test_a_change_is_of_the_concept_that_had_the_number_when_it_was_looked_up(tmp_path):
    with filled(tmp_path / "p") as store, Store(store.folder) as other:
        number = store.taxonomy.index("dog")
        other.changes.change(Change("remove", ["cat"]))  # and all behind it get another number
        assert (
            store.changes.change(Change("rename", [number], ["hound"])).said == "'animal > dog' is renamed to 'hound'"
        )


def test_an_undo_takes_back_the_change_that_is_meant_or_none(tmp_path):
    with filled(tmp_path / "p") as store, Store(store.folder) as other:
        store.changes.change(Change("rename", ["dog"], ["hound"]))
        seen, _ = store.changes.last()
        foreseen = store.changes.undo(seen, dry_run=True)
        other.changes.change(Change("rename", ["cat"], ["kitty"]))
        with pytest.raises(RamifyError) as error:
            store.changes.undo(seen)
        assert str(error.value) == (
            "this is not the last change of the taxonomy any more: look at what would be taken back now"
        )
        other.changes.undo(other.changes.last()[0])
        assert store.changes.undo(seen) == foreseen


@pytest.mark.parametrize(
    "change", [Change("rename", ["dog"], ["hound"]), Change("describe", ["dog"], description="barks")]
)
def test_names_are_changed_without_a_look_at_all_labels(tmp_path, monkeypatch, change):
    with filled(tmp_path / "p") as store:
        animal, cat, dog = ids(store, "animal", "cat", "dog")
        store.record("k1", "ann", [(0, animal, "no"), (0, cat, "yes"), (1, dog, "yes")])  # which contradicts itself
        store.changes.change(Change("split", ["cat"], ["tabby", "manx"]))
        merged = Change("merge", ["tabby", "manx"], ["housecat"])
        store.changes.change(merged)
        told = store.changes.change(change, dry_run=True)
        monkeypatch.setattr("ramify.project.store.changes.only_names", lambda old, new: False)
        assert store.changes.change(change) == told  # what comparing all labels says
        assert told.lines() == ["All labels stay as they are."]


def test_siblings_that_are_read_as_one_name_are_only_in_older_projects(tmp_path, monkeypatch):
    taxonomy = Taxonomy({"animal": ["Cat", "cat", "dog"]})
    alike = "are read as one name, since letters' case, spaces, '_' and '-' do not count"
    with pytest.raises(RamifyError) as error:
        Store.create(tmp_path / "p", taxonomy)
    assert str(error.value) == f"the concepts 'Cat' and 'cat' under 'animal' {alike}: rename one, or make them one"
    assert not (tmp_path / "p").exists()
    with monkeypatch.context() as before:
        before.setattr("ramify.project.store.store.check_apart", lambda concepts: None)
        Store.create(tmp_path / "p", taxonomy).close()
    with Store(tmp_path / "p") as store:
        assert store.taxonomy == taxonomy
        with pytest.raises(RamifyError) as error:
            store.changes.change(Change("rename", ["dog"], ["CAT"]))
        assert str(error.value) == f"'CAT' and 'Cat' below 'animal' {alike}: give another name, or merge them"
        store.changes.change(Change("rename", ["dog"], ["Dog"]))  # itself, written otherwise
        store.changes.change(Change("merge", ["Cat", "cat"], ["cat"]))
        store.changes.undo()
        assert store.taxonomy.names[:3] == ("Cat", "cat", "Dog")


def test_of_a_large_taxonomy_what_changes_is_shown_and_what_stands_beside(tmp_path):
    leaves = {f"m{m}": [f"leaf {m}.{n}" for n in range(9)] for m in range(9)}
    with Store.create(tmp_path / "p", Taxonomy({"first": leaves, "second": ["x"], "third": ["y"]})) as store:
        shown = store.changes.change(Change("rename", ["leaf 3.4"], ["new"])).taxonomy
        assert shown == (
            "first\n├── ... 3 more\n├── m3\n│   ├── ... 2 more\n│   ├── leaf 3.2\n│   ├── leaf 3.3\n│   ├── new\n"
            "│   ├── leaf 3.5\n│   ├── leaf 3.6\n│   └── ... 2 more\n└── ... 5 more\n... 2 more"
        )
        shown = store.changes.change(Change("remove", ["m8"]), dry_run=True).taxonomy
        assert shown == "first\n├── m0  9 below\n├── m1  9 below\n└── ... 6 more\n... 2 more"
        shown = store.changes.change(Change("describe", ["y"], description="why"), dry_run=True).taxonomy
        assert shown == "... 2 more\nthird\n└── y"
        shown = store.changes.change(Change("remove", ["third"]), dry_run=True).taxonomy
        assert shown == "... 2 more"
        many = [f"new {n}" for n in range(100)]
        assert len(store.changes.change(Change("add", ["second"], many), dry_run=True).taxonomy.splitlines()) == 27


def test_what_was_said_before_somebody_else_spoke_is_not_applied_after(tmp_path):
    with Store.create(tmp_path / "p", Taxonomy({"animal": ["cat", "kitty", "dog", "hound"]})) as store:
        store.add(["a"], None, None, None, Labels(store.taxonomy, [[1]]))
        store.changes.change(Change("merge", ["cat", "kitty"], ["felis"]))
        store.changes.change(Change("merge", ["dog", "hound"], ["canis"]))
        felis, canis = ids(store, "felis", "canis")
        served = State(store)
        about = store.consensus.about

        def second():
            free = served.lock.acquire(blocking=False)
            if free:
                served.apply([(0, canis)])
                served.lock.release()
            return free

        with ThreadPoolExecutor(1) as thread:

            def interrupted(items):
                found = about(items)
                store.consensus.about = about
                store.record("k2", "bob", [(0, canis, "yes")])
                nonlocal done
                done = thread.submit(second).result()
                return found

            done, store.consensus.about = None, interrupted
            store.record("k1", "ann", [(0, felis, "yes")])
            served.apply([(0, felis)])
        assert done or second()
        assert Labels.__eq__(served.labels.copy(), store.labels())


def test_a_copy_of_a_changed_project_is_the_same(tmp_path):
    with filled(tmp_path / "project") as store:
        cat, dog = ids(store, "cat", "dog")
        store.record("k", "ann", [(0, cat, "no"), (0, dog, "no"), (1, dog, "yes")])
        store.changes.change(Change("merge", ["cat", "dog"], ["pet"]))
        store.add(["i9"], ["text"], None, [[9, 9]], Labels(store.taxonomy, [[1, 0]]))
        store.backup(tmp_path / "b.zip")
        Store.restore(tmp_path / "b.zip", tmp_path / "again")
        with Store(tmp_path / "again") as again:
            assert again.labels() == store.labels()
            assert again.labels().states(None, "pet").ravel().tolist() == [0, 1, -1, -1]
            again.changes.undo()
            assert again.labels().states(None, ["cat", "dog"]).tolist() == [[0, 0], [-1, 1], [-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Change("rename", ["dgo"], ["x"]), "there is no concept 'dgo' in the taxonomy: did you mean 'dog'?"),
        (Change("rename", ["dog"], []), "to rename takes one new name, not 0"),
        (Change("move", ["dog", "cat"]), "to move takes one concept, not 2"),
        (Change("add", ["animal", "food"], ["bat"]), "to add takes at most one concept to go below, not 2"),
        (
            Change("turn", ["dog"]),
            "a change of the taxonomy is rename, merge, move, add, remove, split, describe, not 'turn'",
        ),
        (
            Change("merge", ["animal", "dog"], ["x"]),
            "only concepts with the same parent can be merged, not 'animal', 'animal > dog'",
        ),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_changes_nothing(tmp_path, change, sentence):
    with filled(tmp_path / "project") as store:
        before = store.contents
        with pytest.raises(RamifyError) as error:
            store.changes.change(change)
        assert str(error.value) == sentence
        assert store.contents is before
        assert store.labels() == coarse(3)


# -- models ------------------------------------------------------------------------------------------------------------


def test_whether_a_training_is_due_is_looked_up_once_for_each_taxonomy(tmp_path, monkeypatch):
    with filled(tmp_path / "p") as store:

        def build(folder):
            (folder / "learner").mkdir()
            np.save(folder / "count.npy", [len(store)])
            (folder / "learner" / "learner.json").write_text(json.dumps({"taxonomy": store.taxonomy.to_dict()}))
            return {}

        store.models.add(build)
        asked = []
        ids_of = store.changes.ids_of
        monkeypatch.setattr(store.changes, "ids_of", lambda taxonomy: asked.append(taxonomy) or ids_of(taxonomy))
        assert [training_due(store), training_due(store), len(asked)] == [None, None, 1]
        store.changes.change(Change("rename", ["dog"], ["hound"]))
        store.changes.change(Change("add", ["animal"], ["owl"]))
        due = (
            "the taxonomy was changed since, 1 of its concepts are new to the model ('animal > owl'): train a new model"
        )
        assert [training_due(store), training_due(store), len(asked)] == [due, due, 2]


def test_a_training_is_due_where_items_were_added(tmp_path):
    with filled(tmp_path / "p") as store:
        learner = json.dumps({"taxonomy": store.taxonomy.to_dict()})

        def build(folder):
            (folder / "learner").mkdir()
            np.save(folder / "count.npy", [len(store)])
            (folder / "learner" / "learner.json").write_text(learner)
            return {}

        store.models.add(build)
        assert training_due(store) is None
        store.add(["a", "b"], None, None, [[1, 1], [2, 2]], coarse(2))
        assert training_due(store) == "2 items were added since, about which it asks nothing: train a new model"


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """A small project with three levels whose model has learned from some fine labels."""
    made = Project.create(
        tmp_path_factory.mktemp("model") / "pets",
        {"animal": {"cat": ["siamese", "tabby"], "dog": None, "owl": None}, "food": ["apple", "banana"], "sky": None},
    )
    random = np.random.default_rng(0)
    features = random.normal(size=(60, 6)).astype(np.float32)
    fine = np.array(["siamese", "tabby", "dog", "owl", "apple", "banana"])[features.argmax(axis=1)]
    coarse_names = np.where(features.argmax(axis=1) < 4, "animal", "food")
    labels = np.where(np.arange(60) % 2, fine, coarse_names).tolist()
    made.add({"id": [f"i{n}" for n in range(60)], "labels": labels, "text": ["-"] * 60}, features=features)
    made.train(steps=20, hidden=(8, 8))
    return made


@pytest.fixture
def changed(pets):
    """The same; at the end all is as it was."""
    yield pets
    with Store(pets.folder) as store:
        while store.changes.last():
            store.changes.undo()


def differences(before, now, called=()):
    """By how much the predictions of concepts that both have differ."""
    names = {name: dict(called).get(name, name) for name in before.columns[2:]}
    return {new: abs(before[old] - now[new]).max() for old, new in names.items() if new in now.columns}


def test_a_model_goes_on_predicting_what_did_not_change(changed):
    before, concepts = changed.predict(), changed.taxonomy
    assert changed.status().model.due is None
    concepts.rename("dog", "hound")
    assert changed.status().model.due is None  # a name changes nothing
    called = {"animal > dog": "animal > hound"}
    assert not any(differences(before, changed.predict(), called).values())
    concepts.split("sky", ["blue", "grey"])
    concepts.merge(["siamese", "tabby"], "housecat")
    concepts.add(["pet"], "animal")
    concepts.add(["plum"], "food")
    now = changed.predict()
    assert differences(before, now, called) == dict.fromkeys(
        ["animal > hound", "animal > owl", "food > apple", "food > banana"], 0.0
    )
    assert ((now.iloc[:, 2:] >= 0) & (now.iloc[:, 2:] <= 1)).all(axis=None)
    either = 1 - (1 - before["animal > cat > siamese"]) * (1 - before["animal > cat > tabby"])
    assert (now["animal > cat > housecat"] - either).abs().max() < 0.2  # given that it is a cat, which may be unsure
    food = changed.labels().states(None, "food").ravel() == 1
    assert set(now["food > plum"][food].round(3)) == {0.333}  # one of three: nothing is known of it
    assert changed.status().model.due == (
        "the taxonomy was changed since, 5 of its concepts are new to the model ('animal > cat > housecat', "
        "'animal > pet', 'food > plum', ...): train a new model"
    )
    with pytest.raises(RamifyError, match="was changed since its model was trained, so no precision can be promised"):
        changed.predict(precision=0.9)
    concepts.move("hound", "pet")
    called["animal > dog"] = "animal > pet > hound"
    assert not any(differences(before, changed.predict(), called).values())
    concepts.remove("apple")
    assert "food > apple" not in changed.predict().columns
    for _ in range(7):
        concepts.undo()
    assert changed.status().model.due is None
    assert changed.predict().equals(before)


def test_names_say_how_probable_new_concepts_are(tmp_path):
    pets = Project.create(tmp_path / "pets", {"animal": ["cat", "dog"], "weather": None})
    texts = [f"a {kind} plays {n}" for n in range(20) for kind in ("puppy", "hound", "cat", "rain")]
    labels = ["dog", "dog", "cat", "weather"] * 20
    pets.add({"id": [f"p{n}" for n in range(80)], "text": texts, "labels": labels}, embed="text")
    pets.train(steps=20, hidden=(8, 8))
    pets.taxonomy.split("dog", ["puppy", "hound"])
    now = pets.predict()
    by_name = (now["animal > dog > puppy"] > now["animal > dog > hound"])[[n for n in range(80) if n % 4 < 2]]
    assert by_name.tolist() == [True, False] * 20
    with Service(pets.folder, background=False) as service:  # what is browsed says the same
        item = service.predictions(0).entries
        p = {entry.path: entry.probability for entry in item}
        assert p["animal > dog > puppy"] == pytest.approx(now["animal > dog > puppy"][0], abs=2e-3)
        assert service.next("ann")  # by no model: what it would ask is not what is there


def test_a_server_takes_up_what_changes_and_trains_anew(tmp_path):
    folder = pets_project(tmp_path / "pets")
    with Service(folder) as service:
        (task,) = service.next("ann")
        concept = task.entries[0].concept
        with Store(folder) as other:
            other.changes.change(Change("merge", ["cat", "dog"], ["pet"]))
            other.changes.change(Change("add", ["animal"], ["owl"]))
        with pytest.raises(RamifyError, match="is no concept any more: somebody has changed the taxonomy"):
            service.answer("key-1", "ann", [(task.entries[0].item, concept, "yes")])
        until(lambda: "owl" in service.store.taxonomy.names)
        for asked in service.next("bob", count=3):
            paths = {service.store.taxonomy.path(service.store.number_of[entry.concept]) for entry in asked.entries}
            assert paths <= {"animal > pet", "animal > owl"}
        pet, owl = (int(service.store.id_of[service.store.taxonomy.index(name)]) for name in ("pet", "owl"))
        why = service.why(0, pet)  # of what both are made of
        assert (why.state, [reason.answer for reason in why.reasons[:2]]) == ("yes", ["no", "yes"])
        service.answer("key-2", "ann", [(30, owl, "yes"), (30, pet, "no")])
        until(lambda: not service.state.model.learner.stands_in)  # it was trained by itself
        assert service.state.model.learner.taxonomy_ == service.store.taxonomy
        assert service.status().model.due is None
        wanted = changing.TaxonomyUndo(dry_run=True)
        assert service.undo_taxonomy(wanted).told == ["1 answer no longer counts (kept, and back with an undo)."]
        service.undo_taxonomy(changing.TaxonomyUndo())
        service.undo_taxonomy(changing.TaxonomyUndo())
        assert service.last_change().said is None
        assert service.state.labels.states(0, ["cat", "dog"]).tolist() == [[0, 1]]
        assert service.undo("key-3", "ann").undone  # of concepts that are gone
        assert [answer.path for answer in service.history("ann")] == []


# -- the command line --------------------------------------------------------------------------------------------------


def test_the_commands_preview_change_and_undo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taxonomy = Taxonomy({"animal": {"cat": None, "dog": {"description": "barks"}}, "food": ["apple"]})
    with Store.create("pets", taxonomy) as store:
        labels = Labels(taxonomy, [[1, 0], [1, -1]])
        labels.record([0, 1], ["dog", "cat"], [1, 0], "imported")
        store.add(["a", "b"], None, None, None, labels)
    as_it_was = "animal\n├── cat\n└── dog  barks\nfood\n└── apple\n"
    assert run("taxonomy", "show", "pets") == as_it_was
    merged = (
        "'animal > cat' and 'animal > dog' are merged into 'pet'.\n\nanimal\n└── pet\nfood\n└── apple\n\n"
        "animal > pet, new: 1 yes, 0 no, 1 unknown\n"
        "animal > cat, gone: 0 yes, 1 no, 1 unknown before\n"
        "animal > dog, gone: 1 yes, 0 no, 1 unknown before\n\nAll other labels stay as they are.\n\n"
    )
    merge = ("taxonomy", "merge", "pets", "cat", "dog", "--into", "pet")
    assert run(*merge, "--dry-run") == f"{merged}This is a preview: nothing was changed.\n"
    assert run("taxonomy", "show", "pets") == as_it_was
    hints = "Next: ramify train pets. To take it back: ramify taxonomy undo pets\n"
    assert run(*merge) == merged + hints
    assert run("taxonomy", "move", "pets", "apple", "--below", "animal").startswith(
        "'food > apple' is moved below 'animal'.\n\nanimal\n├── pet\n└── apple\nfood\n\n"
        "food > apple, now animal > apple: 0 yes, 0 no, 2 unknown; before, 0 yes, 1 no, 1 unknown\n\n"
        "1 label becomes unknown.\n"
    )
    run("taxonomy", "rename", "pets", "apple", "snail")
    run("taxonomy", "add", "pets", "owl", "bat", "--below", "animal")
    run("taxonomy", "describe", "pets", "animal", "--alias", "beast", "--exhaustive")
    run("taxonomy", "remove", "pets", "bat")
    assert run("taxonomy", "show", "pets") == (
        "animal  also beast\n├── pet\n├── snail\n└── owl\nfood\n\n"  # not all animals any more
        "Last change: 'animal > bat' is removed. To take it back: ramify taxonomy undo pets\n"
    )
    assert run("taxonomy", "undo", "pets", "--dry-run").startswith("Taken back: 'animal > bat' is removed.\n\nanimal\n")
    further = "Next: ramify train pets. One change further back: ramify taxonomy undo pets\n"
    assert run("taxonomy", "undo", "pets").endswith(further)
    assert "animal  also beast; one of these always applies\n" in run("taxonomy", "show", "pets")
    for _ in range(5):
        run("taxonomy", "undo", "pets")
    assert run("taxonomy", "show", "pets") == as_it_was
    assert refused("taxonomy", "undo", "pets") == "the taxonomy of pets has not been changed: there is nothing to undo"
    assert refused("taxonomy", "remove", "pets", "dgo") == (
        "there is no concept 'dgo' in the taxonomy: did you mean 'dog'?"
    )


def test_the_old_command_works_and_says_what_it_is_now(tmp_path):
    with filled(tmp_path / "project") as store:
        result = CliRunner().invoke(app, ["split", str(store.folder), "dog", "poodle", "beagle"])
        assert result.stderr == "`ramify split` is now `ramify taxonomy split`, with the same arguments.\n"
        assert "└── dog\n    ├── poodle\n    └── beagle" in result.stdout
        store.refresh()
        assert "poodle" in store.taxonomy
