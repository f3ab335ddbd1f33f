"""Opening: how soon a large project that was trained before serves its first question, the first time and later.

python benchmarks/opening.py [ITEMS]
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve import PORT, Client, make

BOUND = 3.0  # seconds
OPENINGS = ("the first time", "again", "and again", "and again")


async def first_question() -> None:
    while True:
        try:
            async with Client() as client:
                (task,) = await client.ask("POST", "/api/next", {"annotator": "ann", "mode": "group", "count": 1})
                assert task["entries"]
                return
        except OSError:
            await asyncio.sleep(0.02)


async def loaded() -> None:
    """Wait until the server asks with its model: guesses stand beside its questions."""
    async with Client() as client:
        for n in range(1000):
            (task,) = await client.ask("POST", "/api/next", {"annotator": f"ann {n}", "mode": "group", "count": 1})
            if task["guess"]:
                return
            await asyncio.sleep(0.2)
    sys.exit("the server has not loaded its model")


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_once(folder: Path) -> tuple[float, float]:
    """Seconds from starting a server to its first question, and those of them that it computed."""
    serve = f"from ramify.web import serve; serve({str(folder)!r}, port={PORT})"
    start = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.DEVNULL)
    try:
        asyncio.run(first_question())
        took, computed = time.perf_counter() - start, cpu_seconds(server.pid)
        asyncio.run(loaded())
        return took, computed
    finally:
        server.terminate()
        server.wait()


def main(n_items: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "project")
        start = time.perf_counter()
        make(folder, n_items)
        print(f"a project of {n_items} items, added and trained once: {time.perf_counter() - start:.0f} s", flush=True)
        for opening in OPENINGS:
            took, computed = open_once(folder)
            load = f"load {os.getloadavg()[0]:.1f}"
            print(f"first question {opening}: {took:.1f} s ({computed:.1f} s of CPU time), {load}", flush=True)
    if took > BOUND:
        sys.exit(f"a bound is broken: the first question within {BOUND:g} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
