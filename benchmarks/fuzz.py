"""Fuzzing of all readers, guided by what they run through: python benchmarks/fuzz.py [SECONDS] [KIND ...]

Needs atheris. Whatever ends in another error than RamifyError is kept in tests/data/fuzz, where a test reads it from
then on, and told at the end. Each kind of file gets its share of the time, in a process of its own.
"""

import hashlib
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def fuzz(kind: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["ramify"]):
        import fuzzing

    found: set[str] = set()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        folder, corpus = Path(place), Path(place, "corpus")
        corpus.mkdir()
        fuzzing.prepare(folder)
        for number, content in enumerate(fuzzing.seeds()[kind]):
            (corpus / f"seed{number}").write_bytes(content)

        def one(content: bytes) -> None:
            try:
                fuzzing.try_one(kind, content, folder)
            except Exception as error:
                frames = [f for f in traceback.extract_tb(error.__traceback__) if "ramify" in f.filename]
                where = f"{type(error).__name__} at {frames[-1].filename}:{frames[-1].lineno}"
                if where not in found:
                    found.add(where)
                    fuzzing.CORPUS.mkdir(exist_ok=True)
                    name = f"{kind}-{hashlib.sha256(where.encode()).hexdigest()[:12]}"
                    (fuzzing.CORPUS / name).write_bytes(content)
                    print(f"FOUND {kind}: {where}: {error}", flush=True)

        limits = ["-max_len=20000", "-timeout=60", f"-max_total_time={seconds}"]
        options = [*limits, "-verbosity=0", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, str(corpus)], one)
        atheris.Fuzz()


def main(seconds: int = 600, *kinds: str) -> None:
    from fuzzing import READ

    wanted = kinds or tuple(READ)
    failed = []
    for kind in wanted:
        command = [sys.executable, __file__, "--one", kind, str(max(1, seconds // len(wanted)))]
        done = subprocess.run(command, capture_output=True, text=True)
        said = done.stdout + done.stderr
        runs = next((line.split()[-1] for line in said.splitlines() if "number_of_executed_units" in line), "?")
        found = [line for line in said.splitlines() if line.startswith("FOUND")]
        print(f"{kind:10} {runs:>9} files tried, {len(found)} faults", *found, sep="\n  ", flush=True)
        if done.returncode:
            print(said[-2000:])
        failed += found or ([kind] if done.returncode else [])
    if failed:
        sys.exit("a bound is broken: no error but RamifyError")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 600, *sys.argv[2:])
