"""The speed suite: every script with its peers beside it; JSON and the generated part of docs/results/speed.md.

Run: python benchmarks/bench.py [SCRIPT ...]      some scripts alone; what others found before stays

A script that is not of the suite (serve, opening, pictures, ...) is run as it is, and prints what it finds.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measure import FOUND, Row

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
SUITE = {
    "meta_step": "The meta step, against a plain forward and backward pass (2048-512-512-80, batch 256)",
    "epoch": "An epoch of PseudoLabel, against a plain supervised one",
    "refine": "Refine at 12 / 80 concepts: an answer, and predicting",
    "answers": "Many answers: seven siblings of 384 features, three features by names each",
    "query": "Queries over a pool, against one forward pass",
    "one_answer": "One answer, against other libraries (1 000 x 50 features, 20 labels, 40 items known)",
    "labels": "Labels and deduction",
    "growth": "Growth: the exponent of CPU time in items, concepts and answers",
}
VERSIONS = (
    "ramify",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "higher",
    "torchopt",
    "scikit-activeml",
    "modAL-python",
)
BEGIN, END = "<!-- made by benchmarks/bench.py: from here", "<!-- to here -->"


def machine() -> dict[str, str]:
    """What it ran on, with no name of a host or a path."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    versions = {}
    for name in VERSIONS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "missing"
    return {"processor": model, "cores": str(os.cpu_count()), "python": platform.python_version(), **versions}


def run_script(name: str) -> list[dict] | None:
    """What one script found; None where it is not one of the suite, or it failed."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "rows.json")
        done = subprocess.run([sys.executable, HERE / f"{name}.py"], env=os.environ | {FOUND: str(found)}, check=False)
        if done.returncode:
            print(f"{name} failed", file=sys.stderr)
        return json.loads(found.read_text()) if found.exists() else None


def markdown(told: dict) -> str:
    lines = [
        BEGIN + " -->",
        "",
        "Ratios of CPU time inside a run, one thread, by turns: medians with quartiles (of exponents the extremes).",
    ]
    for name, title in SUITE.items():
        if name not in told["scripts"]:
            continue
        part = told["scripts"][name]
        on = part["machine"]
        lines += ["", f"### {title}", "", f"`python benchmarks/{name}.py`, {part['day']}, {part['seconds']:.0f} s, "
                  f"load {part['load']:.1f} on {on['cores']} cores.", "",
                  "| what | figure | spread | held to |", "|---|---|---|---|"]  # fmt: skip
        lines += [f"| {' | '.join(Row(**row).words())} |" for row in part["rows"]]
    machines = [part["machine"] for part in told["scripts"].values()]
    if machines:
        lines += [
            "",
            "Machine and versions: " + ", ".join(f"{name} {what}" for name, what in machines[-1].items()) + ".",
        ]
    return "\n".join([*lines, "", END])


def write(told: dict) -> None:
    (RESULTS / "speed.json").write_text(json.dumps(told, indent=1) + "\n")
    page = RESULTS / "speed.md"
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(before + markdown(told) + rest.partition(END)[2])


def main(*names: str) -> None:
    kept, failed = RESULTS / "speed.json", []
    for name in names or SUITE:
        print(f"-- {name}", flush=True)
        start = time.monotonic()
        rows = run_script(name)
        if rows is None:
            failed += [name] if name in SUITE else []
            continue
        told = json.loads(kept.read_text()) if kept.exists() else {"scripts": {}}
        told["scripts"][name] = {
            "day": datetime.date.today().isoformat(),
            "seconds": time.monotonic() - start,
            "load": os.getloadavg()[0],
            "machine": machine(),
            "rows": rows,
        }
        write(told)
        failed += [f"{name}: {row['what']}" for row in rows if not Row(**row).holds]
    if failed:
        print("not held: " + "; ".join(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
