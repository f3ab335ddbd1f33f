"""Folders of Hugging Face. Those in ``data/hugging-face`` were written by its own library, ``datasets`` 5.2."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.transfer.importing import add, init
from ramify.readers import hugging_face
from ramify.readers.formats import format_of
from ramify.taxonomy import Taxonomy

DATA = Path(__file__).parent / "data" / "hugging-face"
CARD = """---
license: mit
dataset_info:
  features:
  - name: image
    dtype: image
  - name: label
    dtype:
      class_label:
        names:
          '0': cat
          '1': dog
---
# Cats and dogs
"""


def made(folder: Path, **files: str) -> Path:
    """Files in a folder; ``__`` in a name stands for a slash, ``_`` before the last word for the point."""
    for name, content in files.items():
        path = folder / re.sub(r"_(csv|jsonl|json|md)$", r".\1", name.replace("__", "/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def refused(path: Path, message: str) -> None:
    with pytest.raises(RamifyError, match=f"^{re.escape(message.format(path=path))}$"):
        hugging_face.read(path)


# -- what the library writes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["saved", "parquet"])
def test_parts_texts_and_classes_of_the_library_s_own_files(folder):
    assert hugging_face.matches(DATA / folder)
    items = hugging_face.read(DATA / folder)
    assert items.ids == ["train/1", "train/2", "train/3", "validation/1", "test/1"]
    assert items.texts == ["a", "b", "c", "d", "e"]
    assert items.labels.taxonomy == Taxonomy({"neg": None, "pos": None})
    assert items.labels.states().tolist() == [[1, 0], [0, 1], [-1, -1], [0, 1], [1, 0]]
    assert items.unlabelled == 1
    assert items.split is not None
    assert items.split.tolist() == [0, 0, 0, 1, 2]
    assert (items.notes, items.ignored) == ((), ())
    assert re.search(r"train.*, row 2$", items.where(1))


def test_lists_of_classes():
    items = hugging_face.read(DATA / "several")
    assert items.ids == ["x", "y", "z"]
    assert items.labels.taxonomy.names == ("joy", "anger", "fear")
    assert items.labels.states().tolist() == [[1, 0, 1], [0, 0, 0], [-1, -1, -1]]
    assert items.split is None


def test_pictures_inside_the_files_are_to_be_written_out():
    refused(
        DATA / "pictures",
        "{path}: its pictures lie inside the files, where Ramify does not read them: write them out in Python: "
        'for number, row in enumerate(dataset): row["image"].save(f"{{number}}.png"), then list them in a table with '
        "their labels",
    )


# -- metadata beside pictures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "numbers", "names"),
    [("label", (0, 1, -1), ("cat", "dog", "")), ("labels", ([0], [1], None), (["cat"], ["dog"], None))],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("by_number", [True, False])
def test_metadata_names_pictures_and_classes(tmp_path, ending, column, numbers, names, by_number):
    rows = [
        {"file_name": f"x{n}.png", column: value, "text": "?"}
        for n, value in enumerate(numbers if by_number else names)
    ]
    if ending == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "metadata.parquet")
    elif ending == "jsonl":
        (tmp_path / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = ["" if row[column] is None else str(row[column]) for row in rows]
        lines = [f'{row["file_name"]},"{cell}",?' for row, cell in zip(rows, cells, strict=True)]
        (tmp_path / "metadata.csv").write_text("\n".join([f"file_name,{column},text", *lines]))
    made(tmp_path, README_md=CARD.replace("- name: label\n", f"- name: {column}\n"))
    assert hugging_face.matches(tmp_path)
    items = hugging_face.read(tmp_path)
    assert items.ids == items.pictures == ["x0.png", "x1.png", "x2.png"]
    assert items.labels.taxonomy.names == ("cat", "dog")
    assert items.labels.states().tolist() == [[1, 0], [0, 1], [-1, -1]]
    assert items.where(2) == f"{tmp_path / f'metadata.{ending}'}, row {4 if ending == 'csv' else 3}"


def test_metadata_in_the_folders_of_the_parts(tmp_path):
    made(
        tmp_path,
        train__metadata_csv="file_name,label\na.png,cat\nsub/b.png,dog\n",
        validation__metadata_jsonl='{"file_name": "a.png", "label": "dog", "year": 1999}\n',
        test__metadata_csv="file_name,label\nc.png,\n",
    )
    items = hugging_face.read(tmp_path)
    assert items.pictures == ["train/a.png", "train/sub/b.png", "validation/a.png", "test/c.png"]
    assert items.labels.states().tolist() == [[1, 0], [0, 1], [0, 1], [-1, -1]]
    assert items.split.tolist() == [0, 0, 1, 2]
    assert items.ignored == ("year",)


def test_one_table_at_the_top_for_the_folders_of_all_parts(tmp_path):
    made(tmp_path, metadata_csv="file_name,label\ntest/a.png,cat\ntrain/b.png,dog\nmore/c.png,dog\n")
    items = hugging_face.read(tmp_path)
    assert items.split.tolist() == [2, 0, 0]
    assert items.notes == ("the part 'more' counts as train",)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("dataset_info_json", {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}),
        (
            "dataset_infos_json",
            {"default": {"features": {"label": {"num_classes": 2, "names": ["cat", "dog"], "_type": "ClassLabel"}}}},
        ),
    ],
)
def test_names_of_classes_in_json(tmp_path, name, content):
    made(tmp_path, metadata_csv="file_name,label\na.png,1\n", **{name: json.dumps(content)})
    items = hugging_face.read(tmp_path)
    assert items.labels.taxonomy.names == ("cat", "dog")
    assert items.labels.states().tolist() == [[0, 1]]


@pytest.mark.parametrize("key", ["sequence", "list"])
def test_names_of_lists_of_classes_in_the_card(tmp_path, key):
    head = f"dataset_info:\n  features:\n  - name: labels\n    {key}:\n      class_label:\n        names: [a, b]"
    card = f"---\n{head}\n---\n"
    made(tmp_path, metadata_jsonl='{"file_name": "a.png", "labels": [1]}\n', README_md=card)
    assert hugging_face.read(tmp_path).labels.taxonomy.names == ("a", "b")


def test_numbers_without_names_are_the_names(tmp_path):
    items = hugging_face.read(made(tmp_path, metadata_csv="file_name,label\na.png,10\nb.png,9\n"))
    assert items.labels.taxonomy.names == ("9", "10")
    assert items.labels.states().tolist() == [[0, 1], [1, 0]]
    assert items.notes == ("nothing says what the numbers in 'label' mean: they are the concepts' names",)


def test_a_number_is_a_class_even_where_a_name_reads_the_same(tmp_path):
    info = json.dumps({"features": {"label": {"names": ["1", "2"], "_type": "ClassLabel"}}})
    made(tmp_path, metadata_jsonl='{"file_name": "a.png", "label": 1}\n', dataset_info_json=info)
    assert hugging_face.read(tmp_path).labels.states().tolist() == [[0, 1]]
    made(tmp_path, metadata_jsonl='{"file_name": "a.png", "label": "1"}\n')
    assert hugging_face.read(tmp_path).labels.states().tolist() == [[1, 0]]


# -- parquet ---------------------------------------------------------------------------------------------------------


def test_parquet_at_the_top_with_another_name_for_the_text(tmp_path):
    table = pyarrow.table({"idx": [3, 4], "sentence": ["x", "y"], "label": [1, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "train-00000-of-00002.parquet")
    pyarrow.parquet.write_table(table, tmp_path / "train-00001-of-00002.parquet")
    items = hugging_face.read(tmp_path)
    assert items.ids == ["train/1", "train/2", "train/3", "train/4"]
    assert items.texts == ["x", "y", "x", "y"]
    assert items.ignored == ("idx",)
    assert items.notes[0] == "the texts are those of the only column of texts, 'sentence'"


def test_ids_that_repeat_are_not_ids(tmp_path):
    table = pyarrow.table({"id": [3, 3], "text": ["x", "y"], "label": ["a", "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "train-00000-of-00001.parquet")
    items = hugging_face.read(tmp_path)
    assert items.ids == ["train/1", "train/2"]
    assert items.notes == ("the column 'id' is not unique, so items are called by their part and row",)


def test_pictures_that_an_earlier_release_added_by_their_paths_are_not_added_again(tmp_path):
    rows = "".join(f"{name}.png,{number},cat\n" for number, name in enumerate("abc"))
    made(tmp_path / "pictures", metadata_csv=f"file_name,id,label\n{rows}")
    for name in "abc":
        Image.new("RGB", (8, 8)).save(tmp_path / "pictures" / f"{name}.png")
    with init(tmp_path / "old", Taxonomy({"cat": None})) as store:
        add(store, {"id": ["a.png", "b.png"], "picture": ["a.png", "b.png"]}, images=tmp_path / "pictures")
        done = add(store, tmp_path / "pictures")
        assert (done.added, done.present) == (1, 2)
        assert done.notes[0] == "2 items are there already, called as an earlier release did, first 'a.png'"
        assert store.all_ids().tolist() == ["a.png", "b.png", "2"]
        assert add(store, tmp_path / "pictures").present == 3
    with init(tmp_path / "new", Taxonomy({"cat": None})) as store:
        assert add(store, tmp_path / "pictures").added == add(store, tmp_path / "pictures").present == 3
        assert store.all_ids().tolist() == ["0", "1", "2"]


# -- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {},
            "{path}: there is neither metadata.csv, .jsonl or .parquet, nor a .parquet file, nor what save_to_disk "
            "writes: give the folder that holds one of these",
        ),
        ({"metadata_csv": ""}, "{path}/metadata.csv: the file has no rows: give one row for each item"),
        (
            {"metadata_csv": "name,label\na.png,1\n"},
            "{path}/metadata.csv: there is no column 'file_name': it says which picture each row is about",
        ),
        (
            {"metadata_csv": "file_name,year\na.png,1\n"},
            "{path}: no column is called 'label' or 'labels': name the one so that holds the labels",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,cat\n ,dog\n"},
            "{path}/metadata.csv, row 3, column 'file_name': the name of the picture is missing: write it there",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,cat\na.png,dog\n"},
            "{path}/metadata.csv, row 3, column 'file_name': the picture 'a.png' stands in {path}/metadata.csv, row 2 "
            "already: keep one",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,1\nb.png,2\n", "README_md": CARD},
            "{path}/metadata.csv, row 3, column 'label': '2' is none of the 2 classes that the folder names: "
            "correct one of them",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,horse\n", "README_md": CARD},
            "{path}/metadata.csv, row 2, column 'label': 'horse' is none of the 2 classes that the folder names: "
            "correct one of them",
        ),
        (
            {"metadata_jsonl": '{{"file_name": "a.png", "label": 0.5}}\n'},
            "{path}/metadata.jsonl, row 1, column 'label': 0.5 is neither a number nor a name of a class, nor a list "
            "of them: correct it",
        ),
        (
            {"metadata_csv": "file_name,labels\na.png,[cat\n"},
            "{path}/metadata.csv, row 2, column 'labels': '[cat' is no list: write for example ['cat', 'dog']",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,\n"},
            "{path}: the column 'label' is empty, and nothing names its classes: fill it",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,a>b\n"},
            "{path}, column 'label': the name 'a>b' contains '>', which separates the names of a path: rename it",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,1\n", "README_md": "---\na: [\n---\n"},
            "{path}/README.md: its head, between two lines of ---, is not valid YAML: correct it",
        ),
        (
            {"metadata_csv": "file_name,label\na.png,1\n", "dataset_info_json": '{{"feat'},
            "{path}/dataset_info.json: this is not valid JSON; it may be cut off: copy it again",
        ),
        (
            {"dataset_dict_json": "{{}}"},
            "{path}/dataset_dict.json: it lists no parts: save the data set again",
        ),
        (
            {"dataset_dict_json": '{{"splits": ["../train"]}}'},
            "{path}/dataset_dict.json: it lists no parts: save the data set again",
        ),
        ({"dataset_dict_json": '{{"splits": ["train"]}}'}, "{path}/train/state.json: there is no such file"),
        (
            {"state_json": "{{}}", "dataset_info_json": "{{}}"},
            "{path}/state.json: it lists no files of data: save the data set again",
        ),
    ],
)
def test_every_mistake_is_one_sentence(tmp_path, files, message):
    refused(
        made(tmp_path, **{name: content.replace("{{", "{").replace("}}", "}") for name, content in files.items()}),
        message,
    )


@pytest.mark.parametrize("name", ["saved/train/data-00000-of-00001.arrow", "parquet/data/train-00000-of-00001.parquet"])
def test_files_that_are_cut_off_are_one_sentence(tmp_path, name):
    shutil.copytree(DATA / Path(name).parts[0], tmp_path / "cut")
    file = tmp_path / "cut" / Path(*Path(name).parts[1:])
    whole = file.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 20 if file.suffix == ".parquet" else len(whole) - 200):
        file.write_bytes(whole[:length])
        refused(
            tmp_path / "cut",
            f"{file}: this is not a whole {file.suffix} file; it may be cut off or of another kind: copy it again",
        )
    file.unlink()
    if file.suffix == ".arrow":
        refused(tmp_path / "cut", f"{file}: there is no such file")


def test_several_configurations_are_not_mixed(tmp_path):
    card = (
        "---\ndataset_info:\n- config_name: a\n  features:\n  - {name: label, dtype: {class_label: {names: [x, y]}}}\n"
        "- config_name: b\n  features:\n  - {name: label, dtype: {class_label: {names: [u, v]}}}\n---\n"
    )
    made(tmp_path, metadata_csv="file_name,label\na.png,1\n", README_md=card)
    refused(
        tmp_path,
        "{path}/README.md: the classes of 'label' are others in 'a' than in 'b': keep the one that these files are of",
    )
    for config in ("one", "two"):
        (tmp_path / "both" / config).mkdir(parents=True)
        shutil.copy(
            DATA / "parquet" / "data" / "test-00000-of-00001.parquet",
            tmp_path / "both" / config / "test-00000-of-00001.parquet",
        )
    refused(tmp_path / "both", "{path}: there are several data sets in it (one, two): give the folder of one")


def test_other_folders_are_not_taken_for_it(tmp_path):
    taxonomy = Taxonomy({"animal": ["cat"]})
    (tmp_path / "classes" / "cat").mkdir(parents=True)
    Image.new("RGB", (2, 2)).save(tmp_path / "classes" / "cat" / "a.png")
    init(tmp_path / "project", taxonomy).close()
    Dataset(labels=Labels(taxonomy, [[1]]), features=np.ones((1, 2))).save(tmp_path / "dataset")
    (tmp_path / "tables").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], "text": ["x"]}), tmp_path / "tables" / "items.parquet")
    made(tmp_path / "notes", metadata_csv="name,year\nx,1999\n", README_md=CARD)
    (tmp_path / "empty").mkdir()
    for name in ("classes", "project", "dataset", "tables", "notes", "empty", "none"):
        assert format_of(tmp_path / name) is None
