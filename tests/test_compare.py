"""ramify compare: the table, resuming, figures, and what is refused."""

import json
import subprocess
import time

import numpy as np
import pytest

from ramify.errors import RamifyError
from ramify.experiments import compare as comparing
from ramify.experiments.common import VARIANTS, Conditions
from ramify.experiments.runs import run_comparison
from ramify.experiments.tables import as_markdown, comparison
from ramify.learners import LEARNERS
from test_cli import ENVIRONMENT, command, ramify, run_in_process
from test_data import bundle

ROW = {"learner", "ratio", "warm", "seed", "p@1", "p@3", "p@5", "recovery_f1_loss", "seconds"}


@pytest.fixture
def scenes_folder(tmp_path):
    from ramify.demo import scenes

    scenes.read(160).save(tmp_path / "scenes")
    return tmp_path / "scenes"


@pytest.mark.slow
def test_the_command_prints_the_table_and_goes_on_where_it_stopped(scenes_folder, tmp_path):
    arguments = [
        "compare", scenes_folder, "--learners", "leml,pseudo-label", "--warm", "8,16", "--seeds", "2",
        "--epochs", "1", "--out", tmp_path / "out", "--json", tmp_path / "r.json", "--engine", "serial",
    ]  # fmt: skip
    result = ramify(*arguments)
    assert result.returncode == 0, result.stderr
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["command"] == "compare"
    assert written["data"] == str(scenes_folder)
    assert [set(row) for row in written["rows"]] == [ROW] * 8
    assert {row["ratio"] for row in written["rows"]} == {None}
    by_hand = [r["p@1"] for r in written["rows"] if r["learner"] == "leml" and r["warm"] == 8]
    (row,) = [r for r in written["summary"] if r["learner"] == "leml" and r["warm"] == 8]
    assert row["p@1"] == pytest.approx(np.mean(by_hand))
    assert row["p@1_std"] == pytest.approx(np.std(by_hand, ddof=1))
    for name in ("learning-curves-8", "learning-curves-16", "recovery-8", "recovery-16"):
        assert (tmp_path / "out" / f"{name}.png").exists()
        assert (tmp_path / "out" / f"{name}.svg").exists()
    assert f"The table is in {tmp_path / 'out' / 'table.md'}, 8 figures are beside it.\n" in result.stdout

    cells = sorted((tmp_path / "out" / "cells").iterdir())
    assert len(cells) == 8
    before = {cell: cell.stat().st_mtime_ns for cell in cells}
    cells[3].unlink()
    cells[5].write_text('{"settings": ')  # cut off
    assert ramify(*arguments).returncode == 0
    changed = [cell for cell in cells if cell.stat().st_mtime_ns != before[cell]]
    assert changed == [cells[3], cells[5]]

    def numbers(text):
        return [{k: v for k, v in row.items() if k != "seconds"} for row in json.loads(text)["rows"]]

    assert numbers((tmp_path / "r.json").read_text()) == numbers(json.dumps(written))


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_the_same(scenes_folder, tmp_path):
    def arguments(out):
        sizes = ["--learners", "quick_learner:QuickLEML", "--warm", "8", "--seeds", "12", "--engine", "serial"]
        return ["compare", scenes_folder, *sizes, "--out", tmp_path / out, "--json", tmp_path / f"{out}.json"]

    cells = tmp_path / "killed" / "cells"
    with subprocess.Popen(command(*arguments("killed")), stdout=subprocess.DEVNULL, env=ENVIRONMENT) as process:
        while process.poll() is None and not any(cells.glob("quick*")):
            time.sleep(0.01)
        process.kill()
    assert 1 <= len(list(cells.glob("quick*"))) < 12
    for out in ("killed", "whole"):
        assert run_in_process(*arguments(out)).exit_code == 0

    def numbers(out):
        rows = json.loads((tmp_path / f"{out}.json").read_text())["rows"]
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    assert len(numbers("whole")) == 12
    assert numbers("killed") == numbers("whole")


def test_what_fails_is_named_and_the_rest_is_finished_and_shown(scenes_folder, tmp_path):
    who = ["--learners", "quick_learner:Capricious,quick_learner:QuickLEML", "--warm", "8", "--seeds", "3"]
    result = run_in_process("compare", scenes_folder, *who, "--engine", "serial", "--out", tmp_path / "out")
    assert result.exit_code == 1
    failed = "quick_learner:Capricious with 8 warm items, seed 1: ArithmeticError: not today"
    out = tmp_path / "out"
    told = f"1 task failed; the others are finished, and {out} shows them: {failed} (see {out / 'failures.log'})"
    assert (type(result.exception), str(result.exception)) == (RamifyError, told)
    assert 'raise ArithmeticError("not today")' in (tmp_path / "out" / "failures.log").read_text()
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 5
    assert "Capricious" in (tmp_path / "out" / "table.md").read_text()


def test_other_settings_are_computed_anew(scenes_folder, tmp_path):
    cells = comparing.plan(str(scenes_folder), ["leml"], [-3], True, 1, True)
    assert cells == [comparing.Cell("leml", 14, -3, 0)]
    for epochs in (1, 2):
        (result,) = comparing.compare(
            str(scenes_folder), cells, tmp_path / "out", Conditions(epochs=epochs), how="serial"
        )
        assert len(result["history"]) == epochs


def test_every_learner_can_be_compared(scenes_folder, tmp_path, monkeypatch):
    names = [*LEARNERS, *VARIANTS]
    for name in ("coarse-prior", "refine", "refine-shrunk", "refine-nameless"):
        kind, settings = VARIANTS.get(name, (name, {}))
        monkeypatch.setitem(VARIANTS, name, (kind, {**settings, "hidden": (16, 16), "steps": 50}))
    cells = comparing.plan(str(scenes_folder), names, [12], False, 1, True)
    seen = []
    results = comparing.compare(
        str(scenes_folder),
        cells,
        tmp_path / "out",
        Conditions(epochs=1),
        how="serial",
        report=lambda r: seen.append(len(r)),
    )
    assert seen == list(range(len(names) + 1))
    assert [result["learner"] for result in results] == names
    assert len(list((tmp_path / "out" / "memory").iterdir())) == 1  # all four share one coarse stage
    for result in results:
        assert (result["recovery_f1_loss"] is None) == (result["learner"] == "all-labels")  # nothing was unknown to it
        told = {"items", "p@1", "p@3", "p@5"} if result["learner"].startswith("refine") else set()
        assert set(result["estimate"]) == told
        assert 0 < result["p@1"] <= 1
        assert 0 < result["unknown_share"] < 1


def test_with_no_fine_label_at_all_those_that_can_begin_are_compared(scenes_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(VARIANTS, "refine", ("refine", {"hidden": (16,), "steps": 50}))
    done = run_comparison(
        str(scenes_folder), ["pseudo-label", "refine"], [0], tmp_path / "out", seeds=1, epochs=1, how="serial"
    )
    by_learner = {row["learner"]: row for row in done.summary}
    assert by_learner["pseudo-label"]["p@1"] is None
    assert 0 < by_learner["refine"]["p@1"] <= 1
    assert "| 0 | P@1 |  | **" in done.table.read_text()


def test_the_table_marks_the_best_but_never_the_upper_bound():
    rows = [
        {"learner": name, "ratio": None, "warm": 8, "p@1": value, "p@1_std": 0.01, "p@3": value, "p@3_std": None,
         "p@5": None, "p@5_std": None}
        for name, value in (("leml", 0.5), ("refine", 0.75), ("all-labels", 0.9))
    ]  # fmt: skip
    header, lines = comparison(rows)
    assert header == ["warm", "metric", "leml", "refine", "all-labels"]
    assert lines[0] == ["8", "P@1", "0.500 ± 0.010", "**0.750 ± 0.010**", "0.900 ± 0.010"]
    assert lines[1] == ["8", "P@3", "0.500", "**0.750**", "0.900"]
    assert lines[2] == ["8", "P@5", "", "", ""]
    assert as_markdown(header, lines).splitlines()[1] == "|---|---|---|---|---|"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--learners", "magic"], "there is no learner 'magic': choose among fully-supervised, leml"),
        (["--warm", ","], "--warm takes numbers separated by commas, not ','"),
        (["--warm", "nan"], "--warm takes numbers separated by commas, not 'nan'"),
        (["--ratios", "7"], "the ratio log2(M / (M + N)) is at most 0, not 7.0"),
        (["--warm", "1", "--json", "/no/such/folder/r.json"], "/no/such/folder is not a folder: --json needs one"),
        (["--warm", "ten"], "--warm takes numbers separated by commas, not 'ten'"),
        (["--seeds", "0"], "0 seeds: give at least 1"),
        (["--warm", "999"], "a warm set of 999 cannot be drawn from 3 training items"),
        (["--engine", "magic", "--warm", "1"], "there is no engine 'magic': choose 'serial', 'processes', 'ray'"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, arguments, message):
    path = bundle(tmp_path / "b.npz")
    result = run_in_process("compare", path, "--out", tmp_path / "out", *arguments)
    assert isinstance(result.exception, RamifyError)
    assert str(result.exception).startswith(message)
    assert "\n" not in str(result.exception)


def test_labels_alone_cannot_be_learned_from(tmp_path):
    path = bundle(tmp_path / "b.npz", X=None)
    result = ramify("compare", path)
    assert result.returncode == 1
    assert result.stderr == (
        f"ramify: {path} has no features, only labels: make some with `ramify embed`, and give them with --features\n"
    )
