"""A large project on one machine: every command of a project's life, with its own time and peak memory.

python benchmarks/large.py [ITEMS] [FEATURES] [FINE] [COARSE]

The features are drawn: each fine concept has a direction of its own, near that of its coarse one.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BOUND = 3.0  # GB resident, of any command
BLOCK = 20_000


def draw(folder: Path, n_items: int, width: int, n_fine: int, n_coarse: int) -> None:
    """A taxonomy, a table of items with their coarse labels, and features in half precision."""
    rng = np.random.default_rng(0)
    children = np.array_split(np.arange(n_fine), n_coarse)
    lines = [f"coarse{c}: [{', '.join(f'fine{f}' for f in fine)}]" for c, fine in enumerate(children)]
    (folder / "taxonomy.yaml").write_text("\n".join(lines))
    parent = np.repeat(np.arange(n_coarse), [len(fine) for fine in children])
    directions = rng.normal(size=(n_coarse, width))[parent] + rng.normal(size=(n_fine, width))
    features = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float16, (n_items, width))
    with (folder / "items.csv").open("w") as table:
        table.write("id,labels\n")
        for first in range(0, n_items, BLOCK):
            count = min(BLOCK, n_items - first)
            shown = rng.integers(0, n_fine, (count, 3))
            features[first : first + count] = directions[shown].sum(axis=1) + 3 * rng.normal(size=(count, width))
            for number, fine in enumerate(shown, start=first):
                names = ";".join(f"coarse{c}" for c in sorted(set(parent[fine].tolist())))
                table.write(f"item{number},{names}\n")
    features.flush()


def run(*arguments: object) -> float:
    """Run a command, and print what it took; its peak memory in GB."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("ramify")), *map(str, arguments)], stdout=subprocess.PIPE
    )
    said = process.stdout.read().decode().strip().splitlines()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{arguments[0]} failed")
    peak, cpu = used.ru_maxrss / 1e6, used.ru_utime + used.ru_stime
    took = time.perf_counter() - start
    print(
        f"{arguments[0]:8} {took:7.1f} s, {cpu:7.1f} s of CPU time, {peak:.2f} GB; {said[-1] if said else ''}",
        flush=True,
    )
    return peak


def main(n_items: int = 1_000_000, width: int = 512, n_fine: int = 1_000, n_coarse: int = 50) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # Not in this process: what it has in memory would count as that of the commands it starts.
        sizes = (folder, n_items, width, n_fine, n_coarse)
        drawing = multiprocessing.get_context("spawn").Process(target=draw, args=sizes)
        drawing.start()
        drawing.join()
        print(f"{n_items} items x {width} features, {n_fine} fine concepts under {n_coarse}", flush=True)
        project = folder / "project"
        peaks = [
            run("init", project, "--taxonomy", folder / "taxonomy.yaml"),
            run("add", project, folder / "items.csv", "--features", folder / "features.npy"),
            run("train", project),
            run("suggest", project, "-n", 20, "--out", folder / "ask.csv"),
            run("predict", project, "--top", 5, "--out", folder / "predictions.parquet"),
            run("status", project),
        ]
        size = (folder / "predictions.parquet").stat().st_size / 1e6
        print(f"predictions: {size:.0f} MB")
    if max(peaks) > BOUND:
        sys.exit(f"a bound is broken: {BOUND} GB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
