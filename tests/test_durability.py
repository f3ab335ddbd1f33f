"""Nothing of a project is lost or doubled: migrations, backups, many writers, processes killed at any moment."""

import json
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest
import sqlalchemy
from alembic.operations import Operations

from ramify import Labels, RamifyError
from ramify.project.store import migrations, postgres, sqlite
from ramify.project.store.schema import METADATA
from ramify.project.store.store import Store, UnavailableError
from store_checks import HERE, TAXONOMY, answers_survive, coarse, files, filled, integrity, process


@pytest.fixture
def store(tmp_path, address):
    with filled(tmp_path / "project", address=address) as store:
        yield store


# -- the database ------------------------------------------------------------------------------------------------------


def test_events_can_only_be_added(store):
    store.record("k", "ann", [(0, 1, "yes")])
    for statement in ("DELETE FROM events", "UPDATE events SET answer = 'no'"):
        with pytest.raises(UnavailableError, match="append-only"), store.database.write() as connection:
            connection.exec_driver_sql(statement)
    assert [event.answer for event in store.events()] == ["yes"]


def test_the_database_is_set_up_for_safety(tmp_path):
    with filled(tmp_path / "project") as store, store.database.write() as connection:
        asked = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
        assert asked == {"journal_mode": "wal", "synchronous": 2}
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10_000


def test_queries_and_migrations_speak_of_the_same_tables(store):
    engine = store.database._engine
    tables = sqlalchemy.inspect(engine)
    for table in METADATA.tables.values():
        real = [(column["name"], str(column["type"])) for column in tables.get_columns(table.name)]
        exact = {"FLOAT": "DOUBLE PRECISION"} if engine.dialect.name == "postgresql" else {}
        kinds = [(column.name, column.type.compile(engine.dialect)) for column in table.columns]
        assert real == [(name, exact.get(kind, kind)) for name, kind in kinds]
    assert set(tables.get_table_names()) == {*METADATA.tables, migrations.KEPT.name}


def old_project(folder):
    folder.mkdir()
    with closing(sqlite3.connect(folder / "project.db")) as connection:
        connection.executescript((HERE / "data" / "project-version-1.sql").read_text())
    coarse(3).save(folder / "imported-0001.npz")
    (folder / "ramify.json").write_text('{"format": 1}')
    return folder


def test_a_project_of_version_1_is_migrated(tmp_path):
    with Store(old_project(tmp_path / "old")) as store:
        assert [event.settles for event in store.events()] == [False] * 6
        assert store.setting("budget") == 500
        assert store.values([0, 0, 1, 1], [1, 2, 1, 2]).tolist() == [1, 0, -1, 1]
        store.record("new", "cid", [(1, 2, "no")], settles=True)
        store.add_curve_point(3, {"p@1": 0.5})
        assert store.values(1, 2) == 0
        assert store.model() is None
        assert store.add(["d"], None, None, None, coarse(1)) == (1, 0, 0)
        with store.database.read() as connection:
            assert migrations.version(connection) == migrations.NEWEST


def test_a_migration_that_fails_leaves_the_database_as_it_was(tmp_path, monkeypatch):
    folder = old_project(tmp_path / "old")
    execute = Operations.execute

    def failing(self, statement, **options):
        execute(self, "CREATE TABLE more (a)")
        execute(self, "this is no SQL")

    monkeypatch.setattr(Operations, "execute", failing)
    with pytest.raises(UnavailableError, match="syntax error"):
        Store(folder)
    monkeypatch.undo()
    with Store(folder) as store, store.database.read() as connection:
        assert migrations.version(connection) == migrations.NEWEST
        assert not sqlalchemy.inspect(connection).has_table("more")


def test_a_newer_database_is_refused(store):
    with store.database.write() as connection:
        connection.execute(migrations.KEPT.update().values(version_num="99"))
    store.close()
    with pytest.raises(RamifyError, match=r"was written by a newer Ramify \(version 99 of the database"):
        Store(store.folder)


@pytest.mark.parametrize(("number", "said"), [(-1, "the version is malformed"), (99, "was written by a newer Ramify")])
def test_a_version_that_makes_no_sense_is_said(tmp_path, number, said):
    folder = old_project(tmp_path / "old")
    with closing(sqlite3.connect(folder / "project.db")) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(RamifyError, match=said):
        Store(folder)


def test_a_locked_database_is_said_and_nothing_is_lost(store, monkeypatch):
    for module in (sqlite, postgres):
        monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    with Store(store.folder) as other, store.database.write():
        with pytest.raises(UnavailableError, match=r"nothing was changed: (others are writing: )?try again"):
            other.record("k", "ann", [(0, 1, "yes")])
        assert len(other) == 3
        assert other.events() == []
    assert len(store.record("k", "ann", [(0, 1, "yes")])) == 1


# -- many at once, and killed ------------------------------------------------------------------------------------------


def test_threads_and_processes_write_at_once(store):
    others = [process("writes", store.folder, name, 40) for name in ("p", "q")]
    failed = []

    def work(name):
        try:
            for number in range(40):
                store.record(f"{name}-{number}", name, [(number % 3, 1 + number % 6, "no")])
                store.values([0, 1], [1, 1])
                store.disagreements()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert [json.loads(other.communicate(timeout=600)[0]) for other in others] == [40, 40]
    keys = [event.key for event in store.events()]
    assert len(keys) == len(set(keys)) == 6 * 40
    assert store.database.damage() is None


@pytest.mark.slow
def test_every_acknowledged_answer_survives_sigkill_exactly_once(store):
    """50 kills on either database; benchmarks/kill.py makes a thousand of it."""
    assert answers_survive(store, 25) == 50


def test_an_add_that_is_killed_leaves_the_old_state_or_the_new(tmp_path):
    Store.create(tmp_path / "project", TAXONOMY).close()
    heard = json.loads(process("adds", tmp_path / "project", 10).communicate(timeout=600)[0])
    assert integrity(tmp_path / "project") == "ok"
    with Store(tmp_path / "project") as store:
        count = len(store)
        assert count % 40 == 0
        assert count >= int(heard[-1][-1])
        assert store.all_ids().tolist() == [f"item {number}" for number in range(count)]
        assert store.features().tolist() == [[number, number] for number in range(count)]
        assert store.labels() == Labels(TAXONOMY, np.column_stack([np.arange(count) % 2] * 2))
        store.add(["last"], None, None, [[0, 0]], coarse(1))
        assert len([name for name in files(store) if name[0] != "."]) == 3
