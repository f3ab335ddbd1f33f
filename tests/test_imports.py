"""What is loaded before anybody needs it: libraries that take seconds must not be, whatever else changes."""

import subprocess
import sys

import pytest

from ramify.project.live.kept import kept_questions
from ramify.project.live.service import Service
from ramify.project.store.store import Store
from test_service import entries, make, true_answers, until

HEAVY = {"alembic", "matplotlib", "pandas", "pyarrow", "scipy.optimize", "scipy.stats", "sklearn", "torch"}
FIRST_QUESTION = """
import ramify.web
from ramify.project.live.background import Background
from ramify.project.live.service import Service

Background.start = lambda self: None  # it waits until somebody was asked: here for ever
service = Service({folder!r})
ramify.web.create_app(service)
(task,) = service.next("ben")
print(len(task.entries), task.model)
"""


def run(code):
    """What it printed, and the modules that were loaded then."""
    listed = f"import sys, atexit\natexit.register(lambda: print('LOADED', *sys.modules))\n{code}"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=False)
    assert not done.stderr
    said, _, modules = done.stdout.rpartition("LOADED ")
    return said, set(modules.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project that was trained, and asked once."""
    folder = make(tmp_path_factory.mktemp("imports") / "project", warm=12, train=True)
    with Service(folder, background=False) as service:
        assert service.next("ann")
    return str(folder)


@pytest.mark.parametrize("command", ["--help", "serve --help", "status FOLDER"])
def test_a_command_that_computes_nothing_loads_nothing_to_compute_with(folder, command):
    arguments = command.replace("FOLDER", folder).split()
    said, modules = run(f"sys.argv[1:] = {arguments}\nfrom ramify.cli import main\nmain()")
    assert said
    assert not HEAVY & modules


def test_the_first_question_is_asked_before_the_model_and_its_libraries_are_loaded(folder):
    said, modules = run(FIRST_QUESTION.format(folder=folder))
    entries, version = map(int, said.split())
    assert entries > 0
    assert version == 1
    assert not HEAVY & modules


def test_what_is_asked_first_comes_from_the_list_that_was_made_last(folder):
    with Store(folder) as store:
        kept = {tuple(entry) for entry in store.setting("questions")["entries"]}
    with Service(folder) as service:
        assert not service.state.loaded
        (task,) = service.next("cleo")
        asked = {(entry.item, entry.concept) for entry in task.entries}
        assert asked <= kept
        until(lambda: service.state.loaded)
        assert service.state.model.version == 1
        service.answer("key", "cleo", true_answers(service, task))
        until(lambda: {item for item, _ in asked} <= set(service.state.model.learner.learned_items().tolist()))


@pytest.mark.parametrize("mode", ["group", "grid"])
def test_many_who_come_before_the_model_all_get_questions(folder, mode):
    with Service(folder) as service:
        got = [entries(service.next(f"{mode} {n}", mode=mode)) for n in range(6)]
        assert all(got)
        assert sum(map(len, got)) == len(set.union(*got))


def test_another_strategy_and_other_items_have_no_list_yet(folder, tmp_path):
    with Store(folder) as store:
        assert kept_questions(store, "finish") is not None
        assert kept_questions(store, "uncertainty") is None
    with Store(make(tmp_path / "project")) as store:  # nothing was asked, and there is no model
        assert kept_questions(store, "finish") is None


def test_a_process_that_learns_loads_torch_and_neither_scikit_learn_nor_pandas():
    said, modules = run("import ramify.project.live.training, ramify.strategies; print('there')")
    assert said == "there\n"
    assert "torch" in modules
    assert not (HEAVY - {"torch"}) & modules
