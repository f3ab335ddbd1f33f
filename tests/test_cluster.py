"""A Ray cluster on this machine: real workers, one of them killed; addresses where nothing answers."""

import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ramify import cluster, engine
from ramify.demo import scenes
from ramify.engine import run
from ramify.errors import RamifyError
from ramify.experiments import compare, simulate, tuning
from ramify.experiments.common import Conditions
from tasks import die, fill_the_disk, refuse, square


@pytest.fixture(scope="module")
def _ray():
    ray = pytest.importorskip("ray")
    yield
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("_ray")
def test_ray_gives_what_the_other_engines_give_and_survives_a_killed_worker(tmp_path, monkeypatch):
    assert run(square, range(30), "ray") == [number * number for number in range(30)]
    seen, failed = [], []
    assert run(refuse, range(6, 10), "ray", seen.append, failed.append) == [6, 9]
    assert seen == [6, 9]
    assert [failure.reason for failure in failed] == ["7: seven is not wanted", "8: KeyError: 'eight'"]
    for name in ("once", "always", "full"):
        (tmp_path / name).mkdir()
    assert run(partial(die, tmp_path / "once", 1), range(6), "ray") == list(range(6))
    assert len(list((tmp_path / "once").iterdir())) == 1
    monkeypatch.setattr(cluster, "ATTEMPTS", 2)
    failed.clear()
    assert run(partial(die, tmp_path / "always", 99), [2, 3], "ray", failed=failed.append) == [2]
    assert failed[0].reason.startswith("3: its worker was killed")
    with pytest.raises(RamifyError, match="the disk is full"):
        run(partial(fill_the_disk, tmp_path / "full"), [0], "ray")

    # The same rows, to the last bit, on all three engines.
    scenes.read(160).save(tmp_path / "scenes")
    source, learners = str(tmp_path / "scenes"), ["leml", "pseudo-label", "quick_learner:QuickRefine"]
    cells = compare.plan(source, learners, [12], False, 2, True)
    rows = {}
    for how in ("serial", "processes", "ray"):
        results = compare.compare(source, cells, tmp_path / how, Conditions(epochs=1), how=how)
        rows[how] = [{key: row[key] for key in ("learner", "seed", "p@1", "p@3", "p@5")} for row in results]
    assert len(rows["ray"]) == 6
    assert rows["serial"] == rows["processes"] == rows["ray"]

    # So with questions, and with trials.
    planned = simulate.plan(source, ["random", "expected-gain"], learners[2], warm=12, batch=10, rounds=2, seeds=1)
    asked, chosen = {}, {}
    for how in rows:
        asked[how] = simulate.rows(simulate.simulate(planned, tmp_path / f"asked-{how}", how=how))
        folder = tmp_path / f"trials-{how}"
        chosen[how] = tuning.tune(source, learners[:2], 12, 2, folder, Conditions(epochs=1), how=how)
    assert len(asked["ray"]) == 6
    assert asked["serial"] == asked["processes"] == asked["ray"]
    assert [best.trials for best in chosen["ray"]] == [2, 2]
    assert chosen["serial"] == chosen["processes"] == chosen["ray"]


@pytest.mark.slow
def test_where_memory_runs_out_ray_gives_up_after_some_attempts():
    pytest.importorskip("ray")
    environment = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "50"}
    command = [sys.executable, Path(__file__).with_name("memory_process.py")]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1: the memory of its machine ran out 3 times: give Ray fewer cores there " + (
        "(ray start --num-cpus), or take --engine serial\n"
    )


def test_paths_are_absolute_before_they_travel(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    here = engine.run

    def elsewhere(function, tasks, how, **more):
        """As on a machine of a cluster: in another folder."""

        def moved(task):
            os.chdir(tmp_path / "elsewhere")
            try:
                return function(task)
            finally:
                os.chdir(tmp_path / "here")

        return here(moved, tasks, "serial", **more)

    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(engine, "run", elsewhere)
    scenes.read(60).save("scenes")
    out, learner = Path("out"), "quick_learner:QuickLEML"
    cells = compare.plan("scenes", [learner], [8], False, 1, True)
    (result,) = compare.compare("scenes", cells, out)
    assert result["p@1"] is not None
    planned = simulate.plan("scenes", ["random"], learner, warm=8, rounds=1, batch=5, seeds=1)
    (run,) = simulate.simulate(planned, Path("asked"))
    assert len(run["curve"]) == 2
    compare.compare("scenes:60", cells, Path("drawn"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_address_where_nothing_answers_is_told_at_once():
    pytest.importorskip("ray")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        port = taken.getsockname()[1]
        with pytest.raises(RamifyError, match=f"no Ray cluster answers at 127.0.0.1:{port} "):
            run(square, [1], f"ray:127.0.0.1:{port}")
        with pytest.raises(RamifyError, match="no Ray cluster answers at ray://127"):
            run(square, [1], f"ray:ray://127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["nowhere", "host:", ":6379", "host:port"])
def test_what_is_no_address_is_told(address):
    pytest.importorskip("ray")
    with pytest.raises(RamifyError, match="is not the address of a Ray cluster: give HOST:PORT"):
        run(square, [1], f"ray:{address}")


def test_without_ray_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RamifyError, match=r"pip install 'ramify\[ray\]'"):
        cluster.connect()
