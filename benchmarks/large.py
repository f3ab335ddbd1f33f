"""A large project on one machine: every command of a project's life, with its own time and peak memory, and its server.

python benchmarks/large.py [ITEMS] [FEATURES] [FINE] [COARSE]

The features are drawn: each fine concept has a direction of its own, near that of its coarse one.
"""

import asyncio
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from opening import cpu_seconds, first_question, loaded
from serve import PORT, Client, answers_to

BOUND = 3.0  # GB resident, of any command
BLOCK = 20_000
SCREENS = 100  # that are answered on the page
SERVED = "from ramify.web import serve; serve({!r}, port={})"


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


async def answer_screens() -> None:
    drawn = random.Random(0)
    async with Client() as client:
        for n in range(SCREENS):
            (task,) = await client.ask("POST", "/api/next", {"annotator": "ann", "mode": "group", "count": 1})
            answers = answers_to(task, drawn)
            await client.ask("POST", "/api/answers", {"key": f"a-screen-{n}", "annotator": "ann", "answers": answers})


def serve(project: Path) -> float:
    """Serve it until it asks with its model and has learned some answers; its peak memory in GB."""
    start = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-c", SERVED.format(str(project), PORT)], stdout=subprocess.DEVNULL)
    try:
        asyncio.run(first_question())
        first = time.perf_counter() - start
        asyncio.run(loaded())
        asyncio.run(answer_screens())
        asyncio.run(asyncio.sleep(30))  # what came last is learned, and lists are made anew
        status = Path(f"/proc/{server.pid}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) / 1e6 for line in status if line.startswith("VmHWM"))
        print(
            f"serve    first question after {first:.1f} s, {cpu_seconds(server.pid):.1f} s of CPU time in all, "
            f"{peak:.2f} GB with {SCREENS} screens answered",
            flush=True,
        )
        return peak
    finally:
        server.terminate()
        server.wait()


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
            serve(project),
        ]
        size = (folder / "predictions.parquet").stat().st_size / 1e6
        print(f"predictions: {size:.0f} MB")
    if max(peaks) > BOUND:
        sys.exit(f"a bound is broken: {BOUND} GB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
