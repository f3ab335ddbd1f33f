"""The store of a project: its folder, items, concepts and models."""

import json

import numpy as np
import pytest

from ramify import Labels, RamifyError, Taxonomy
from ramify.project.store import adding
from ramify.project.store.revisions import OutdatedError, next_contents
from ramify.project.store.store import Item, Store, UnavailableError
from store_checks import TAXONOMY, coarse, files, filled, ids


@pytest.fixture
def store(tmp_path, address):
    with filled(tmp_path / "project", address=address) as store:
        yield store


# -- a project's folder ------------------------------------------------------------------------------------------------


def test_a_new_project_is_empty_and_marked(tmp_path):
    with Store.create(tmp_path / "a" / "b", TAXONOMY) as store:
        assert len(store) == 0
        assert store.taxonomy == TAXONOMY
        assert store.features() is None
        assert len(store.labels()) == len(store.imported()) == 0
        assert store.all_ids().tolist() == []
        assert store.model() is store.training() is None
        assert store.curve() == store.events() == store.disagreements() == store.annotators() == []
        assert json.loads((store.folder / "ramify.json").read_text()) == {"format": 1}
        assert store.values([], []).tolist() == store.items([]) == []


def test_folders_that_cannot_become_projects_are_refused(tmp_path, store):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(RamifyError, match="full is not empty: give a new folder"):
        Store.create(tmp_path / "full", TAXONOMY)
    with pytest.raises(RamifyError, match="project is a project already: give a new folder"):
        Store.create(store.folder, TAXONOMY)
    with pytest.raises(RamifyError, match=r"mine.txt is a file: give a folder"):
        Store.create(tmp_path / "full" / "mine.txt", TAXONOMY)


def test_an_interrupted_beginning_is_begun_again(tmp_path):
    Store.create(tmp_path, TAXONOMY).close()
    (tmp_path / "ramify.json").unlink()
    with pytest.raises(RamifyError, match="is not a project of Ramify: make one with 'ramify init"):
        Store(tmp_path)
    with Store.create(tmp_path, TAXONOMY) as store:
        assert len(store.id_of) == 6


def test_what_is_no_project_or_a_damaged_one_is_said(tmp_path):
    store = filled(tmp_path / "project")
    with pytest.raises(RamifyError, match="nowhere is not a project of Ramify"):
        Store(tmp_path / "nowhere")
    store.close()
    mark = store.folder / "ramify.json"
    mark.write_text('{"format": 3}')
    with pytest.raises(RamifyError, match=r"was made by a newer Ramify \(format 3\)"):
        Store(store.folder)
    mark.write_text("{")
    with pytest.raises(RamifyError, match=r"ramify.json is damaged: restore"):
        Store(store.folder)
    mark.write_text('{"format": 1}')
    (store.folder / "project.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(UnavailableError, match="the file is damaged, restore the project from a backup"):
        Store(store.folder)
    (store.folder / "project.db").unlink()
    with pytest.raises(RamifyError, match=r"project.db is missing: restore"):
        Store(store.folder)


def test_settings_are_kept(store):
    assert store.setting("budget") is None
    assert store.setting("budget", 7) == 7
    store.set_setting("budget", {"answers": [1, None]})
    store.set_setting("revision", "not the store's own")
    with Store(store.folder) as again:
        assert again.setting("budget") == {"answers": [1, None]}
        assert len(again) == 3


# -- items -------------------------------------------------------------------------------------------------------------


def test_items_are_added_and_found(store):
    assert len(store) == 3
    assert store.items([2, 0, 2]) == [Item(2, "i2", "text 2", None), Item(0, "i0", "text 0", None), *store.items([2])]
    assert store.all_ids().tolist() == ["i0", "i1", "i2"]
    assert isinstance(store.features(), np.memmap)
    assert store.features().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert store.imported() == store.labels() == coarse(3)
    assert store.search("TEXT 1").tolist() == store.search("i1").tolist() == [1]
    assert store.search("%").tolist() == store.search("\ud800").tolist() == []
    with pytest.raises(RamifyError, match="there is no item 3: items are numbered 0 to 2"):
        store.items([3])


def test_half_precision_is_kept_as_long_as_all_is(tmp_path):
    halves = np.array([[0.1, 2], [3, 65504]], np.float16)
    with Store.create(tmp_path / "p", TAXONOMY) as store:
        store.add(["a", "b"], None, None, halves, coarse(2))
        assert (store.features().dtype, store.features().tolist()) == (np.float16, halves.tolist())
        store.add(["c"], None, None, halves[:1], coarse(1))
        assert store.features().dtype == np.float16
        store.add(["d"], None, None, [[1e6, 0.1]], coarse(1))
        assert store.features().dtype == np.float32
        rows = np.concatenate([halves, halves[:1]]).astype(np.float32)
        assert np.array_equal(store.features(), np.concatenate([rows, np.float32([[1e6, 0.1]])]))


def test_adding_twice_changes_nothing(store):
    before = files(store), store.contents.revision
    again = ["i1", "i2", "i0"], ["text 1", "text 2", "text 0"], None, np.array([[1, 1], [2, 2], [0, 0.0]]), coarse(3)
    assert store.add(*again) == (0, 3, 0)
    assert store.add(["i1"], None, None, None, coarse(1, -1)) == (0, 1, 0)
    assert store.add([], None, None, None, coarse(0)) == (0, 0, 0)
    store.refresh()
    assert (files(store), store.contents.revision) == before


def test_new_and_old_items_mix_and_new_labels_of_old_ones_are_merged(store):
    labels = coarse(3, -1)
    labels.record([0, 0, 2], ["cat", "food", "apple"], [1, 0, 1], "imported")
    labels.record(1, "dog", 1, "annotated")
    assert store.add(["i1", "new", "i0"], None, None, [[1, 1], [7, 8], [0, 0]], labels) == (1, 2, 2)
    assert files(store) == ["features-0002.npy", "imported-0002.npz", "ramify.json"]
    assert store.items([3]) == [Item(3, "new", None, None)]
    assert store.features()[3].tolist() == [7, 8]
    expected = Labels.joined([coarse(3), coarse(1, -1)])
    expected.record([1, 1, 0, 3], ["cat", "food", "apple", "dog"], [1, 0, 1, 1], "imported")
    assert store.imported() == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["a", "a"], None, None, np.ones((2, 2)), coarse(2)), "rows 0 and 1 have the same id 'a'"),
        (([" "], None, None, np.ones((1, 2)), coarse(1)), "row 0: ' ' cannot be an id"),
        ((["\ud800"], None, None, np.ones((1, 2)), coarse(1)), "cannot be an id"),
        ((["a"], ["\udfff"], None, np.ones((1, 2)), coarse(1)), "'a' has a text or picture that is not readable text"),
        ((["a"], ["x", "y"], None, np.ones((1, 2)), coarse(1)), "2 texts for 1 items: give one for each"),
        ((["a"], None, None, np.ones((2, 2)), coarse(1)), "2 rows of features for 1 items"),
        ((["a"], None, None, np.ones((1, 2)), coarse(2)), "2 sets of labels for 1 items"),
        ((["a"], None, None, np.full((1, 2), np.nan), coarse(1)), "the features of row 0, column 0 are nan"),
        ((["a"], None, None, None, coarse(1)), "the items of the project have 2 features: give the new ones as many"),
        ((["a"], None, None, np.ones((1, 3)), coarse(1)), "the new items have 3 features, those of the project 2"),
        ((["a", "i1"], ["x", "other"], None, np.ones((2, 2)), coarse(2)), "'i1' is in .* already, with another text"),
        (
            (["a", "i1"], None, ["x", "i.png"], np.ones((2, 2)), coarse(2)),
            "'i1' is in .* already, with another picture",
        ),
        ((["a", "i2"], None, None, np.ones((2, 2)), coarse(2)), "'i2' is in the project already, with other features"),
        ((["a"], None, None, np.ones((1, 2)), Labels(Taxonomy({"x": ["y"]}), [[1]])), "another taxonomy"),
    ],
)
def test_an_add_that_cannot_be_is_refused_and_adds_nothing(store, arguments, sentence):
    before = files(store)
    with pytest.raises(RamifyError, match=sentence):
        store.add(*arguments)
    assert len(store) == 3
    assert files(store) == before


def test_features_may_come_later_for_all_items(tmp_path):
    with filled(tmp_path, columns=0) as store:
        assert store.features() is None
        with pytest.raises(RamifyError, match="the 3 items of the project have no features: leave them out"):
            store.add(["new"], None, None, [[1.0]], coarse(1))
        names = ["i2", "new", "i0", "i1"]
        assert store.add(names, None, None, [[2.0], [3.0], [0.0], [1.0]], coarse(4)) == (1, 3, 0)
        assert store.features().tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize("failing", ["put", "_write_features", "_merged"])
def test_an_add_that_fails_in_the_middle_leaves_the_old_state(store, monkeypatch, failing):
    before, labels = files(store), store.labels()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(adding, failing, fail)
    with pytest.raises(RamifyError, match="project: the disk is full; nothing was changed: make room and try again"):
        store.add(["new"], None, None, [[1, 1]], coarse(1))
    monkeypatch.undo()
    with Store(store.folder) as again:
        assert (len(again), files(again), again.labels()) == (3, before, labels)
        assert again.add(["new"], None, None, [[1, 1]], coarse(1)) == (1, 0, 0)


def test_two_adds_at_once_both_arrive(store, monkeypatch):
    original = adding._write_features
    with Store(store.folder) as other:

        def meanwhile(*arguments):
            monkeypatch.undo()
            assert other.add(["first"], None, None, [[8, 8]], coarse(1)) == (1, 0, 0)
            original(*arguments)

        monkeypatch.setattr(adding, "_write_features", meanwhile)
        assert store.add(["second", "first"], None, None, [[9, 9], [8, 8]], coarse(2)) == (1, 1, 0)
        other.refresh()
        assert other.all_ids().tolist() == ["i0", "i1", "i2", "first", "second"]
        assert other.features()[3:].tolist() == [[8, 8], [9, 9]]
        assert files(other) == ["features-0004.npy", "imported-0004.npz", "ramify.json"]
    old = store.contents
    store.add(["third"], None, None, [[1, 1]], coarse(1))
    with pytest.raises(OutdatedError), next_contents(store._items, old):
        pass


def test_another_process_sees_what_was_added_after_a_refresh(store):
    with Store(store.folder) as other:
        mapped = other.features()
        assert not other.refresh()
        store.add(["new"], None, None, [[1, 1]], coarse(1))
        store.split("dog", ["poodle"])
        assert (len(other), len(other.taxonomy)) == (3, 6)
        assert mapped.tolist() == [[0, 0], [1, 1], [2, 2]]
        (new,) = ids(store, "poodle")
        assert other.record("k", "ann", [(3, new, "yes")])[0].concept == new  # known to the database, if not yet to it
        assert len(other.labels()) == 4  # the old files are gone, so it looks again
        assert (len(other), len(other.taxonomy), len(other.features())) == (4, 7, 4)


def test_a_missing_file_is_named(store):
    store.close()
    (store.folder / "imported-0001.npz").unlink()
    with pytest.raises(RamifyError, match=r"imported-0001.npz is missing or damaged .*: restore the project"):
        store.labels()


def test_many_items_come_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(adding, "INSERTED", 7)
    monkeypatch.setattr(adding, "BLOCK", 11)
    with filled(tmp_path, count=2000) as store:
        assert store.features()[:, 1].tolist() == list(range(2000))
        assert store.all_ids().tolist() == [f"i{n}" for n in range(2000)]
        assert [item.id for item in store.items(np.arange(2000))] == store.all_ids().tolist()
        (cat,) = ids(store, "cat")
        store.record("k", "ann", [(n, cat, "yes") for n in range(2000)])
        assert store.values(np.arange(2000), cat).all()


# -- concepts ----------------------------------------------------------------------------------------------------------


def test_splitting_keeps_ids_answers_and_labels(store):
    cat, dog, animal = ids(store, "cat", "dog", "animal")
    store.record("k", "ann", [(0, dog, "yes"), (1, cat, "no")])
    store.split("dog", ["poodle", "beagle"], exhaustive=True)
    assert ids(store, "cat", "dog", "animal") == [cat, dog, animal]
    assert len(set(store.id_of.tolist())) == 8
    assert store.number_of[dog] == store.taxonomy.index("dog") != TAXONOMY.index("dog")
    store.record("k2", "ann", [(0, ids(store, "poodle")[0], "no")])
    expected = coarse(3).migrate(*TAXONOMY.split("dog", ["poodle", "beagle"], exhaustive=True))
    expected.record([0, 1, 0], ["dog", "cat", "poodle"], [1, 0, 0], "annotated")
    assert store.labels() == expected
    assert store.labels().states(0, "beagle").tolist() == [[1]]
    assert files(store) == ["features-0001.npy", "imported-0002.npz", "ramify.json"]
    with pytest.raises(RamifyError, match="'animal > dog' is split already"):
        store.split("dog", ["terrier"])
    with Store(store.folder) as again:
        assert again.taxonomy == store.taxonomy
        assert again.id_of.tolist() == store.id_of.tolist()
