"""What a command shows while it works, on a terminal and redirected, and what it says on Ctrl-C."""

from types import SimpleNamespace

import pytest
import typer

from ramify.cli import progress as showing
from ramify.cli.progress import interruptible, progress


def test_redirected_it_is_a_plain_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(showing, "PLAIN_EVERY", 0.0)
    with progress("all is kept") as shown:
        shown("rounds", 3, 9)
        shown("rounds", 3, 9)
    assert capsys.readouterr().err == "rounds: 3 of 9\n" * 2


def test_what_is_quick_says_nothing(capsys):
    with progress("all is kept") as shown:
        for done in range(10):
            shown("rounds", done, 9)
    assert capsys.readouterr() == ("", "")


def test_the_time_left_counts_what_was_finished_in_this_run(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(showing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress("all is kept") as shown:
        shown("cells", 40, 100)  # kept from an earlier run
        now[0] += 29
        shown("cells", 41, 100)
        now[0] += 31
        shown("cells", 42, 100)
        now[0] += 29
        shown("cells", 43, 100)
        now[0] += 1
        shown("cells", 100, 100)
    assert capsys.readouterr().err == "cells: 42 of 100, about 29 min left\n"


def test_on_a_terminal_it_is_a_bar_that_goes_away(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress("all is kept") as shown:
        assert capsys.readouterr().err == ""  # nothing is known yet
        shown("cells", 0, 9)
        shown("cells", 3, 9, above="THE TABLE SO FAR")
    said = capsys.readouterr()
    assert said.out == ""
    for words in ("cells", "3/9", "THE TABLE SO FAR"):
        assert words in said.err
    assert said.err.endswith("\x1b[2K")  # the last line is erased again


@pytest.mark.parametrize("kind", [interruptible, progress])
def test_ctrl_c_ends_with_one_sentence(kind, capsys):
    with pytest.raises(typer.Exit) as ended, kind("all is kept in out", "the same command with --resume"):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == (
        "Interrupted: all is kept in out. Run the same command with --resume to go on.\n"
    )
