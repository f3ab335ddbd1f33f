"""COCO's instances: what becomes of them, and the sentence for every mistake."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.readers import coco
from ramify.readers.coco import matches, read

OFFICIAL = Path(__file__).parent / "data" / "coco" / "instances_made_up.json"
REAL = Path(__file__).parents[2] / "shared" / "data" / "coco_labels_only.npz"
CONCEPTS = ["person", "animal", "person > person", "cat", "dog"]
GOOD = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
    "annotations": [{"image_id": 7, "category_id": 1}, {"image_id": 8, "category_id": 2}],
    "categories": [
        {"id": 1, "name": "cat", "supercategory": "animal"},
        {"id": 2, "name": "dog", "supercategory": "animal"},
    ],
}


def written(tmp_path, content):
    path = tmp_path / "instances.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_official_format():
    assert matches(OFFICIAL)
    items = read(OFFICIAL)
    assert items.ids == ["42", "73", "74"]
    assert items.pictures == [f"COCO_val2014_0000000000{number}.jpg" for number in (42, 73, 74)]
    assert str(items.labels.taxonomy) == "person\n└── person\nanimal\n├── cat\n└── dog"
    assert [concept.name for concept in items.labels.taxonomy.concepts if concept.exhaustive] == ["person", "animal"]
    states = items.labels.states(concepts=CONCEPTS).tolist()
    assert states == [[1, 1, 1, 0, 1], [-1, -1, -1, -1, -1], [0, 1, 0, 1, 0]]
    assert items.unlabelled == 1
    assert items.where(2) == f"{OFFICIAL}, images, element 3"


def test_the_keys_come_in_any_order(tmp_path):
    content = json.loads(OFFICIAL.read_text())
    expected = read(OFFICIAL)
    for seed in range(5):
        names = list(content)
        random.Random(seed).shuffle(names)
        items = read(written(tmp_path, {name: content[name] for name in names}))
        assert (items.ids, items.pictures) == (expected.ids, expected.pictures)
        assert items.labels == expected.labels


def test_categories_without_a_supercategory_are_coarse_by_themselves(tmp_path):
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog", "supercategory": "none"}]
    categories += [{"id": 3, "name": " cow ", "supercategory": ""}, {"id": 4, "name": "owl", "supercategory": "bird"}]
    items = read(written(tmp_path, {**GOOD, "categories": categories}))
    assert str(items.labels.taxonomy) == "cat\ndog\ncow\nbird\n└── owl"
    assert items.labels.states(concepts=["cat", "dog", "cow", "bird", "owl"]).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
    ]


def test_a_category_that_others_name_as_theirs_is_that_coarse_concept(tmp_path):
    """So Roboflow writes it; an image may then be the coarse concept alone."""
    categories = [{"id": 1, "name": "pets", "supercategory": "none"}]
    categories += [
        {"id": number, "name": name, "supercategory": "pets"} for number, name in enumerate(["cat", "dog"], 2)
    ]
    items = read(written(tmp_path, {**GOOD, "categories": categories}))
    assert str(items.labels.taxonomy) == "pets\n├── cat\n└── dog"
    assert not items.labels.taxonomy.exhaustive.any()
    assert items.labels.states(concepts=["pets", "cat", "dog"]).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert not items.labels.contradictions()


def test_ids_that_other_tools_write(tmp_path):
    content = {
        "images": [{"id": "x/1"}, {"id": 2.0, "file_name": None}, {"id": 10**30}],
        "annotations": [{"image_id": "x/1", "category_id": "c"}, {"image_id": "2", "category_id": 5.0}],
        "categories": [{"id": "c", "name": "cat"}, {"id": 5, "name": "dog"}],
    }
    items = read(written(tmp_path, content))
    assert (items.ids, items.pictures) == (["x/1", "2", str(10**30)], [None] * 3)
    assert items.labels.states().tolist() == [[1, 0], [0, 1], [-1, -1]]


def test_images_alone_say_nothing(tmp_path):
    """As in COCO's image_info files."""
    items = read(written(tmp_path, {name: GOOD[name] for name in ("images", "categories")}))
    assert items.unlabelled == 2
    assert (items.labels.states() == -1).all()


def changed(section, element, **said):
    entries = [dict(entry) for entry in GOOD[section]]
    entries[element].update(said)
    return {**GOOD, section: entries}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty: copy it again"),
        (
            json.dumps(GOOD)[:150],
            ", annotations, element 2: the file ends here, in the middle: it is cut off: copy it again",
        ),
        ("[]", ': this is no object such as {"images": [...]}: it may be of another kind'),
        (
            "{}",
            ": there are no categories in it (it may be of another kind): give the file of instances "
            "(instances_train2014.json, for example)",
        ),
        (
            {"images": GOOD["images"], "annotations": []},
            ": there are no categories in it (COCO's captions have none, for example): give the file of instances "
            "(instances_train2014.json, for example)",
        ),
        (
            {"images": GOOD["images"], "annotations": [{"image_id": 7, "id": 1, "caption": "A cat."}]},
            ", annotations, element 1: this is a caption, which has no category: give the file of instances "
            "(instances_train2014.json, for example)",
        ),
        (
            {**GOOD, "categories": [{"id": 1, "name": "person", "keypoints": ["nose"]}]},
            ": its only category is 'person', with keypoints: give the file of instances "
            "(instances_train2014.json, for example)",
        ),
        (
            {**GOOD, "images": []},
            ": there are no images in it: give the file of instances (instances_train2014.json, for example)",
        ),
        ({**GOOD, "images": {"7": {}}}, ", images: this must be a list of objects"),
        ({**GOOD, "images": [7]}, ", images, element 1: this must be an object, not 7"),
        (changed("images", 1, id=7), ", images, element 2: the id 7 stands in element 1 already: ids must be unique"),
        (
            changed("images", 1, id=float("nan")),
            ", images, element 2: nan is no id: ids are whole numbers or texts",
        ),
        (changed("images", 1, id=True), ", images, element 2: True is no id: ids are whole numbers or texts"),
        (changed("images", 1, file_name=5), ", images, element 2: 5 is no file_name: write it as text"),
        (
            {**GOOD, "images": [{"file_name": "a.jpg"}]},
            ", images, element 1: there is no id: ids are whole numbers or texts",
        ),
        (
            changed("annotations", 1, image_id=9),
            ", annotations, element 2: there is no image 9: add it to images, or remove the annotation",
        ),
        (
            changed("annotations", 1, category_id=9),
            ", annotations, element 2: there is no category 9: add it to categories, or remove the annotation",
        ),
        (
            changed("annotations", 0, category_id=None),
            ", annotations, element 1: None is no category_id: ids are whole numbers or texts",
        ),
        (
            changed("categories", 1, id=1),
            ", categories, element 2: the id 1 stands in element 1 already: ids must be unique",
        ),
        (
            changed("categories", 1, name="cat"),
            ", categories, element 2: the category 'cat' stands in element 1 already: rename one, or make them one",
        ),
        (
            changed("categories", 0, name=3),
            ", categories, element 1: a category has a name and a supercategory, both texts",
        ),
        (
            changed("categories", 0, name="a;b"),
            ", categories: the name 'a;b' contains ';', which separates the names of a list: rename it",
        ),
    ],
)
def test_every_mistake_is_one_sentence(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(RamifyError, match=f"^{re.escape(f'{path}{message}')}$"):
        read(path)


def test_other_files_are_not_taken_for_it(tmp_path):
    assert matches(written(tmp_path, GOOD))
    assert not matches(tmp_path)
    for content in ('{"animal": ["cat", "dog"]}', '{"classes": ["a"], "labels": {}}', "[]", ""):
        assert not matches(written(tmp_path, content))
    table = tmp_path / "items.csv"
    table.write_text(json.dumps(GOOD))
    assert not matches(table)


def test_the_images_of_val2014_have_the_labels_of_the_paper(tmp_path):
    if not REAL.exists():
        pytest.skip(f"{REAL} is not here")
    data = Dataset.load(REAL)
    taxonomy, truth = data.labels.taxonomy, data.labels.states()
    categories = [
        {"supercategory": taxonomy.names[taxonomy.parent(leaf)], "id": 1000 + leaf, "name": taxonomy.names[leaf]}
        for leaf in taxonomy.leaves.tolist()
    ]
    order = np.random.default_rng(0).permutation(np.argwhere(truth == 1))
    content = {
        "annotations": [{"image_id": item, "category_id": 1000 + leaf} for item, leaf in order.tolist()],
        "images": [{"id": item, "file_name": f"{item}.jpg"} for item in range(len(truth))],
        "categories": categories,
    }
    items = read(written(tmp_path, content))
    own = items.labels.taxonomy
    assert len(items.ids) == 40_137
    assert (len(own.roots), len(own.leaves), items.unlabelled) == (12, 80, 0)
    assert np.array_equal(items.labels.states(concepts=[taxonomy.path(leaf) for leaf in taxonomy.leaves]), truth)
    assert np.array_equal(
        items.labels.states(concepts=[taxonomy.names[root] for root in taxonomy.roots]),
        data.labels.states(concepts=taxonomy.roots),
    )
    assert coco.matches(tmp_path / "instances.json")
