"""What a command shows while it works, on a terminal and redirected, and what it says on Ctrl-C."""

from types import SimpleNamespace

import pytest
import typer

from ramify import progress as module
from ramify.cli.progress import interruptible, progress
from ramify.progress import showing


def test_redirected_it_is_a_plain_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(module, "PLAIN_FIRST", 0.0)
    monkeypatch.setattr(module, "PLAIN_EVERY", 0.0)
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
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress("all is kept") as shown:
        shown("cells", 40, 100)  # kept from an earlier run
        now[0] += 29
        shown("cells", 41, 100)  # the first line comes after five seconds, others every half minute
        now[0] += 31
        shown("cells", 42, 100)
        now[0] += 29
        shown("cells", 43, 100)
        now[0] += 1
        shown("cells", 100, 100)
    assert capsys.readouterr().err == ("cells: 41 of 100, about 29 min left\ncells: 42 of 100, about 29 min left\n")


def test_what_follows_has_a_pace_of_its_own(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with showing() as report:
        for done in range(10):
            report("coarse stage", done, 10)
            now[0] += 100
        report("all items", 0, 8)
        now[0] += 30
        report("all items", 2, 8)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "coarse stage: 1 of 10, about 15 min left"
    assert lines[-2:] == ["all items: 0 of 8", "all items: 2 of 8, about 90 s left"]


def test_what_is_not_wanted_is_not_shown(monkeypatch, capsys):
    monkeypatch.setattr(module, "PLAIN_FIRST", 0.0)
    with showing(wanted=False) as report:
        report("steps", 1, 9)
    assert capsys.readouterr() == ("", "")


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


def test_on_a_terminal_what_follows_is_a_new_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with showing() as report:
        report("coarse stage", 9, 9)
        report("all items", 5, 7)
    last = capsys.readouterr().err.split("coarse stage")[-1]
    assert "all items" in last
    assert "5/7" in last


@pytest.mark.parametrize("kind", [interruptible, progress])
def test_ctrl_c_ends_with_one_sentence(kind, capsys):
    with pytest.raises(typer.Exit) as ended, kind("all is kept in out", "the same command with --resume"):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == (
        "Interrupted: all is kept in out. Run the same command with --resume to go on.\n"
    )
