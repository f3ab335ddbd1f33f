"""Engine: the same results in the same order, however the work is spread."""

import os

import pytest

from ramify.engine import ENGINES, run
from ramify.errors import RamifyError


def square(number: int) -> int:
    return number * number


def refuse(number: int) -> int:
    raise RamifyError(f"task {number} went wrong")


def threads_of_blas(_: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


@pytest.mark.parametrize("engine", ENGINES)
def test_results_come_in_the_order_of_the_tasks(engine):
    assert run(square, iter(range(20)), engine) == [number * number for number in range(20)]
    assert run(square, [], engine) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_result_arrives_in_this_process(engine):
    seen = []
    run(square, range(5), engine, arrived=seen.append)
    assert seen == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_of_a_task_reaches_the_caller(engine):
    with pytest.raises(RamifyError, match="task 7 went wrong"):
        run(refuse, [7], engine)


def test_workers_use_one_thread():
    assert run(threads_of_blas, [0], "processes") == ["1"]


def test_an_unknown_engine_is_named_with_the_known_ones():
    with pytest.raises(RamifyError, match="there is no engine 'cluster': choose 'serial' or 'processes'"):
        run(square, [1], "cluster")
