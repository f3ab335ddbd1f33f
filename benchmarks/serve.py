"""Load: 50 annotators answer about once a second each, while a model is trained on one thread.

python benchmarks/serve.py [SECONDS] [ITEMS] [team]

A team is 200 annotators at two servers of a project whose database is in PostgreSQL (Debian's, on loopback).
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ramify.labels import Labels
from ramify.project.live import training
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy

ANNOTATORS, TEAM, PORT = 50, 200, 8765
SIZES = (1, 8, 5, 10, 5, 10, 7, 10, 6, 6, 5, 7)  # fine concepts of each coarse one, as in COCO
MEDIAN, P99 = 0.020, 0.100  # seconds: bounds for the next question, and the second for answers too


def make(folder: Path, n_items: int) -> None:
    """A project with a model, as it would be after an afternoon: coarse labels everywhere, some fine ones."""
    tree = {f"c{c}": {"exhaustive": True, **{f"c{c}f{f}": None for f in range(n)}} for c, n in enumerate(SIZES)}
    taxonomy = Taxonomy(tree)
    rng = np.random.default_rng(0)
    chance = rng.random(len(taxonomy.leaves)) * 0.06
    fine = (rng.random((n_items, len(taxonomy.leaves))) < chance).astype(np.int8)
    truth = Labels.from_matrix(taxonomy, fine)
    features = fine @ rng.normal(size=(fine.shape[1], 128)).astype(np.float32)
    features += rng.normal(size=features.shape).astype(np.float32)
    labels = Labels(taxonomy, truth.states(concepts=taxonomy.roots))
    known = np.arange(300)
    items, concepts = np.nonzero(truth.states(known) >= 0)
    labels.record(known[items], concepts, fine[items, concepts], "imported")
    with Store.create(folder, taxonomy) as store:
        store.add([f"item_{n}" for n in range(n_items)], [f"text {n}" for n in range(n_items)], None, features, labels)
        training.choose_learner(store, "refine", {"steps": 200})  # the first model need not be good
        training.train(store)
        training.choose_learner(store, "refine", {})


class Client:
    """One connection, and as little work as can be: what is measured is the server, on the same two cores."""

    def __init__(self, server: int = 0) -> None:
        self.port = PORT + server

    async def __aenter__(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def ask(self, method: str, path: str, body: object = None) -> object:
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
        found = json.loads(await self.reader.readexactly(length))
        if " 200 " not in answer.partition("\r\n")[0]:
            raise ValueError(f"{method} {path}: {found}")
        return found


def answers_to(task: dict, drawn: random.Random) -> list[dict]:
    """Some answers to a screen, yes to about every seventh."""
    answers = [
        {"item": e["item"], "concept": e["concept"], "answer": "yes" if drawn.random() < 0.15 else "no"}
        for e in task["entries"]
    ]
    if all(answer["answer"] == "no" for answer in answers):
        answers[0]["answer"] = "yes"  # the children are all there are
    return answers


async def annotate(name: str, server: int, until: float, taken: dict[str, list[float]]) -> int:
    """Ask, look for about a second, answer, again and again; every failure counts."""
    drawn = random.Random(name)
    errors = 0
    async with Client(server) as client:
        await asyncio.sleep(drawn.random())
        while time.monotonic() < until:
            try:
                start = time.perf_counter()
                (task,) = await client.ask("POST", "/api/next", {"annotator": name, "mode": "group", "count": 1})
                taken["next"].append(time.perf_counter() - start)
                await asyncio.sleep(drawn.uniform(0.7, 1.2))
                answers = answers_to(task, drawn)
                start = time.perf_counter()
                key = f"{name}-{drawn.random()}"
                await client.ask("POST", "/api/answers", {"key": key, "annotator": name, "answers": answers})
                taken["answer"].append(time.perf_counter() - start)
            except (OSError, ValueError, EOFError) as error:
                errors += 1
                print("error:", repr(error))
    return errors


async def ready(server: int) -> None:
    while True:
        try:
            async with Client(server) as client:
                await client.ask("GET", "/api/status")
            return
        except OSError:
            await asyncio.sleep(0.1)


async def load(seconds: float, annotators: int, servers: int) -> tuple[int, dict[str, list[float]]]:
    taken: dict[str, list[float]] = {"next": [], "answer": []}
    for server in range(servers):
        await asyncio.wait_for(ready(server), 120)
    async with Client() as client:
        print("training begins:", await client.ask("POST", "/api/train", {}))
    until = time.monotonic() + seconds
    people = (annotate(f"ann{n}", n % servers, until, taken) for n in range(annotators))
    errors = await asyncio.gather(*people)
    async with Client() as client:
        status = await client.ask("GET", "/api/status")
    print(f"answers {status['answers']}, training: {status['training']}")
    return sum(errors), taken


def main(seconds: float = 60, n_items: int = 100_000, team: bool = False) -> None:
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as running:
        folder = Path(temporary, "project")
        start = time.perf_counter()
        make(folder, n_items)
        print(f"a project of {n_items} items, trained once: {time.perf_counter() - start:.0f} s")
        if team:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
            from postgres import started_postgres

            Store.move(folder, running.enter_context(started_postgres()).new())
        annotators, servers = (TEAM, 2) if team else (ANNOTATORS, 1)
        said = running.enter_context(tempfile.TemporaryFile())
        for server in range(servers):
            serve = f"from ramify.web import serve; serve({str(folder)!r}, port={PORT + server})"
            process = subprocess.Popen([sys.executable, "-c", serve], stdout=said, stderr=said)
            running.callback(process.wait)
            running.callback(process.terminate)
        errors, taken = asyncio.run(load(seconds, annotators, servers))
        said.seek(0)
        locked = said.read().count(b"locked")
    for name, times in taken.items():
        p99 = statistics.quantiles(times, n=100)[98]
        print(f"{name}: {len(times)} requests, median {1e3 * statistics.median(times):.1f} ms, p99 {1e3 * p99:.0f} ms")
    print(f"{errors} errors, {locked} times 'locked'")
    late = statistics.median(taken["next"]) > MEDIAN
    late |= any(statistics.quantiles(times, n=100)[98] > P99 for times in taken.values())
    if errors or locked or (late and not team):
        sys.exit("a bound is broken: no errors, median next question under 20 ms, p99 under 100 ms")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3]), team="team" in sys.argv)
