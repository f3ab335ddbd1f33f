"""ramify simulate: curves and factors by hand, resuming, the table with its figures, and what is refused."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from rich.console import Console

from ramify.cli import main
from ramify.data import Dataset
from ramify.data.bundle import known_labels
from ramify.errors import RamifyError
from ramify.experiments import common, figures, progression, runs, simulate, tables
from ramify.metrics import curve_auc
from ramify.taxonomy import Taxonomy
from test_cli import ENVIRONMENT, command, run_in_process
from test_data import bundle

ROW = ["strategy", "seed", "round", "answers", "item_views", "seconds", "p@1", "p@3", "p@5"]
ROW += ["pool_f1", "settled_share", "settled_right"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name in ("coarse-prior", "refine"):
        monkeypatch.setitem(common.VARIANTS, name, (name, {"hidden": (16, 16), "steps": 30}))


@pytest.fixture
def source(tmp_path):
    """80 items with 2 coarse and 4 fine concepts."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 6))
    truth = (features[:, :4] > 0.3).astype(int)
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "pear"]})
    Dataset(known_labels(taxonomy, truth), features).save(tmp_path / "data")
    return str(tmp_path / "data")


def run(source, out, strategies=("random",), *, resume=False, report=lambda rounds: None, **settings):
    planned = simulate.plan(source, strategies, **{"warm": 6, "batch": 4, "rounds": 3, "seeds": 1} | settings)
    return simulate.simulate(planned, out, resume=resume, how="serial", report=report)


def rows_of(strategy, seed, values, answers=None, views=None):
    answers = answers or [100 * number for number in range(len(values))]
    views = views or answers
    return [
        dict.fromkeys(ROW)
        | dict(zip(ROW, [strategy, seed, number, answers[number], views[number]], strict=False))
        | {"seconds": 0.0, "p@1": value, "p@3": value}
        for number, value in enumerate(values)
    ]


# -- pure functions, by hand -------------------------------------------------------------------------------------------


def test_curves_are_averaged_on_a_common_grid_and_keep_their_last_value():
    long = rows_of("s", 0, [0.2, 0.4, 0.6], views=[0, 10, 30])
    short = rows_of("s", 1, [0.4, 0.8], answers=[0, 50], views=[0, 20])
    curve = progression.mean_curve([long, short], "p@1")
    assert curve.answers.tolist() == [0, 50, 100, 200]
    assert curve.mean == pytest.approx([0.3, 0.55, 0.6, 0.7])
    assert curve.item_views == pytest.approx([0, 12.5, 15, 25])
    assert curve.spread == pytest.approx(
        [np.std(pair, ddof=1) for pair in ([0.2, 0.4], [0.3, 0.8], [0.4, 0.8], [0.6, 0.8])]
    )
    assert progression.mean_curve([long], "p@1").spread.tolist() == [0, 0, 0]


def test_factors_by_hand():
    # Random ends at 0.6 with 300 answers and 300 views. The dip of the strategy is pooled: 0, .5, .5, .7, so 0.6 is
    # reached half-way between 200 and 300 answers, where it had seen half-way between 20 and 40 items.
    rows = rows_of("random", 0, [0.0, 0.2, 0.4, 0.6]) + rows_of("wise", 0, [0.0, 0.6, 0.4, 0.7], views=[0, 10, 20, 40])
    rows += rows_of("poor", 0, [0.0, 0.1, 0.2, 0.3])
    random, wise, poor = progression.summary(rows)
    assert wise["answers_factor_vs_random"] == pytest.approx(300 / 250)
    assert wise["views_factor_vs_random"] == pytest.approx(300 / 30)
    assert (poor["answers_factor_vs_random"], poor["views_factor_vs_random"]) == (None, None)
    assert (random["answers_factor_vs_random"], random["views_factor_vs_random"]) == (1.0, 1.0)
    assert {row["answers_factor_vs_random_items"] for row in (random, wise, poor)} == {None}


def test_a_reference_that_gains_nothing_gives_no_factor():
    rows = rows_of("random", 0, [0.5, 0.5]) + rows_of("wise", 0, [0.5, 0.9])
    assert progression.summary(rows)[1]["answers_factor_vs_random"] is None


def test_areas_are_over_the_range_that_all_runs_have_in_common():
    """A strategy that has nothing left to ask keeps what it has reached, up to the answers of the longest run."""
    rows = rows_of("random", 0, [0.0, 0.2, 0.4, 0.6, 0.8])
    rows += rows_of("short", 0, [0.0, 0.4, 0.4])  # alone, up to 200 answers, its area would be 0.3
    rows += rows_of("short", 1, [0.5])
    random, short = progression.summary(rows)
    assert random["auc_p@1"] == pytest.approx(0.4)
    first = (0.2 + 0.4 + 0.4 + 0.4) / 4
    assert short["auc_p@1"] == pytest.approx((first + 0.5) / 2)
    assert short["auc_p@1_std"] == pytest.approx(np.std([first, 0.5], ddof=1))
    assert short["auc_p@1_vs_random"] == pytest.approx(first - 0.4)
    assert short["answers"] == 100  # where its runs ended is still said


def test_both_references_and_paired_differences():
    rows = []
    for seed, gain in ((0, 0.1), (1, 0.3)):
        rows += rows_of("random", seed, [0.2 * seed, 0.2 * seed + 0.4])
        rows += rows_of("random-items", seed, [0.2 * seed, 0.2 * seed + 0.4], views=[0, 20])
        rows += rows_of("wise", seed, [0.2 * seed + gain, 0.2 * seed + 0.4 + gain], views=[0, 50])
    _, items, wise = progression.summary(rows)
    assert wise["seeds"] == 2
    assert wise["auc_p@1"] == pytest.approx(np.mean([0.3, 0.7]))
    assert wise["auc_p@1_std"] == pytest.approx(np.std([0.3, 0.7], ddof=1))
    assert wise["auc_p@1_vs_random"] == pytest.approx(0.2)
    assert wise["auc_p@1_vs_random_std"] == pytest.approx(np.std([0.1, 0.3], ddof=1))
    assert wise["auc_p@5"] is wise["auc_p@5_std"] is wise["auc_p@5_vs_random"] is None
    # From 0.3 to 0.7 on average, and random ends at 0.5: half of the answers and half of the 50 views.
    assert wise["answers_factor_vs_random"] == pytest.approx(2)
    assert wise["views_factor_vs_random"] == pytest.approx(100 / 25)
    assert wise["answers_factor_vs_random_items"] == pytest.approx(2)
    assert wise["views_factor_vs_random_items"] == pytest.approx(20 / 25)
    assert (items["answers"], items["item_views"]) == (100, 20)
    alone = progression.summary([row for row in rows if row["strategy"] == "wise"])[0]
    assert alone["auc_p@1_vs_random"] is alone["answers_factor_vs_random"] is None


def test_the_table_marks_the_best_and_says_what_is_saved():
    rows = rows_of("random", 0, [0.0, 0.2, 0.4]) + rows_of("wise", 0, [0.0, 0.4, 0.6], views=[0, 10, 20])
    rows += rows_of("poor", 0, [0.0, 0.1, 0.1]) + rows_of("slow", 0, [0.0, 0.2, 0.3, 0.4])
    found = progression.summary(rows)
    header, lines = tables.progression(found)
    assert header[:4] == ["strategy", "AUC P@1", "AUC P@3", "AUC P@5"]
    # Up to the 300 answers of the slow one: random (.1 + .3 + .4) / 3, wise (.2 + .5 + .6) / 3.
    assert lines[0] == ["random", "0.267", "0.267", "", "1.0", "1.0", "200", "200"]
    assert lines[1] == ["wise", "**0.433**", "**0.433**", "", "2.0", "20.0", "200", "20"]
    assert lines[2][4:6] == ["-", "-"]
    assert tables.savings(found) == [
        "wise reaches random's P@1 with 2.0x fewer answers and 20.0x fewer item views",
        "poor does not reach random's P@1",
        "slow reaches random's P@1 with 1.5x more answers and 1.5x more item views",
    ]
    assert tables.paired(found)[1][0] == ["wise", "+0.1667", "+0.1667", "", "-", "-"]


def test_the_table_fits_a_terminal():
    rows = [row for seed in (0, 1) for row in rows_of("expected-gain", seed, [0.4 + seed / 9, 0.6], [0, 99999])]
    console = Console(width=80)
    with console.capture() as captured:
        console.print(
            tables.progression_as_rich(progression.summary(rows + [{**r, "strategy": "random"} for r in rows]))
        )
    shown = captured.get()
    assert "…" not in shown
    assert "expected-gain 0.528±.039" in shown


# -- runs --------------------------------------------------------------------------------------------------------------


def test_more_rounds_go_on_exactly_and_progress_is_told(source, tmp_path):
    seen = []
    first = run(source, tmp_path / "out", ["random-items"], rounds=2, report=seen.append)
    assert (seen[0], seen[-1]) == (0, 4)
    assert [result["strategy"] for result in first] == ["random", "random-items"]
    seen.clear()
    longer = run(source, tmp_path / "out", ["random-items"], rounds=4, resume=True, report=seen.append)
    assert (seen[0], seen[-1]) == (4, 8)
    assert longer == run(source, tmp_path / "whole", ["random-items"], rounds=4, resume=True)
    assert [row["round"] for row in longer[1]["curve"]] == [0, 1, 2, 3, 4]
    assert run(source, tmp_path / "out", ["random-items"], rounds=2, resume=True) == first


def test_rows_have_all_metrics_even_where_there_are_too_few_concepts(source, tmp_path):
    results = run(source, tmp_path / "out", rounds=1)
    found = simulate.rows(results)
    assert [list(row) for row in found] == [ROW] * 2
    assert [row["answers"] for row in found] == [0, 4]
    assert 0 < found[0]["p@3"] <= 1
    assert found[0]["p@5"] is None
    assert [axes.get_title() for axes in figures.al_curve(found).axes] == ["P@1", "P@3"]


@pytest.mark.parametrize("learner", ["refine", "pseudo-label"])
def test_no_warm_item_at_all(source, tmp_path, learner, monkeypatch):
    """The curve begins with round 0; who cannot begin without fine labels has no figures there, and asks at random."""
    monkeypatch.setitem(common.VARIANTS, "pseudo-label", ("pseudo-label", {"hidden": (8,), "epochs": 1}))
    results = run(source, tmp_path / "out", ["random", "expected-gain"], learner=learner, warm=0)
    for result in results:
        assert [row["round"] for row in result["curve"]] == [0, 1, 2, 3]
        assert [row["answers"] for row in result["curve"]] == [0, 4, 8, 12]
        assert (result["curve"][0]["p@1"] is None) == (learner == "pseudo-label")
        assert result["curve"][-1]["p@1"] > 0
    assert all(row["auc_p@1"] > 0 for row in progression.summary(simulate.rows(results)))
    asked = [
        json.loads((tmp_path / "out" / "runs" / f"{name}-0" / "answers.jsonl").read_text().splitlines()[0])["ask"]
        for name in ("random", "expected-gain")
    ]
    assert (asked[0] == asked[1]) == (learner == "pseudo-label")


def test_a_run_with_nothing_left_to_ask_says_so(source, tmp_path):
    (result,) = run(source, tmp_path / "out", batch=1000)
    assert [row["round"] for row in result["curve"]] == [0, 1]
    assert "nothing is left to ask" in result["stopped"]


def test_a_whole_simulation_is_written_down(source, tmp_path):
    seen = []
    done = runs.run_simulation(
        source,
        ["random-items"],
        tmp_path / "out",
        warm=6,
        batch=1000,
        rounds=2,
        seeds=1,
        how="serial",
        json_file=tmp_path / "r.json",
        report=lambda finished, total: seen.append((finished, total)),
    )
    assert (seen[0], seen[-1]) == ((0, 4), (2, 4))
    written = json.loads((tmp_path / "r.json").read_text())
    assert (written["rows"], written["summary"]) == (done.rows, done.summary)
    assert done.summary == progression.summary(done.rows)
    lines = done.table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "| " + " | ".join(tables.progression(done.summary)[0]) + " |"
    assert "Some runs ended early: nothing is left to ask after" in done.sentences[-1]
    assert {f"{sentence}." for sentence in done.sentences} <= set(lines)
    assert [path.name for path in done.figures] == [
        "al_curve.png", "al_curve.svg", "al_curve_views.png", "al_curve_views.svg", "pool_f1.png", "pool_f1.svg"
    ]  # fmt: skip
    with pytest.raises(RamifyError, match=r"nowhere is not a folder: --json needs one that exists"):
        runs.run_simulation(source, ["random"], tmp_path / "out", warm=6, json_file=tmp_path / "nowhere" / "r.json")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch": 5}, "holds runs with batch 4, not 5: give the same settings, or another --out"),
        ({"warm": 7}, "holds runs with warm 6, not 7"),
        ({"learner": "leml"}, "holds runs with learner coarse-prior, not leml"),
        ({"part": "validation"}, "holds runs with part test, not validation"),
    ],
)
def test_runs_of_other_settings_are_not_mixed(source, tmp_path, settings, message):
    run(source, tmp_path / "out", learner="coarse-prior", rounds=1)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RamifyError, match=message):
        run(source, tmp_path / "out", resume=True, **{"learner": "coarse-prior"} | settings)
    with pytest.raises(RamifyError, match="out already holds runs: give --resume to go on with them, or another --out"):
        run(source, tmp_path / "out", **{"learner": "coarse-prior"} | settings)
    assert sorted(tmp_path.rglob("*")) == before


def test_runs_on_other_data_are_not_mixed(source, tmp_path):
    run(source, tmp_path / "out", rounds=1)
    changed = Dataset.load(source)
    Dataset(changed.labels, np.array(changed.features) + 1).save(tmp_path / "changed")
    with pytest.raises(RamifyError, match="holds runs with other data"):
        run(str(tmp_path / "changed"), tmp_path / "out", resume=True)


def test_the_validation_part_is_measured_where_it_is_asked_for(source, tmp_path):
    on = {part: run(source, tmp_path / part, part=part)[0]["curve"] for part in simulate.PARTS}
    assert [row["answers"] for row in on["test"]] == [row["answers"] for row in on["validation"]]
    assert on["test"][0]["p@3"] != on["validation"][0]["p@3"]


# -- the command -------------------------------------------------------------------------------------------------------


def test_an_interrupted_command_goes_on_and_ends_the_same(source, tmp_path):
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"

    def arguments(out):
        sizes = ["--warm", "6", "--batch", "3", "--rounds", "12", "--seeds", "3", "--engine", "serial", "--resume"]
        who = ["--strategies", "uncertainty", "--learner", "quick_learner:QuickRefine"]
        return ["simulate", source, *who, *sizes, "--out", str(out), "--json", f"{out}.json"]

    result = run_in_process(*arguments(whole))
    assert result.exit_code == 0, result.output
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command(*arguments(stopped)), **pipes, env=ENVIRONMENT) as process:
        while process.poll() is None and not any(stopped.glob("runs/*/curve.json")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    last = said.splitlines()[-1]  # a slow machine may have said how far it is
    assert last == f"Interrupted: all finished rounds are kept in {stopped}. Run the same command to go on."
    assert len(list(stopped.glob("runs/*"))) < 4
    assert run_in_process(*arguments(stopped)).exit_code == 0
    written = {out.name: json.loads(out.with_suffix(".json").read_text()) for out in (stopped, whole)}
    assert written["stopped"]["rows"] == written["whole"]["rows"]

    assert "uncertainty" in result.output
    assert "random" in result.output
    assert "random" in (whole / "table.md").read_text()
    drawn = {path.name for path in whole.iterdir() if path.suffix in (".png", ".svg")}
    assert drawn == {f"{name}.{kind}" for name in ("al_curve", "al_curve_views", "pool_f1") for kind in ("png", "svg")}
    found = written["whole"]
    assert (found["command"], found["data"], found["learner"]) == ("simulate", source, "quick_learner:QuickRefine")
    assert [list(row) for row in found["rows"]] == [ROW] * (2 * 3 * 13)
    areas = []
    for seed in (0, 1, 2):
        curve = [row for row in found["rows"] if (row["strategy"], row["seed"]) == ("uncertainty", seed)]
        areas.append(curve_auc([row["answers"] for row in curve], [row["p@1"] for row in curve]))
    random, uncertainty = found["summary"]
    assert (random["strategy"], uncertainty["strategy"]) == ("random", "uncertainty")
    assert uncertainty["auc_p@1"] == pytest.approx(np.mean(areas))
    assert uncertainty["auc_p@1_std"] == pytest.approx(np.std(areas, ddof=1))
    for kind in ("answers", "views"):
        assert {f"{kind}_factor_vs_random", f"{kind}_factor_vs_random_items"} <= set(uncertainty)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strategies", "magic"], "there is no strategy 'magic': choose among random, uncertainty, look-ahead"),
        (["--learner", "magic"], "there is no learner 'magic': choose among fully-supervised, leml"),
        (["--learner", "all-labels"], "there is no learner 'all-labels': choose among"),
        (["--rounds", "0"], "0 rounds: give at least 1"),
        (["--batch", "0"], "0 answers in a batch: give at least 1"),
        (["--seeds", "0"], "0 seeds: give at least 1"),
        (["--ratio", "-2", "--warm", "1"], "give the size of the warm set either as --ratio or as --warm, not both"),
        (["--ratio", "2"], "the ratio log2(M / (M + N)) is at most 0, not 2.0"),
        (["--ratio", "-6"], "the ratio -6 leaves no warm item: take a larger one, or --warm 0 if you mean it"),
        (["--warm", "99"], "a warm set of 99 cannot be drawn from 3 training items"),
        (["--warm", "1", "--json", "/no/such/folder/r.json"], "/no/such/folder is not a folder: --json needs one"),
        (["--warm", "1", "--out", __file__], f"{__file__} is a file: give a folder for the results"),
        (["--warm", "1", "--engine", "magic"], "there is no engine 'magic': choose 'serial', 'processes', 'ray'"),
    ],
)
def test_a_mistake_is_a_ramify_error(tmp_path, arguments, message):
    path = bundle(tmp_path / "b.npz")
    result = run_in_process("simulate", path, "--out", tmp_path / "out", *arguments)
    assert isinstance(result.exception, RamifyError)
    assert str(result.exception).startswith(message)


def test_a_mistake_is_one_sentence(tmp_path, monkeypatch, capsys):
    path = bundle(tmp_path / "b.npz", X=None)
    monkeypatch.setattr(sys, "argv", ["ramify", "simulate", str(path)])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err == (
        f"ramify: {path} has no features, only labels: make some with `ramify embed`, and give them with --features\n"
    )
