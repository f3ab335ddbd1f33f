"""Opening: how soon a large project that was trained before serves its first question.

python benchmarks/opening.py [ITEMS]
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve import PORT, Client, make

BOUND = 5.0  # seconds


async def first_question() -> None:
    while True:
        try:
            async with Client() as client:
                (task,) = await client.ask("POST", "/api/next", {"annotator": "ann", "mode": "group", "count": 1})
                assert task["entries"]
                return
        except OSError:
            await asyncio.sleep(0.02)


def main(n_items: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "project")
        start = time.perf_counter()
        make(folder, n_items)
        print(f"a project of {n_items} items, added and trained once: {time.perf_counter() - start:.0f} s", flush=True)
        serve = f"from ramify.web import serve; serve({str(folder)!r}, port={PORT})"
        start = time.perf_counter()
        server = subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.DEVNULL)
        try:
            asyncio.run(first_question())
            took = time.perf_counter() - start
        finally:
            server.terminate()
            server.wait()
    print(f"from starting the server to its first question: {took:.1f} s, of which Python's imports take some")
    if took > BOUND:
        sys.exit("a bound is broken: the first question within 5 s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
