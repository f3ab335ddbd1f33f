"""The demo that ``make demo`` runs: everything that Ramify can do, on data drawn on the spot."""

import os
import shutil
import sys
from pathlib import Path

from ramify.cli import compare, inspect, simulate
from ramify.data import benchmark
from ramify.demo import scenes
from ramify.project.live.training import train
from ramify.project.store.store import Store
from ramify.web import serve

SCENES, WARM, BATCH, ROUNDS = 4000, 16, 40, 20
SERVED = 800  # scenes in the project that the page shows
STRATEGIES = "random,uncertainty,random-items,expected-gain"


def main(folder: Path) -> None:
    """Draw the scenes once, teach all learners from a handful of fine labels, ask for more, and serve the page."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "scenes"
    if not data.exists():
        print(f"Drawing {SCENES} scenes ...", flush=True)
        scenes.read(SCENES).save(data)
    inspect(str(data))
    sheet = folder / "scenes.png"
    scenes.contact_sheet(seed=0, count=24).save(sheet)
    print(f"\n24 of the scenes are in {sheet}.\n")
    print(f"Now {WARM} scenes get their fine labels; all others keep only the coarse ones.", flush=True)
    compare(str(data), warm=str(WARM), seeds=1, out=folder / "compare", json_file=folder / "compare.json")
    print(f"\nNow strategies choose which questions to ask: {ROUNDS} rounds of {BATCH} answers.", flush=True)
    simulate(
        str(data),
        strategies=STRATEGIES,
        warm=WARM,
        batch=BATCH,
        rounds=ROUNDS,
        seeds=1,
        out=folder / "simulate",
        json_file=folder / "simulate.json",
        resume=True,  # run again, the demo shows what it found
    )
    project = folder / "project"
    if not project.exists():
        print(f"\nMaking a project of {SERVED} scenes and training its first model ...", flush=True)
        make_project(project, folder / "pictures")
    if os.environ.get("DEMO_SERVE") == "0":
        print(f"Serve the page with: ramify serve {project}")
        return
    serve(project)


def make_project(project: Path, pictures: Path) -> None:
    """A project as somebody with pictures and coarse labels would have it: a handful carry fine labels."""
    drawn = benchmark(scenes.read(SERVED), warm=WARM).train
    pictures.mkdir(exist_ok=True)
    names = [f"{number}.png" for number in range(len(drawn))]
    for name, one in zip(names, drawn.ids, strict=True):
        scenes.draw(0, int(one.rpartition("-")[2]))[0].save(pictures / name)
    draft = project.with_name("project.draft")  # an interrupted demo leaves no half project
    shutil.rmtree(draft, ignore_errors=True)
    with Store.create(draft, drawn.labels.taxonomy) as store:
        store.set_setting("images", str(pictures.resolve()))
        store.add(drawn.ids, None, names, drawn.features, drawn.labels)
        train(store)
    draft.rename(project)


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["demo"]))
