"""The demo that ``make demo`` runs: everything that Ramify can do, on data drawn on the spot."""

import sys
from pathlib import Path

from ramify.cli import inspect
from ramify.readers import scenes

SCENES = 4000


def main(folder: Path) -> None:
    """Draw the scenes once, show what they hold, and say what comes next."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "scenes"
    if not data.exists():
        print(f"Drawing {SCENES} scenes ...", flush=True)
        scenes.read(SCENES).save(data)
    inspect(str(data))
    sheet = folder / "scenes.png"
    scenes.contact_sheet(seed=0, count=24).save(sheet)
    print(f"\n24 of the scenes are in {sheet}.")
    print("Next: teach a learner the 20 fine concepts from the 5 coarse ones and a handful of answers.")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["demo"]))
