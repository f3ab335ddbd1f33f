"""One command from raw data to the first question, and features outside of projects."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ramify.embed.text import TextEmbedder
from ramify.errors import RamifyError
from ramify.project.store.store import Store
from test_cli_project import items, refused, run

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def coarse_and_fine(count=24):
    """A table as people have them: no column called id, labels in two columns, the fine ones of some rows only."""
    kinds = [("animal", "cat", "it purrs"), ("animal", "dog", "it barks"), ("food", "apple", "it is crunchy")]
    lines = [["comment", "coarse", "fine"]]
    for number in range(count):
        coarse, fine, text = kinds[number % 3]
        lines.append([f"{text} and so on, {number}", coarse, fine if number < 6 else ""])
    with Path("pets.csv").open("w", newline="") as file:
        csv.writer(file).writerows(lines)


def test_from_a_table_to_the_first_question():
    coarse_and_fine()
    printed = run("start", "pets.csv", "--no-serve")
    assert printed.startswith(
        "Found 24 items with texts: texts in 'comment', labels in 'coarse' and 'fine' "
        "(no column names each row, so rows are numbered).\n"
    )
    assert "animal\n├── cat\n└── dog\nfood\n└── apple\n" in printed
    assert "Added 24 items: the project has 24, with features by text." in printed
    assert printed.endswith("The project is in pets-ramify. Next: ramify serve pets-ramify\n")
    with Store("pets-ramify") as store:
        assert store.model()[0] == 1
        assert store.items([0])[0].id == "row 2"
        assert store.labels().states([0, 7], ["cat", "dog", "apple"]).tolist() == [[1, -1, 0], [-1, -1, 0]]
    again = run("start", "pets.csv", "--no-serve")
    assert "Added 0 items, 24 were there already" in again
    assert "Trained" not in again


def test_where_everything_is_known_it_says_what_to_do():
    Path("labels.json").write_text(
        json.dumps({"classes": ["cat", "dog"], "labels": {"a": [0], "b": [1]}}), encoding="utf-8"
    )
    printed = run("start", "labels.json")
    assert (
        "Every label is known already, so there is nothing to ask. The concepts are in labels-concepts.yaml" in printed
    )
    assert Path("labels-concepts.yaml").read_text().endswith("cat: null\ndog: null\n")
    assert not Path("labels-ramify").exists()
    Path("labels-concepts.yaml").write_text("cat: [tabby]\ndog: [pug]\n")
    assert "write finer" in run("start", "labels.json", "--images", "photos")
    assert Path("labels-concepts.yaml").read_text() == "cat: [tabby]\ndog: [pug]\n", "what was edited stays"


def test_other_concepts_than_those_of_the_project_are_refused():
    coarse_and_fine()
    Path("a.yaml").write_text("animal: [cat, dog]\nfood: [apple]\n")
    Path("b.yaml").write_text("animal: [cat, dog, pig]\nfood: [apple]\n")
    run("start", "pets.csv", "--taxonomy", "a.yaml", "--no-serve")
    run("start", "pets.csv", "--taxonomy", "a.yaml", "--no-serve")
    assert refused("start", "pets.csv", "--taxonomy", "b.yaml", "--no-serve") == (
        "pets-ramify is a project with other concepts than b.yaml: begin another one with --project, or divide its "
        "concepts with `ramify taxonomy split pets-ramify CONCEPT FINER ...`"
    )
    assert "└── dog" in run("start", "pets.csv", "--no-serve")


def test_what_cannot_be_read_is_told_at_once_and_can_be_left_out():
    for number in range(6):
        path = Path("photos", ("animal", "food")[number % 2], f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (24, 24), (20 * number, 99, 0)).save(path)
    Path("photos/animal/9.png").write_text("no picture")
    Path("finer.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    command = ("start", "photos", "--taxonomy", "finer.yaml", "--embed", "pictures", "--no-serve")
    assert refused(*command).startswith("1 of 7 items cannot be read, so nothing was changed;")
    printed = run(*command, "--skip-unreadable")
    assert "Left out 1 items that cannot be read:" in printed
    assert "Added 6 items" in printed
    Path("t.csv").write_text("id,picture,labels\na,none.png,animal\n")
    assert "or leave them out with --skip-unreadable, or say with --images where they lie" in refused(
        "start", "t.csv", "--taxonomy", "finer.yaml"
    )


def test_an_interrupted_first_embedding_goes_on(monkeypatch):
    coarse_and_fine(12)
    monkeypatch.setattr(TextEmbedder, "batch", 4)
    honest, asked = TextEmbedder.rows, []

    def rows(self, values):
        if len(asked) == 2:
            raise RamifyError("the disk is full")
        asked.append(values)
        return honest(self, values)

    monkeypatch.setattr(TextEmbedder, "rows", rows)
    assert refused("start", "pets.csv", "--no-serve") == (
        "embedding 'it is crunchy and so on, 8' to 'it is crunchy and so on, 11': the disk is full"
    )
    asked.clear()
    run("start", "pets.csv", "--no-serve")
    assert [len(values) for values in asked[:1]] == [4]
    assert all(values[0].endswith(", 8") for values in asked[:1]), "the first eight were embedded before"


def test_a_table_beside_the_pictures_is_named():
    Path("photos").mkdir()
    Image.new("RGB", (24, 24)).save("photos/a.png")
    Path("photos/labels.csv").write_text("file,labels\na.png,animal\n")
    assert refused("start", "photos") == (
        "photos: its pictures lie in no folders that would say what they show: give the table that lies in it, "
        "photos/labels.csv, or give a file of concepts with --taxonomy"
    )


def test_a_folder_of_pictures_and_a_file_of_concepts():
    for number in range(12):
        path = Path("photos", ("animal", "food")[number % 2], f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (24, 24), (20 * number, 99, 0)).save(path)
    Path("finer.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    printed = run("start", "photos", "--taxonomy", "finer.yaml", "--project", "p", "--embed", "pictures", "--no-serve")
    assert printed.startswith("Found 12 items with pictures.\n")
    with Store("p") as store:
        assert store.labels().states(0, ["animal", "food", "cat"]).tolist() == [[1, 0, -1]]


def test_without_the_extra_pictures_it_is_said():
    Image.new("RGB", (24, 24)).save("a.png")
    Path("t.csv").write_text("id,picture,labels\na,a.png,animal\n")
    Path("t.yaml").write_text("animal: [cat, dog]\n")
    run("init", "p", "--taxonomy", "t.yaml")
    assert "Pictures is a simple extractor: with the extra pictures" in run("add", "p", "t.csv")


def test_mistakes_are_one_sentence():
    assert refused("start", "nothing.csv") == "nothing.csv: there is no such file or folder"
    Path("empty.csv").write_text("")
    assert refused("start", "empty.csv") == "empty.csv: the file has no rows: give one row for each item"
    Path("t.csv").write_text("id,text\n1,so it goes\n")
    assert refused("start", "t.csv") == "t.csv: no column holds labels: give a file of concepts with --taxonomy"
    Path("folder").mkdir()
    assert refused("start", "folder") == "folder: there is no picture in this folder: give the folder that holds them"
    Path("l.csv").write_text("id,text,labels\n1,so it goes,cat\n")
    assert refused("start", "l.csv", "--labels", "nothing") == (
        "l.csv: there is no column 'nothing', only 'id', 'text', 'labels'"
    )
    Path("f.csv").write_text("id,cat,dog\n1,1,0\n2,0,\n")
    assert refused("start", "f.csv") == (
        "f.csv: its items have neither texts nor pictures that people could look at: make the project with "
        "`ramify init`, and add them with their features (`ramify add DIR FILE --features FILE.npy`)"
    )
    assert not Path("f-ramify").exists()
    Path("own.csv").write_text("id,concept,state,source\n1,cat,yes,imported\n")
    Path("events.csv").write_text("seq,at,annotator,id,concept,answer,undoes,undone\n1,,ann,1,cat,yes,,0\n")
    Path("top.csv").write_text("id,concept,probability,chosen\n1,cat,.5,1\n")
    for name, writer in (("own", "export"), ("events", "export --events"), ("top", "predict --top")):
        for command in ("start", "inspect"):
            said = refused(command, f"{name}.csv")
            assert said.startswith(f"{name}.csv: it has a row for each entry, as `ramify {writer}` writes it: ")
    assert refused("init", "p") == "say which concepts the project has: either --taxonomy FILE or --from DATA"


def test_a_project_gets_the_concepts_of_data_that_name_them():
    coarse_and_fine()
    printed = run("init", "p", "--from", "pets.csv")
    assert printed.endswith(
        "The project is in p. Next: ramify add p pets.csv --text comment --labels coarse --labels fine\n"
    )
    with Store("p") as store:
        assert store.taxonomy.to_dict() == {
            "animal": {"children": {"cat": None, "dog": None}, "exhaustive": True},
            "food": {"children": {"apple": None}, "exhaustive": True},
        }


def test_fine_labels_can_be_left_out():
    items(Path("i.csv"), 12, warm=12)
    Path("t.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    run("init", "p", "--taxonomy", "t.yaml")
    run("add", "p", "i.csv", "--coarse-only")
    with Store("p") as store:
        states = store.labels().states(concepts=["animal", "food", "cat", "dog"])
    assert states[:2].tolist() == [[1, 0, -1, -1], [1, 0, -1, -1]]


# -- features ----------------------------------------------------------------------------------------------------------


def test_features_are_made_outside_of_projects_and_compared():
    items(Path("i.csv"), 60, warm=60)
    assert run("embed", "i.csv", "--with", "text") == "Wrote 60 x 30 features by text to features.npy.\n"
    assert np.load("features.npy").shape == (60, 30)
    assert [path.name for path in Path().iterdir() if path.name.endswith(".parts")] == []
    Path("t.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    printed = run(
        *("compare", "i.csv", "--taxonomy", "t.yaml", "--features", "features.npy", "--warm", "8", "--seeds", "1"),
        *("--learners", "coarse-prior", "--engine", "serial", "--out", "out"),
    )
    assert "coarse-prior" in printed
    assert "has no features, only labels: make some with `ramify embed`" in refused(
        "compare", "i.csv", "--taxonomy", "t.yaml", "--warm", "8", "--learners", "coarse-prior", "--out", "other"
    )


def test_what_cannot_be_embedded_is_told_and_writes_nothing():
    Path("t.csv").write_text("id,picture\na,none.png\n")
    assert refused("embed", "t.csv", "--with", "pictures") == (
        "1 of 1 items cannot be read: mend them (t.csv, row 2: there is no such file)"
    )
    assert refused("embed", "t.csv", "--with", "text") == (
        "t.csv, row 2: it has no text, which text needs: leave it out, or choose another with --with"
    )
    Path("n.csv").write_text("id,n\na,1\n")
    assert "no column seems to hold texts or pictures" in refused("embed", "n.csv")
    assert "there is no column 'x'" in refused("embed", "n.csv", "--text", "x")
    assert not Path("features.npy").exists()


def test_a_project_gets_other_features():
    items(Path("i.csv"), 24, warm=4)
    Path("t.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    run("init", "p", "--taxonomy", "t.yaml")
    run("add", "p", "i.csv", "--embed", "text")
    assert refused("embed", "p") == "p is a project: say --again to make the features of its items anew"
    assert run("embed", "p", "--again", "--with", "words") == (
        "All 24 items have features by words now; answers and labels are as they were.\nNext: ramify train p\n"
    )
    assert refused("embed", "i.csv", "--features", "f.npy") == "--features is for a project, with --again"


@pytest.mark.skipif(not DATA.is_dir(), reason="there is no ../shared/data")
def test_real_photographs_from_a_table_to_a_model():
    printed = run("start", DATA / "coco_pictures" / "labels.csv", "--coarse-only", "--no-serve", "--embed", "pictures")
    assert printed.startswith(
        "Found 300 items with pictures: ids in 'file', pictures in 'file', labels in 'coarse' and"
    )
    with Store("labels-ramify") as store:
        assert len(store) == 300
        assert len(store.taxonomy.leaves) == 80


def test_columns_can_be_said_and_labels_are_known_by_what_they_list():
    lines = ["title,section,blurb", *(f"t{n},{('net', 'games')[n % 2]},what is said of number {n}" for n in range(16))]
    Path("packages.csv").write_text("\n".join(lines) + "\n")
    Path("c.yaml").write_text("net: [web, mail]\ngames: [chess, cards]\n")
    printed = run("start", "packages.csv", "--taxonomy", "c.yaml", "--no-serve", "--project", "p")
    assert printed.startswith("Found 16 items with texts: ids in 'title', texts in 'blurb', labels in 'section'.\n")
    printed = run("start", "packages.csv", "--taxonomy", "c.yaml", "--no-serve", "--project", "q", "--text", "title")
    assert "texts in 'title'" in printed


def test_what_is_read_otherwise_than_one_may_think_is_told():
    Path("labels.json").write_text(
        json.dumps({"classes": ["cat", "dog"], "labels": {"a": 0, "b": {"label": "dog", "confidence": 0.4}}})
    )
    printed = run("inspect", "labels.json")
    assert "Note: 1 of 2 items are left out, since nothing is known of them." in printed


def test_answers_that_nobody_gave_in_are_not_written_over():
    items(Path("i.csv"), 24, warm=4)
    Path("t.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    run("init", "p", "--taxonomy", "t.yaml")
    run("add", "p", "i.csv")
    run("suggest", "p", "-n", 2, "--out", "ask.csv")
    run("suggest", "p", "-n", 3, "--out", "ask.csv")
    text = Path("ask.csv").read_text().splitlines()
    place = text[0].split(",").index("answer")
    first = text[1].split(",")
    first[place] = "skip"
    Path("ask.csv").write_text("\n".join([text[0], ",".join(first), *text[2:]]) + "\n")
    assert refused("suggest", "p", "--out", "ask.csv") == (
        "ask.csv holds answers, which would be lost: give another name, or remove it"
    )
