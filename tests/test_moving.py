"""A project whose database is in PostgreSQL, moved there and back, and what users do wrong with it."""

import json
import os
import shutil
import socket

import pytest

from ramify import RamifyError
from ramify.project.store import moving
from ramify.project.store import store as store_module
from ramify.project.store.store import Store, UnavailableError
from store_checks import TAXONOMY, filled, ids, process
from test_cli_project import refused, run


def answered(folder, address=None):
    """A project with answers, one of them taken back, a model, a setting and a point of the curve."""
    with filled(folder, address=address) as store:
        cat, dog = ids(store, "cat", "dog")
        store.record("k1", "ann", [(0, cat, "yes"), (0, dog, "no")])
        store.record("k2", "böb", [(1, cat, "skip")])
        store.record("k3", "ann", [(0, cat, "no")], model=1, settles=True)
        store.undo("k4", "ann")
        store.new_model(lambda folder: {"learner": str((folder / "weights").write_text("1 2 3"))})
        store.set_setting("greeting", "\0 \U0001f431")
        store.add_curve_point(3, {"p@1": 0.5})
        store.leases().lease("ann", [[(2, cat)]])
    return folder


def everything(store):
    """All that a project says of itself."""
    return [
        store.events(),
        store.labels().states().tolist(),
        store.id_of.tolist(),
        store.items([0, 1, 2]),
        store.setting("greeting"),
        store.model_facts(),
        store.curve(),
        store.leases().own("ann"),
        store.taxonomy,
    ]


def test_a_project_that_goes_and_comes_back_has_lost_nothing(tmp_path, postgres):
    folder = answered(tmp_path / "project")
    with Store(folder) as store:
        before = everything(store)
    address = postgres.new()
    Store.move(folder, address)
    assert not list(folder.glob("project.db*"))
    assert json.loads((folder / "ramify.json").read_text()) == {"format": 2, "database": address}
    with Store(folder) as store:
        assert everything(store) == before
        (added,) = store.record("k5", "ann", [(2, ids(store, "dog")[0], "yes")])
        assert added.seq == before[0][-1].seq + 1
        with_more = everything(store)
    Store.move(folder, None)
    assert postgres.run("SELECT to_regclass('ramify.events')", address.split("/")[-1]) == [(None,)]
    with Store(folder) as store:
        assert everything(store) == with_more
        assert store.record("k6", "ann", [(2, ids(store, "cat")[0], "no")])[0].seq == added.seq + 1
    Store.move(folder, address)  # it was left empty
    with Store(folder) as store:
        assert len(store.events()) == len(with_more[0]) + 1


@pytest.mark.parametrize("back", [False, True])
def test_a_move_that_is_killed_loses_nothing_and_can_be_repeated(tmp_path, postgres, back):
    """Killed before each of its steps, in projects of their own; what is answered then is kept, too."""
    for step in range(100):
        folder, address = tmp_path / str(step), postgres.new()
        answered(folder, address if back else None)
        to = None if back else address
        with Store(folder) as store:
            before = everything(store)
        child = os.fork()
        if not child:
            killed_before(step)
            Store.move(folder, to)
            os._exit(0)
        finished = not os.WIFSIGNALED(os.waitpid(child, 0)[1])
        with Store(folder) as store:
            assert everything(store) == before
            assert len(store.record("after", "ann", [(1, 1, "yes")])) == 1
            with_more = everything(store)
            moved = (json.loads((folder / "ramify.json").read_text())["format"] == 1) == back
        if finished:
            assert moved
            assert step > 8
            return
        if not moved:
            Store.move(folder, to)
        with Store(folder) as store:
            assert everything(store) == with_more
    raise AssertionError("it is always killed")


def killed_before(step):
    """Let this process be killed before its so many-th step."""
    left = iter(range(step))

    def halting(honest):
        def called(*arguments, **options):
            if next(left, None) is None:
                os.kill(os.getpid(), 9)
            return honest(*arguments, **options)

        return called

    for name in ("database_of", "database_at", "SQLite", "put", "copy_rows", "write_mark", "finish"):
        setattr(moving, name, halting(getattr(moving, name)))
    for name in ("replace", "unlink"):
        setattr(type(moving.Path()), name, halting(getattr(type(moving.Path()), name)))


@pytest.mark.parametrize("back", [False, True])
def test_whoever_has_the_old_database_open_cannot_lose_an_answer(tmp_path, postgres, back):
    address = postgres.new()
    with Store(answered(tmp_path / "project", address if back else None)) as open_still:
        Store.move(tmp_path / "project", None if back else address)
        with pytest.raises(UnavailableError, match=r"the project is (moved to another|not in this) database"):
            open_still.record("late", "ann", [(1, 1, "yes")])


def test_a_project_that_is_trained_or_moved_is_not_moved(tmp_path, postgres):
    folder, address = answered(tmp_path / "project"), postgres.new()
    training = process("trains", folder)
    assert training.stdout.readline() == "training\n"
    try:
        with pytest.raises(RamifyError, match="is training a model already"):
            Store.move(folder, address)
    finally:
        training.kill()
        training.communicate()
    with moving.locked(folder / moving.LOCK), pytest.raises(RamifyError, match="is being moved by another process"):
        Store.move(folder, address)
    Store.move(folder, address)


def test_what_cannot_be_moved_is_said_and_left_as_it_was(tmp_path, postgres):
    folder, taken = answered(tmp_path / "project"), postgres.new()
    answered(tmp_path / "other", taken)
    for where, said in ((taken, "holds a project already: give an empty database"), (None, "is there already")):
        with pytest.raises(RamifyError, match=said):
            Store.move(folder, where)
    with pytest.raises(RamifyError, match="is there already"):
        Store.move(tmp_path / "other", taken)
    with pytest.raises(RamifyError, match="holds a project already"):
        Store.create(tmp_path / "third", TAXONOMY, address=taken)
    for project in ("project", "other"):
        with Store(tmp_path / project) as store:
            store.record("again", "ann", [(1, 1, "yes")])


def test_a_text_that_postgresql_cannot_keep_is_said(tmp_path, postgres):
    with Store.create(tmp_path / "elsewhere", TAXONOMY, address=postgres.new()) as store:
        with pytest.raises(RamifyError, match=r"the item 'a' holds '\\x00', which PostgreSQL cannot keep: take it out"):
            store.add(["a"], ["\0"], None, None, filled(tmp_path / "here").labels().take([0]))
        assert len(store) == 0
        assert store.search("\0").tolist() == []


def test_addresses_where_nothing_is_are_one_sentence(tmp_path, postgres, monkeypatch):
    address = postgres.new()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = f"postgresql://ramify@127.0.0.1:{silent.getsockname()[1]}/birds"
        for where, said in (
            (nobody, "no PostgreSQL answers there: start it, or check the address"),
            (f"{address}x", "there is no such database: make it with createdb"),
            (address.replace("ramify@", "ramify:wrong@"), "the password is wrong, or there is no such user"),
            ("postgresql://", "looks like postgresql://user@host:5432/name"),
            ("mysql://a@b/c", "looks like postgresql://user@host:5432/name"),
            ("postgresql://a@b:port/c", "looks like postgresql://user@host:5432/name"),
        ):
            with pytest.raises(RamifyError, match=said) as refused:
                Store.create(tmp_path / "project", TAXONOMY, address=where)
            assert "wrong@" not in str(refused.value)
            assert not (tmp_path / "project" / "ramify.json").exists()
    monkeypatch.delenv("PGPASSWORD")
    with pytest.raises(UnavailableError, match="it wants a password: set PGPASSWORD"):
        Store.create(tmp_path / "project", TAXONOMY, address=address)


def test_a_beginning_that_fails_at_the_end_leaves_nothing(tmp_path, postgres, monkeypatch):
    """Between the mark and the commit: the database holds nothing, so the folder must not say that it is there."""
    address, write_mark = postgres.new(), store_module.write_mark

    def interrupted(*arguments):
        write_mark(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(store_module, "write_mark", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Store.create(tmp_path / "project", TAXONOMY, address=address)
    assert not (tmp_path / "project" / "ramify.json").exists()
    monkeypatch.undo()
    with Store.create(tmp_path / "project", TAXONOMY, address=address) as store:
        assert store.taxonomy == TAXONOMY


def test_the_password_is_not_kept(tmp_path, postgres, monkeypatch):
    from postgres import PASSWORD

    address = postgres.new()
    with_password = address.replace("ramify@", f"ramify:{PASSWORD.replace(' ', '%20')}@") + f"?password={PASSWORD}"
    monkeypatch.delenv("PGPASSWORD")
    Store.create(tmp_path / "project", TAXONOMY, address=with_password).close()
    assert PASSWORD.split()[1] not in (tmp_path / "project" / "ramify.json").read_text()
    Store(tmp_path / "project").close()


def test_a_backup_of_a_project_elsewhere_is_a_whole_project(tmp_path, postgres):
    folder = answered(tmp_path / "project", postgres.new())
    with Store(folder) as store:
        before = everything(store)
        store.backup(tmp_path / "backup.zip")
    Store.restore(tmp_path / "backup.zip", tmp_path / "restored")
    with Store(tmp_path / "restored") as store:
        assert everything(store) == before
        assert (store.folder / "project.db").is_file()


def test_two_folders_share_a_project(tmp_path, postgres):
    """As two machines do that see the same files; each sees what the other writes."""
    folder = answered(tmp_path / "project", postgres.new())
    shutil.copytree(folder, tmp_path / "beside")
    with Store(folder) as one, Store(tmp_path / "beside") as other:
        one.record("from one", "ann", [(1, 1, "yes")])
        assert other.events()[-1].key == "from one"
        assert one.leases().lease("ann", [[(2, 3)]]) == [True]
        assert other.leases().lease("bob", [[(2, 3)]]) == [False]


def test_a_server_that_was_started_again_is_used_again(tmp_path, postgres):
    with Store(answered(tmp_path / "project", postgres.new())) as store:
        postgres.stop()
        try:
            with pytest.raises(UnavailableError, match=r"no PostgreSQL answers there|try again"):
                store.record("k", "ann", [(1, 1, "yes")])
        finally:
            postgres.start()
        assert len(store.record("k", "ann", [(1, 1, "yes")])) == 1


def test_the_commands(tmp_path, postgres, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.yaml").write_text("animal: [cat, dog]")
    (tmp_path / "items.csv").write_text("id,text,labels\na,purrs,animal\nb,barks,animal\n")
    address = postgres.new()
    assert "The project is in pets" in run("init", address, "pets", "--taxonomy", "pets.yaml")
    assert "Added 2 items" in run("add", "pets", "items.csv")
    assert "database: whole" in run("check", "pets")
    assert "project.db now, with 0 events" in run("move", "pets", "sqlite")
    assert f"is {address} now" in run("move", "pets", address)
    assert "4 entries are unknown" in run("status", "pets")
    for arguments, said in (
        ((address, "--taxonomy", "pets.yaml"), "give a folder behind the address"),
        ((address, "a", "b", "--taxonomy", "pets.yaml"), "give one folder, and at most one address before it"),
        (("nowhere", "dir", "--taxonomy", "pets.yaml"), "looks like postgresql://"),
        ((address, "other", "--taxonomy", "pets.yaml"), "holds a project already"),
    ):
        assert said in refused("init", *arguments)
    assert "looks like postgresql://" in refused("move", "pets", "nowhere")
