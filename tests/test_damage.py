"""Bytes that flip, or are gone, in a project's files: one sentence, never a traceback."""

import random
import shutil

import pytest

from ramify import RamifyError
from ramify.project.store.store import Store
from ramify.project.transfer.exporting import export_events, export_labels
from store_checks import filled


@pytest.fixture
def varied(tmp_path):
    """A closed project in which every table holds something."""
    with filled(tmp_path / "project", count=40) as store:
        for n in range(30):
            said = [(n % 20, 1 + n % 6, ["yes", "no", "skip"][n % 3]), (n % 7, 1 + (n + 1) % 6, "no")]
            store.record(f"k{n}", ["ann", "bob"][n % 2], said, settles=n % 9 == 0)
            if n % 5 == 0:
                store.undo(f"u{n}", "ann")
        store.new_model(lambda folder: {"estimate": {"p@1": 0.5}, "note": str((folder / "w").write_text("x"))})
        store.add_curve_point(3, {"p@1": 0.5})
        store.set_setting("embed", "features")
        store.leases().lease("ann", [[(25, 1)]])
        with store.trainings.begin():
            pass
        store.split("dog", ["poodle", "beagle"])
    return tmp_path / "project"


def use_everything(folder, out):
    """Call all that reads and writes, one after the other; the sentences that were said."""
    said = []

    def attempt(call):
        try:
            return call()
        except RamifyError as error:
            said.append(str(error))

    store = attempt(lambda: Store(folder))
    if store is not None:
        with store:
            for call in (
                store.labels,
                store.annotators,
                store.disagreements,
                store.refused_coarse,
                store.training,
                store.model_facts,
                store.damaged_models,
                store.curve,
                store.features,
                lambda: store.setting("embed"),
                lambda: store.items(range(len(store))),
                lambda: store.search("text 3"),
                lambda: store.events(annotator="ann", last=5),
                lambda: store.events_about(0, 1),
                lambda: store.values([0, 1, 2], [1, 2, 3]),
                lambda: export_events(store, out / "events.jsonl"),
                lambda: export_labels(store, out / "labels.csv"),
                lambda: store.leases(overlap=2).second_opinions("cid", 5),
                lambda: store.leases().lease("cid", [[(30, 1)]]),
                lambda: store.leases().own("ann"),
                lambda: store.record("new", "cid", [(0, 1, "yes"), (11, 2, "no")]),
                lambda: store.undo("newer", "ann"),
                lambda: store.backup(out / "backup.zip"),
                lambda: store.new_model(lambda folder: {}),
                lambda: store.split("apple", ["red"]),
                lambda: store.add(["new"], None, None, [[1, 1]], store.imported().take([0])),
            ):
                attempt(call)
    (out / "backup.zip").unlink(missing_ok=True)
    return said


def test_a_flipped_byte_in_the_database_never_ends_in_a_traceback(varied, tmp_path):
    whole = (varied / "project.db").read_bytes()
    assert use_everything(shutil.copytree(varied, tmp_path / "whole"), tmp_path) == []
    drawn = random.Random(0)
    said = []
    used = [place for place in range(100, len(whole)) if whole[place]]
    for place in (*range(0, 100, 8), *drawn.sample(used, 60)):
        flipped = whole[:place] + bytes([whole[place] ^ drawn.choice([1, 0x20, 0x80, 0xFF])]) + whole[place + 1 :]
        folder = shutil.copytree(varied, tmp_path / "flipped")
        (folder / "project.db").write_bytes(flipped)
        said += use_everything(folder, tmp_path)
        shutil.rmtree(folder)
    assert len(said) > 30
    assert not [sentence for sentence in said if "\n" in sentence]


def test_a_cut_database_never_ends_in_a_traceback(varied, tmp_path):
    whole = (varied / "project.db").read_bytes()
    for length in range(0, len(whole), 4096):
        folder = shutil.copytree(varied, tmp_path / "cut")
        (folder / "project.db").write_bytes(whole[:length])
        assert use_everything(folder, tmp_path)
        shutil.rmtree(folder)


def test_damaged_features_and_labels_are_named(varied, tmp_path):
    for name in ("features-0001.npy", "imported-0002.npz"):
        whole = (varied / name).read_bytes()
        damaged = [b"", whole[:50], whole[:-9]]
        damaged += [whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :] for place in range(0, 128, 2)]
        for content in damaged:
            (varied / name).write_bytes(content)
            with Store(varied) as store:
                try:
                    (store.features if "features" in name else store.labels)()
                except RamifyError as error:
                    sentence = str(error)
                else:
                    continue  # a byte that says nothing, as in a date
            assert "restore the project from a backup" in sentence
        (varied / name).write_bytes(whole)
