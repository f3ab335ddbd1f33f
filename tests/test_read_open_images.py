"""Open Images: verified labels of images under its hierarchy, and the sentence for every mistake."""

import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from ramify.errors import RamifyError
from ramify.readers.formats import FORMATS, format_of, read_source
from ramify.readers.open_images import matches, read

OFFICIAL = Path(__file__).parent / "data" / "open_images"
TREE = """Animal
├── Carnivore
│   └── Cat
├── Dog
├── Bat (/m/0zb1)
└── Bat (/m/0zb2)
Vehicle
└── Car
/m/0nameless"""
CONCEPTS = ["Animal", "Carnivore", "Cat", "Dog", "Bat (/m/0zb2)", "Vehicle", "Car", "/m/0nameless"]
HEADER = "ImageID,Source,LabelName,Confidence\n"
TABLE = "train-annotations-human-imagelabels.csv"
NO_CONFIDENCE = "is no confidence: 1 is present, 0 is absent, and a machine's lie between"
Y, N, U = 1, 0, -1


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(OFFICIAL, tmp_path / "open"))


def test_the_official_format():
    assert matches(OFFICIAL)
    items = read(OFFICIAL)
    assert str(items.labels.taxonomy) == TREE
    assert items.ids == ["000a", "000b", "000c", "000d", "001a", "002a"]
    assert items.labels.states(concepts=CONCEPTS).tolist() == [
        [Y, U, N, Y, U, N, N, U],
        [Y, Y, Y, U, U, U, U, U],
        [U, U, U, U, U, U, U, U],
        [U, U, U, U, U, U, U, U],  # a dog that is no animal
        [N, N, N, N, N, U, U, U],
        [Y, U, U, U, Y, U, U, U],
    ]
    assert items.split is not None
    assert items.split.tolist() == [0, 0, 0, 0, 1, 2]
    assert items.unlabelled == 1
    assert items.pictures == [None] * 6
    assert items.where(1) == f"{OFFICIAL}, image 000b"
    assert items.notes == (
        "1 concepts have several parents and are kept under the first: 'Cat'",
        "2 rows are machine-made (Confidence is a fraction, or Source is machine) and say nothing",
        "1 rows are about classes that the hierarchy does not have, and are left out",
        "1 entries are said to be both present and absent, and are left unknown",
        "1 images contradict themselves, and are unknown there until somebody decides: such as "
        "'Animal > Dog' is present but 'Animal' is absent",
    )


def test_one_table_is_read_with_the_files_beside_it():
    items = read(OFFICIAL / "validation-annotations-human-imagelabels.csv")
    assert items.ids == ["001a"]
    assert items.split is None  # one part alone is no split


def test_pictures_are_found_in_the_folder_and_those_in_it(folder):
    (folder / "train").mkdir()
    for name in ("000a.jpg", "train/000b.jpg", "train/000c.png"):
        Image.new("RGB", (4, 4)).save(folder / name)
    assert read(folder).pictures == ["000a.jpg", "train/000b.jpg", None, None, None, None]


def test_the_names_of_classes_may_have_a_header_and_stand_in_several_files(folder):
    path = folder / "class-descriptions-boxable.csv"
    path.write_text("LabelName,DisplayName\n" + path.read_text())
    (folder / "oidv7-class-descriptions.csv").write_text(
        'LabelName,DisplayName\n/m/0nameless,"One, two"\n/m/0jbk,Beast\n'
    )
    assert str(read(folder).labels.taxonomy) == TREE.replace("/m/0nameless", "One, two")


def test_other_tables_are_not_taken_for_it(tmp_path):
    assert not matches(tmp_path)
    (tmp_path / "boxes.csv").write_text(HEADER.strip() + ",XMin,XMax\n")
    (tmp_path / "items.csv").write_text("id,text\n")
    assert not any(map(matches, [tmp_path, tmp_path / "boxes.csv", tmp_path / "items.csv", tmp_path / "none.csv"]))
    (tmp_path / "labels.csv").write_text(HEADER)
    assert matches(tmp_path)
    assert matches(tmp_path / "labels.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty: download it again"),
        (HEADER, ": the file has no rows: give a row for each image and label"),
        (
            "ImageID,LabelName,Confidence\na,/m/0jbk,1\n",
            ", row 1: there is no column 'Source': the table needs ImageID, Source, LabelName, Confidence",
        ),
        (HEADER + "a,verification,/m/0jbk,1\n\na,verifi", ", row 4: 2 fields for 4 columns: the row is cut off"),
        (
            HEADER + "a,verification,/m/0jbk,1\na,verification,/m/0jbk,maybe\n",
            f", row 3, column 'Confidence': 'maybe' {NO_CONFIDENCE}",
        ),
        (
            HEADER + "a,verification,/m/0jbk,2\n",
            f", row 2, column 'Confidence': '2' {NO_CONFIDENCE}",
        ),
        (
            HEADER + "a,verification,/m/0jbk,nan\n",
            f", row 2, column 'Confidence': 'nan' {NO_CONFIDENCE}",
        ),
        (HEADER + " ,verification,/m/0jbk,1\n", ", row 2, column 'ImageID': the id is missing"),
        (HEADER + 'a,verification,"/m/0jbk,1\n', ", row 2: this is not valid CSV (unexpected end of data)"),
        (
            HEADER.encode() + b"a,verification,/m/0jbk,1\n" * 5000 + b"\xff,verification,/m/0jbk,1\n",
            ", row 5002: this is not UTF-8: save the file with the encoding UTF-8",
        ),
    ],
)
def test_every_mistake_in_the_labels_is_one_sentence(folder, content, message):
    path = folder / TABLE
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RamifyError, match=f"^{re.escape(f'{path}{message}')}$"):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bbox_labels_600_hierarchy.json", "", ": this is not valid JSON; it may be cut off: download it again"),
        (
            "bbox_labels_600_hierarchy.json",
            '{"LabelName": "/m/0bl9f", "Sub',
            ": this is not valid JSON; it may be cut off: download it again",
        ),
        ("bbox_labels_600_hierarchy.json", "[]", ": below 'the top' stands what is no class: download it again"),
        (
            "bbox_labels_600_hierarchy.json",
            json.dumps({"LabelName": "/m/0jbk", "Subcategory": [{"LabelName": 7}]}),
            ": below '/m/0jbk' stands what is no class: download it again",
        ),
        (
            "bbox_labels_600_hierarchy.json",
            '{"LabelName": "/m/0bl9f"}',
            ": the taxonomy is empty: give at least one concept",
        ),
        (
            "class-descriptions-boxable.csv",
            "/m/0jbk,Animal\n/m/01yrx\n",
            ", row 2: a row is a label and its name, such as /m/01g317,Person",
        ),
        ("class-descriptions-boxable.csv", b"/m/0jbk,K\xe4se\n", ": this is not UTF-8: download it again"),
    ],
)
def test_every_mistake_in_the_other_files_is_one_sentence(folder, name, content, message):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RamifyError, match=f"^{re.escape(f'{folder / name}{message}')}$"):
        read(folder)


def test_missing_files_are_named(folder, tmp_path):
    where = "download it from the page of Open Images, and put it beside the labels"
    (folder / "class-descriptions-boxable.csv").unlink()
    message = f"{folder}: there is no *class-descriptions*.csv (class-descriptions.csv) in this folder: {where}"
    with pytest.raises(RamifyError, match=f"^{re.escape(message)}$"):
        read(folder)
    (folder / "bbox_labels_600_hierarchy.json").unlink()
    with pytest.raises(RamifyError, match=re.escape("there is no *hierarchy*.json (bbox_labels_600_hierarchy.json)")):
        read(folder)
    with pytest.raises(RamifyError, match="there is no table with the columns ImageID, Source, LabelName, Confidence"):
        read(tmp_path)


def test_each_source_is_of_one_format():
    data = Path(__file__).parent / "data"
    sources = {
        "coco": data / "coco" / "instances_made_up.json",
        "fiftyone": data / "fiftyone",
        "open-images": data / "open_images",
    }
    for name, source in sources.items():
        assert [other for other, form in FORMATS.items() if form.matches(source)] == [name]
        assert format_of(source) == format_of(f"{name}:{source}") == (FORMATS[name], source)
        assert read_source(source).ids
