"""Backups: whole while others write, restored whole or not at all, also when the restore is killed."""

import json
import shutil
import zipfile

import pytest

from ramify import RamifyError
from ramify.project.store import locks
from ramify.project.store.store import Store
from store_checks import coarse, filled, integrity, process


@pytest.fixture
def store(tmp_path):
    with filled(tmp_path / "project") as store:
        yield store


def test_a_backup_taken_while_others_write_is_whole(store, tmp_path):
    store.record("k", "ann", [(0, 1, "yes")])
    store.new_model(lambda folder: {"learner": str((folder / "weights").write_text("1 2 3"))})
    (store.folder / "embedder").mkdir()
    (store.folder / "embedder" / "svd.npz").write_text("svd")
    writer = process("writes", store.folder, "bob", 150)
    for number in range(4):
        store.add([f"new {number}"], None, None, [[1, 1]], coarse(1))
        with store.trainings.begin():
            store.backup(tmp_path / f"{number}.zip")
    assert json.loads(writer.communicate(timeout=600)[0]) == 150
    events = store.events()
    for number in range(4):
        Store.restore(tmp_path / f"{number}.zip", tmp_path / f"restored {number}")
        with Store(tmp_path / f"restored {number}") as restored:
            assert len(restored) == len(restored.features()) == len(restored.labels()) == 4 + number
            kept = restored.events()
            assert kept == events[: len(kept)]
            assert kept[0].key == "k"
            assert (restored.model()[1] / "weights").read_text() == "1 2 3"
            assert (restored.folder / "embedder" / "svd.npz").read_text() == "svd"
            assert restored.training() is None or not restored.training()["error"]
            assert integrity(restored.folder) == "ok"
            restored.record("later", "ann", [(0, 2, "yes")])
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_backups_that_cannot_be_written_or_restored_are_refused(store, tmp_path):
    with pytest.raises(RamifyError, match="give the name of a file, in a folder that exists"):
        store.backup(tmp_path / "nowhere" / "b.zip")
    store.backup(tmp_path / "b.zip")
    with pytest.raises(RamifyError, match="project is not empty: give a new folder to restore to"):
        Store.restore(tmp_path / "b.zip", store.folder)
    with pytest.raises(RamifyError, match=r"c.zip: there is no such file"):
        Store.restore(tmp_path / "c.zip", tmp_path / "new")
    whole = (tmp_path / "b.zip").read_bytes()
    middle = whole.find(b"imported-") + 200
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        for name in ("project.db", "ramify.json", "../outside"):
            archive.writestr(name, "x")
    with zipfile.ZipFile(tmp_path / "no database.zip", "w") as archive:
        for name in ("project.db", "ramify.json"):
            archive.writestr(name, "x" * 5000)
    damaged = {
        "cut.zip": whole[: len(whole) // 2],
        "flipped.zip": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "foreign.zip": None,
        "no database.zip": None,
        "empty.zip": b"",
    }
    for name, content in damaged.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(RamifyError, match=f"{name}: this backup is damaged, or not a backup of Ramify"):
            Store.restore(tmp_path / name, tmp_path / "new")
        assert not (tmp_path / "new").exists()
    assert not (tmp_path / "outside").exists()
    (store.folder / "imported-0001.npz").unlink()
    with pytest.raises(RamifyError, match=r"imported-0001.npz is missing: the project is damaged"):
        store.backup(tmp_path / "another.zip")
    assert not (tmp_path / "another.zip").exists()


def test_a_backup_that_does_not_fit_is_refused_before_anything_is_written(store, tmp_path, monkeypatch):
    store.backup(tmp_path / "b.zip")
    free = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    with pytest.raises(RamifyError, match="the disk is full; nothing was restored: make room and try again"):
        Store.restore(tmp_path / "b.zip", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("name", ["project.db", "names.npz", "ramify.json"])
def test_what_unpacks_to_more_than_it_says_is_refused_and_no_more_is_written(store, tmp_path, monkeypatch, name):
    store.backup(tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as whole, zipfile.ZipFile(tmp_path / "false.zip", "w") as archive:
        for part in whole.namelist():
            if part != name:
                archive.writestr(part, whole.read(part))
        archive.writestr(name, bytes(50_000_000), zipfile.ZIP_DEFLATED)
        archive.getinfo(name).file_size = 1000  # which the list at the end of the file will say
    assert (tmp_path / "false.zip").stat().st_size < 500_000
    taken, read = [], zipfile.ZipExtFile.read

    def counted(file, size):
        taken.append(len(block := read(file, size)))
        return block

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    with pytest.raises(RamifyError, match=r"false.zip: this backup is damaged, or not a backup of Ramify"):
        Store.restore(tmp_path / "false.zip", tmp_path / "new")
    assert sum(taken) < 500_000
    assert not (tmp_path / "new").exists()


def test_a_backup_never_replaces_a_file(store, tmp_path):
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(RamifyError) as refused:
        store.backup(tmp_path / "b.zip")
    assert str(refused.value) == f"{tmp_path / 'b.zip'} is there already: give the backup a new name"
    assert (tmp_path / "b.zip").read_text() == "mine"


def test_a_restored_project_knows_of_no_failed_training(store, tmp_path):
    with pytest.raises(ZeroDivisionError), store.trainings.begin():
        1 / 0  # noqa: B018
    store.backup(tmp_path / "failed.zip")
    with store.trainings.begin():
        pass
    with store.trainings.begin():
        store.backup(tmp_path / "running.zip")
    for name in ("failed", "running"):
        Store.restore(tmp_path / f"{name}.zip", tmp_path / name)
        with Store(tmp_path / name) as restored:
            training = restored.training()
            assert training is None or (training["running"], training["error"]) == (False, None)
            assert not (restored.folder / "training.log").exists()


# -- restores that are killed ------------------------------------------------------------------------------------------


@pytest.fixture
def killed(store, tmp_path):
    """Folders with what is left of restores that were killed, each one step later than the last; then a whole one."""
    store.record("k", "ann", [(0, 1, "yes")])
    store.new_model(lambda folder: {"learner": str((folder / "weights").write_text("1 2 3"))})
    store.backup(tmp_path / "b.zip")
    steps = int(process("restores", tmp_path / "b.zip", tmp_path).communicate(timeout=600)[0])
    assert steps > 20
    return [tmp_path / f"{number}" for number in range(steps + 1)]


def test_a_restore_that_is_killed_can_be_repeated(store, tmp_path, killed):
    half = 0
    for folder in killed:
        if not (folder / "ramify.json").exists():
            half += 1
            with pytest.raises(RamifyError, match=r"was not restored to its end: run|is not a project"):
                Store(folder)
            Store.restore(tmp_path / "b.zip", folder)
            names = ["features-0001.npy", "imported-0001.npz", "models", "project.db", "ramify.json"]
            assert sorted(path.name for path in folder.iterdir()) == names
        with Store(folder) as restored:
            assert restored.labels() == store.labels()
            assert restored.model()[0] == 1
        assert integrity(folder) == "ok"
    assert half > 15


def test_what_else_lies_in_a_half_restored_folder_is_not_touched(store, tmp_path, killed):
    folder = next(folder for folder in killed if (folder / "imported-0001.npz").exists())
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(RamifyError, match=r"\d is not empty: give a new folder to restore to"):
        Store.restore(tmp_path / "b.zip", folder)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    (folder / ".restoring").write_text('["../project/ramify.json", "mine.txt", "/etc/passwd"]')
    with pytest.raises(RamifyError, match=r"\d is not empty"):
        Store.restore(tmp_path / "b.zip", folder)
    assert (folder / "mine.txt").read_text() == "mine"
    assert (store.folder / "ramify.json").exists()


def test_two_restores_at_once_into_one_folder(store, tmp_path):
    store.backup(tmp_path / "b.zip")
    (tmp_path / "new").mkdir()
    with locks.locked(tmp_path / "new"), pytest.raises(RamifyError) as refused:
        Store.restore(tmp_path / "b.zip", tmp_path / "new")
    assert str(refused.value) == f"{tmp_path / 'new'} is being restored by another process: wait for it"
    Store.restore(tmp_path / "b.zip", tmp_path / "new")


def test_bytes_flipped_in_a_backup_are_one_sentence_or_none(store, tmp_path):
    store.backup(tmp_path / "b.zip")
    whole = (tmp_path / "b.zip").read_bytes()
    before = store.labels()
    for place in sorted({*range(0, len(whole), max(1, len(whole) // 100)), *range(len(whole) - 500, len(whole), 5)}):
        (tmp_path / "flipped.zip").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        folder = tmp_path / f"{place}"
        error = None
        try:
            Store.restore(tmp_path / "flipped.zip", folder)
        except RamifyError as refused:
            error = str(refused)
        if error is None:  # a byte that says nothing, as in a date
            with Store(folder) as restored:
                assert restored.labels() == before
        else:
            assert "flipped.zip: this backup is damaged, or not a backup of Ramify" in error
            assert not folder.exists()
