"""Label Studio's tasks: what becomes of them, and the sentence for every mistake."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from ramify import Project, read
from ramify.errors import RamifyError
from ramify.label_config import Choice, Control
from ramify.project.store.store import Store
from ramify.project.transfer.importing import add, init
from ramify.readers import Layout, propose, read_for
from ramify.readers.formats import format_of
from ramify.readers.label_studio import read as read_tasks
from ramify.readers.label_studio_tasks import Choices
from ramify.taxonomy import Taxonomy
from test_cli import ramify

CONFIG = """<View><Header value="Which?"/><Text name="t" value="$review"/><Image name="i" value="$photo"/>
  <Choices name="mood" toName="t"><!-- of another question --></Choices>
  <Taxonomy name="kind" toName="t">
    <Choice value="animal"><Choice value="cat" alias="c1"/><Choice value="dog"/></Choice><Choice value="food"/>
  </Taxonomy></View>"""
TAXONOMY = Taxonomy({"animal": {"children": {"cat": {"aliases": ["c1"]}, "dog": None}}, "food": None})


def taxonomy_result(*paths, name="kind"):
    return {"from_name": name, "to_name": "t", "type": "taxonomy", "value": {"taxonomy": list(map(list, paths))}}


def choices_result(*names):
    return {"from_name": "kind", "to_name": "t", "type": "choices", "value": {"choices": list(names)}}


def annotation(number, who, *results, **more):
    """As the JSON export has it."""
    more = {"updated_at": f"2026-11-18T19:38:{number:02}.303271Z", "unique_id": f"f0fc2c4{number:x}-4619-4547", **more}
    return {"id": number, "completed_by": who, "result": list(results), "project": 1, **more}


def task(number, *annotations, **data):
    data = data or {"review": f"Review number {number}"}
    return {"id": number, "data": data, "annotations": list(annotations), "predictions": [], "project": 1}


@pytest.fixture
def written(tmp_path):
    def write(content, config=None):
        path = tmp_path / "tasks.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        if config is not None:
            path.with_suffix(".xml").write_text(config)
        return path

    return write


def said(items, who):
    """What somebody says of each item, by path."""
    taxonomy = items.labels.taxonomy
    return {
        items.ids[one.item]: {taxonomy.path(concept): value for concept, value in one.values.items()}
        for one in items.annotations
        if one.annotator == who
    }


def test_people_say_what_they_chose_of_what_was_offered(written):
    crop = {
        "from_name": "box",
        "to_name": "i",
        "type": "rectanglelabels",
        "value": {"x": 1, "rectanglelabels": ["cat"]},
    }
    gold = annotation(2, {"id": 8, "email": "ü@example.org"}, taxonomy_result(["animal"], ["food"]), ground_truth=True)
    tasks = [
        task(1, annotation(1, 7, taxonomy_result(["animal", "c1"]), crop, lead_time=4.5), gold),
        task(2, annotation(3, 7), annotation(4, 8, taxonomy_result(["food"]), was_cancelled=True)),
        task(3, {"result": [taxonomy_result(["food"])]}),
        task(4) | {"predictions": [{"result": [taxonomy_result(["food"])], "score": 0.9}]},
        task(5, annotation(5, 7, crop)),
    ]
    path = written(tasks, CONFIG)
    assert format_of(path)[0].__name__ == "ramify.readers.label_studio"  # though COCO has annotations too
    items = read_tasks(path)
    assert items.ids == ["1", "2", "3", "4", "5"]
    assert items.texts[0] == "Review number 1"
    assert items.labels.taxonomy == TAXONOMY
    nothing = {"animal": 0, "food": 0}
    assert said(items, "label-studio 7") == {
        "1": {"animal": 1, "animal > cat": 1, "animal > dog": 0, "food": 0},
        "2": nothing,  # submitted without a choice
    }
    assert said(items, "ü@example.org") == {"1": {"animal": 1, "food": 1}}  # of what is below nobody said anything
    assert [(one.seconds, one.settles) for one in items.annotations[:2]] == [(4.5, False), (None, True)]
    assert items.notes == (
        "4 annotations of 2 people: what was offered and not chosen is taken for no, unless you say --partial",
        "2 tasks have no annotation that says anything",
        "1 annotations were cancelled, so they say nothing",
        "2 results are of other kinds or controls, and left out",
        "1 tasks have predictions, which say nothing",
    )
    partly = read_for(path, TAXONOMY, Layout(partial=True))
    assert said(partly, "label-studio 7") == {"1": {"animal": 1, "animal > cat": 1}, "2": {}}
    every = np.arange(4)  # cat, dog, food, animal
    assert partly.labels.states(concepts=every)[2].tolist() == [-1, -1, 1, -1]  # an annotation of nobody is a label
    assert read_for(path, TAXONOMY).labels.states(concepts=every)[2].tolist() == [0, 0, 1, 0]
    assert read_for(path, TAXONOMY).labels.states(concepts=every)[0].tolist() == [-1, -1, -1, -1]
    # As a data set, what all agree on is known; ground truth outranks the others.
    assert read(path).labels.states(concepts=every).tolist() == [[1, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 0]]


def test_choices_without_a_config(written):
    items = read_tasks(
        written(
            [task(1, annotation(1, 7, choices_result("cat"))), task(2, annotation(2, 7, choices_result("dog", "a b")))]
        )
    )
    assert said(items, "label-studio 7") == {"1": {"cat": 1, "dog": 0, "a b": 0}, "2": {"cat": 0, "dog": 1, "a b": 1}}
    assert items.notes[-1].startswith(
        "what was offered is only known from what anybody chose: save the labelling config"
    )
    nested = read_tasks(written([task(1, annotation(1, 7, choices_result(["animal", "cat"], ["food"])))]))
    assert str(nested.labels.taxonomy) == "animal\n└── cat\nfood"


def test_pictures_are_looked_for_where_they_may_lie(written):
    places = {
        "/data/local-files/?d=val/a%20b.jpg": "val/a b.jpg",
        "/data/upload/1/c.jpg": "upload/1/c.jpg",
        "https://host.example/val/d.jpg?sig=1": "val/d.jpg",
        "s3://bucket/e.jpg": "e.jpg",
        "f.jpg": "f.jpg",
    }
    tasks = [
        task(n, annotation(n, 7, choices_result("cat")), photo=place, id=f"i{n}") for n, place in enumerate(places)
    ]
    items = read_tasks(written(tasks))
    assert items.pictures == list(places.values())
    assert items.texts == [None] * 5
    assert items.ids == [f"i{n}" for n in range(5)]
    assert items.notes[-1] == (
        "2 pictures lie at addresses, from which nothing is fetched: they are looked for as 'val/d.jpg' and so on, in "
        "the folder that --images names"
    )
    path = written(tasks)
    with (
        init(path.parent / "project", TAXONOMY) as store,
        pytest.raises(RamifyError, match="say with --images where they lie"),
    ):
        add(store, path)


def test_a_bare_name_stands_for_no_other_concept():
    kinds = Taxonomy({"animal": ["cat"], "food": ["apple", "other"]})
    nested = Control("k", "t", "taxonomy", [Choice("animal", None, "", [Choice("apple", None, "", [])])])
    missing = r"^the labelling config has 'animal > apple', which this project's taxonomy has not: use the config"
    with pytest.raises(RamifyError, match=missing):
        Choices.of(nested, kinds)
    root = Control("k", "t", "taxonomy", [*nested.choices, Choice("other", None, "", [])])
    with pytest.raises(RamifyError, match=r"'animal > apple' and 1 more"):
        Choices.of(root, kinds)
    flat = Control("k", "t", "choices", [Choice(name, None, "", []) for name in ("cat", "apple", "Cat")])
    assert Choices.of(replace(flat, choices=flat.choices[:2]), kinds).concepts == {("cat",): 0, ("apple",): 1}
    with pytest.raises(RamifyError, match=r"^the labelling config has 'cat' and 'Cat', which are one concept of this"):
        Choices.of(flat, kinds)


def test_answers_of_a_project(written, tmp_path):
    other = annotation(2, 8, taxonomy_result(["animal", "dog"]))
    tasks = [
        task(1, annotation(1, 7, taxonomy_result(["animal", "cat"])), other),
        task(2, annotation(3, 7, taxonomy_result(["animal", "cat"]))),
        task(3),
    ]
    path = written(tasks)
    taxonomy, _ = propose(str(path))
    pets = Project.create(tmp_path / "pets", taxonomy)
    told = pets.add(path, embed="text").told(3)
    assert told[-1] == "Saved 9 answers of 2 people."
    assert pets.add(path).told(3)[-1] == "Saved 0 answers of 2 people."  # the same again
    tasks[1]["annotations"] = [
        annotation(
            3, 7, taxonomy_result(["animal", "dog"]), updated_at="2026-11-18T20:00:00Z", unique_id="f0fc2c43-4619-4547"
        )
    ]
    assert pets.add(written(tasks)).answers == 3  # it was changed there: the new state replaces the old one
    with Store(pets.folder) as store:
        people = {person["name"]: (person["yes"], person["no"], person["undone"]) for person in store.annotators()}
        assert people == {"label-studio 7": (4, 2, 3), "label-studio 8": (2, 1, 0)}
        assert len(store.disagreements()) == 2
    coarse = Project.create(tmp_path / "coarse", taxonomy)
    assert coarse.add(path, embed="text", coarse_only=True).answers == 0
    assert coarse.labels().states(concepts=["animal", "cat"]).tolist() == [[1, -1], [1, -1], [-1, -1]]


def test_the_commands(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(
        [task(n, annotation(n, 7, taxonomy_result(["animal", "c1"] if n % 2 else ["animal"]))) for n in range(6)],
        CONFIG,
    )
    assert " ├── cat         3           0        3 " in ramify("inspect", "tasks.json").stdout
    started = ramify("start", "tasks.json", "--no-serve", "--embed", "text").stdout
    assert started.startswith("Found 6 items with texts.")
    assert "Saved 18 answers of 1 people." in started
    assert (
        "Saved 9 answers of 1 people."
        in ramify("start", "tasks.json", "--no-serve", "--embed", "text", "--partial", "--project", "p").stdout
    )
    assert (
        "The project is in made. Next: ramify add made tasks.json"
        in ramify("init", "made", "--from", "tasks.json").stdout
    )


TWO = json.dumps([task(1, annotation(1, 7, taxonomy_result(["a"]), taxonomy_result(["b"], name="other")))])
WRONG = {
    "[{": "element 1: the file ends here, in the middle: it is cut off: copy it again",
    '[{"data": {"text": "a"}, "annotations": []}]': "element 1: the task has no id: give every task its own, or an id",
    '[{"id": 1, "data": "annotations"}]': 'element 1: this is no task such as {"data": {"text": "..."}, "annotations":',
    '[{"id": 1, "text": "a", "kind": "cat", "annotator": 1, "annotation_id": 5}]': (
        "element 1: this is Label Studio's JSON-MIN, which lacks what was offered: export as JSON instead"
    ),
    json.dumps([task(1, annotation(1, 7, taxonomy_result(["a"] * 5000)))]): (
        "element 1, annotations: a choice is more than 100 levels deep: make the taxonomy flatter"
    ),
    '[{"id": 1, "data": {}, "annotations": 5}]': "element 1: its annotations must be a list",
    '[{"id": 1, "data": {}, "annotations": [5]}]': (
        "tasks.json: no annotation chooses anything, so nothing names concepts: save the labelling config as"
    ),
    json.dumps([task(1), task(1)]): "element 2: the id '1' stands in element 1 already: ids must be unique",
    json.dumps([task(n, annotation(5, 7, taxonomy_result(["a"]))) for n in (1, 2)]): (
        "element 2: the annotation 5 stands in element 1 already, so one would replace the other: give the exports of"
    ),
    json.dumps([task(1, annotation(1, 7, choices_result(5)))]): (
        "element 1, annotations: [5] are no choices: they are a list of names, or of paths of names"
    ),
    TWO: "several controls were chosen from ('kind', 'other'): save the labelling config, with only the one that is",
    json.dumps([task(1, annotation(1, ["7"], taxonomy_result(["a"])))]): (
        "element 1, annotations: ['7'] is nobody's name: completed_by is a user's number or e-mail address"
    ),
    json.dumps([task(1, annotation(1, 7, taxonomy_result(["a > b"])))]): (
        "contains '>', which separates the names of a path: rename it"
    ),
}


@pytest.mark.parametrize("content", WRONG)
def test_mistakes(content, written):
    with pytest.raises(RamifyError, match=re.escape(WRONG[content])):
        read_for(f"label-studio:{written(content)}", TAXONOMY)


def test_a_config_that_does_not_fit(written):
    path = written([task(1, annotation(1, 7, taxonomy_result(["animal", "horse"])))], CONFIG)
    with pytest.raises(
        RamifyError, match=r"element 1, annotations: the choice 'animal > horse' is not in the labelling"
    ):
        read_for(path, TAXONOMY)
    path = written([task(1)], "<View>")
    with pytest.raises(
        RamifyError, match=r"tasks\.xml: line 1: this is not valid XML: the labelling config may be cut off$"
    ):
        read_for(path, TAXONOMY)
    path = written([task(1)], CONFIG)
    with pytest.raises(RamifyError, match=r"^no concept of the source is in the taxonomy: the source has 'animal'"):
        read_for(path, Taxonomy({"weather": ["rain"]}))
