"""What a table or a folder seems to be, and data sets from any source."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ramify
from ramify.errors import RamifyError
from ramify.readers import Layout, propose, read, read_for
from ramify.readers.guessing import folder_concepts, guess_layout, table_concepts
from ramify.readers.rows import as_rows
from ramify.taxonomy import Taxonomy

DATA = Path(__file__).parents[2] / "shared" / "data"


def guessed(table) -> Layout:
    return guess_layout(as_rows(table))


def concepts(table) -> dict:
    rows = as_rows(table)
    return table_concepts(rows, guess_layout(rows)).to_dict()


@pytest.mark.parametrize(
    ("table", "layout"),
    [
        ({"id": [1, 2], "text": ["a", "b"], "labels": ["x", "y"]}, Layout("id", "text", labels=("labels",))),
        ({"Text": ["so it goes", "on"], "Category": ["x", "x"]}, Layout(None, "Text", labels=("Category",))),
        (
            {"image_id": [7, 8], "file_name": ["a.jpg", "b.PNG"], "width": [5, 5], "animal": ["1", "0"]},
            Layout("image_id", picture="file_name", ignore=("width",)),
        ),
        (
            {"utterance": ["what a lovely day it is", "I do not like this at all"], "joy": ["yes", ""], "n": [3, 4]},
            Layout(None, "utterance", ignore=("n",)),
        ),
    ],
)
def test_columns_are_guessed_by_their_names_and_what_they_hold(table, layout):
    assert guessed(table) == layout


def test_labels_are_known_by_what_they_list():
    table = {"section": ["net", "Games", "net", "net"], "blurb": ["a b", "c d", "e f", "g h"], "title": list("wxyz")}
    taxonomy = Taxonomy({"net": ["http"], "games": ["chess"]})
    assert guess_layout(as_rows(table), taxonomy).labels == ("section",)
    many = {"section": ["net", "games"] * 8, "summary": [f"a long text about number {n}" for n in range(16)]}
    assert guessed(many).labels == ("section",)
    assert guessed({**many, "genre": ["x", "y"] * 8}).labels == ("section",), "one at most, where nothing says so"


def test_the_text_is_the_longest_and_a_title_only_where_nothing_else_is():
    table = {"title": ["red shoe", "blue shoe"], "summary": ["a shoe that is red all over", "a shoe that is blue, too"]}
    assert guessed({**table, "labels": ["x", "y"]}).text == "summary"
    assert guessed({"title": ["red shoe", "blue shoe"], "labels": ["x", "y"]}).text == "title"
    assert guessed({**table, "labels": ["x", "y"]}).id == "title", "which names each row"


def test_what_is_said_needs_no_guess():
    table = {"a": ["one two", "three four"], "labels": ["x", "y"], "flag": ["1", "0"], "b": ["p", "q"]}
    layout = guess_layout(as_rows(table), id="a", text="b", labels=("labels",), ignore=("flag",))
    assert layout == Layout("a", "b", ignore=("flag",), labels=("labels",))


def test_large_and_small_letters_propose_one_concept():
    assert concepts({"id": range(4), "labels": ["net", "NET", "Net ", "g_b;G B"]}) == {"net": None, "g_b": None}


def test_a_label_that_is_a_long_text_is_no_label():
    many = {"title": ["a", "b"], "tags": [";".join(f"t{n}" for n in range(400)), ";".join(f"u{n}" for n in range(400))]}
    assert guessed(many).labels == ()


def test_concepts_come_from_columns_lists_and_paths():
    assert concepts({"id": [1], "text": ["t"], "cat": ["yes"], "dog": ["no"]}) == {"cat": None, "dog": None}
    assert concepts({"id": [1, 2], "labels": ["animal > cat", "animal > dog;food"]}) == {
        "animal": {"children": {"cat": None, "dog": None}},
        "food": None,
    }
    with pytest.raises(RamifyError, match="no column holds labels: give a file of concepts with --taxonomy"):
        concepts({"id": [1], "text": ["t"]})


def test_a_fine_concept_belongs_to_the_rarest_coarse_one_that_is_always_there():
    coarse = ["person;animal", "person;animal", "person;food", "person", "food;animal", "food", "animal", "person"]
    fine = ["man;dog", "dog;woman", "man;apple", "man", "apple;cat", "", "cat", "woman"]
    assert concepts({"id": range(8), "coarse": coarse, "fine": fine}) == {
        "person": {"children": {"man": None, "woman": None}, "exhaustive": True},
        "animal": {"children": {"dog": None, "cat": None}, "exhaustive": True},
        "food": {"children": {"apple": None}, "exhaustive": True},
    }
    assert concepts({"id": range(3), "coarse": ["a", "a;b", "b"], "fine": ["x", "y", "y"]}) == {
        "a": {"children": {"x": None}},
        "b": {"children": {"y": None}, "exhaustive": True},
    }


@pytest.mark.skipif(not DATA.is_dir(), reason="there is no ../shared/data")
def test_real_supercategories_are_found_from_three_hundred_rows():
    proposed, layout = propose(DATA / "coco_pictures" / "labels.csv")
    assert (layout.id, layout.picture, layout.labels) == ("file", "file", ("coarse", "fine"))
    bundle = np.load(DATA / "coco_photos.npz")
    paths = {
        f"{bundle['coarse'][above]} > {name}" for name, above in zip(bundle["fine"], bundle["parent"], strict=True)
    }
    assert {proposed.path(leaf) for leaf in proposed.leaves.tolist()} == paths
    assert proposed.exhaustive[proposed.roots].all()


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(path)


def test_folders_name_concepts_but_parts_of_a_data_set_do_not(tmp_path):
    for name in ("train/animal/cat/1.png", "train/animal/dog/2.png", "test/animal/cat/3.png", "train/food/4.png"):
        picture(tmp_path / name)
    taxonomy = folder_concepts(tmp_path)
    assert taxonomy.to_dict() == {"animal": {"children": {"cat": None, "dog": None}}, "food": None}
    items = read_for(tmp_path, taxonomy)
    assert items.labels.states(concepts=["animal", "cat", "dog", "food"]).tolist() == [
        [1, 1, -1, 0],
        [1, 1, -1, 0],
        [1, -1, 1, 0],
        [0, 0, 0, 1],
    ]
    picture(tmp_path / "flat" / "1.png")
    with pytest.raises(RamifyError, match="its pictures lie in no folders that would say what they show"):
        folder_concepts(tmp_path / "flat")


def test_a_folder_whose_path_is_a_concept_is_that_concept(tmp_path):
    picture(tmp_path / "person" / "person" / "1.png")
    items = read_for(tmp_path, Taxonomy({"person": ["person", "child"]}))
    assert items.labels.states(concepts=["person", "person > person", "child"]).tolist() == [[1, 1, -1]]


def test_a_table_becomes_a_data_set(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("id,text,coarse,fine\na,x,animal,cat;dog\nb,y,animal;food,dog;apple\nc,z,,\nd,w,food,apple\n")
    np.save(tmp_path / "f.npy", np.arange(8.0).reshape(4, 2))
    data = ramify.read(table, features=tmp_path / "f.npy")
    assert data.ids.tolist() == ["a", "b", "d"], "nothing is known of c"
    assert data.features.tolist() == [[0, 1], [2, 3], [6, 7]]
    assert data.labels.states(concepts=["cat", "dog", "apple"]).tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert not read(table, exhaustive=False).labels.taxonomy.exhaustive.any()
    (tmp_path / "own.yaml").write_text("animal: [cat, dog, pig]\nfood: [apple]\n")
    assert read(table, taxonomy=tmp_path / "own.yaml").labels.states(0).tolist() == [[1, 1, 0, 0]]


def test_labels_of_another_tool_are_said_of_the_concepts_of_a_taxonomy(tmp_path):
    (tmp_path / "labels.json").write_text('{"classes": ["Dog", "cat", "sofa"], "labels": {"a": [0], "b": [1, 2]}}')
    items = read_for(tmp_path / "labels.json", Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]}))
    assert items.labels.states(concepts=["animal", "cat", "dog", "food"]).tolist() == [[1, 0, 1, -1], [1, 1, 0, -1]]
    assert items.notes[-1:] == ("1 concepts of the source are not in the taxonomy and left out: 'sofa'",)
    with pytest.raises(RamifyError, match="no concept of the source is in the taxonomy: the source has 'Dog', 'cat'"):
        read_for(tmp_path / "labels.json", Taxonomy({"plant": ["oak"]}))


def test_what_is_missing_is_told(tmp_path):
    with pytest.raises(RamifyError, match="does not exist: give"):
        read(tmp_path / "nothing")
    (tmp_path / "t.csv").write_text("id,text,labels\na,x,\n")
    with pytest.raises(RamifyError, match="nothing is known of any item of this source"):
        read(tmp_path / "t.csv", taxonomy=Taxonomy({"animal": ["cat"]}))


def test_a_bundle_takes_features_but_no_other_concepts(tmp_path):
    ramify.read("scenes:6").save(tmp_path / "scenes.npz")
    assert read(tmp_path / "scenes.npz", features=np.ones((6, 2))).features.shape == (6, 2)
    with pytest.raises(RamifyError, match="6 labelled items: each item needs one of both"):
        read(tmp_path / "scenes.npz", features=np.ones((5, 2)))
    with pytest.raises(RamifyError, match="has concepts of its own: leave --taxonomy out"):
        read(tmp_path / "scenes.npz", taxonomy=Taxonomy({"a": ["b"]}))
