"""Dataset: files without loss, bad files refused in one sentence, and the benchmark protocol."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

import ramify
from ramify.data import Dataset, as_dataset, benchmark
from ramify.errors import RamifyError
from ramify.labels import RELEVANT, UNKNOWN, Labels, Source, as_labels
from ramify.taxonomy import Taxonomy

REAL = ("mirflickr_tags", "coco_captions", "goemotions")


def bundle(path, **changes):
    """A small good bundle; ``changes`` replace arrays, None removes one."""
    arrays = {
        "X": np.arange(12.0).reshape(4, 3),
        "Y": np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]], np.uint8),
        "fine": np.array(["cat", "dog", "apple"]),
        "coarse": np.array(["animal", "food"]),
        "parent": np.array([0, 0, 1], np.int16),
        "split": np.array([0, 0, 2, 0], np.uint8),
        "ids": np.array(["a", "b", "c", "d"]),
    }
    arrays.update(changes)
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def same(one: Dataset, other: Dataset) -> bool:
    def dense(features):
        return features.toarray() if scipy.sparse.issparse(features) else features

    return (
        np.array_equal(one.labels.states(), other.labels.states())
        and one.labels.taxonomy == other.labels.taxonomy
        and one.ids.tolist() == other.ids.tolist()
        and np.array_equal(dense(one.features), dense(other.features))
        and (one.payload is None) == (other.payload is None)
        and list(one.payload or []) == list(other.payload or [])
        and np.array_equal(one.split, other.split)
    )


def test_a_bundle_says_what_it_holds(tmp_path):
    data = Dataset.load(bundle(tmp_path / "b.npz"))
    assert data.labels.states().tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]]
    assert data.labels.states(concepts=["animal", "food"]).tolist() == [[1, 0], [1, 0], [1, 1], [0, 0]]
    assert data.labels.taxonomy.exhaustive[data.labels.taxonomy.roots].all()
    assert not Dataset.load(tmp_path / "b.npz", exhaustive=False).labels.taxonomy.exhaustive.any()
    bare = Dataset.load(bundle(tmp_path / "bare.npz", X=None, split=None, ids=None))
    assert bare.features is None
    assert bare.ids.tolist() == ["0", "1", "2", "3"]


@pytest.mark.parametrize("features", ["dense", "sparse", "none"])
def test_files_lose_nothing(tmp_path, features):
    data = Dataset.load(bundle(tmp_path / "b.npz", X=None if features == "none" else np.eye(4, 3, dtype=np.float32)))
    if features == "sparse":
        data = Dataset(data.labels, scipy.sparse.coo_array(data.features), data.ids, split=data.split)
    data.save(tmp_path / "again.npz")
    assert same(Dataset.load(tmp_path / "again.npz"), data)

    labels = data.labels.take(None)
    labels.retract(0, "cat", "imported")
    labels.record(1, "apple", 1, "annotated")  # contradicts the absent food
    partial = Dataset(labels, data.features, data.ids, ["eins", "zwei", "три", "四"], data.split)
    partial.save(tmp_path / "folder")
    again = Dataset.load(tmp_path / "folder")
    assert same(again, partial)
    assert again.labels == labels
    assert features != "dense" or isinstance(again.features, np.memmap)
    again.save(tmp_path / "folder")  # onto the very folder it is mapped from
    assert same(Dataset.load(tmp_path / "folder"), partial)
    assert sorted(os.listdir(tmp_path)) == ["again.npz", "b.npz", "folder"]


def test_a_folder_can_be_read_as_not_exhaustive_like_a_bundle(tmp_path):
    Dataset.load(bundle(tmp_path / "b.npz")).save(tmp_path / "folder")
    for read in (Dataset.load, ramify.read):
        expected, found = (read(tmp_path / name, exhaustive=False) for name in ("b.npz", "folder"))
        assert found.labels == expected.labels
        assert not found.labels.taxonomy.exhaustive.any()
        assert same(found, expected)
    assert Dataset.load(tmp_path / "folder").labels.taxonomy.exhaustive.any()


def test_what_only_exhaustive_children_say_is_unknown_without(tmp_path):
    taxonomy = Taxonomy.from_arrays(["b1", "a1", "b2", "a", "b"], [4, 3, 4, -1, -1], exhaustive=True)
    labels = Labels.from_matrix(taxonomy, [[0, 1, 0]])
    labels.record(0, "b", 1, "annotated")  # contradicts that no child is
    Dataset(labels).save(tmp_path / "d")
    without = Dataset.load(tmp_path / "d", exhaustive=False).labels
    assert without.taxonomy == Taxonomy.from_arrays(taxonomy.names, taxonomy.parents)
    assert labels.states(0, range(5)).tolist() == [[-1, 1, -1, 1, -1]]
    assert without.states(0, range(5)).tolist() == [[0, 1, 0, 1, 1]]
    assert without.contradictions() == []
    Dataset(Labels.from_matrix(taxonomy, [[0, 1, 0]])).save(tmp_path / "d")
    assert Dataset.load(tmp_path / "d", exhaustive=False).labels.states(0, ["a", "b"]).tolist() == [[1, -1]]


def test_features_of_any_kind_are_kept(tmp_path):
    labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0]])
    values = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    np.save(tmp_path / "x.npy", values)
    for features in (
        values.tolist(),
        torch.tensor(values, requires_grad=True),
        scipy.sparse.csc_matrix(values),
        np.load(tmp_path / "x.npy", mmap_mode="r"),
    ):
        data = Dataset(labels, features)
        kept = data.features.toarray() if scipy.sparse.issparse(data.features) else data.features
        assert np.array_equal(kept, values)
        taken = data.take([1]).features
        assert np.array_equal(taken.toarray() if scipy.sparse.issparse(taken) else taken, values[1:])


@pytest.mark.parametrize("labels", [np.array([[1, 0]]), [[1, 0]], None])
def test_plain_numbers_in_place_of_labels_say_what_to_do(labels):
    for build in (lambda: Dataset(labels, [[1.0]]), lambda: Dataset(labels=labels), lambda: as_labels(labels)):
        with pytest.raises(RamifyError) as error:
            build()
        assert str(error.value) == (
            f"labels are a ramify.Labels, not {type(labels).__name__}: build them with Labels(taxonomy, coarse) or "
            "Labels.from_matrix(taxonomy, matrix)"
        )


def test_features_and_labels_in_place_of_a_data_set_say_what_to_do():
    pair = ([[1.0]], Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]]))
    for use in (lambda: benchmark(pair, warm=1), lambda: as_dataset(pair)):
        with pytest.raises(RamifyError) as error:
            use()
        assert str(error.value) == "data are a ramify.Dataset, not tuple: build it with Dataset(labels, features)"


def test_an_interrupted_save_keeps_the_old_folder(tmp_path, monkeypatch):
    data = Dataset.load(bundle(tmp_path / "b.npz"))
    data.save(tmp_path / "d")
    rename = Path.rename

    def interrupt(self, target):
        if str(self).endswith(".draft"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        data.take([0]).save(tmp_path / "d")
    assert same(Dataset.load(tmp_path / "d"), data)
    assert sorted(os.listdir(tmp_path)) == ["b.npz", "d"]


BAD_BUNDLES = {
    "huge": (
        {"X": np.array([[0.0, 1], [1, 1e39], [1, 1], [1, 1]])},
        "the features of row 1, column 1 are 1e+39: replace what is not a finite number of at most 1e+18",
    ),
    "missing": ({"Y": None, "parent": None}, "without Y, parent; the file needs Y, fine, coarse, parent"),
    "shape": (
        {"Y": np.zeros((4, 2), np.uint8)},
        "Y has the shape (4, 2) and parent (3,) for 3 fine concepts: they must be (items, 3) and (3,)",
    ),
    "values": ({"Y": np.full((4, 3), 2)}, "Y must hold only 0 (irrelevant) and 1 (relevant)"),
    "parent": (
        {"parent": np.array([0, 0, 2])},
        "parent must hold places from 0 to 1 among the coarse concepts",
    ),
    "childless": (
        {"parent": np.array([0, 0, 0])},
        "the coarse concept 'food' has no fine concept below it: remove it, or give it one",
    ),
    "nan": (
        {"X": np.array([[0.0, 1], [1, 1], [1, np.nan], [1, 1]])},
        "the features of row 2, column 1 are nan: replace what is not a finite number",
    ),
    "infinite": (
        {"X": np.array([[0.0, 1], [1, -np.inf], [1, 1], [1, 1]])},
        "the features of row 1, column 1 are -inf: replace what is not a finite number",
    ),
    "counts": ({"X": np.zeros((3, 2))}, "3 features for 4 labelled items: each item needs one of both"),
    "flat": ({"X": np.zeros(4)}, "features must be a table, items x columns, not an array of 1 dimension(s)"),
    "text": ({"X": np.array([["a"]] * 4)}, "features must be numbers, not <U1"),
    "pickle": (
        {"X": np.array([[{}]] * 4, object)},
        "the array X holds pickled Python objects, which are never opened: save plain numbers or text instead",
    ),
    "ids": ({"ids": np.array(["a", "b", "a", "d"])}, "the id 'a' stands 2 times: ids must be unique"),
    "split": ({"split": np.array([0, 1, 2, 3])}, "the split holds 3: it must be 0 (train), 1 (dev) or 2 (test)"),
    "names": (
        {"fine": np.array(["cat", "cat", "apple"])},
        "the concept 'cat' stands twice under 'animal': remove or rename one",
    ),
}


@pytest.mark.parametrize("case", BAD_BUNDLES)
def test_a_bad_bundle_is_refused_in_one_sentence(tmp_path, case):
    changes, message = BAD_BUNDLES[case]
    path = bundle(tmp_path / "bad.npz", **changes)
    with pytest.raises(RamifyError) as error:
        Dataset.load(path)
    assert str(error.value) == f"{path}: {message}"


def test_a_damaged_or_foreign_file_is_refused(tmp_path):
    broken = "this is not a whole .npz file; it may be cut off or of another kind: copy it again"
    whole = bundle(tmp_path / "b.npz").read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.npz").write_bytes(whole[:size])
        with pytest.raises(RamifyError) as error:
            Dataset.load(tmp_path / "cut.npz")
        assert str(error.value) == f"{tmp_path / 'cut.npz'}: {broken}"
    with zipfile.ZipFile(tmp_path / "flipped.npz", "w") as archive:  # whole as an archive, cut inside
        for name in ("Y", "fine", "coarse", "parent"):
            archive.writestr(f"{name}.npy", zipfile.ZipFile(tmp_path / "b.npz").read(f"{name}.npy")[:-3])
    with pytest.raises(RamifyError, match="not a whole"):
        Dataset.load(tmp_path / "flipped.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(RamifyError, match=r"one\.npz: this is a single array, not an \.npz file of several$"):
        Dataset.load(tmp_path / "one.npz")
    for name, said in (("none.npz", "there is no such file"), ("none.csv", "does not exist"), ("b.txt", "is no .npz")):
        (tmp_path / "b.txt").touch()
        with pytest.raises(RamifyError, match=said):
            Dataset.load(tmp_path / name)


def test_a_damaged_or_foreign_folder_is_refused(tmp_path):
    with pytest.raises(RamifyError, match=r"is not a data set that Ramify saved: it has no dataset\.json$"):
        Dataset.load(tmp_path)
    data = Dataset.load(bundle(tmp_path / "b.npz"))
    with pytest.raises(RamifyError, match=r"holds something else: give a new folder, or one that Ramify saved$"):
        data.save(tmp_path)
    data.save(tmp_path / "d")
    (tmp_path / "d" / "features.npy").write_bytes((tmp_path / "d" / "features.npy").read_bytes()[:-9])
    with pytest.raises(RamifyError, match="a file of this data set is damaged"):
        Dataset.load(tmp_path / "d")
    (tmp_path / "d" / "dataset.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(RamifyError, match=r"has the format 99: this version of Ramify reads 1$"):
        Dataset.load(tmp_path / "d")


def test_a_bundle_refuses_what_it_cannot_hold(tmp_path):
    elsewhere = r": save it as a folder instead \(a name without \.npz\)$"
    partial = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]])
    with pytest.raises(RamifyError, match="^item 0, concept 'animal > cat' is unknown" + elsewhere):
        Dataset(partial).save(tmp_path / "b.npz")
    partial.record([0, 0], ["cat", "dog"], 0, "annotated")
    with pytest.raises(RamifyError, match="item 0 is 'animal' but none of its fine concepts, which a bundle cannot"):
        Dataset(partial).save(tmp_path / "b.npz")
    with pytest.raises(RamifyError, match="fine concepts directly below coarse ones, and here others are" + elsewhere):
        Dataset(Labels(Taxonomy({"animal": {"dog": ["poodle"]}}), [[0]])).save(tmp_path / "b.npz")
    assert not (tmp_path / "b.npz").exists()


# -- the benchmark protocol ------------------------------------------------------------------------------------------


def random_data(n_items: int = 400, split: bool = True) -> Dataset:
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy(
        {
            "animal": {"exhaustive": True, "cat": None, "dog": {"exhaustive": True, "poodle": None, "pug": None}},
            "food": {"exhaustive": True, "apple": None},
        }
    )
    labels = Labels.from_matrix(taxonomy, rng.integers(0, 2, (n_items, 4)))
    marks = rng.choice([0, 2], n_items, p=[0.7, 0.3]) if split else None
    return Dataset(labels, rng.normal(size=(n_items, 3)), split=marks)


def test_the_pool_shows_only_what_the_coarse_labels_settle():
    drawn = benchmark(random_data(), warm=20, seed=3)
    taxonomy = drawn.answers.taxonomy
    seen, true = drawn.train.labels.states(), drawn.answers.states()
    everything = np.arange(len(taxonomy))
    assert np.array_equal(
        drawn.train.labels.states(drawn.warm, everything), drawn.answers.states(drawn.warm, everything)
    )
    assert np.array_equal(seen[seen != UNKNOWN], true[seen != UNKNOWN])
    coarse = drawn.answers.states(concepts=["animal", "food"])[:, [0, 0, 0, 1]]
    only_child = np.array([False, False, False, True])
    expected = np.where((coarse == 0) | only_child, true, UNKNOWN)
    assert np.array_equal(seen[drawn.pool], expected[drawn.pool])
    assert set(drawn.train.labels.warm_items()) >= set(drawn.warm)
    assert not np.isin(drawn.train.labels.sources(), Source.ANNOTATED).any()


def test_one_seed_is_one_draw_and_larger_warm_sets_contain_smaller_ones():
    data = random_data()
    small, again, large = (benchmark(data, warm=size, seed=1) for size in (8, 8, 32))
    assert small.train.ids[small.warm].tolist() == again.train.ids[again.warm].tolist()
    assert set(small.train.ids[small.warm]) < set(large.train.ids[large.warm])
    assert small.test.ids.tolist() == large.test.ids.tolist()
    assert small.validation.ids.tolist() == large.validation.ids.tolist()
    other = benchmark(data, warm=8, seed=2)
    assert set(other.train.ids[other.warm]) != set(small.train.ids[small.warm])
    parts = [set(part.ids) for part in (small.train, small.validation, small.test)]
    assert len(set.union(*parts)) == sum(map(len, parts)) == len(data)
    assert set(small.test.ids) == set(data.ids[data.split == 2])


def test_a_ratio_is_a_power_of_two_of_the_training_items():
    data = random_data()
    for ratio in (-6, -3.5, -1):
        drawn = benchmark(data, ratio=ratio)
        assert abs(np.log2(len(drawn.warm) / len(drawn.train)) - ratio) < 0.1


def test_a_dev_split_is_the_validation_part():
    data = random_data()
    marks = data.split.copy()
    marks[:7] = 1
    drawn = benchmark(Dataset(data.labels, data.features, data.ids, split=marks), warm=1)
    assert drawn.validation.ids.tolist() == data.ids[:7].tolist()


ONE_SIZE = "give the size of the warm set either as ratio, log2(M / (M + N)), or as warm, a number"


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({}, ONE_SIZE),
        ({"warm": 9, "ratio": -1}, ONE_SIZE),
        ({"warm": 9999}, "a warm set of 9999 cannot be drawn from 72 training items"),
    ],
)
def test_an_impossible_draw_is_refused(size, message):
    with pytest.raises(RamifyError) as error:
        benchmark(random_data(100, split=False), **size)
    assert str(error.value) == message


def test_a_benchmark_needs_the_truth():
    labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[0], [1]])
    with pytest.raises(RamifyError) as error:
        benchmark(Dataset(labels, ids=["a", "b"]), warm=1)
    assert str(error.value) == (
        "a benchmark needs fully known labels, and 2 entries are unknown, first item b, concept 'animal > cat'"
    )


def test_a_benchmark_needs_the_coarse_labels():
    """What no fine concept applies to may be an animal or not, unless cat and dog are all there is."""
    fine = [[1, 0], [0, 0], [0, 1], [0, 0]] * 5
    unknown = Dataset(Labels.from_matrix(Taxonomy({"animal": ["cat", "dog"]}), fine))
    with pytest.raises(RamifyError) as error:
        benchmark(unknown, warm=1)
    assert str(error.value) == (
        "a benchmark needs coarse labels, and 10 of them are unknown, first item 1, concept 'animal': give them with "
        "Labels(taxonomy, coarse), or declare the concepts exhaustive if no fine one means no coarse one"
    )
    exhaustive = Taxonomy({"animal": {"children": ["cat", "dog"], "exhaustive": True}})
    assert len(benchmark(Dataset(Labels.from_matrix(exhaustive, fine)), warm=1).warm) == 1
    coarse = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1], [0], [1], [1]] * 5)
    items, concepts = np.indices((20, 2)).reshape(2, -1)
    coarse.record(items, concepts, np.ravel(fine), "imported")
    assert len(benchmark(Dataset(coarse), warm=1).warm) == 1


# -- the real data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("exhaustive", [True, False])
def test_deduction_on_real_data(real_bundle, name, exhaustive):
    """Known are exactly the children of irrelevant parents and, if exhaustive, only children of relevant ones."""
    path = real_bundle(name)
    arrays = np.load(path)
    data = Dataset.load(path, exhaustive=exhaustive)
    assert np.array_equal(data.labels.states(), arrays["Y"])
    drawn = benchmark(data, warm=0)
    labels, taxonomy = drawn.train.labels, data.labels.taxonomy
    parents = taxonomy.parents[taxonomy.leaves]
    parent_states = labels.states(concepts=parents)
    only_child = np.bincount(parents, minlength=len(taxonomy))[parents] == 1
    expected = (parent_states == 0) | (only_child & exhaustive & (parent_states == RELEVANT))
    states = labels.states()
    assert np.array_equal(states != UNKNOWN, expected)
    assert np.array_equal(states[expected], drawn.answers.states()[expected])
    assert labels.contradictions() == []
    items, concepts = labels.unknown()
    labels.record(items, concepts, drawn.answers.states()[items, concepts], "annotated")
    assert labels.contradictions() == []
    assert np.array_equal(labels.states(), drawn.answers.states())


@pytest.mark.parametrize("name", ["mirflickr_labels_only", "coco_labels_only"])
def test_real_labels_without_features_load(real_bundle, name):
    path = real_bundle(name)
    assert np.array_equal(Dataset.load(path).labels.states(), np.load(path)["Y"])
