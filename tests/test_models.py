"""Models: whole or not there, damage is seen when they are opened; trainings: one at a time, and how they ended."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from ramify import RamifyError, progress
from ramify.project.live.status import read_status
from ramify.project.store import locks, trainings
from ramify.project.store.store import Store
from store_checks import filled, process


@pytest.fixture
def store(tmp_path, address):
    with filled(tmp_path / "project", address=address) as store:
        yield store


def build(folder):
    (folder / "below").mkdir()
    (folder / "below" / "weights").write_text("1 2 3")
    (folder / "scale").write_text("4 5")
    return {"learner": "refine", "answers": 3, "estimate": {"p@1": 0.5}, "note": "first"}


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_model_is_named_when_it_is_whole(store):
    def fail(folder):
        (folder / "weights").write_text("1 2")
        raise RuntimeError("no more")

    assert store.new_model(build) == 1
    with pytest.raises(RuntimeError):
        store.new_model(fail)
    version, folder = store.model()
    assert (version, folder.name, (folder / "below" / "weights").read_text()) == (1, "0001", "1 2 3")
    facts = store.model_facts()
    assert facts.pop("at") <= time.time()
    assert facts == {"version": 1, "learner": "refine", "answers": 3, "estimate": {"p@1": 0.5}, "note": "first"}
    (store.folder / "models" / "0002").mkdir()  # killed between renaming and naming
    (store.folder / "models" / "0002" / "left").write_text("")
    assert store.model()[0] == 1
    assert [store.new_model(build) for _ in range(4)] == [2, 3, 4, 5]
    assert sorted(path.name for path in (store.folder / "models").iterdir()) == ["0003", "0004", "0005"]
    assert store.model()[0] == 5


def test_what_a_killed_training_left_is_removed_but_not_what_another_is_writing(store):
    models = store.folder / "models"
    for name in (".draft-1-1", ".draft-1-2"):
        (models / name).mkdir(parents=True)
    with locks.locked(models / ".draft-1-2"):
        store.new_model(build)
    assert sorted(path.name for path in models.iterdir()) == [".draft-1-2", "0001"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / "scale").write_text("4"), "scale has 1 bytes instead of 3"),
        (lambda folder: (folder / "scale").write_text(""), "scale has 0 bytes instead of 3"),
        (lambda folder: (folder / "below" / "weights").unlink(), "below/weights is missing"),
        (lambda folder: folder.rename(folder.with_name("elsewhere")), "its folder is missing"),
    ],
)
def test_a_damaged_model_is_left_out_and_named(store, tmp_path, damage, reason):
    for _ in range(3):
        store.new_model(build)
    damage(store.model()[1])
    assert store.model()[0] == store.model_facts()["version"] == 2
    assert store.damaged_models() == [(3, reason)]
    assert [(model.version, model.damage) for model in store.models.candidates()] == [(3, reason), (2, None), (1, None)]
    store.backup(tmp_path / "b.zip")  # with the one that is whole
    Store.restore(tmp_path / "b.zip", tmp_path / "restored")
    with Store(tmp_path / "restored") as restored:
        assert restored.model()[0] == 2
        assert restored.damaged_models() == [(3, "its folder is missing")]
    assert store.new_model(build) == 4
    assert store.damaged_models() == []


def test_without_any_whole_model_there_is_none(store):
    store.new_model(build)
    (store.model()[1] / "scale").unlink()
    assert store.model() is store.model_facts() is None
    assert store.damaged_models() == [(1, "scale is missing")]


def test_other_contents_of_the_same_length_are_found_by_reading_all(store):
    store.new_model(build)
    (store.model()[1] / "scale").write_text("4 6")
    assert [model.damage for model in store.models.candidates()] == [None]
    (model,) = store.models.candidates(thorough=True)
    assert model.damage == "scale has other contents than it had"


def test_a_model_that_was_never_measured_is_taken_as_it_is(store):
    store.new_model(build)
    with store.database.write() as connection:
        connection.exec_driver_sql("UPDATE models SET files = NULL")  # as an older Ramify left it
    assert store.model()[0] == 1


def test_the_curve_is_kept(store):
    store.add_curve_point(10, {"p@1": 0.5})
    store.add_curve_point(20, {"p@1": 0.6})
    assert [(p["answers"], p["estimate"]) for p in store.curve()] == [(10, {"p@1": 0.5}), (20, {"p@1": 0.6})]


# -- trainings ---------------------------------------------------------------------------------------------------------


def test_a_training_is_running_while_its_lock_is_held(store):
    with store.trainings.begin():
        running = store.training()
        assert (running["running"], running["error"], running["pid"]) == (True, None, os.getpid())
        since = time.strftime("%H:%M", time.localtime(running["started"]))
        with Store(store.folder) as other, pytest.raises(RamifyError) as refused, other.trainings.begin():
            pass
    assert str(refused.value) == (
        f"{store.folder}: process {os.getpid()} is training a model already (since {since}): wait for it"
    )
    ended = store.training()
    assert (ended["id"], ended["running"], ended["error"]) == (running["id"], False, None)
    assert ended["finished"] >= ended["started"]


def test_a_training_says_how_far_it_is(store, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(trainings, "NOTE_EVERY", 0.0)
    with store.trainings.begin() as note:
        assert "share" not in store.training()
        note("coarse stage", 0, 40)
        assert {key: store.training()[key] for key in ("doing", "share", "left")} == {
            "doing": "coarse stage", "share": 0.0, "left": None,
        }  # fmt: skip
        now[0] = 5.0
        note("coarse stage", 10, 40)
        with Store(store.folder) as other:
            training = read_status(other).training
        assert (training.running, training.doing, training.share, training.left) == (True, "coarse stage", 0.25, 15.0)
        note("all items", 0, 0)  # an empty project has no share that could be computed
        assert 0 <= store.training()["share"] <= 1
        for damaged in ("", "[]", '{"training": 1}', '{"training": 1, "doing": 2, "share": "x", "left": null}'):
            (store.folder / trainings.PROGRESS).write_text(damaged)
            assert store.training()["running"]
            assert "share" not in store.training()
    assert not (store.folder / trainings.PROGRESS).exists()
    assert "share" not in store.training()


def test_how_far_a_training_is_is_written_about_once_a_second(store, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr(trainings, "time", SimpleNamespace(monotonic=lambda: now[0], time=time.time))
    monkeypatch.setattr(trainings.os, "replace", lambda *_: written.append(now[0]))
    with store.trainings.begin() as note:
        for step in range(100):
            now[0] = step / 20
            note("coarse stage", step, 100)
        note("all items", 0, 10)  # at once: it is something else
    assert written == [0, 1, 2, 3, 4, 4.95]


def test_a_training_goes_on_where_nobody_can_be_told_how_far_it_is(store, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with store.trainings.begin() as note:
        monkeypatch.setattr(trainings.os, "replace", full)
        note("coarse stage", 1, 2)
        assert "share" not in store.training()


def test_a_training_whose_process_was_killed_has_ended(store):
    child = process("trains", store.folder)
    assert child.stdout.readline() == "training\n"
    assert store.training()["running"]
    with pytest.raises(RamifyError, match=f"process {child.pid} is training a model already"), store.trainings.begin():
        pass
    child.kill()
    child.communicate()
    gone = store.training()
    assert (gone["running"], gone["error"]) == (False, "the training ended before it was finished: its process is gone")
    with store.trainings.begin():
        assert store.training()["running"]
    assert store.training()["error"] is None


def test_a_training_that_crashes_leaves_its_traceback_and_a_sentence(store):
    def broken():
        raise ValueError("shapes differ\n" + "more\n" * 10_000)

    with pytest.raises(ValueError, match="shapes differ"), store.trainings.begin():
        broken()
    log = store.folder / "training.log"
    assert store.training()["error"] == "ValueError: shapes differ (the traceback is in training.log)"
    assert len(log.read_text()) == trainings.LONGEST_LOG
    with pytest.raises(ZeroDivisionError), store.trainings.begin():
        1 / 0  # noqa: B018
    assert "in test_a_training_that_crashes" in log.read_text()
    assert log.read_text().endswith("ZeroDivisionError: division by zero\n")
    with pytest.raises(RamifyError), store.trainings.begin():
        raise RamifyError("there is nothing to learn from: add items")
    assert store.training()["error"] == "there is nothing to learn from: add items"
    with pytest.raises(KeyboardInterrupt), store.trainings.begin():
        raise KeyboardInterrupt
    assert store.training()["error"] == "it was interrupted"
    with store.trainings.begin():
        pass
    assert not log.exists()


def test_a_crash_is_said_where_its_traceback_cannot_be_written(store):
    store.trainings.log.mkdir()
    with pytest.raises(ValueError, match="\ud800"), store.trainings.begin():
        raise ValueError("\ud800")
    assert "(training.log could not be written)" in store.training()["error"]


def test_what_went_wrong_first_is_raised_where_the_end_cannot_be_noted(store, monkeypatch):
    def full(*_):
        raise RamifyError("the disk is full")

    monkeypatch.setattr(store.trainings, "_note_end", full)
    with pytest.raises(ZeroDivisionError), store.trainings.begin():
        1 / 0  # noqa: B018
    assert "its process is gone" in store.training()["error"]


def test_an_end_between_two_looks_is_not_taken_for_a_death(store, monkeypatch):
    with store.trainings.begin() as _:
        pass
    number = store.trainings._note_beginning()

    def ends_meanwhile(path):
        store.trainings._note_end(number)
        return False

    monkeypatch.setattr(trainings, "is_locked", ends_meanwhile)
    assert (store.training()["running"], store.training()["error"]) == (False, None)


def test_looking_does_not_keep_others_from_training(store):
    """Whoever looks holds a shared lock for a moment; the trainer sees that nobody trains."""
    lock = store.folder / trainings.LOCK
    lock.touch()
    looking = os.open(lock, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    tried = []
    honest = fcntl.flock

    def flock(handle, how):
        tried.append(how)
        if len(tried) == 3:
            os.close(looking)
        return honest(handle, how)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(locks.fcntl, "flock", flock)
        with store.trainings.begin():
            pass
    assert len(tried) == 3


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EBADF])
def test_where_a_disk_has_no_locks_another_place_is_locked(store, tmp_path, monkeypatch, number):
    honest = fcntl.flock

    def flock(handle, how):
        if str(store.folder) in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(number, os.strerror(number))
        return honest(handle, how)

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    with store.trainings.begin():
        assert store.training()["running"]
        with pytest.raises(RamifyError, match="is training a model already"), store.trainings.begin():
            pass
    assert not store.training()["running"]


def test_a_second_train_is_refused_before_anything_heavy_is_loaded(store):
    script = (
        "import sys; from ramify.cli import app\n"
        "try: app(['train', sys.argv[1]])\n"
        "except ValueError as error: print(error, 'torch' in sys.modules)\n"
    )
    with store.trainings.begin():
        done = subprocess.run([sys.executable, "-c", script, store.folder], capture_output=True, text=True, timeout=600)
    assert "is training a model already (since" in done.stdout
    assert done.stdout.endswith("wait for it False\n")
