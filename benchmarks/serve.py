"""Load: 50 annotators answer about once a second each, while a model is trained on one thread.

python benchmarks/serve.py [SECONDS] [ITEMS]
"""

import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from ramify.labels import Labels
from ramify.learners import coarse_stage
from ramify.project import training
from ramify.project.store import Store
from ramify.taxonomy import Taxonomy

ANNOTATORS, PORT = 50, 8765
SIZES = (1, 8, 5, 10, 5, 10, 7, 10, 6, 6, 5, 7)  # fine concepts of each coarse one, as in COCO
MEDIAN, P99 = 0.020, 0.250  # seconds, bounds for the next question


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
        steps, coarse_stage.STEPS = coarse_stage.STEPS, 200  # the first model need not be good
        training.train(store)
        coarse_stage.STEPS = steps


async def annotate(client: httpx.AsyncClient, name: str, until: float, taken: dict[str, list[float]]) -> int:
    """Ask, look for about a second, answer, again and again; every failure counts."""
    drawn = random.Random(name)
    errors = 0
    await asyncio.sleep(drawn.random())
    while time.monotonic() < until:
        try:
            start = time.perf_counter()
            found = await client.post("/api/next", json={"annotator": name, "mode": "group", "count": 1})
            taken["next"].append(time.perf_counter() - start)
            found.raise_for_status()
            tasks = found.json()
            task = tasks[0] if isinstance(tasks, list) else tasks["tasks"][0]
            await asyncio.sleep(drawn.uniform(0.7, 1.2))
            answers = [
                {"item": e["item"], "concept": e["concept"], "answer": "yes" if drawn.random() < 0.15 else "no"}
                for e in task["entries"]
            ]
            if all(answer["answer"] == "no" for answer in answers):
                answers[0]["answer"] = "yes"  # the children are all there are
            start = time.perf_counter()
            key = f"{name}-{drawn.random()}"
            said = await client.post("/api/answers", json={"key": key, "annotator": name, "answers": answers})
            taken["answer"].append(time.perf_counter() - start)
            said.raise_for_status()
        except (httpx.HTTPError, LookupError) as error:
            errors += 1
            print("error:", repr(error))
    return errors


async def load(seconds: float) -> tuple[int, dict[str, list[float]]]:
    limits = httpx.Limits(max_connections=ANNOTATORS * 2)
    taken: dict[str, list[float]] = {"next": [], "answer": []}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{PORT}", timeout=30, limits=limits) as client:
        for _ in range(600):
            try:
                await client.get("/api/status")
                break
            except httpx.HTTPError:
                await asyncio.sleep(0.1)
        print("training begins:", (await client.post("/api/train")).json())
        until = time.monotonic() + seconds
        errors = await asyncio.gather(*(annotate(client, f"ann{n}", until, taken) for n in range(ANNOTATORS)))
        status = (await client.get("/api/status")).json()
        print(f"answers {status['answers']}, training: {status['training']}")
    return sum(errors), taken


def main(seconds: float = 60, n_items: int = 100_000) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "project")
        start = time.perf_counter()
        make(folder, n_items)
        print(f"a project of {n_items} items, trained once: {time.perf_counter() - start:.0f} s")
        serve = f"from ramify.web import serve; serve({str(folder)!r}, port={PORT})"
        with tempfile.TemporaryFile() as said:
            server = subprocess.Popen([sys.executable, "-c", serve], stdout=said, stderr=said)
            try:
                errors, taken = asyncio.run(load(seconds))
            finally:
                server.terminate()
                server.wait()
                said.seek(0)
                locked = said.read().count(b"locked")
    for name, times in taken.items():
        p99 = statistics.quantiles(times, n=100)[98]
        print(f"{name}: {len(times)} requests, median {1e3 * statistics.median(times):.1f} ms, p99 {1e3 * p99:.0f} ms")
    print(f"{errors} errors, {locked} times 'locked'")
    times = taken["next"]
    late = statistics.median(times) > MEDIAN or statistics.quantiles(times, n=100)[98] > P99
    if errors or locked or late:
        sys.exit("a bound is broken: no errors, median next question under 20 ms, p99 under 250 ms")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3]))
