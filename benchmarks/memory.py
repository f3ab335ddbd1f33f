"""Memory: what a server takes while it is given many answers, and what a server takes that is started after them.

python benchmarks/memory.py [ANSWERS] [ITEMS]

The second one holds the same labels and the same model, with all answers in it: what the first takes more was lost.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opening import first_question, loaded
from serve import PORT, Client, answers_to, make

ANNOTATORS, EVERY = 8, 1000
BOUND = 1.1  # times what a fresh server takes


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The id of a process that serves the project, once it asks with its model."""
    serve = f"from ramify.web import serve; serve({str(folder)!r}, port={PORT})"
    server = subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.DEVNULL)
    try:
        asyncio.run(first_question())
        asyncio.run(loaded())
        yield server.pid
    finally:
        server.terminate()
        server.wait()


def resident(process: int) -> float:
    """MB of its own: what is mapped from files comes and goes as the system likes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))


async def answer(wanted: int, process: int) -> None:
    """Answers without a pause, until there are so many."""
    given = 0

    async def annotate(name: str) -> None:
        nonlocal given
        drawn = random.Random(name)
        async with Client() as client:
            while given < wanted:
                (task,) = await client.ask("POST", "/api/next", {"annotator": name, "mode": "group", "count": 1})
                answers = answers_to(task, drawn)
                key = f"{name}-{drawn.random()}"
                await client.ask("POST", "/api/answers", {"key": key, "annotator": name, "answers": answers})
                before, given = given, given + len(answers)
                if before // EVERY < given // EVERY:
                    print(f"{given} answers: {resident(process):.0f} MB", flush=True)

    await asyncio.gather(*(annotate(f"ann{n}") for n in range(ANNOTATORS)))


def main(answers: int = 20_000, n_items: int = 100_000) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "project")
        make(folder, n_items)
        with served(folder) as server:
            print(f"a server of {n_items} items: {resident(server):.0f} MB", flush=True)
            asyncio.run(answer(answers, server))
            asyncio.run(asyncio.sleep(30))  # what came last is learned, and lists are made anew
            used = resident(server)
            print(f"30 s later: {used:.0f} MB, load {os.getloadavg()[0]:.1f}", flush=True)
        with served(folder) as server:
            asyncio.run(asyncio.sleep(30))
            fresh = resident(server)
            print(f"a server that is started now: {fresh:.0f} MB", flush=True)
    if used > BOUND * fresh:
        sys.exit(f"a bound is broken: at most {BOUND:g} times what a fresh server takes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
