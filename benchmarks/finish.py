"""How soon strategies finish a pool: docs/results/finish.md, from ``ramify simulate`` on four bundles.

    python benchmarks/finish.py ../shared/data OUT [SEEDS]

The same as, for each bundle and seed after seed, so that what is there after an interruption is of all bundles,

    ramify simulate ../shared/data/BUNDLE.npz --strategies ... --items 600 --warm 0 --batch N --rounds 9 --seeds S

What OUT holds is not computed again. Everything from "## Measured" on is written anew after each seed.
"""

import json
import sys
from pathlib import Path
from typing import Any

from ramify.experiments.figures import save
from ramify.experiments.finishing import as_markdown, pool_figure
from ramify.experiments.runs import run_simulation
from ramify.files import whole_file
from ramify.strategies import STRATEGIES

BATCHES = {"goemotions": 250, "coco_captions": 450, "mirflickr_tags": 300, "coco_photos": 500}  # a tenth of the entries
FIRST = ["random", "expected-gain", "finish"]  # all seeds of these, then all of the others
PAGE, FIGURES = Path("docs/results/finish.md"), Path("docs/results/figures")
MEASURED = "## Measured"


def simulate(data: Path, out: Path, bundle: str, strategies: list[str], seeds: int) -> None:
    """What ``ramify simulate`` does, in this process: to start one for each seed took longer than its runs."""
    run_simulation(
        str(data / f"{bundle}.npz"),
        strategies,
        out / bundle,
        warm=0,
        batch=BATCHES[bundle],
        rounds=9,
        seeds=seeds,
        items=600,
        resume=True,
        how="serial",
        json_file=out / f"{bundle}.json",
    )


def section(bundle: str, written: dict[str, Any]) -> str:
    """The table and the figure of a bundle, from what ``--json`` holds."""
    rows, seeds = written["rows"], written["seeds"]
    names = list(dict.fromkeys(row["strategy"] for row in rows))
    save(pool_figure(rows), FIGURES / f"pool-f1-{bundle}")
    (FIGURES / f"pool-f1-{bundle}.svg").unlink()  # one form is enough for a page
    command = (
        f"ramify simulate ../shared/data/{bundle}.npz --strategies {','.join(names)} --items 600 "
        f"--warm 0 --batch {BATCHES[bundle]} --rounds 9 --seeds {seeds}"
    )
    how_many = "1 seed" if seeds == 1 else f"{seeds} seeds"
    parts = [f"### {bundle}: {how_many}", f"```sh\n{command}\n```", *as_markdown(written["finishing"])]
    return "\n\n".join([*parts, f"![F1 of the pool's labels, {bundle}](figures/pool-f1-{bundle}.png)"])


def write_page(out: Path) -> None:
    """Write the measured part of the page again, from the bundles that are there."""
    files = {bundle: out / f"{bundle}.json" for bundle in BATCHES}
    measured = [
        section(bundle, json.loads(file.read_text(encoding="utf-8"))) for bundle, file in files.items() if file.exists()
    ]
    text = PAGE.read_text(encoding="utf-8").split(MEASURED)[0]
    with whole_file(PAGE) as draft:
        draft.write_text("\n\n".join([text + MEASURED, *measured]) + "\n", encoding="utf-8")


def main(data: Path, out: Path, seeds: int) -> None:
    """Simulate, and write the page again after each bundle and seed."""
    out.mkdir(parents=True, exist_ok=True)
    for strategies, first in ((FIRST, 1), (list(STRATEGIES), seeds)):
        for count in range(first, seeds + 1):
            for bundle in BATCHES:
                simulate(data, out, bundle, strategies, count)
                write_page(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 5)
