"""The demo that ``make demo`` runs: everything that Ramify can do, on data drawn on the spot."""

import sys
from pathlib import Path

from ramify.cli import compare, inspect, simulate
from ramify.readers import scenes

SCENES, WARM, BATCH, ROUNDS = 4000, 16, 40, 20
STRATEGIES = "random,uncertainty,random-items,expected-gain"


def main(folder: Path) -> None:
    """Draw the scenes once, show what they hold, teach all learners from a handful of fine labels, and ask for more."""
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


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["demo"]))
