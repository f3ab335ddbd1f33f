"""ramify reproduce: every part in both settings, one report, resumed and interrupted; and what is refused."""

import csv
import re
import shutil

import pytest

from browsers import expect, needs_browser
from disks import fill, small_disk
from ramify.errors import RamifyError
from ramify.experiments import compare, reproduce
from ramify.experiments.common import VARIANTS
from ramify.experiments.printed import PRINTED, RATIOS, printed
from ramify.experiments.runs import run_reproduction
from ramify.learners import LEARNERS
from test_cli import run_in_process

# refine has nothing to be tuned, and is in the table nevertheless.
LEARNERS_SHOWN = ("fully-supervised", "leml", "one-class", "pseudo-label-literal", "pseudo-label", "refine")
SMALL = {
    "learners": LEARNERS_SHOWN,
    "ratios": (-4, -3, -2),
    "seeds": 2,
    "trials": 1,
    "strategies": ("random", "uncertainty", "look-ahead"),
    "batch": 5,
    "rounds": 1,
    "curve_epochs": 2,
    "epochs": 1,
}


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """Tiny nets, whatever the learner."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*LEARNERS, *VARIANTS]:
            kind, settings = VARIANTS.get(name, (name, {}))
            small = (
                {"hidden": (8, 8), "steps": 10}
                if kind in ("refine", "coarse-prior")
                else {"hidden": (8,), "shortest_epoch": 5}
            )
            patch.setitem(VARIANTS, name, (kind, {**settings, **small}))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from ramify.demo import scenes

    folder = tmp_path_factory.mktemp("data") / "my-scenes"
    scenes.read(120).save(folder)
    return str(folder)


def run(data, out, **more):
    settings = {"printed": "coco", **SMALL, **more}
    return run_reproduction(data, out, how="serial", command="ramify reproduce my-scenes", **settings)


@pytest.fixture(scope="module")
def reproduced(data, tmp_path_factory):
    """A finished folder, the report's files, what was said at first, and how far it was from time to time."""
    out, said, parts = tmp_path_factory.mktemp("reproduced") / "out", [], []
    files = run(data, out, say=said.append, report=lambda *part: parts.append(part))
    return out, files, said, parts


def test_everything_is_in_one_report(reproduced):
    out, files, said, parts = reproduced
    assert [file.name for file in files] == ["report.html", "report.md", "tables.tex", "results.csv"]
    assert re.fullmatch(r"About .* if nothing of it is in .* yet \(an estimate\)\.", said[0])
    assert list(dict.fromkeys(what for what, _, _ in parts)) == [
        "ours: trials", "ours: table", "ours: curves", "ours: asking with pseudo-label", "ours: asking with refine",
        "paper: trials", "paper: table", "paper: curves", "paper: asking with pseudo-label-literal",
    ]  # fmt: skip

    page = files[0].read_text(encoding="utf-8")
    assert "The paper&#39;s experiments on my-scenes" in page
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!#)", re.sub(r"xlink:href|xmlns[^ ]*", "", page)), "all is inside"
    assert page.count("<svg") == 9  # lc, recover and scatter in both settings, and three progressions
    text = files[1].read_text(encoding="utf-8")
    for title in (
        "Which of its claims hold", "The paper's numbers beside ours", "Table 1/2: learners, setting 'ours'",
        "Table 1/2: learners, setting 'paper'", "What each change to Algorithm 1 is worth", "Figures lc and recover",
        "Table 3: asking", "What tuning chose", "How it was computed",
    ):  # fmt: skip
        assert f"\n## {title}\n" in text
    for figure in re.findall(r"\(figures/(.+?)\)", text):
        assert (out / "figures" / figure).is_file()
    latex = files[2].read_text(encoding="utf-8")
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") == text.count("\n|---|")
    with files[3].open(newline="") as file:
        rows = list(csv.DictReader(file))
    cells = len(LEARNERS_SHOWN) * 3 * 2
    assert sum(row["part"] == "table" for row in rows) == 2 * cells
    assert sum(row["part"] == "curves" for row in rows) == 2 * 5 * 2
    assert sum(row["part"] == "asking" for row in rows) == 3 * 3 * 2 * 2


def test_what_is_there_is_not_computed_again_and_a_full_disk_loses_nothing(data, reproduced, tmp_path, monkeypatch):
    finished, files, _, _ = reproduced
    before = files[1].read_text(encoding="utf-8")
    monkeypatch.setattr(compare, "run_cell", lambda *given: pytest.fail("nothing is computed again"))
    with small_disk(tmp_path / "disk", "48m") as disk:
        out = disk / "out"
        shutil.copytree(finished, out, ignore=shutil.ignore_patterns("report.*", "figures", "tables.tex"))
        filling = fill(disk)
        with pytest.raises(RamifyError, match=r"the disk is full; .*: make room and try again$"):
            run(data, out)
        filling.unlink()
        assert run(data, out)[1].read_text(encoding="utf-8") == before


def test_what_was_finished_before_an_interrupt_is_reported_and_kept(data, tmp_path, monkeypatch):
    run_cell, computed = compare.run_cell, []

    def interrupted(drawn, cell, conditions, memory):
        if not conditions.early_stopping:
            raise KeyboardInterrupt
        computed.append(cell)
        return run_cell(drawn, cell, conditions, memory)

    few = {"settings": ("ours",), "learners": ("leml", "pseudo-label"), "trials": 0, "strategies": ("random",)}
    monkeypatch.setattr(compare, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "out", **few)
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "## Table 1/2: learners, setting 'ours'" in text
    assert "## Figures" not in text
    before = len(computed)
    monkeypatch.setattr(compare, "run_cell", lambda *given: computed.append(given[1]) or run_cell(*given))
    run(data, tmp_path / "out", **few)
    assert len(computed) - before == 2 * 2  # the curves
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    monkeypatch.setattr(compare, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):  # all anew, and less than there was: the earlier report stays
        run(data, tmp_path / "out", **{**few, "epochs": 3, "curve_epochs": 3})
    assert (tmp_path / "out" / "report.md").read_text(encoding="utf-8") == text
    monkeypatch.setattr(compare, "run_cell", lambda *given: computed.append(given[1]) or run_cell(*given))
    before = len(computed)
    run(data, tmp_path / "out", **{**few, "epochs": 2})  # other settings: all anew, also what was asked
    assert len(computed) - before == 2 * 3 * 2
    assert len(list((tmp_path / "out" / "ours").glob("asking-pseudo-label-*"))) == 2


def test_the_curves_are_of_test_and_nothing_stops_them(data, tmp_path):
    few = {"settings": ("paper",), "learners": ("leml",), "trials": 0, "strategies": ("random",)}
    planned = reproduce.plan(data, **{**SMALL, **few})
    (found,) = reproduce.reproduce(planned, tmp_path / "out", how="serial")
    assert found.chosen == []
    for cell in found.curves:
        assert [record["epoch"] for record in cell["history"]] == [1, 2]
        assert cell["history"][-1]["test_p@1"] == cell["p@1"]
        assert "validation" not in cell["history"][-1]


def test_the_papers_numbers_are_its_own():
    """Cells picked from the paper's text, and their order: rows and columns must not be exchanged."""
    coco, mirflickr = printed("coco"), printed("mirflickr")
    assert coco.precision("pseudo-label", -10, "p@1") == 0.6633
    assert coco.precision("fully-supervised", -6, "p@5") == 0.3387
    assert mirflickr.precision("one-class", -8, "p@3") == 0.5035
    assert mirflickr.area("uncertainty", "p@3") == 0.6789
    assert coco.area("random", "p@5") == 0.34
    assert coco.precision("refine", -8, "p@1") is None
    assert coco.precision("leml", -3, "p@1") is None
    for numbers in PRINTED.values():
        assert len(numbers.rows) == 3 * len(RATIOS)
        for ratio in RATIOS:  # "Ours" is in bold in every row
            for metric in ("p@1", "p@3", "p@5"):
                rivals = [numbers.precision(name, ratio, metric) for name in ("fully-supervised", "leml", "one-class")]
                assert numbers.precision("pseudo-label", ratio, metric) > max(rivals)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ratios", "-12"], "the ratio -12 leaves no warm item of 120: give larger ones (--ratios)"),
        (["--settings", "mine"], "there is no setting 'mine': choose among ours, paper"),
        (["--printed", "nus"], "the paper prints no numbers of 'nus': choose 'coco' or 'mirflickr'"),
        (["--strategies", "magic"], "there is no strategy 'magic': choose among random"),
        (["--learners", "magic"], "there is no learner 'magic': choose among fully-supervised"),
        (["--tune", "-1"], "-1 trials: give 0 or more"),
        (["--track", "magic:x"], "--track takes tensorboard:DIR or mlflow:URI, not 'magic:x'"),
    ],
)
def test_a_mistake_is_one_sentence(data, tmp_path, arguments, message):
    result = run_in_process("reproduce", data, "--out", tmp_path / "out", "--ratios", "-4,-3,-2", *arguments)
    assert isinstance(result.exception, RamifyError)
    assert str(result.exception).startswith(message)
    assert not (tmp_path / "out" / "ours").exists()


@needs_browser
def test_tables_are_sorted_by_a_click_on_a_heading(reproduced, browser):
    _, files, _, _ = reproduced
    page = browser.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(files[0].as_uri())
    table = page.locator("#table-1-2-learners-setting-ours table").first
    heading = table.get_by_role("button", name="-3 P@1")
    column = table.locator("tbody td:nth-child(5)")
    for order, reverse in (("descending", True), ("ascending", False)):
        heading.click()
        expect(table.get_by_role("columnheader", name="-3 P@1")).to_have_attribute("aria-sort", order)
        values = [float(text) for text in column.all_inner_texts()]
        assert values == sorted(values, reverse=reverse)
    table.get_by_role("button", name="learner").click()
    names = table.locator("tbody td:nth-child(1)").all_inner_texts()
    assert names == sorted(names)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()
    assert troubles == []
