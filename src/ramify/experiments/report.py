"""The report of ``ramify reproduce``: what was measured, the paper's numbers beside it, and which claims hold."""

import csv
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramify.data import Dataset
from ramify.experiments import claims, compare, document, figures, progression, tables
from ramify.experiments.document import Block, Section
from ramify.experiments.printed import METHODS, METRICS, Printed
from ramify.experiments.reproduce import ABLATION, ASKED, LITERAL, OURS, Findings, Plan
from ramify.files import disk_troubles, whole_file
from ramify.summary import facts
from ramify.version import __version__

FEW_SEEDS = 3  # with fewer nothing can be significant
SETTING_TEXTS = {
    "ours": "our setting: exhaustive children deduce relevance too, answered items have a weight of their own, nets "
    "predict by averaged weights",
    "paper": "the paper's own setting: irrelevance is deduced only, every known entry counts alike (M / N), no "
    "averaged weights but where a variant of pseudo-label says so",
}


@dataclass(frozen=True)
class Circumstances:
    """Where and how it was computed."""

    command: str
    data: Dataset
    printed: Printed | None = None
    """The paper's numbers, where the data are the paper's."""


def write_report(planned: Plan, findings: Sequence[Findings], where: Circumstances, out: Path) -> list[Path]:
    """Write report.html, report.md, tables.tex and results.csv to a folder, from all that is there by now."""
    title = f"The paper's experiments on {planned.name}"
    with disk_troubles(out, "what was computed is kept"):
        written = document.write(title, sections(planned, findings, where), out)
        _write_csv(findings, out / "results.csv")
    return [*written, out / "results.csv"]


def says_more(findings: Sequence[Findings], out: Path) -> bool:
    """Whether a report of this would hold anything, and not less than the one that is there."""
    try:
        with (out / "results.csv").open(encoding="utf-8") as file:
            there = sum(1 for _ in file) - 1
    except OSError:
        there = 0
    return sum(map(len, findings)) >= max(1, there)


def sections(planned: Plan, findings: Sequence[Findings], where: Circumstances) -> list[Section]:
    """All sections that there is something to say in."""
    parts = [_claims(findings, planned.seeds)]
    parts += [_beside(findings, where.printed)] if where.printed else []
    parts += [_table(found) for found in findings]
    parts += [_ablation(findings), _curves(findings), _asking(findings, where.printed), _tuning(findings)]
    parts.append(_circumstances(planned, where))
    return [part for part in parts if part.paragraphs or part.blocks]


# -- sections ----------------------------------------------------------------------------------------------------------


def _claims(findings: Sequence[Findings], seeds: int) -> Section:
    rows = []
    for found in findings:
        ours = LITERAL if found.setting == "paper" else OURS
        warm = found.curves[0]["warm"] if found.curves else 0
        checked = [
            claims.first_everywhere(found.results, ours),
            claims.supervised_ahead(found.results),
            claims.overfitting(found.curves, warm),
            claims.recovers(found.curves, ours, warm),
            claims.correlation(figures.recovery_points(found.curves, warm).get(ours, [])),
            claims.asking_order(progression.areas_of(found.asking.get(ours, [])), ours),
        ]
        rows += [[claim.text, found.setting, claim.verdict, claim.evidence] for claim in checked]
    header = ["claim", "setting", "verdict", "figures"]
    texts = [f"**{found.setting}** is {SETTING_TEXTS[found.setting]}." for found in findings]
    texts.append(
        "FS is `fully-supervised`, OCC `one-class`, PL a pseudo-label learner; figures are called as in the paper; a "
        "ratio of -8 is a warm set of 2^-8 of the items."
    )
    texts.append(
        "A lead counts where the paired difference over seeds is not zero with 95 % confidence; else it is undecided."
    )
    if seeds < FEW_SEEDS:
        few = "1 seed" if seeds == 1 else f"{seeds} seeds"
        texts.insert(0, f"**With {few} nothing is decided**: this only shows that everything runs.")
    block = document.table("Each claim of the paper against what was measured", (header, rows))
    return Section("Which of its claims hold", texts, [block])


def _beside(findings: Sequence[Findings], printed: Printed) -> Section:
    """The paper's Table 1 or 2 beside both settings."""
    cells = {
        (found.setting, row["learner"], row["ratio"]): row
        for found in findings
        for row in compare.summary(found.results)
    }
    ratios = sorted({ratio for _, _, ratio in cells})
    own = {"ours": {name: name for name in METHODS}, "paper": {**{n: n for n in METHODS}, OURS: LITERAL}}
    settings = [found.setting for found in findings]
    header = ["ratio", "metric"]
    header += [f"{short} {where}" for short in ("FS", "LEML", "OCC", "PL") for where in ("printed", *settings)]
    rows = []
    for ratio in ratios:
        for metric in METRICS:
            row = [f"{ratio:g}", metric.upper()]
            for method in METHODS:
                values = [printed.precision(method, ratio, metric)]
                values += [(cells.get((s, own[s][method], ratio)) or {}).get(metric) for s in settings]
                row += [tables.number(value) for value in values]
            rows.append(row)
    note = (
        f"The paper's numbers of {printed.name} are of ResNet-50 features and all of its images; a ratio of fewer "
        "items is a smaller warm set. PL: Algorithm 1, literally in the paper's setting, ours in ours."
    )
    return Section(
        "The paper's numbers beside ours", [note], [document.table("P@k, printed and measured", (header, rows))]
    )


def _table(found: Findings) -> Section:
    title = f"Table 1/2: learners, setting {found.setting!r}"
    if not found.results:
        return Section(title)
    summary = compare.summary(found.results)
    seeds = max(row["seeds"] for row in summary)
    caption = f"Means over {seeds} seeds, the best of each column in bold (all-labels apart)"
    blocks = [document.table(caption, tables.overview(summary))]
    for ratio, warm in dict.fromkeys((row["ratio"], row["warm"]) for row in summary):
        members = [row for row in summary if row["warm"] == warm and row["ratio"] == ratio]
        caption = f"Ratio {ratio:g}, {warm} warm items: mean ± standard deviation, recovery of unknown entries, time"
        blocks.append(document.table(caption, tables.details(members), folded=True))
    return Section(title, [f"In {SETTING_TEXTS[found.setting]}."], blocks)


def _ablation(findings: Sequence[Findings]) -> Section:
    """What each step from Algorithm 1 as printed to ours is worth."""
    blocks = []
    for found in findings:
        summary = [row for row in compare.summary(found.results) if row["learner"] in ABLATION]
        if len({row["learner"] for row in summary}) > 1:
            last = [_at_the_end(row, found.curves) for row in found.results if row["learner"] in ABLATION]
            ended = [row for row in last if row is not None]
            content = tables.overview([*summary, *compare.summary(ended)])
            blocks.append(document.table(f"In the setting {found.setting!r}", content))
    text = (
        f"`{LITERAL}` is Algorithm 1 as printed; `pseudo-label-averaged` predicts by averaged weights; `{OURS}` also "
        "has the warm set in its update (128 of it in a step, also to judge; epochs of 50 steps at least); "
        "`pseudo-label-smooth` moves pseudo-labels only a tenth of the way. `(last epoch)` is without stopping early."
    )
    return Section("What each change to Algorithm 1 is worth", [text] if blocks else [], blocks)


def _at_the_end(row: dict[str, Any], curves: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The same cell without early stopping, where it was computed."""
    for other in curves:
        if all(other[key] == row[key] for key in ("learner", "warm", "ratio", "seed")):
            return {**other, "learner": f"{other['learner']} (last epoch)"}
    return None


def _curves(findings: Sequence[Findings]) -> Section:
    blocks = []
    for found in findings:
        if not found.curves:
            continue
        warm, name = found.curves[0]["warm"], found.setting
        drawn = {
            "lc": (figures.curves_on_test(found.curves, warm), "P@k on test by epoch, nothing stopped early"),
            "recover": (
                figures.recovery_curves(found.curves, warm),
                "F1-loss on unknown entries with the two bars: of pseudo-labels by epoch, of beliefs at the end",
            ),
        }
        if points := figures.recovery_points(found.curves, warm):
            said = "; ".join(f"{learner}: {claims.correlation(own).evidence}" for learner, own in points.items())
            caption = f"what pseudo-labels recover against P@1 on test, a point for each epoch and seed ({said})"
            drawn["scatter"] = (figures.recovery_scatter(found.curves, warm), caption)
        blocks += [
            Block(f"Setting {name!r}: {caption}.", figure=figure, file=f"{kind}-{name}")
            for kind, (figure, caption) in drawn.items()
        ]
    return Section("Figures lc and recover", [], blocks)


def _asking(findings: Sequence[Findings], printed: Printed | None) -> Section:
    blocks = []
    for found in findings:
        for learner in ASKED[found.setting]:
            rows = found.asking.get(learner)
            if not rows:
                continue
            summary = progression.summary(rows)
            header, lines = tables.progression(summary)
            if printed is not None and learner in (OURS, LITERAL):
                header = [*header, *(f"printed {metric.upper()}" for metric in METRICS)]
                lines = [
                    [*line, *(tables.number(printed.area(line[0], metric)) for metric in METRICS)] for line in lines
                ]
            caption = f"Setting {found.setting!r}, {learner}: area under the curve of P@k"
            blocks.append(document.table(caption, (header, lines)))
            figure = figures.al_curve(rows)
            name = f"al-curve-{found.setting}-{learner}"
            blocks.append(Block(f"Setting {found.setting!r}, {learner}.", figure=figure, file=name))
    return Section("Table 3: asking", [tables.TIMES] if blocks else [], blocks)


def _tuning(findings: Sequence[Findings]) -> Section:
    blocks = [
        document.table(f"Setting {found.setting!r}: mean of P@1, P@3 and P@5 on validation", tables.tuned(found.chosen))
        for found in findings
        if found.chosen
    ]
    return Section("What tuning chose", [], blocks)


def _circumstances(planned: Plan, where: Circumstances) -> Section:
    packages = ("numpy", "scipy", "scikit-learn", "torch", "optuna", "matplotlib")
    versions = ", ".join(f"{name} {_version(name)}" for name in packages if _version(name))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    trials = f"{planned.trials} of each learner on the first draw, with the middle size of the warm set"
    rows = [
        ("command", f"`{where.command}`"),
        *((name, fact) for name, fact in facts(where.data) if name in ("items", "features", "concepts")),
        ("seeds", f"0 to {planned.seeds - 1}; every draw of the warm set, first weights and order follow from them"),
        ("trials", trials if planned.trials else "none: every learner has its own settings"),
        ("asking", f"{planned.rounds} rounds of {planned.batch} questions, from the middle size of the warm set"),
        ("versions", f"ramify {__version__}, Python {platform.python_version()}, {versions}"),
        ("machine", f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}"),
    ]
    block = document.table("Circumstances", (["what", "how"], rows))
    return Section("How it was computed", [_faithful(planned), _own(planned)], [block])


def _faithful(planned: Plan) -> str:
    tuned = "; settings are chosen on a held-out validation part" if planned.trials else ""
    return (
        "**Faithful**: the net (two hidden layers of 512), the losses of FS, LEML and one-class, Algorithm 1 "
        f"(`{LITERAL}`: one virtual step, the sign of the exact derivative, the whole warm set judging and left out of "
        "the real update), Algorithm 2 (pseudo-labels begun anew after each query, the warm set as it was), P@k on "
        "test, areas under progression curves, one "
        f"epoch after each query, a new beginning every ten{tuned}."
    )


def _own(planned: Plan) -> str:
    tuned = "the same number of trials for every learner, " if planned.trials else "no tuning, which the paper does, "
    return (
        f"**Ours**: mini-batches of 128 and Adam (the paper names neither), {tuned}the best moment on the validation "
        "part is kept in Table 1/2 (asking has no validation part), items that asking completes join the warm set (not "
        f"of `{LITERAL}`), and all learners but those that the paper speaks of. `refine` is run as it is, untuned; its "
        "design was chosen while looking at coco_captions, goemotions and "
        "mirflickr_tags, so its lead on them flatters it somewhat. Where the data have vectors of the concepts' names, "
        "`refine` reads them, which nothing in the paper does: `refine-nameless` is what it is without."
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _write_csv(findings: Sequence[Findings], path: Path) -> None:
    """Every number of every seed: cells of tables and curves' ends, and rounds of asking."""
    keys = ["part", "setting", "learner", "strategy", "ratio", "warm", "seed", "round", "answers", "item_views"]
    keys += [*METRICS, "recovery_f1_loss", "seconds"]
    with whole_file(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, keys, restval="", extrasaction="ignore")
        writer.writeheader()
        for found in findings:
            for part, rows in (("table", found.results), ("curves", found.curves)):
                writer.writerows({"part": part, "setting": found.setting, **row} for row in rows)
            for learner, rows in found.asking.items():
                writer.writerows({"part": "asking", "setting": found.setting, "learner": learner, **r} for r in rows)
