"""Where the real data lies, for the tests that use it, and what all tests need."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest
import torch

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_bundle():
    """The path of a bundle of real data; the test is skipped, saying so, where it is not at hand."""

    def path(name: str) -> Path:
        found = SHARED / f"{name}.npz"
        if not found.is_file():
            pytest.skip(f"the real data {found.name} is not beside the project")
        return found

    return path


@pytest.fixture(autouse=True)
def plain_embedders(monkeypatch):
    """Texts and pictures are embedded by what needs no extra where a test says nothing else."""
    monkeypatch.setattr("ramify.embed.words_installed", lambda: False)
    monkeypatch.setattr("ramify.embed.efficientnet_installed", lambda: False)


@pytest.fixture(scope="session")
def browser():
    """A real browser, for the tests of the page."""
    from browsers import started_browser

    with started_browser() as opened:
        yield opened


@pytest.fixture
def visit(browser):
    """Opens the page of a server, for an annotator."""
    from browsers import Visits

    with Visits(browser) as visits:
        yield visits


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL, for the tests of projects whose database is elsewhere."""
    from postgres import started_postgres

    with started_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request):
    """Where a project's database is: in its folder, or in PostgreSQL."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").new()


# Started in the background of a script, pytest would ignore Ctrl-C, and so would all processes that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says nothing on a busy machine.
hypothesis.settings.register_profile("ramify", deadline=None)
hypothesis.settings.load_profile("ramify")

# Nets as small as those of the tests are trained by one thread: many would fight over a busy machine.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that tests start

# A server trains with the lowest priority. Beside tests of a higher one, on a busy machine, it would never have a turn.
os.nice(19)
