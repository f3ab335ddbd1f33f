"""Files that are whole or not there, and one sentence for a disk that does not take them."""

import errno
import os
import resource
import subprocess
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from ramify.data import Dataset
from ramify.errors import RamifyError
from ramify.files import disk_trouble, let_go, whole_file, write_npz
from ramify.labels import Labels
from ramify.taxonomy import Taxonomy

FULL = "/dev/full"
TAXONOMY = Taxonomy({"animal": ["cat", "dog"]})
NOISE = np.random.default_rng(0).normal(size=20_000)


def write_array(draft):
    with draft.open("wb") as file:
        np.save(file, NOISE)


def write_arrays(draft):
    with draft.open("wb") as file:
        np.savez(file, noise=NOISE)


WRITERS = {
    "text": lambda draft: draft.write_text("x" * 100_000),
    "npy": write_array,
    "npz": write_arrays,
    "parquet": lambda draft: pyarrow.parquet.write_table(pyarrow.table({"noise": NOISE}), draft),
}


@pytest.mark.skipif(not os.path.exists(FULL), reason=f"this system has no {FULL}")
@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_is_one_sentence_and_the_old_file_stays(tmp_path, kind):
    path = tmp_path / "note.bin"
    path.write_text("old")

    def write():
        with whole_file(path) as draft:
            draft.symlink_to(FULL)  # the system itself says that there is no room
            WRITERS[kind](draft)

    with pytest.raises(RamifyError) as error:
        write()
    assert str(error.value) == f"{path}: the disk is full; nothing was written: make room and try again"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["note.bin"]


def test_a_disk_that_is_full_only_when_it_is_flushed(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for save in (
        lambda path: Labels(TAXONOMY, [[1]]).save(path),
        lambda path: write_npz(path, {"a": NOISE}),
    ):
        with pytest.raises(RamifyError, match=r"x\.npz: the disk is full; nothing was written: make room and try ag"):
            save(tmp_path / "x.npz")
    with pytest.raises(RamifyError, match=r"t\.yaml: the disk is full"):
        TAXONOMY.save(tmp_path / "t.yaml")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("module", "name", "error"),
    [(np, "save", OSError("2 requested and 1 written")), (os, "fsync", OSError(errno.ENOSPC, "No space left"))],
)
def test_a_full_disk_while_a_folder_is_saved(tmp_path, monkeypatch, module, name, error):
    data = Dataset(Labels(TAXONOMY, [[1], [0]]), [[1.0], [2.0]])
    data.save(tmp_path / "d")

    def full(*_, **__):
        raise error

    monkeypatch.setattr(module, name, full)
    with pytest.raises(RamifyError) as said:
        data.take([0]).save(tmp_path / "d")
    assert str(said.value) == f"{tmp_path / 'd'}: the disk is full; nothing was written: make room and try again"
    assert os.listdir(tmp_path) == ["d"]
    assert len(Dataset.load(tmp_path / "d")) == 2


@pytest.mark.parametrize(
    "write", ["draft.write_bytes(bytes(9999))", "save_file({'a': np.zeros(9999)}, draft)"], ids=["bytes", "safetensors"]
)
def test_a_limit_of_the_system_is_named(tmp_path, write):
    """A child with a low limit writes a real file, and a real error comes back."""
    path = tmp_path / "x"
    code = f"""
import sys
import numpy as np
from safetensors.numpy import save_file
from ramify.errors import RamifyError
from ramify.files import let_go, whole_file
try:
    with whole_file(sys.argv[1]) as draft:
        {write}
except RamifyError as error:
    print(error)
"""
    said = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == (
        f"{path}: files may not become this large here; nothing was written: "
        "choose another place, or raise the limit (ulimit -f)\n"
    )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full; nothing was written: make room and try again"),
        (errno.EDQUOT, "the disk is full; nothing was written: make room and try again"),
        (errno.EROFS, "the disk can only be read; nothing was written: choose another place"),
        (
            errno.EACCES,
            "you may not write here; nothing was written: ask for the permission, or choose another place",
        ),
        (
            errno.EIO,
            "it cannot be written (Input/output error); nothing was written: check the disk and try again",
        ),
    ],
)
def test_what_keeps_a_file_from_being_written(tmp_path, number, said):
    path = tmp_path / "x"
    assert str(disk_trouble(OSError(number, os.strerror(number)), path)) == f"{path}: {said}"
    with pytest.raises(RamifyError) as error, whole_file(path) as draft:
        raise OSError(number, os.strerror(number), str(draft))
    assert str(error.value) == f"{path}: {said}"


def test_a_name_that_no_file_can_have(tmp_path):
    with pytest.raises(RamifyError, match=r"the name is too long; nothing was written: give a shorter one$"):
        write_npz(tmp_path / ("x" * 250 + ".npz"), {"a": NOISE})
    (tmp_path / "folder").mkdir()
    with pytest.raises(RamifyError, match=r"this is a folder; nothing was written: give the name of a file$"):
        write_npz(tmp_path / "folder", {"a": NOISE})
    with pytest.raises(RamifyError, match=r"there is no folder .*none to write it to$"):
        write_npz(tmp_path / "none" / "x.npz", {"a": NOISE})


def test_what_is_wrong_with_another_file_is_not_said_of_this_one(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "x") as draft:
        draft.write_bytes((tmp_path / "y").read_bytes())
    with pytest.raises(KeyError), whole_file(tmp_path / "x") as draft:
        raise KeyError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_map_that_is_let_go_holds_what_it_held(tmp_path, mode):
    np.save(tmp_path / "a.npy", np.arange(10_000.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode=mode)
    if mode != "r":
        mapped[0] = 7
    let_go(mapped)
    let_go(mapped[5:][::2])
    let_go(np.arange(3))
    assert mapped[0] == (0 if mode == "r" else 7)
    assert mapped[1:].tolist() == list(range(1, 10_000))
