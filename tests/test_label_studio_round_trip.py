"""From Label Studio to a project and back, and once more: nobody's annotation is lost."""

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.label_config import config_of
from ramify.labels import Labels
from ramify.project.store.answers import Answers
from ramify.project.store.changes import Change
from ramify.project.store.store import Store
from ramify.project.transfer.exporting import export_known
from ramify.project.transfer.importing import add, init
from ramify.project.transfer.writers import WRITERS
from ramify.readers import read_for
from ramify.taxonomy import Taxonomy
from test_writers import known

PEOPLE = (7, {"id": 8, "email": "ada@example.org"}, {"id": 9, "email": "bjørn@example.org"})
NAMES = ("label-studio 7", "ada@example.org", "bjørn@example.org")


def annotation(number, who, paths, **more):
    result = [{"from_name": "concepts", "to_name": "text", "type": "taxonomy", "value": {"taxonomy": paths}}]
    said = {"id": number, "completed_by": PEOPLE[who], "result": result if paths else [], "project": 1}
    return {**said, "updated_at": "2026-11-18T19:38:12.020348Z", "unique_id": f"{number:08x}-4619", **more}


def brought(folder, tasks, taxonomy):
    """A project with these tasks, as the export of Label Studio has them."""
    folder.mkdir()
    path = folder / "tasks.json"
    path.write_text(json.dumps(tasks, ensure_ascii=False), encoding="utf-8")
    path.with_suffix(".xml").write_text(config_of(taxonomy.to_dict(), "text"), encoding="utf-8")
    with init(folder / "project", Taxonomy.load(path.with_suffix(".xml"))) as store:
        return add(store, path, features=np.zeros((len(tasks), 1), np.float32)).told(len(tasks))


def taken_home(folder):
    with Store(folder / "project") as store:
        _, lost = export_known(store, folder / "back.json", WRITERS["label-studio"])
    assert Taxonomy.load(folder / "back.xml") == Taxonomy.load(folder / "tasks.xml")
    return json.loads((folder / "back.json").read_text()), lost


def chosen(tasks):
    """Who chose what: of each task its text, and by annotator the paths of which nothing finer was chosen."""
    listed = {}
    for task in tasks:
        people = listed.setdefault(str(task["data"].get("id", task.get("id"))), (task["data"]["text"], {}))[1]
        for said in task.get("annotations", []):
            if not said.get("was_cancelled"):
                who = said["completed_by"]
                paths = [tuple(path) for part in said["result"] for path in part["value"]["taxonomy"]]
                finest = {path for path in paths if not any(other[: len(path)] == path != other for other in paths)}
                people[str(who["email"] if isinstance(who, dict) else who)] = finest
    return listed


def answers(folder):
    with Store(folder / "project") as store:
        number_of = store.number_of
        return {(event.annotator, event.item, number_of[event.concept], event.answer) for event in store.events()}


def test_a_thousand_tasks_of_three_levels_and_three_people(tmp_path):
    leaves = [f"{name} {n}" for n in range(3) for name in ("Straße", "猫", "naïve café")]
    taxonomy = Taxonomy({root: {f"{root}/{m}": leaves for m in ("α", "β")} for root in ("Tiere", "食べ物", "قطة")})
    paths = [[taxonomy.names[n] for n in (*taxonomy.ancestors(c), c)] for c in range(len(taxonomy))]
    random = np.random.default_rng(0)
    tasks = []
    for n in range(1000):
        said = [
            annotation(3 * n + who, who, [paths[c] for c in random.choice(len(paths), random.integers(0, 4))],
                       was_cancelled=bool(random.random() < 0.05), lead_time=random.random() * 60)
            for who in np.flatnonzero(random.random(3) < 0.6).tolist()
        ]  # fmt: skip
        tasks.append({"id": n + 1, "data": {"text": f"Ein Text № {n}\n\u2028 «ü»"}, "annotations": said, "project": 1})
    told = brought(tmp_path / "first", tasks, taxonomy)
    kept = sum(not said["was_cancelled"] for task in tasks for said in task["annotations"])
    cancelled = sum(said["was_cancelled"] for task in tasks for said in task["annotations"])
    assert told[0].startswith(f"{kept} annotations of 3 people:")
    assert f"{cancelled} annotations were cancelled, so they say nothing." in told
    back, lost = taken_home(tmp_path / "first")
    assert chosen(back) == chosen(tasks)
    assert kept == sum(len(people) for _, people in chosen(back).values()) > 1500
    assert lost.endswith("are no: Label Studio records only what applies.")
    brought(tmp_path / "second", back, taxonomy)
    assert answers(tmp_path / "second") == answers(tmp_path / "first")
    assert unmarked(taken_home(tmp_path / "second")[0]) == unmarked(back)
    for came in (back, through_a_server(back)):  # to whom the annotations belong: what it wrote itself is nothing new
        assert added(tmp_path / "first", came).answers == 0
    assert added(tmp_path / "second", back).answers == 0


def unmarked(tasks):
    """Without what differs from project to project."""
    return [
        {**task, "annotations": [{**said, "id": 0, "updated_at": ""} for said in task.get("annotations", ())]}
        for task in tasks
    ]


def through_a_server(tasks):
    """As Label Studio exports what it imported: by numbers and ids of its own, all of it by whoever took it there."""
    later = {"updated_at": "2036-11-18T19:38:12.020348Z", "created_at": "2036-11-18T19:38:12.020340Z", "project": 5}
    return [
        {**task, "id": 10 + place, "annotations": [
            {**said, **later, "id": 1000 * place + n, "import_id": said["id"], "completed_by": 1,
             "unique_id": f"{1000 * place + n:08x}-4619", "ground_truth": said.get("ground_truth", True)}
            for n, said in enumerate(task.get("annotations", ()))
        ]}
        for place, task in enumerate(tasks)
    ]  # fmt: skip


def added(folder, tasks):
    (folder / "again.json").write_text(json.dumps(tasks))
    (folder / "again.xml").write_text(
        (folder / "back.xml" if (folder / "back.xml").exists() else folder / "tasks.xml").read_text()
    )
    with Store(folder / "project") as store:
        return add(store, folder / "again.json")


def test_what_a_project_wrote_is_nothing_new_to_it_and_replaces_what_another_knew(tmp_path):
    """Where answers came from a page, with what was imported, and one item that nobody answered."""
    taxonomy = Taxonomy({"animal": {"children": {"cat": {"aliases": ["Katze"]}, "dog": None}}, "food": ["apple"]})
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        taxonomy.save(folder / "tasks.xml")
        Store.create(folder / "project", taxonomy).close()

    def says(key, *answers, who="Bob"):
        with Store(first / "project") as store:
            ids = store.id_of[taxonomy.indices([name for name, _ in answers])].tolist()
            store.record(key, who, [(0, concept, word) for concept, (_, word) in zip(ids, answers, strict=True)])

    def known(folder):
        with Store(folder / "project") as store:
            return store.labels().states(concepts=["cat", "dog", "apple"]).tolist(), len(store.events())

    with Store(first / "project") as store:
        store.add(["a", "b"], ["one", "two"], None, np.zeros((2, 1)), Labels(taxonomy, np.array([[-1, -1], [-1, 1]])))
    says("page 1", ("cat", "yes"))
    old, _ = taken_home(first)
    assert old[0]["annotations"][0]["result"][0]["value"] == {"taxonomy": [["animal", "Katze"]]}
    before = known(first)
    assert before == ([[1, -1, -1], [-1, -1, -1]], 1)
    for came in (old, through_a_server(old)):
        assert added(first, came).answers == 0
        assert known(first) == before  # nobody saw the list for what was imported
    with Store(second / "project") as store:
        (second / "back.json").write_text(json.dumps(old))
        (second / "back.xml").write_text((first / "back.xml").read_text())
        assert add(store, second / "back.json", features=np.zeros((2, 1))).answers == 4
    assert known(second)[0] == [[1, 0, 0], [-1, -1, -1]]  # whoever submits has seen the list

    # It goes on: the newer state replaces the older one elsewhere, never the other way round.
    says("page 2", ("cat", "no"), ("dog", "yes"))
    new, _ = taken_home(first)
    for state, answers in ((new, 4), (new, 0), (old, 0)):
        assert added(second, state).answers == answers
        assert known(second)[0] == [[0, 1, 0], [-1, -1, -1]]
    before = known(first)
    for came in (old, new, through_a_server(old)):
        assert added(first, came).answers == 0
    assert known(first) == before

    # What somebody changed in Label Studio is new.
    changed = through_a_server(new)
    changed[0]["annotations"][0] |= {"result": old[0]["annotations"][0]["result"], "completed_by": 7}
    assert added(first, changed).answers == 4
    with Store(first / "project") as store:
        assert {event.annotator for event in store.events()} == {"Bob", "label-studio 7"}
    back = through_a_server(new)
    back[0]["annotations"][0] |= {"updated_at": "2036-11-19T19:38:12Z", "completed_by": 7}
    assert added(first, back).answers == 4  # also where it is what it was at first

    # Of the same event, in a copy that lacks it, nothing is known.
    assert added(second, through_a_server(new)).answers == 4


@settings(max_examples=10)
@given(drawn=known(), data=st.data())
def test_who_chose_what_comes_back(drawn, data, tmp_path_factory):
    taxonomy, _, ids = drawn
    paths = [[taxonomy.names[n] for n in (*taxonomy.ancestors(c), c)] for c in range(len(taxonomy))]
    some = st.lists(st.sampled_from(paths), max_size=3)
    tasks = []
    for n, name in enumerate(ids):
        people = data.draw(st.sets(st.integers(0, 2)))
        said = [annotation(10 * n + who, who, data.draw(some)) for who in sorted(people)]
        tasks.append({"id": n, "data": {"id": name, "text": f"{name}."}, "annotations": said})
    folder = tmp_path_factory.mktemp("any") / "first"
    brought(folder, tasks, taxonomy)
    back, _ = taken_home(folder)
    assert chosen(back) == chosen(tasks)
    brought(folder.parent / "again", back, taxonomy)
    assert answers(folder.parent / "again") == answers(folder)


def test_answers_about_what_was_merged_are_answers_about_what_it_became(tmp_path):
    taxonomy = Taxonomy({"animal": ["cat", "kitty", "dog"], "food": ["apple"]})
    with Store.create(tmp_path / "project", taxonomy) as store:
        store.add(["b", "a"], ["one", "two"], None, None, Labels(taxonomy, np.full((2, 2), -1)))
        cat, kitty, dog = store.id_of[taxonomy.indices(["cat", "kitty", "dog"])].tolist()
        store.record("key 1", "ada@example.org", [(1, cat, "yes"), (1, dog, "yes")])
        store.record("key 2", "bo@example.org", [(1, cat, "no"), (1, kitty, "no"), (1, dog, "yes")])
        store.changes.change(Change("merge", ["cat", "kitty"], ["felis"]))
        export_known(store, tmp_path / "back.json", WRITERS["label-studio"])
        merged = store.taxonomy
    people = chosen(json.loads((tmp_path / "back.json").read_text()))["a"][1]
    assert people == {
        "ada@example.org": {("animal", "felis"), ("animal", "dog")},
        "bo@example.org": {("animal", "dog")},
    }
    assert Taxonomy.load(tmp_path / "back.xml") == merged


def test_in_every_block_each_item_has_its_own_answers(tmp_path, monkeypatch):
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]})
    paths = [["animal", "cat"], ["animal", "dog"], ["food", "apple"], ["animal"], ["food"]]
    tasks = [
        {"id": n, "data": {"text": f"{n}."}, "annotations": [annotation(n, n % 2, [paths[n % 5]])] if n % 3 else []}
        for n in range(1, 12)
    ]
    brought(tmp_path / "first", tasks, taxonomy)
    whole, _ = taken_home(tmp_path / "first")
    about, last_about = [], Answers.last_about

    def asked(answers, first, last):
        about.append((int(first), int(last)))
        return last_about(answers, first, last)

    monkeypatch.setattr(Answers, "last_about", asked)
    monkeypatch.setattr("ramify.project.transfer.exporting.ENTRIES", 4 * len(taxonomy))
    assert taken_home(tmp_path / "first")[0] == whole
    assert chosen(whole) == chosen(tasks)
    assert about == [(0, 3), (4, 7), (8, 10)]  # no event is read for two blocks


def test_an_imported_label_that_is_changed_there_and_changed_back(tmp_path):
    """Of one item all is known, of the other a part: both are nobody's until somebody changes them."""
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]})
    folder = tmp_path / "first"
    folder.mkdir()
    taxonomy.save(folder / "tasks.xml")
    with Store.create(folder / "project", taxonomy) as store:
        labels = Labels.from_matrix(taxonomy, [[1, 1, 0, 0, 0], [1, 1, -1, -1, -1]], taxonomy.preorder)
        store.add(["a", "b"], ["one", "two"], None, np.zeros((2, 1)), labels)
        imported = store.labels().states().tolist()
    written = through_a_server(taken_home(folder)[0])
    told = added(folder, written).told(2)  # of nobody's answers
    assert told[-1] == "Added 0 items, 2 were there already: the project has 2, with features by features."
    assert told[0].startswith("2 annotations of 0 people: ")

    def submits(day, name):
        result = [{"from_name": "concepts", "to_name": "text", "type": "taxonomy"}]
        result[0]["value"] = {"taxonomy": [["animal", name]]}
        tasks = json.loads(json.dumps(written))
        for task in tasks:
            later = {"result": result, "completed_by": 7, "updated_at": f"2036-11-{day}T19:38:12Z"}
            task["annotations"] = [{**said, **later} for said in task["annotations"]]
        done = added(folder, tasks)
        with Store(folder / "project") as store:
            return done.answers, done.people, store.labels().states().tolist()

    assert submits(19, "dog") == (8, 1, [[0, 1, 0], [0, 1, 0]])
    back, _ = taken_home(folder)  # as what somebody says
    assert chosen(back) == {name: (text, {"7": {("animal", "dog")}}) for name, text in (("a", "one"), ("b", "two"))}
    assert submits(20, "cat") == (8, 1, [[1, 0, 0], [1, 0, 0]])
    assert submits(19, "dog")[0] == 0  # which is older
    assert imported == [[1, 0, 0], [1, -1, -1]]

    # Elsewhere it is a label as well, and nobody's.
    (tmp_path / "second").mkdir()
    Store.create(tmp_path / "second" / "project", taxonomy).close()
    (tmp_path / "second" / "back.json").write_text(json.dumps(written))
    (tmp_path / "second" / "back.xml").write_text((folder / "back.xml").read_text())
    with Store(tmp_path / "second" / "project") as store:
        done = add(store, tmp_path / "second" / "back.json", features=np.zeros((2, 1)))
        assert (done.answers, done.people, store.labels().states().tolist()) == (0, 0, imported)
    read = read_for(tmp_path / "second" / "back.json", taxonomy)
    assert read.with_annotations(everyone=True).labels.states().tolist() == imported


def test_what_people_say_only_together_is_nobodys_annotation(tmp_path):
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]})
    folder = tmp_path / "first"
    folder.mkdir()
    taxonomy.save(folder / "tasks.xml")
    with Store.create(folder / "project", taxonomy) as store:
        store.add(["a"], ["one"], None, np.zeros((1, 1)), Labels(taxonomy, np.full((1, 2), -1)))
        animal, food = store.id_of[taxonomy.indices(["animal", "food"])].tolist()
        store.record("page 1", "ann", [(0, animal, "no")])
        store.record("page 2", "bob", [(0, food, "no")])
        assert store.labels().states().tolist() == [[0, 0, 0]]
    tasks, lost = taken_home(folder)
    assert tasks == [{"data": {"id": "a", "text": "one"}}]
    assert lost == (
        f"The labelling config is {folder / 'back.xml'}. "
        "What 1 items are follows from what several people say together: no annotation says it."
    )
    assert read_for(folder / "back.json", taxonomy).labels.states().tolist() == [[-1, -1, -1]]
