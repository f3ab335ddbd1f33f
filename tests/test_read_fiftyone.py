"""FiftyOne's labels.json: what becomes of it, and the sentence for every mistake."""

import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from ramify.errors import RamifyError
from ramify.readers.fiftyone import matches, read

OFFICIAL = Path(__file__).parent / "data" / "fiftyone" / "labels.json"
Y, N, U = 1, 0, -1


def written(tmp_path, content):
    path = tmp_path / "labels.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_official_format(tmp_path):
    shutil.copy(OFFICIAL, tmp_path)
    for name in ("one.jpg", "sub/two.png", "sub/two.tif", "three.txt", "four.jpeg", "six.v2.jpg"):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("txt"):
            (tmp_path / "data" / name).write_text("no picture")
        else:
            Image.new("RGB", (4, 4)).save(tmp_path / "data" / name)
    for source in (tmp_path, tmp_path / "labels.json"):
        assert matches(source)
        items = read(source)
        assert items.ids == ["one", "sub/two", "three", "four", "five", "six", "seven"]
        assert items.pictures == ["data/one.jpg", "data/sub/two.png", None, "data/four.jpeg", None, None, None]
        assert str(items.labels.taxonomy) == "cat\ndog\nbird"
        assert items.labels.states().tolist() == [
            [Y, N, N],
            [N, Y, Y],
            [N, N, Y],
            [U, U, U],
            [N, N, N],
            [U, U, U],
            [Y, U, N],
        ]
        assert items.unlabelled == 2
        assert items.notes == (
            "2 labels have a confidence below 1: a machine made them, so they say nothing",
            "4 items have no picture in the folder data",
        )
        assert items.where(1) == f"{tmp_path / 'labels.json'}, labels, 'sub/two'"


def test_classes_may_come_last_or_not_at_all(tmp_path):
    items = read(written(tmp_path, '{"labels": {"a": 1, "b": "cat"}, "classes": ["cat", "dog"]}'))
    assert items.labels.states().tolist() == [[N, Y], [Y, N]]
    for content in (
        {"classes": None, "labels": {"a": "dog", "b": ["cat", "dog"]}},
        {"labels": {"a": "dog", "b": ["cat", "dog"]}},
    ):
        items = read(written(tmp_path, content))
        assert items.labels.taxonomy.names == ("dog", "cat")
        assert items.labels.states().tolist() == [[Y, N], [Y, Y]]


def test_detections_say_which_classes_there_are(tmp_path):
    box = {"bounding_box": [0.1, 0.1, 0.2, 0.2]}
    content = {"classes": ["cat", "dog"], "labels": {"a": [{"label": 1, **box}, {"label": 1, **box}]}}
    assert read(written(tmp_path, content)).labels.states().tolist() == [[N, Y]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty: copy it again"),
        (
            '{"classes": ["cat"], "labels": {"a": 0, "b": [0,',
            ", labels, 'b': the file ends here, in the middle: it is cut off: copy it again",
        ),
        ("[]", ': this is no object such as {"images": [...]}: it may be of another kind'),
        ('{"classes": ["cat"]}', ': there are no labels in it: they stand in "labels", a target for each id'),
        ({"labels": {}}, ': there are no labels in it: they stand in "labels", a target for each id'),
        ({"labels": [0]}, ", labels: this must be an object with a target for each id"),
        ({"classes": "cat", "labels": {}}, ", classes: classes are a list of texts"),
        ({"classes": ["cat", 2], "labels": {}}, ", classes, element 2: classes are a list of texts"),
        ({"classes": ["cat", "cat"], "labels": {}}, ", classes, element 2: the class 'cat' stands twice: keep one"),
        (
            {"classes": ["a;b"], "labels": {"a": 0}},
            ", classes: the name 'a;b' contains ';', which separates the names of a list: rename it",
        ),
        (
            {"classes": ["cat"], "labels": {"a": 0, "b": 1}},
            ", labels, 'b': 1 is no class: there are 1, numbered from 0",
        ),
        (
            {"classes": ["cat"], "labels": {"a": "dog"}},
            ", labels, 'a': 'dog' is no class: there are 1, numbered from 0",
        ),
        ({"labels": {"a": "cat", "b": 0}}, ", labels, 'b': 0 is no class: the file lists none in \"classes\""),
        (
            {"classes": ["cat"], "labels": {"a": [-1]}},
            ", labels, 'a': -1 is no label: write a class, its number, or null",
        ),
        (
            {"classes": ["cat"], "labels": {"a": True}},
            ", labels, 'a': True is no label: write a class, its number, or null",
        ),
        (
            {"classes": ["cat"], "labels": {"a": {"label": 0, "confidence": 75}}},
            ", labels, 'a': 75 is no confidence: write 0 to 1, or null",
        ),
        (
            '{"classes": ["cat"], "labels": {"a": {"label": 0, "confidence": NaN}}}',
            ", labels, 'a': nan is no confidence: write 0 to 1, or null",
        ),
        ('{"classes": ["cat"], "labels": {"a": 0, "a": 0}}', ", labels, 'a': it stands twice: keep one"),
        ({"classes": ["cat"], "labels": {"": 0}}, ", labels, '': this is no id: give every picture its own"),
        ({"labels": {"a": None}}, ", labels: the taxonomy is empty: give at least one concept"),
    ],
)
def test_every_mistake_is_one_sentence(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(RamifyError, match=f"^{re.escape(f'{path}{message}')}$"):
        read(path)


def test_other_files_are_not_taken_for_it(tmp_path):
    assert not matches(tmp_path)
    for content in ('{"animal": ["cat", "dog"]}', '{"images": [], "annotations": []}', "[]", ""):
        assert not matches(written(tmp_path, content))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RamifyError, match="there is no such file"):
        read(tmp_path / "empty")
