"""Engine: the same results in the same order, however the work is spread, whatever becomes of workers and tasks."""

import os
import threading
from functools import partial

import pytest
import torch

from ramify.engine import run
from ramify.errors import RamifyError
from tasks import call_nobody, die, fill_the_disk, refuse, square

ON_THIS_MACHINE = ("serial", "processes")


def threads_of_blas(_: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def torch_threads(_: int) -> int:
    return torch.get_num_threads()


@pytest.mark.parametrize("engine", ON_THIS_MACHINE)
def test_results_come_in_the_order_of_the_tasks(engine):
    assert run(square, iter(range(20)), engine) == [number * number for number in range(20)]
    assert run(square, [], engine) == []


@pytest.mark.parametrize("engine", ON_THIS_MACHINE)
def test_every_result_arrives_in_this_process(engine):
    seen = []
    run(square, range(5), engine, arrived=seen.append)
    assert seen == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("engine", ON_THIS_MACHINE)
def test_a_task_that_fails_is_named_and_the_others_go_on(engine):
    seen, failed = [], []
    assert run(refuse, range(6, 10), engine, seen.append, failed.append, "task {}".format) == [6, 9]
    assert seen == [6, 9]
    assert [failure.reason for failure in failed] == ["task 7: seven is not wanted", "task 8: KeyError: 'eight'"]
    assert 'raise KeyError("eight")' in failed[1].traceback


@pytest.mark.parametrize("engine", ON_THIS_MACHINE)
def test_where_nobody_listens_failures_are_an_error_at_the_end(engine):
    with pytest.raises(RamifyError, match=r"^seven is not wanted$"):
        run(refuse, [7], engine)
    seen = []
    told = "^2 of 4 tasks failed, the others are finished: 7: seven is not wanted; 8: KeyError: 'eight'$"
    with pytest.raises(RamifyError, match=told):
        run(refuse, range(6, 10), engine, seen.append)
    assert seen == [6, 9]
    with pytest.raises(RamifyError) as caught:
        run(refuse, [8, 9], engine)
    assert 'raise KeyError("eight")' in caught.value.__notes__[0]  # a fault of the code shows where it is


def test_a_full_disk_ends_everything(tmp_path):
    with pytest.raises(RamifyError, match="the disk is full"):
        run(partial(fill_the_disk, tmp_path), range(5), "serial", failed=lambda reason: None)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    assert run(partial(die, tmp_path, 2), range(6), "processes") == list(range(6))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_task_that_kills_its_workers_is_named_and_the_others_go_on(tmp_path):
    failed = []
    assert run(partial(die, tmp_path, 99), range(6), "processes", failed=failed.append) == [0, 1, 2, 4, 5]
    (failure,) = failed
    assert failure.reason.startswith("3: its worker was killed, perhaps because the memory ran out")


def test_who_stops_in_the_middle_stops_the_workers_without_a_word(monkeypatch):
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)

    def stop(result):
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(square, range(500), "processes", arrived=stop)
    assert not failed


def test_an_error_of_a_task_s_own_is_no_trouble_with_the_disk():
    with pytest.raises(RamifyError, match="ConnectionError: nobody there"):
        run(call_nobody, [1], "serial")


def test_workers_use_one_thread():
    assert run(threads_of_blas, [0, 1], "processes") == ["1", "1"]
    assert run(torch_threads, [0], "serial") == run(torch_threads, [0], "processes") == [1]


@pytest.mark.parametrize("engine", ["cluster", "serial:host", "Ray"])
def test_an_unknown_engine_is_named_with_the_known_ones(engine):
    with pytest.raises(RamifyError, match=f"there is no engine '{engine}': choose 'serial', 'processes', 'ray'"):
        run(square, [1], engine)
