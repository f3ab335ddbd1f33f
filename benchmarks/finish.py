"""How soon strategies finish a pool: docs/results/finish.md, from ``ramify simulate`` on four bundles.

    python benchmarks/finish.py ../shared/data OUT [SEEDS]

The same as, for each bundle and seed after seed, so that what is there after an interruption is of all bundles,

    ramify simulate ../shared/data/BUNDLE.npz --strategies ... --items 600 --warm 0 --batch N --rounds 9 --seeds S

What OUT holds is not computed again. Everything from "## Measured" on is written anew after each seed.
"""

import sys
from pathlib import Path

from ramify.experiments.figures import save
from ramify.experiments.finishing import as_markdown, pool_figure
from ramify.experiments.runs import Simulation, run_simulation
from ramify.files import whole_file
from ramify.strategies import STRATEGIES

BATCHES = {"goemotions": 250, "coco_captions": 450, "mirflickr_tags": 300, "coco_photos": 500}  # a tenth of the entries
FIRST = ["random", "expected-gain", "finish"]  # all seeds of these, then all of the others
PAGE, FIGURES = Path("docs/results/finish.md"), Path("docs/results/figures")
MEASURED = "## Measured"


def simulated(data: Path, out: Path, bundle: str, strategies: list[str], seeds: int) -> Simulation:
    """What ``ramify simulate`` does, in this process: to start one for each seed took longer than its runs."""
    return run_simulation(
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


def section(bundle: str, done: Simulation) -> str:
    """The table and the figure of a bundle."""
    save(pool_figure(done.rows), FIGURES / f"pool-f1-{bundle}")
    (FIGURES / f"pool-f1-{bundle}.svg").unlink()  # one form is enough for a page
    command = (
        f"ramify simulate ../shared/data/{bundle}.npz --strategies {','.join(done.plan.strategies)} --items 600 "
        f"--warm 0 --batch {BATCHES[bundle]} --rounds 9 --seeds {done.plan.seeds}"
    )
    ends = {row["strategy"]: row for row in done.rows if row["seed"] == 0}
    sure = ", ".join(f"{name} {row['settled_share']:.2f}" for name, row in ends.items())
    parts = [f"### {bundle}", f"{done.plan.seeds} seeds.", f"```\n{command}\n```", *as_markdown(done.finishing)]
    parts.append(f"Settled in the end (seed 0): {sure}.")
    return "\n\n".join([*parts, f"![F1 of the pool's labels](figures/pool-f1-{bundle}.png)"])


def main(data: Path, out: Path, seeds: int) -> None:
    """Simulate, and write the page again after each seed."""
    out.mkdir(parents=True, exist_ok=True)
    done: dict[str, Simulation] = {}
    for strategies in (FIRST, list(STRATEGIES)):
        for count in range(1, seeds + 1):
            for bundle in BATCHES:
                if bundle in done and strategies is not FIRST and count < seeds:
                    continue  # the first ones have all their seeds: the others get theirs at once
                done[bundle] = simulated(data, out, bundle, strategies, count)
                text = PAGE.read_text(encoding="utf-8").split(MEASURED)[0]
                measured = [section(name, simulation) for name, simulation in done.items()]
                with whole_file(PAGE) as draft:
                    draft.write_text("\n\n".join([text + MEASURED, *measured]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 5)
