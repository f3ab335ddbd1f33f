"""MIRFLICKR-25k: the label files become two levels or three, as the bundle of the same labels has them."""

import re
from pathlib import Path

import numpy as np
import pytest

from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.readers import mirflickr, mirflickr_tree
from ramify.readers.mirflickr import FOLDER, LABELS

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
EMPTY = dict.fromkeys(LABELS, "25000\n")


def annotations(folder: Path, **files: str) -> Path:
    """The 38 label files, by default with the last image alone, and the file that comes with them."""
    folder.mkdir(parents=True, exist_ok=True)
    for label, content in {**EMPTY, **files, "README": "MIRFLICKR-25000 annotations\n"}.items():
        (folder / f"{label}.txt").write_text(content)
    return folder


def test_the_paper_s_two_levels(tmp_path):
    path = annotations(tmp_path / FOLDER, baby="1\n3\n", baby_r1="1\r\n\r\n", sky="2\n3", clouds="2\n")
    assert mirflickr.matches(path)
    items = mirflickr.read(path)
    taxonomy = items.labels.taxonomy
    assert (len(taxonomy.roots), len(taxonomy.leaves)) == (10, 38)
    assert taxonomy.path("baby_r1") == "people > baby_r1"
    assert items.ids[:2] == ["1", "2"]
    assert items.ids[-1] == "25000"
    concepts = ["people", "sky", "food", "baby", "baby_r1", "sky > sky", "clouds", "clouds_r1"]
    assert items.labels.states([0, 1, 2, 3], concepts).tolist() == [
        [1, 0, 0, 1, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 1, 1, 0],
        [1, 1, 0, 1, 0, 1, 0, 0],
        [0] * 8,  # no file names it, and all were looked at
    ]
    assert len(items.labels.warm_items()) == 25_000
    assert items.pictures == [None] * 25_000
    assert items.where(6) == f"{path}, image 7"
    assert items.notes == ("24996 images carry no label: all were looked at, so no concept is relevant to them",)


def test_three_levels_where_a_label_has_a_narrower_sense(tmp_path):
    path = annotations(tmp_path, baby="1\n3\n", baby_r1="1\n4\n", night="2\n", lake="5\n")
    items = mirflickr_tree.read(path)
    taxonomy = items.labels.taxonomy
    assert (len(taxonomy.roots), len(taxonomy.leaves), len(taxonomy)) == (10, 24, 48)
    assert taxonomy.path("baby_r1") == "people > baby > baby_r1"
    assert [taxonomy.names[n] for n in np.flatnonzero(taxonomy.exhaustive)] == list(mirflickr.GROUPS)
    concepts = ["people", "night", "water", "baby", "baby_r1", "night > night", "night_r1", "lake"]
    assert items.labels.states(range(5), concepts).tolist() == [
        [1, 0, 0, 1, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 1, 0, 0],
        [1, 0, 0, 1, 0, 0, 0, 0],
        [1, 0, 0, 1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 1],
    ]
    assert "1 images are in baby_r1.txt but not in baby.txt: they count as baby too" in items.notes
    assert len(items.labels.warm_items()) == 25_000


def test_pictures_are_found_in_the_folder_that_holds_both(tmp_path):
    annotations(tmp_path / "mirflickr" / FOLDER)
    for number in (1, 3):
        (tmp_path / "mirflickr" / f"im{number}.jpg").write_bytes(b"")
    assert mirflickr.matches(tmp_path / "mirflickr")
    items = mirflickr.read(tmp_path / "mirflickr")
    assert items.pictures[:4] == ["im1.jpg", None, "im3.jpg", None]
    assert not any("--images" in note for note in items.notes)


@pytest.mark.parametrize("place", [f"mirflickr/{FOLDER}", FOLDER])
def test_pictures_that_lie_beside_the_labels_are_told(tmp_path, place):
    path = annotations(tmp_path / place)
    (tmp_path / "mirflickr").mkdir(exist_ok=True)
    (tmp_path / "mirflickr" / "im1.jpg").write_bytes(b"")
    items = mirflickr.read(path)
    assert items.pictures[0] == "im1.jpg"
    assert f"the pictures are in {tmp_path / 'mirflickr'}: name this folder with --images" in items.notes


def test_files_of_other_labels_are_told(tmp_path):
    path = annotations(tmp_path, unicorn="1\n")
    assert mirflickr.read(path).notes[-1] == "files of other labels were not read: unicorn.txt"


@pytest.mark.parametrize("reader", [mirflickr, mirflickr_tree])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\nx7\n", ", row 2: 'x7' is no number of an image, from 1 to 25000: mend it"),
        ("1\n\n25001\n", ", row 3: '25001' is no number of an image, from 1 to 25000: mend it"),
        ("0\n", ", row 1: '0' is no number of an image, from 1 to 25000: mend it"),
        ("1 2\n", ", row 1: '1 2' is no number of an image, from 1 to 25000: mend it"),
        ("-5\n", ", row 1: '-5' is no number of an image, from 1 to 25000: mend it"),
        ("1.5\n", ", row 1: '1.5' is no number of an image, from 1 to 25000: mend it"),
        ("", ": the file is empty: unpack mirflickr25k_annotations_v080 again"),
        ("\n\n", ": the file is empty: unpack mirflickr25k_annotations_v080 again"),
    ],
)
def test_every_mistake_in_a_label_file_is_one_sentence(tmp_path, reader, content, message):
    path = annotations(tmp_path, dog=content)
    with pytest.raises(RamifyError, match="^" + re.escape(str(path / "dog.txt") + message) + "$"):
        reader.read(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = annotations(tmp_path)
    (path / "dog.txt").write_bytes(b"1\n\xff\xfe\n")
    with pytest.raises(RamifyError, match="row 2: '��' is no number of an image"):
        mirflickr.read(path)


def test_missing_label_files_are_named(tmp_path):
    path = annotations(tmp_path)
    (path / "dog.txt").unlink()
    assert mirflickr.matches(path)
    with pytest.raises(RamifyError, match=r": 1 of the 38 label files are missing \(dog.txt\): unpack .* again$"):
        mirflickr.read(path)
    (tmp_path / "empty").mkdir()
    assert not mirflickr.matches(tmp_path / "empty")
    with pytest.raises(RamifyError, match=r"38 of the 38 label files are missing \(animals.txt, .*, \.\.\.\)"):
        mirflickr.read(tmp_path / "empty")


def test_other_folders_are_not_taken_for_it(tmp_path):
    (tmp_path / "baby.txt").write_text("1\n")
    assert not mirflickr.matches(tmp_path)
    assert not mirflickr.matches(tmp_path / "baby.txt")
    assert not mirflickr.matches(tmp_path / "none")


def test_the_real_labels_are_those_of_the_bundle(tmp_path):
    bundle = SHARED / "mirflickr_labels_only.npz"
    if not bundle.is_file():
        pytest.skip("there is no ../shared/data/mirflickr_labels_only.npz here")
    data = Dataset.load(bundle)
    taxonomy, truth = data.labels.taxonomy, data.labels.states()
    files = {
        taxonomy.names[leaf]: "".join(f"{n + 1}\n" for n in np.flatnonzero(truth[:, leaf])) for leaf in taxonomy.leaves
    }
    path = annotations(tmp_path, **files)
    items = mirflickr.read(path)
    assert items.labels == data.labels
    assert items.notes == ("419 images carry no label: all were looked at, so no concept is relevant to them",)
    tree = mirflickr_tree.read(path)
    assert len(tree.labels.warm_items()) == 25_000
    assert tree.notes[0] == "4 images are in people_r1.txt but not in people.txt: they count as people too"
    for group in mirflickr.GROUPS:
        assert np.array_equal(tree.labels.states(concepts=group), data.labels.states(concepts=group))
    narrow = [label for label in LABELS if label.endswith("_r1")]
    assert np.array_equal(tree.labels.states(concepts=narrow), data.labels.states(concepts=narrow))
    wide = [f"{group} > {x}" for group, labels in mirflickr.GROUPS.items() for x in labels if "_r1" not in x]
    assert (tree.labels.states(concepts=wide) != data.labels.states(concepts=wide)).sum() == 4
