"""Files that are cut off, changed or odd: whatever is in them, one sentence and never a traceback."""

import io
import os
import struct
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.files import read_npy
from ramify.labels import Labels
from ramify.project.store.store import Store
from ramify.project.transfer.features import given_features
from ramify.readers.table import read_items
from ramify.taxonomy import Taxonomy

PETS = Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]})
BROKEN_NPY = "this is not a whole .npy file of numbers: write it with numpy.save"
BROKEN_NPZ = "this is not a whole .npz file; it may be cut off or of another kind: copy it again"
BROKEN_PARQUET = "this is not a whole .parquet file; it may be cut off or of another kind: copy it again"


def write_features(path: Path) -> None:
    np.save(path, np.arange(12.0).reshape(4, 3))


def write_bundle(path: Path) -> None:
    Dataset(known(), np.eye(3), ["a", "b", "c"], split=[0, 1, 2]).save(path)


def write_parquet(path: Path) -> None:
    columns = {
        "id": ["a", "b", "c"],
        "text": ["x", "é", None],
        "labels": [["cat"], [], None],
        "day": pyarrow.array([0, None, 9], pyarrow.date32()),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def known() -> Labels:
    return Labels.from_matrix(
        Taxonomy.from_arrays(PETS.names, PETS.parents, exhaustive=True), [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    )


@cache
def project() -> Store:
    return Store.create(Path(tempfile.mkdtemp(), "project"), PETS)


def features_in(path):
    """The features of four items, as a project takes them."""
    return given_features(project(), path, list("abcd"), Path("items.csv"))


FILES = {
    "f.npy": (write_features, lambda path: features_in(path)),
    "b.npz": (write_bundle, Dataset.load),
    "l.npz": (lambda path: known().save(path), lambda path: repr(Labels.load(path))),
    "t.parquet": (write_parquet, lambda path: read_items(path, PETS)),
    "t.csv": (
        lambda path: path.write_text('\ufeffid,text,labels,food\na,"x, ""é""\n",cat;-dog,1\nb,,none,0\n', "utf-8"),
        lambda path: read_items(path, PETS),
    ),
    "t.jsonl": (
        lambda path: path.write_text('{"id": "a", "text": "\\u00e9", "labels": ["cat"]}\n{"id": 2, "x": [1e5, {}]}\n'),
        lambda path: read_items(path, PETS),
    ),
}


def read_or_refuse(name: str, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        FILES[name][1](path)
    except RamifyError as error:
        str(error).encode()  # or no terminal could show it


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Each kind of file, undamaged."""
    folder = tmp_path_factory.mktemp("whole")
    for name, (write, _) in FILES.items():
        write(folder / name)
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_anywhere(tmp_path, whole, name):
    content = whole[name]
    for length in range(0, len(content), 1 + len(content) // 300):
        read_or_refuse(name, tmp_path / name, content[:length])
    FILES[name][0](tmp_path / name)
    FILES[name][1](tmp_path / name)  # undamaged, it is read


@pytest.mark.parametrize("name", FILES)
def test_a_byte_changed_anywhere(tmp_path, whole, name):
    content = whole[name]
    for place in range(0, len(content), 1 + len(content) // 300):
        changed = bytes([content[place] ^ 0xFF])
        read_or_refuse(name, tmp_path / name, content[:place] + changed + content[place + 1 :])


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_bytes_changed_lost_and_doubled(tmp_path_factory, whole, name, data):
    content = bytearray(whole[name])
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, len(content) - 1))
        content[first : first + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8)) or b"\0"
    read_or_refuse(name, tmp_path_factory.getbasetemp() / name, bytes(content))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.binary(max_size=64))
@example("f.npy", b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3")
@example("t.csv", b"id,text\na,\xed\xa0\x80\n")
def test_anything_at_all(tmp_path_factory, name, content):
    read_or_refuse(name, tmp_path_factory.getbasetemp() / name, content)


# -- the sentences -----------------------------------------------------------------------------------------------------


def refused(use, message: str) -> None:
    with pytest.raises(RamifyError) as error:
        use()
    assert str(error.value) == message


def npy(text: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3"),
        npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }\n")[:-20],
        npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }\n"),
        b"0.5,1.5\n",
    ],
    ids=["empty", "magic", "open", "cut", "no numbers", "text"],
)
def test_features_that_are_no_npy_file(tmp_path, content):
    path = tmp_path / "f.npy"
    path.write_bytes(content)
    refused(lambda: features_in(path), f"{path}: {BROKEN_NPY}")


def test_features_of_another_kind(tmp_path):
    path = tmp_path / "f.npy"

    def features():
        return features_in(path)

    refused(features, f"{path}: there is no such file")
    for shape in ((3, 2), (4, 0)):
        np.save(path, np.zeros(shape))
        said = " x ".join(map(str, shape))
        refused(features, f"{path} holds {said} numbers for the 4 items of items.csv: give one row for each item")
    for shape in ((4,), ()):
        np.save(path, np.zeros(shape))
        said = f"features must be a table, items x columns, not an array of {len(shape)} dimension(s)"
        refused(features, f"{path}: {said}")
    np.save(path, np.array([[{}]] * 4, object))
    pickled = "it holds pickled Python objects, which are never opened: save plain numbers or text instead"
    refused(features, f"{path}: {pickled}")
    np.save(path, np.array([["a"]] * 4))
    refused(features, f"{path}: features must be numbers, not <U1")
    np.save(path, np.array([[0.0], [1], [1e300], [2]]))
    limit = "replace what is not a finite number of at most 1e+18"
    refused(features, f"{path}: the features of row 2, column 0 are 1e+300: {limit}")
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(3))
    refused(features, f"{path}: this holds several arrays: write the one that is meant with numpy.save")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    write_features(tmp_path / "f.npy")
    (tmp_path / "t.csv").write_text("id\na\n")

    def forbidden(self, *args, **kwargs):
        raise PermissionError(13, os.strerror(13), str(self))

    monkeypatch.setattr(Path, "open", forbidden)
    for path, read in ((tmp_path / "f.npy", read_npy), (tmp_path / "t.csv", lambda path: read_items(path, PETS))):
        said = "it cannot be read (Permission denied): check its permissions"
        refused(lambda path=path, read=read: read(path), f"{path}: {said}")


def changed_archive(content: bytes, place: int, value: int) -> bytes:
    """A byte changed in the directory entry of the archive's first file."""
    entry = content.index(b"PK\x01\x02")
    return content[: entry + place] + bytes([value]) + content[entry + place + 1 :]


@pytest.mark.parametrize(
    ("place", "value"), [(6, 99), (10, 99), (8, 1), (8, 0x20)], ids=["version", "compression", "encrypted", "patched"]
)
def test_a_bundle_that_is_an_odd_zip_file(tmp_path, whole, place, value):
    path = tmp_path / "b.npz"
    path.write_bytes(changed_archive(whole["b.npz"], place, value))
    refused(lambda: Dataset.load(path), f"{path}: {BROKEN_NPZ}")


def test_a_bundle_that_claims_more_than_any_memory(tmp_path):
    header = io.BytesIO()
    shape = {"descr": "|u1", "fortran_order": False, "shape": (1 << 40, 1 << 20)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        for name in ("Y", "fine", "coarse", "parent"):
            archive.writestr(f"{name}.npy", header.getvalue())
    said = "the array Y does not fit into memory, or the file is damaged: copy it again"
    refused(lambda: Dataset.load(tmp_path / "b.npz"), f"{tmp_path / 'b.npz'}: {said}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fine": np.array("cat")}, "fine must be a list of names, not an array of 0 dimension(s)"),
        ({"coarse": np.array([["a"], ["b"]])}, "coarse must be a list of names, not an array of 2 dimension(s)"),
        (
            {"ids": np.array(["a", "b", "\ud800"])},
            "ids must be texts: one holds half of a character, or bytes that are not ASCII",
        ),
        (
            {"fine": np.array([b"cat", b"dog", b"\xff"])},
            "fine must be texts: one holds half of a character, or bytes that are not ASCII",
        ),
        ({"split": np.array([0, 1, 300])}, "the split holds 300: it must be 0 (train), 1 (dev) or 2 (test)"),
        ({"split": np.array([0, 1, -1])}, "the split holds -1: it must be 0 (train), 1 (dev) or 2 (test)"),
        ({"split": np.array([0, 1, np.nan])}, "the split holds nan: it must be 0 (train), 1 (dev) or 2 (test)"),
        ({"split": np.array(["train"] * 3)}, "the split holds train: it must be 0 (train), 1 (dev) or 2 (test)"),
        ({"split": np.array([[0, 1, 2]])}, "the split holds 2 dimensions: it must be 0 (train), 1 (dev) or 2 (test)"),
    ],
)
def test_arrays_of_a_bundle_that_are_something_else(tmp_path, whole, changes, message):
    path = tmp_path / "b.npz"
    arrays = dict(np.load(io.BytesIO(whole["b.npz"]))) | changes
    np.savez(path, **arrays)
    refused(lambda: Dataset.load(path), f"{path}: {message}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("taxonomy", np.array("{")),
        ("taxonomy", np.array('{"animal": ["cat", "cat"]}')),
        ("lengths", np.array(3, np.int32)),
        ("cells", np.zeros(3)),
        ("lengths", np.array([-1, 2, 2], np.int32)),
    ],
)
def test_labels_whose_parts_do_not_fit(tmp_path, whole, name, content):
    path = tmp_path / "l.npz"
    np.savez(path, **(dict(np.load(io.BytesIO(whole["l.npz"]))) | {name: content}))
    said = "the arrays of these labels do not fit together: the file is damaged"
    refused(lambda: Labels.load(path), f"{path}: {said}")


def test_a_folder_whose_files_are_something_else(tmp_path):
    folder = tmp_path / "d"
    Dataset(known(), np.eye(3), payload=["x", "y", "z"]).save(folder)
    (folder / "payload.json").write_text("7")
    refused(
        lambda: Dataset.load(folder),
        f"{folder}: a file of this data set is damaged ('int' object is not iterable): copy it again",
    )
    (folder / "payload.json").write_text('["x", "y"]')
    refused(lambda: Dataset.load(folder), f"{folder}: 2 payloads for 3 labelled items: each item needs one of both")
    (folder / "dataset.json").write_text("[1, 2]")
    refused(lambda: Dataset.load(folder), f"{folder} is not a data set that Ramify saved: it has no dataset.json")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pyarrow.array([0, 10_000_000], pyarrow.date32()), "date value out of range"),
        (pyarrow.array([0, 10**15], pyarrow.timestamp("ms")), "date value out of range"),
        (
            pyarrow.array([b"a", b"\xff"], pyarrow.binary()).view(pyarrow.string()),
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_values_of_a_parquet_file_that_python_has_none_for(tmp_path, values, said):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a", "b"], "day": values}), path)
    refused(
        lambda: read_items(path, PETS),
        f"{path}, row 2, column 'day': this cannot be read ({said}): save the column as text, or leave it out",
    )


def test_bytes_are_no_ids(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [b"a", b"b"]}), path)
    refused(lambda: read_items(path, PETS), f"{path}, row 1, column 'id': b'a' is no id: give every item its own")
