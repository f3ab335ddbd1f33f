"""Features in shards, on disk and elsewhere: the rows of one file, and one sentence for each thing that is wrong."""

import csv
import re
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from ramify.cli import app
from ramify.data import shards
from ramify.data.shards import read_features
from ramify.errors import RamifyError
from ramify.project.store.store import Store
from ramify.readers import read

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(11, 4)).astype(np.float16)
PARTS = np.split(ROWS, [4, 5, 9])


def npy_shards(folder, parts=PARTS):
    for number, part in enumerate(parts):
        np.save(folder / f"part-{number:05}-of-{len(parts):05}.npy", part)
    return folder


def write_parquet(path, part, **more):
    flat = pa.array(part.ravel(), pa.from_numpy_dtype(part.dtype))
    pq.write_table(pa.table({"features": pa.FixedSizeListArray.from_arrays(flat, part.shape[1]), **more}), path)


def refused(place, **more):
    with pytest.raises(RamifyError) as caught:
        read_features(place, **more)
    return str(caught.value)


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def test_npy_shards_of_a_folder_a_pattern_and_an_address(tmp_path, memory):
    npy_shards(tmp_path)
    (tmp_path / "notes.txt").write_text("not a shard")
    for path in tmp_path.glob("*.npy"):
        memory.pipe(f"/set/{path.name}", path.read_bytes())
    for place in (tmp_path, f"{tmp_path}/part-*.npy", f"file://{tmp_path}", "memory://set", "memory://set/part-*"):
        found = read_features(place)
        assert np.array_equal(found, ROWS), place
        assert found.dtype == np.float16
        assert isinstance(found, np.memmap)
    assert np.array_equal(read_features("memory://set/part-00000-of-00004.npy"), PARTS[0])
    np.save(tmp_path / "whole.npy", ROWS)
    assert read_features(tmp_path / "whole.npy").filename is not None  # as ever: mapped where it lies


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8])
def test_parquet_shards_as_lists_and_as_columns(tmp_path, dtype):
    rows = (ROWS * 10).clip(0, 200).astype(dtype)
    for number, part in enumerate(np.split(rows, [4, 9])):
        write_parquet(tmp_path / f"lists-{number}.parquet", part)
        columns = {f"x{place}": pa.array(part[:, place], pa.from_numpy_dtype(part.dtype)) for place in range(4)}
        pq.write_table(pa.table(columns), tmp_path / f"columns-{number}.parquet")
    for kind in ("lists", "columns"):
        found = read_features(f"{tmp_path}/{kind}-*.parquet")
        assert np.array_equal(found, rows)
        assert found.dtype == dtype
    assert np.array_equal(read_features(tmp_path / "lists-1.parquet"), rows[4:9])


@given(cuts=st.lists(st.integers(0, 11), max_size=4), at_once=st.integers(1, 30), fortran=st.booleans())
def test_however_rows_are_cut_they_are_the_same(tmp_path_factory, cuts, at_once, fortran):
    folder = tmp_path_factory.mktemp("cut")
    parts = np.split(ROWS, sorted(cuts))
    npy_shards(folder, [np.asfortranarray(part) for part in parts] if fortran else parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "BLOCK", at_once)
        assert np.array_equal(read_features(folder), ROWS)


def test_a_shard_that_is_missing_is_named(tmp_path, monkeypatch):
    npy_shards(tmp_path)
    (tmp_path / "part-00002-of-00004.npy").unlink()
    told = f"{tmp_path}: the shard part-00002-of-00004.npy is missing: copy all of them"
    assert refused(tmp_path) == told
    (tmp_path / "part-00003-of-00004.npy").unlink()
    assert refused(tmp_path) == told.replace(" is missing", " and 1 more are missing")
    plain = tmp_path / "plain"
    plain.mkdir()
    for number in (1, 2, 4):
        np.save(plain / f"{number}.npy", ROWS)
    assert refused(plain) == f"{plain}: the shard 3.npy is missing: copy all of them"
    (plain / "4.npy").unlink()
    listed = shards._listed(str(plain))
    (plain / "2.npy").unlink()
    monkeypatch.setattr(shards, "_listed", lambda place: listed)
    assert refused(plain) == f"{plain}/2.npy: this shard is gone: copy it again"


def test_files_of_years_are_no_series_with_gaps(tmp_path):
    for year in (2019, 2021):
        np.save(tmp_path / f"{year}.npy", ROWS)
    assert len(read_features(tmp_path)) == 22


def test_what_is_wrong_is_told_with_shard_and_row(tmp_path):
    def files(name, *parts):
        folder = tmp_path / name
        folder.mkdir()
        for number, part in enumerate(parts):
            np.save(folder / f"{number}.npy", part)
        return folder

    bad = ROWS.copy()
    bad[7, 2] = np.nan
    folder = files("nan", ROWS, bad)
    assert refused(folder) == (
        f"{folder}/1.npy: the features of row 7, column 2 are nan: replace what is not a finite number"
    )
    folder = files("wide", ROWS, ROWS[:, :3])
    assert refused(folder) == f"{folder}/1.npy has 3 columns, {folder}/0.npy 4: give as many"
    folder = files("kinds", ROWS, ROWS.astype(np.float32))
    assert refused(folder) == f"{folder}/1.npy holds float32, {folder}/0.npy float16: write all in one kind"
    folder = files("flat", ROWS[0])
    assert refused(folder) == f"{folder}/0.npy: features are a table, not 1 dimension(s)"
    folder = files("text", np.array([["a"]]))
    assert refused(folder) == f"{folder}/0.npy: features must be numbers, not <U1"
    folder = files("few", ROWS, ROWS)
    told = f"{folder}: its 2 shards hold 22 rows for 3 items: give one row for each item"
    assert refused(folder, ids=list("abc")) == told
    (folder / "1.npy").write_bytes((folder / "1.npy").read_bytes()[:-9])
    assert refused(folder) == f"{folder}/1.npy: it ends after 9 of 11 rows: copy it again"
    (folder / "1.npy").write_bytes(b"no array")
    assert refused(folder).startswith(f"{folder}/1.npy: this shard cannot be read (")
    folder = files("order", *[ROWS] * 11)
    told = f"{folder}: by their names 10.npy comes before 2.npy: give all numbers as many digits"
    assert refused(folder) == told
    write_parquet(folder / "x.parquet", ROWS)
    assert refused(folder).endswith("x.parquet is of another kind: give .npy shards, or Parquet shards")
    folder = files("empty", ROWS[:0])
    assert refused(folder) == f"{folder}: there are no features in it"
    assert refused(tmp_path / "none.parquet").endswith("there is no such file, and no .npy or .parquet shard")
    assert refused("memory://none").startswith("memory://none: there is no such file")
    assert re.match(r"nothing://x: it cannot be looked at \(.*\): check the address$", refused("nothing://x"))


def test_parquet_that_is_wrong_is_told(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"f": pa.array([[1.0, 2.0], [3.0]])}), path)
    assert refused(path) == f"{path}: row 1 has 1 numbers, others 2: give as many"
    pq.write_table(pa.table({"f": pa.array([[1.0, 2.0], None])}), path)
    assert refused(path) == f"{path}: row 1 has no f: give every item all features"
    pq.write_table(pa.table({"f": pa.array([[1.0, 2.0], [None, 1.0]])}), path)
    assert refused(path) == f"{path}: row 1 has a number that is missing: fill it in"
    pq.write_table(pa.table({"a": [1.0], "b": ["x"]}), path)
    assert refused(path).startswith(f"{path}: features must be numbers, not ")
    write_parquet(path, ROWS, id=pa.array([f"i{number}" for number in range(11)]))
    ids = [f"i{number}" for number in range(11)]
    assert np.array_equal(read_features(path, ids=ids), ROWS)
    ids[3] = "other"
    told = (
        f"{path}: row 3 is that of 'i3', and the item in its place is 'other': give features in the order of the items"
    )
    assert refused(path, ids=ids) == told


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_commands_take_shards(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    Path("taxonomy.yaml").write_text("animal: [cat, dog]\nfood: [apple, pear]\n")
    with Path("items.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "labels"], *([f"i{number}", "cat;apple"] for number in range(11))])
    Path("shards").mkdir()
    for path in npy_shards(Path("shards")).iterdir():
        memory.pipe(f"/far/{path.name}", path.read_bytes())
    run("init", "p", "--taxonomy", "taxonomy.yaml")
    assert "Added 11 items" in run("add", "p", "items.csv", "--features", "memory://far")
    with Store("p") as store:
        kept = store.features()
        assert kept.dtype == np.float16
        assert np.array_equal(kept, ROWS)
    assert not list(Path("p", "drafts").glob("*"))
    run("embed", "p", "--again", "--features", "shards/*.npy")
    data = read("items.csv", taxonomy="taxonomy.yaml", features="shards")
    assert np.array_equal(data.features, ROWS)
    Path("shards/part-00001-of-00004.npy").unlink()
    with pytest.raises(RamifyError, match=r"the shard part-00001-of-00004\.npy is missing"):
        run("add", "p", "items.csv", "--features", "shards")
