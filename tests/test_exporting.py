"""What leaves a project and comes back: labels, events, predictions, files of answers."""

import csv
import json
import re

import numpy as np
import pyarrow.parquet
import pytest

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.store.answers import Revision
from ramify.project.store.changes import Change
from ramify.project.store.store import Store
from ramify.project.transfer.answer_table import answer_from_table
from ramify.project.transfer.exporting import export_events, export_labels, export_predictions
from ramify.readers.table import read_items
from ramify.taxonomy import Taxonomy
from test_cli import ramify

TAXONOMY = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        features = np.eye(3, dtype=np.float32)
        store.add(["a", "b", "ü,;"], ["x", "y", "z"], None, features, Labels(TAXONOMY, [[1, 0], [0, 1], [1, -1]]))
        yield store


def rows_of(path) -> list[dict]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [{key: value or None for key, value in row.items()} for row in csv.DictReader(file)]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return pyarrow.parquet.read_table(path).to_pylist()


def answers(store, *said, key="k1", annotator="ann"):
    ids = {name: int(store.id_of[store.taxonomy.index(name)]) for name in store.taxonomy.names}
    store.record(key, annotator, [(item, ids[name], answer) for item, name, answer in said])


# -- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_labels_with_their_unknowns_and_sources(store, tmp_path, ending):
    answers(store, (0, "cat", "yes"))
    path = tmp_path / f"labels.{ending}"
    assert export_labels(store, path) == (18, 18)
    rows = rows_of(path)
    assert [tuple(row.values()) for row in rows[:6]] == [
        ("a", "animal", "yes", "imported"),
        ("a", "animal > cat", "yes", "annotated"),
        ("a", "animal > dog", "unknown", None),
        ("a", "food", "no", "imported"),
        ("a", "food > apple", "no", "deduced"),
        ("a", "food > banana", "no", "deduced"),
    ]
    assert list(rows[0]) == ["id", "concept", "state", "source"]
    assert {row["id"] for row in rows} == {"a", "b", "ü,;"}
    assert export_labels(store, path, known_only=True) == (10, 18)
    assert "unknown" not in {row["state"] for row in rows_of(path)}


def test_exported_labels_are_the_labels(store, tmp_path, monkeypatch):
    monkeypatch.setattr("ramify.project.transfer.exporting.ENTRIES", 7)  # several blocks
    answers(store, (0, "cat", "yes"), (2, "food", "yes"), (2, "dog", "no"))
    export_labels(store, tmp_path / "l.jsonl")
    labels, words = store.labels(), {"yes": 1, "no": 0, "unknown": -1}
    said = {(row["id"], row["concept"]): words[row["state"]] for row in rows_of(tmp_path / "l.jsonl")}
    for item, name in enumerate(store.all_ids()):
        for concept in range(len(TAXONOMY)):
            assert said[name, TAXONOMY.path(concept)] == labels.states(item, concept)[0, 0]


def test_a_format_is_needed(store, tmp_path):
    with pytest.raises(
        RamifyError, match=r"^the format 'txt' is none of csv, jsonl, parquet: choose one with --format$"
    ):
        export_labels(store, tmp_path / "l.txt")
    assert export_labels(store, tmp_path / "l.txt", "csv")[0] == 18
    with pytest.raises(RamifyError, match="there is no folder"):
        export_labels(store, tmp_path / "none" / "l.csv")


def test_a_failed_export_leaves_the_old_file(store, tmp_path, monkeypatch):
    path = tmp_path / "l.csv"
    path.write_text("old")
    monkeypatch.setattr(Labels, "sources", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_labels(store, path)
    assert path.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.csv", "project"]


# -- events ----------------------------------------------------------------------------------------------------------


def test_texts_that_a_spreadsheet_takes_for_formulas(tmp_path, monkeypatch):
    taxonomy = Taxonomy({"=animal": ["-cat", "dog"]})
    with Store.create(tmp_path / "formulas", taxonomy) as store:
        store.add(["=1+1", "@b"], ["x", "y"], None, None, Labels(taxonomy, [[1], [0]]))
        export_labels(store, tmp_path / "plain.csv")
        export_labels(store, tmp_path / "safe.csv", safe=True)
        with pytest.raises(RamifyError, match="files are made safe for spreadsheets"):
            export_labels(store, tmp_path / "safe.jsonl", safe=True)
        chosen = np.ones((2, 2), bool)
        blocks = [(np.arange(2), chosen.astype(np.float32), chosen)]
        export_predictions(tmp_path / "predicted.csv", None, taxonomy, store.all_ids(), iter(blocks), safe=True)
    assert not (tmp_path / "safe.jsonl").exists()
    monkeypatch.chdir(tmp_path)
    assert ramify("export", tmp_path / "formulas", "--safe-csv").stdout == "Wrote 6 of 6 rows to formulas-labels.csv.\n"
    assert (tmp_path / "formulas-labels.csv").read_text() == (tmp_path / "safe.csv").read_text()
    plain, safe = ((tmp_path / name).read_text().splitlines() for name in ("plain.csv", "safe.csv"))
    assert plain[2] == "=1+1,=animal > -cat,unknown,"
    assert safe[2] == "'=1+1,'=animal > -cat,unknown,"
    assert (tmp_path / "predicted.csv").read_text().splitlines() == [
        "id,labels,'=animal > -cat,'=animal > dog",
        "'=1+1,'=animal > -cat;'=animal > dog,1.0,1.0",
        "'@b,'=animal > -cat;'=animal > dog,1.0,1.0",
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_events_with_those_taken_back(store, tmp_path, ending):
    answers(store, (0, "cat", "yes"), (0, "dog", "skip"))
    answers(store, (1, "apple", "no"), key="k2")
    store.undo("k3", "ann")
    path = tmp_path / f"events.{ending}"
    assert export_events(store, path) == (4, 4)
    rows = rows_of(path)
    written = [(row["annotator"], row["id"], row["concept"], row["answer"], row["key"]) for row in rows]
    assert written == [
        ("ann", "a", "animal > cat", "yes", "k1"),
        ("ann", "a", "animal > dog", "skip", "k1"),
        ("ann", "b", "food > apple", "no", "k2"),
        ("ann", "b", "food > apple", "undo", "k3"),
    ]
    assert [str(row["undone"]).lower() in ("true", "yes") for row in rows] == [False, False, True, False]
    assert int(rows[3]["undoes"]) == int(rows[2]["seq"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", rows[0]["at"])


def test_a_project_without_answers_exports_no_events(store, tmp_path):
    for ending in ("csv", "jsonl", "parquet"):
        assert export_events(store, tmp_path / f"e.{ending}") == (0, 0)
        assert rows_of(tmp_path / f"e.{ending}") == []


def test_exported_events_are_answers_for_another_project(store, tmp_path):
    answers(store, (0, "cat", "yes"), (0, "dog", "no"))
    answers(store, (0, "cat", "yes"), key="k2", annotator="bob")
    answers(store, (0, "dog", "yes"), key="k3", annotator="bob")
    store.undo("k4", "bob")
    cat, dog = (int(store.id_of[TAXONOMY.index(name)]) for name in ("cat", "dog"))
    name, first, second = "label-studio 1/7 f0fc", "2026-11-18T19:38:00+00:00", "2026-11-18T19:39:00+00:00"
    store.answers.revise([Revision(name, first, "eve", 0, [(0, cat, "no")])])
    store.answers.revise([Revision(name, second, "eve", 0, [(0, cat, "yes"), (0, dog, "yes")], settles=True)])
    answers(store, (0, "dog", "no"), key="k5", annotator="eve")  # after that, on the page
    export_events(store, tmp_path / "e.csv")
    with Store.create(tmp_path / "other", TAXONOMY) as other:
        other.add(["a"], ["x"], None, None, Labels(TAXONOMY, [[1, 0]]))
        assert answer_from_table(other, tmp_path / "e.csv").told() == [
            "Ignored: 'at', 'seconds', 'flag', 'note'.",
            "4 rows are left out: those answers were taken back.",
            "Saved 6 answers.",
        ]
        said = [(event.annotator, event.key, event.concept, event.answer, event.settles) for event in other.events()]
        assert said == [
            ("ann", "k1", cat, "yes", False), ("ann", "k1", dog, "no", False), ("bob", "k2", cat, "yes", False),
            ("eve", f"{name} {second}", cat, "yes", True), ("eve", f"{name} {second}", dog, "yes", True),
            ("eve", "k5", dog, "no", False),
        ]  # fmt: skip
        later = answer_from_table(other, tmp_path / "e.csv")
        assert (later.saved, later.repeated) == (0, 6)
        # What comes from Label Studio itself afterwards is known, or replaces it.
        assert other.answers.revise([Revision(name, second, "eve", 0, [(0, cat, "yes")])]) == (0, 1, 0)
        assert other.answers.revise([Revision(name, "2027", "eve", 0, [(0, cat, "no")])]) == (1, 0, 2)
    assert answer_from_table(store, tmp_path / "e.csv").saved == 0  # nothing new where it comes from
    plain = {"id": ["a"], "concept": ["cat"], "answer": ["yes"], "key": [f"{name} {second}"]}
    with pytest.raises(RamifyError) as error:
        answer_from_table(store, plain)
    assert str(error.value).startswith(f"the key '{name} {second}' is ")


def test_exported_events_about_concepts_that_are_gone_are_left_out(store, tmp_path):
    answers(store, (0, "cat", "yes"), (0, "dog", "no"))
    answers(store, (1, "apple", "yes"), key="k2")
    answers(store, (1, "banana", "no"), key="k3")
    store.undo("k4", "ann")
    change = store.changes.change
    change(Change("remove", ["dog"]))
    change(Change("merge", ["apple", "banana"], ["fruit"]))
    told = [
        "Ignored: 'at', 'seconds', 'flag', 'note'.",
        "2 rows are left out: those answers were taken back.",
        "2 rows are left out: they are about concepts that are gone.",
    ]
    for again in (False, True):  # also where others are called so by now
        if again:
            change(Change("add", ["animal"], ["dog"]))
        export_events(store, tmp_path / "e.csv")
        assert [row["gone"] for row in rows_of(tmp_path / "e.csv")] == ["no", "yes", "yes", "yes", "yes"]
        before = store.events()
        assert answer_from_table(store, tmp_path / "e.csv").told() == [*told, "Saved 0 answers, 1 were there already."]
        assert store.events() == before
        with Store.create(tmp_path / f"other {again}", store.taxonomy) as other:
            other.add(["a"], ["x"], None, None, Labels(store.taxonomy, [[1, 0]]))
            assert answer_from_table(other, tmp_path / "e.csv").told() == [*told, "Saved 1 answers."]
            assert answer_from_table(other, tmp_path / "e.csv").saved == 0
            assert [(e.annotator, e.key, e.answer) for e in other.events()] == [("ann", "k1", "yes")]
    for _ in range(3):  # what was gone is there again: of its request the file has a part
        store.changes.undo()
    assert store.taxonomy == TAXONOMY
    assert answer_from_table(store, tmp_path / "e.csv").saved == 0
    wrong = {name: [row[name] for row in rows_of(tmp_path / "e.csv")] for name in rows_of(tmp_path / "e.csv")[0]}
    wrong["answer"][0] = "no"
    with pytest.raises(RamifyError, match=r"row 1, column 'key': the key 'k1' was used for other answers before"):
        answer_from_table(store, wrong)


# -- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predictions_are_a_row_for_each_item(tmp_path, ending):
    sure = np.array([[0.9, 0.123456, 0, 1], [0.2, 0.6, 0.7, 0]], np.float32)
    path = tmp_path / f"p.{ending}"
    blocks = ((np.array([n]), sure[n : n + 1], sure[n : n + 1] >= 0.5) for n in (0, 1))
    assert export_predictions(path, None, TAXONOMY, ["a", "b"], blocks) == 2
    first, second = rows_of(path)
    assert list(first) == ["id", "labels", "animal > cat", "animal > dog", "food > apple", "food > banana"]
    listed = "animal > dog;food > apple" if ending == "csv" else ["animal > dog", "food > apple"]
    assert second["labels"] == listed
    assert float(first["animal > dog"]) == pytest.approx(0.1235)
    if ending != "csv":
        assert first["animal > cat"] == pytest.approx(0.9)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_of_many_concepts_the_likeliest_are_written(tmp_path, ending):
    sure = np.array([[0.9, 0.8, 0.1, 0.123456], [0.2, 0.3, 0.4, 0.1]], np.float32)
    path = tmp_path / f"p.{ending}"
    blocks = ((np.array([n]), sure[n : n + 1], sure[n : n + 1] >= 0.5) for n in (0, 1))
    assert export_predictions(path, None, TAXONOMY, ["a", "b"], blocks, 1) == 3
    rows = [(row["id"], row["concept"], float(row["probability"]), row["chosen"]) for row in rows_of(path)]
    yes, no = ("yes", "no") if ending == "csv" else (True, False)
    assert rows == [
        ("a", "animal > cat", pytest.approx(0.9), yes),
        ("a", "animal > dog", pytest.approx(0.8), yes),
        ("b", "food > apple", pytest.approx(0.4), no),
    ]


def test_predicted_labels_can_be_read_as_labels(tmp_path):
    path = tmp_path / "p.jsonl"
    blocks = iter([(np.array([0]), np.array([[1, 0, 0, 1]], np.float32), np.array([[True, False, False, True]]))])
    export_predictions(path, None, TAXONOMY, ["a"], blocks)
    said = [{"id": row["id"], "labels": row["labels"]} for row in rows_of(path)]
    (tmp_path / "back.jsonl").write_text("\n".join(map(json.dumps, said)))
    assert read_items(tmp_path / "back.jsonl", TAXONOMY).labels.states().tolist() == [[1, -1, -1, 1]]


# -- answers from a file ---------------------------------------------------------------------------------------------


def test_answers_of_a_file_count_once(store, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("id,concept,answer,note\na,cat,yes,!\na,dog,0,\nb,food > apple,skip,\nb,banana,,\n")
    done = answer_from_table(store, path, annotator="eve")
    assert (done.saved, done.repeated, done.open, done.ignored) == (3, 0, 1, ("note",))
    assert store.labels().states(0).tolist() == [[1, 0, 0, 0]]
    assert [event.annotator for event in store.events()] == ["eve"] * 3
    again = answer_from_table(store, path, annotator="eve")
    assert (again.saved, again.repeated) == (0, 3)
    assert len(store.events()) == 3


def test_a_file_is_one_request_and_is_undone_as_one(store, tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"id": "a", "concept": "cat", "answer": true}\n{"id": "b", "concept": "apple", "answer": false}\n'
    )
    answer_from_table(store, tmp_path / "a.jsonl")
    store.undo("u", "file")
    assert (store.labels().states(concepts=["cat", "apple"])[:2] == [[-1, 0], [0, -1]]).all()


def test_annotators_and_keys_of_a_file(store, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "id,concept,answer,annotator,key\na,cat,yes,ann,1\nb,apple,no,ann,2\na,cat,no,bob,3\na,dog,no,bob,\n"
    )
    assert answer_from_table(store, path).saved == 4
    assert answer_from_table(store, path).repeated == 4
    assert {(event.annotator, event.key) for event in store.events()} >= {("ann", "1"), ("ann", "2"), ("bob", "3")}
    assert len(store.disagreements()) == 1
    path.write_text("id,concept,answer,annotator,key\nb,banana,yes,eve,9\na,cat,no,ann,1\n")
    with pytest.raises(
        RamifyError, match=r"row 3, column 'key': the key '1' was used for other answers before: use a new"
    ):
        answer_from_table(store, path)
    assert len(store.events()) == 4, "nothing of the file was recorded"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,answer\na,yes\n", "{path}: there is no column 'concept': answers need the columns id, concept and answer"),
        (
            "id,concept,answer\na,cat,yes\nq,cat,yes\n",
            "{path}, row 3, column 'id': there is no item 'q' in {folder}: correct the id",
        ),
        ("id,concept,answer\n,cat,yes\n", "{path}, row 2, column 'id': the id is missing: correct the id"),
        (
            "id,concept,answer\na,car,yes\n",
            "{path}, row 2, column 'concept': there is no concept 'car' in the taxonomy: did you mean 'cat'?",
        ),
        (
            "id,concept,answer\na,cat,yes\nb,apple,perhaps\n",
            "{path}, row 3, column 'answer': 'perhaps' is neither yes, no nor skip (nor empty)",
        ),
        (
            "id,concept,answer\na,cat,yes\na,animal > cat,no\n",
            "{path}, row 3: 'animal > cat' of 'a' is answered yes in row 2 and no here: keep one",
        ),
        (
            "id,concept,answer,annotator,key\na,cat,yes,ann,1\na,dog,yes,bob,1\n",
            "{path}, row 3, column 'key': the key '1' belongs to 'ann' already: a key stands for the answers of one "
            "annotator",
        ),
        (
            f"id,concept,answer,annotator\na,cat,yes,{'x' * 300}\n",
            "{path}, row 2, column 'annotator': '" + "x" * 300 + "' is not printable text of 1 to 100 letters",
        ),
        (
            f"id,concept,answer,key\na,cat,yes,{'k' * 201}\n",
            "{path}, row 2, column 'key': '" + "k" * 201 + "' is not printable text of 1 to 200 letters",
        ),
    ],
)
def test_every_mistake_in_answers_is_one_sentence_and_nothing_is_recorded(store, tmp_path, content, message):
    path = tmp_path / "answers.csv"
    path.write_text(content)
    expected = message.format(path=path, folder=store.folder)
    with pytest.raises(RamifyError, match=f"^{re.escape(expected)}$"):
        answer_from_table(store, path)
    assert store.events() == []
