"""The demo that ``make demo`` runs: everything that Ramify can do, on data drawn on the spot."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from ramify import Dataset, Project, RamifyError, benchmark
from ramify.demo import scenes
from ramify.experiments.overview import overview
from ramify.experiments.runs import run_comparison, run_simulation
from ramify.experiments.tables import as_rich, progression_as_rich
from ramify.learners import LEARNERS

SCENES, WARM, BATCH, ROUNDS = 4000, 16, 40, 20
SERVED = 800  # scenes in the project that the page shows
STRATEGIES = ("random", "uncertainty", "random-items", "expected-gain")


def main(folder: Path) -> None:
    """Draw the scenes once, teach all learners from a handful of fine labels, ask for more, and serve the page."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "scenes"
    look_at_data(data, folder / "scenes.png")
    compare_learners(data, folder)
    compare_strategies(data, folder)
    project = folder / "project"
    if not project.exists():
        print(f"\nMaking a project of {SERVED} scenes and training its first model ...", flush=True)
        make_project(project, folder / "pictures")
    if os.environ.get("DEMO_SERVE") == "0":
        print(f"Serve the page with: ramify serve {project}")
        return
    Project(project).serve()


def look_at_data(data: Path, sheet: Path) -> None:
    """Draw the scenes, unless an earlier demo did, and show what they are."""
    if not data.exists():
        print(f"Drawing {SCENES} scenes ...", flush=True)
        scenes.read(SCENES).save(data)
    Console().print(overview(Dataset.load(data), str(data)), crop=False)
    scenes.contact_sheet(seed=0, count=24).save(sheet)
    print(f"\n24 of the scenes are in {sheet}.\n")


def compare_learners(data: Path, folder: Path) -> None:
    """All learners on one draw of the warm set; run again, the demo shows what it found."""
    print(f"Now {WARM} scenes get their fine labels; all others keep only the coarse ones.", flush=True)
    done = run_comparison(
        str(data), list(LEARNERS), [WARM], folder / "compare", seeds=1, json_file=folder / "compare.json", report=say
    )
    Console().print(as_rich(done.summary))
    print(f"The table is in {done.table}, {len(done.figures)} figures are beside it.")


def compare_strategies(data: Path, folder: Path) -> None:
    """Strategies ask a simulated annotator."""
    print(f"\nNow strategies choose which questions to ask: {ROUNDS} rounds of {BATCH} answers.", flush=True)
    done = run_simulation(
        str(data),
        STRATEGIES,
        folder / "simulate",
        warm=WARM,
        batch=BATCH,
        rounds=ROUNDS,
        seeds=1,
        resume=True,
        json_file=folder / "simulate.json",
    )
    Console().print(progression_as_rich(done.summary))
    for sentence in done.sentences:
        print(f"{sentence}.")
    print(f"The figure is {done.figures[0]}, the table is in {done.table}.")


def say(results: list[dict[str, object]], total: int) -> None:
    """Say how many learners are finished."""
    print(f"  {len(results)} of {total} learners", flush=True)


def make_project(folder: Path, pictures: Path) -> None:
    """A project as somebody with pictures and coarse labels would have it: a handful carry fine labels."""
    drawn = benchmark(scenes.read(SERVED), warm=WARM).train
    pictures.mkdir(exist_ok=True)
    names = [f"{number}.png" for number in range(len(drawn))]
    for name, scene in zip(names, drawn.ids, strict=True):
        scenes.draw(0, int(scene.rpartition("-")[2]))[0].save(pictures / name)
    taxonomy = drawn.labels.taxonomy
    states = drawn.labels.states(concepts=np.arange(len(taxonomy)))
    table = {"id": drawn.ids.tolist(), "picture": names}
    table |= {taxonomy.path(concept): states[:, concept].tolist() for concept in range(len(taxonomy))}
    draft = folder.with_name("project.draft")  # an interrupted demo leaves no half project
    shutil.rmtree(draft, ignore_errors=True)
    project = Project.create(draft, taxonomy)
    project.add(table, images=pictures, embed="pictures")  # the extractor that was made for scenes
    project.train()
    draft.rename(folder)


if __name__ == "__main__":
    try:
        main(Path(*sys.argv[1:2] or ["demo"]))
    except RamifyError as error:  # a folder of an earlier version, perhaps
        sys.exit(f"demo: {error}")
