"""Disks that are full, or can only be read: one sentence, and nothing half done."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy

import disks
from ramify import RamifyError
from ramify.cli.tables import _order
from ramify.files import new_array
from ramify.project.store import migrations
from ramify.project.store.answers import Request
from ramify.project.store.store import Store, UnavailableError
from ramify.project.transfer.exporting import export_labels
from store_checks import HERE, TAXONOMY, coarse, files, filled, integrity


@pytest.fixture
def store(tmp_path):
    with filled(tmp_path / "project") as store:
        yield store


@pytest.fixture
def small_disk(tmp_path):
    with disks.small_disk(tmp_path / "disk", "1m") as place:
        yield place


def big_model(folder):
    (folder / "weights").write_bytes(bytes(1 << 20))
    return {}


# -- full --------------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_said_wherever_it_ends_and_nothing_is_half_done(small_disk, tmp_path):
    """What needs some hundred KiB is tried with less, in many steps, so that it fails at many places."""
    rows = np.random.default_rng(0).normal(size=(8000, 4)).astype(np.float32)
    with filled(small_disk / "project", columns=4) as store, filled(tmp_path / "large", columns=0) as large:
        store.record("before", "ann", [(0, 1, "yes")])
        large.add([f"n{n}" for n in range(3000)], ["text" * 20] * 3000, None, None, coarse(3000))
        large.backup(tmp_path / "large.zip")
        many = [Request(f"{n}", "ann", [(n % 3, 1, "no"), (n % 3, 2, "no")]) for n in range(3000)]
        attempts = {
            "add": lambda: store.add([f"n{n}" for n in range(8000)], None, None, rows, coarse(8000)),
            "record": lambda: store.record_all(many),
            "model": lambda: store.new_model(big_model),
            "backup": lambda: large.backup(small_disk / "b.zip"),
            "restore": lambda: Store.restore(tmp_path / "large.zip", small_disk / "new"),
            "csv": lambda: export_labels(large, small_disk / "l.csv"),
            "parquet": lambda: export_labels(large, small_disk / "l.parquet"),
        }
        said = set()
        for name, attempt in attempts.items():
            needed = {"record": 8, "parquet": 20, "backup": 500}.get(name, 200)
            before = state(store, small_disk)
            for room in range(0, needed << 10, needed << 7):
                filling = disks.fill(small_disk, room)
                with pytest.raises(RamifyError) as refused:
                    attempt()
                filling.unlink()
                said.add(f"{name}: {str(refused.value).replace(str(small_disk), '')}")
                assert state(store, small_disk) == before
        assert said == {
            "add: /project: the disk is full; nothing was changed: make room and try again",
            "add: /project/project.db: the disk is full; nothing was changed: make room and try again",
            "record: /project/project.db: the disk is full; nothing was changed: make room and try again",
            "model: /project/models: the disk is full; no model was added: make room and try again",
            "backup: /b.zip: the disk is full; nothing was written: make room and try again",
            "restore: /new: the disk is full; nothing was restored: make room and try again",
            "csv: /l.csv: the disk is full; nothing was written: make room and try again",
            "parquet: /l.parquet: the disk is full; nothing was written: make room and try again",
        }
        assert store.add(["new"], None, None, [[1, 1, 1, 1]], coarse(1)) == (1, 0, 0)


def test_a_map_of_a_file_has_its_room_from_the_beginning(small_disk):
    """Else the first write into a page that has no room would end the process by a signal."""
    filling = disks.fill(small_disk, 64 << 10)
    with pytest.raises(OSError, match="No space left on device"):
        new_array(small_disk / "a.npy", np.float32, (64, 1024))
    filling.unlink()
    new_array(small_disk / "a.npy", np.float32, (64, 1024))[:] = 1
    assert np.load(small_disk / "a.npy").sum() == 64 * 1024


def state(store, disk):
    """All that must not change when something fails."""
    with Store(store.folder) as again:
        assert integrity(store.folder) == "ok"
        models = store.folder / "models"
        left = sorted(path.name for path in models.iterdir()) if models.is_dir() else []
        names = [name for name in files(store) if name != "models"]
        return names, left, len(again), again.events(), again.model(), sorted(path.name for path in disk.iterdir())


def test_a_project_that_cannot_be_begun_leaves_a_folder_that_can_be_used(small_disk):
    for room in range(0, 24 << 10, 4 << 10):
        filling = disks.fill(small_disk, room)
        with pytest.raises(RamifyError, match=r"the disk is full; no(thing was changed| project was made)"):
            Store.create(small_disk / "other", TAXONOMY)
        filling.unlink()
    with Store.create(small_disk / "other", TAXONOMY) as store:
        assert len(store.id_of) == 6


def test_a_database_that_may_not_grow_says_that_the_disk_is_full(store):
    @sqlalchemy.event.listens_for(store.database._engine, "connect")
    def limit(connection, _):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    store.close()
    requests = [Request(f"k{n}", "ann", [(n % 3, 1, "yes")]) for n in range(500)]
    with pytest.raises(UnavailableError) as refused:
        store.record_all(requests)
    database = store.folder / "project.db"
    assert str(refused.value) == f"{database}: the disk is full; nothing was changed: make room and try again"
    assert store.events() == []


def in_another_process(script, *arguments):
    """Run some lines of Python that have the tests' own modules; what they print."""
    lines = f"import sys; sys.path.insert(0, {str(HERE)!r})\n" + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", lines, *map(str, arguments)], capture_output=True, text=True, timeout=600
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_files_that_may_not_grow_are_one_sentence(store):
    said = in_another_process(
        """
        import resource
        import numpy as np
        from ramify import RamifyError
        from ramify.project.store.answers import Request
        from ramify.project.store.store import Store
        from store_checks import coarse
        with Store(sys.argv[1]) as store:
            rows = np.zeros((40_000, 4), np.float32)[:, :2]
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            for attempt in (
                lambda: store.add([f"n{n}" for n in range(40_000)], None, None, rows, coarse(40_000)),
                lambda: store.new_model(lambda folder: {"note": (folder / "w").write_bytes(bytes(300_000))}),
                lambda: store.record_all(Request(f"{n}", "a", [(0, 1, "no")]) for n in range(9000)),
            ):
                try:
                    attempt()
                except RamifyError as error:
                    print(str(error).replace(sys.argv[1], ""))
        """,
        store.folder,
    )
    limit = "choose another place, or raise the limit (ulimit -f)"
    assert said == [
        f": files may not become this large here; nothing was changed: {limit}",
        f"/models: files may not become this large here; no model was added: {limit}",
        "/project.db: disk I/O error; nothing was changed: check the disk, and make room if it is full",
    ]
    store.refresh()
    assert (len(store), store.events(), store.model()) == (3, [], None)
    assert files(store) == ["features-0001.npy", "imported-0001.npz", "models", "ramify.json"]


# -- read-only ---------------------------------------------------------------------------------------------------------


READ = """
    import encodings.cp437, os  # what cannot be loaded any more when this is nobody
    from ramify import RamifyError
    from ramify.project.store.store import Store
    from ramify.project.transfer.exporting import export_events, export_labels
    folder, out, user = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if user:
        os.setgid(user), os.setuid(user)
    try:
        with Store(folder) as store:
            print(len(store), store.features().tolist(), store.labels().states().tolist(), len(store.events()))
            print(store.setting("embed"), store.training()["running"], store.model()[0], store.search("1"))
            export_labels(store, f"{out}/labels.csv")
            export_events(store, f"{out}/events.csv")
            store.backup(f"{out}/backup.zip")
            Store.restore(f"{out}/backup.zip", f"{out}/restored")
            for change in (
                lambda: store.record("k", "ann", [(0, 1, "yes")]),
                lambda: store.set_setting("a", 1),
                lambda: store.add(["a"], None, None, [[1, 1]], store.labels().take([0])),
                lambda: store.new_model(lambda folder: {}),
                lambda: store.split("dog", ["poodle"]),
                lambda: store.trainings.begin().__enter__(),
            ):
                try:
                    change()
                except RamifyError as error:
                    print(str(error).replace(folder, ""))
    except RamifyError as error:
        print(str(error).replace(folder, ""))
"""
NOBODY = 65534
REFUSED = " can only be read; nothing was changed: ask for the permission to write to it, or copy it to another place"


@pytest.fixture
def whole(tmp_path):
    """A closed project with a bit of everything."""
    with filled(tmp_path / "mine") as store:
        store.record("k", "ann", [(0, 1, "yes")])
        store.new_model(lambda folder: {"learner": str((folder / "weights").write_text("1 2 3"))})
        with store.trainings.begin():
            pass
    return tmp_path / "mine"


def check_reading(folder, out, user=0):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    said = in_another_process(READ, folder, out, user)
    assert said == [
        "3 [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]] [[1, -1, -1, -1], [-1, -1, -1, -1], [-1, -1, -1, -1]] 1",
        "None False 1 [1]",
        *[REFUSED] * 6,
    ]
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    with Store(out / "restored") as restored:
        assert len(restored.events()) == 1


def test_a_project_on_a_read_only_disk_can_be_read(whole, tmp_path):
    with disks.read_only(whole, tmp_path / "ro") as folder:
        check_reading(folder, tmp_path)


def test_a_project_on_a_full_disk_can_be_read_and_saved_elsewhere(whole, small_disk, tmp_path):
    folder = small_disk / "project"
    shutil.copytree(whole, folder)
    filling = disks.fill(small_disk)
    said = in_another_process(READ, folder, tmp_path, 0)
    assert said[0].startswith("3 [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]")
    assert said[2:] == ["/project.db: the disk is full; nothing was changed: make room and try again"] * 6
    with Store(tmp_path / "restored") as restored:
        assert len(restored.events()) == 1
    filling.unlink()
    with Store(folder) as store:  # with room it is as before
        assert store.record("k2", "ann", [(1, 1, "no")])


def test_what_can_only_be_read_gives_tasks_without_an_order(whole, tmp_path, capsys):
    with disks.read_only(whole, tmp_path / "ro") as folder, Store(folder) as store:
        assert _order(store, folder, "serial", None) == {}
    said = "can only be read: tasks are written as the items are, not in the order of what teaches most.\n"
    assert capsys.readouterr().out == f"{folder} {said}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
def test_a_project_of_somebody_else_can_be_read(whole):
    with tempfile.TemporaryDirectory() as place:  # not below a folder that is pytest's own
        folder, out = Path(place, "project"), Path(place, "out")
        shutil.copytree(whole, folder)
        out.mkdir()
        os.chown(out, NOBODY, NOBODY)
        Path(place).chmod(0o755)
        check_reading(folder, out, NOBODY)
        folder.chmod(0o700)
        said = in_another_process(READ, folder, out, NOBODY)
        assert said == [": you may not read this folder: ask for the permission"]


def test_what_others_write_meanwhile_is_read_too(whole, tmp_path):
    """A log of changes lies beside the database, as of a server that runs, or was killed."""
    with Store(whole) as store, disks.read_only(whole, tmp_path / "ro") as folder:
        store.record("k2", "ann", [(1, 1, "no")])
        assert (whole / "project.db-wal").stat().st_size
        with Store(folder) as reading:
            assert [event.key for event in reading.events()] == ["k", "k2"]
            store.record("k3", "ann", [(2, 1, "no")])
            assert [event.key for event in reading.events()] == ["k", "k2", "k3"]
            store.close()
            assert not (whole / "project.db-wal").exists()
            assert [event.key for event in reading.events()] == ["k", "k2", "k3"]
        store.record("k4", "ann", [(2, 2, "no")])
        for name in ("project.db", "project.db-wal", "project.db-shm"):
            shutil.copy(whole / name, tmp_path / name)
    for name in ("project.db", "project.db-wal", "project.db-shm"):
        shutil.copy(tmp_path / name, whole / name)
    with disks.read_only(whole, tmp_path / "killed") as folder, Store(folder) as reading:
        assert [event.key for event in reading.events()] == ["k", "k2", "k3", "k4"]


def test_a_log_that_cannot_be_read_is_said(whole, tmp_path):
    with Store(whole) as store:
        store.record("k2", "ann", [(1, 1, "no")])
        shutil.copytree(whole, tmp_path / "copy", ignore=shutil.ignore_patterns("*-shm"))
    with disks.read_only(tmp_path / "copy", tmp_path / "ro") as folder, pytest.raises(UnavailableError) as refused:
        Store(folder)
    assert str(refused.value) == (
        f"{folder}/project.db: project.db-wal holds changes that cannot be read without writing beside it: close the "
        "project where it is used, or copy its folder to a place that you may write to"
    )


def test_an_old_project_that_can_only_be_read_is_said(whole, tmp_path):
    with closing(sqlite3.connect(whole / "project.db")) as connection:
        connection.execute("DROP TABLE alembic_version")
        connection.execute("PRAGMA user_version = 1")
    with disks.read_only(whole, tmp_path / "ro") as folder, pytest.raises(RamifyError) as refused:
        Store(folder)
    assert str(refused.value) == (
        f"{folder}/project.db was written by an older Ramify (version 1 of the database, this one needs "
        f"{migrations.NEWEST}) and can only be read: open it once where you may write to it, or copy its folder"
    )
