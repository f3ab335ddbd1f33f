"""Fuzzing of all readers, guided by what they run through: python benchmarks/fuzz.py [SECONDS] [KIND ...]

Needs atheris. Whatever ends in another error than RamifyError is kept in tests/data/fuzz, where a test reads it from
then on, and told at the end; so is the smallest file that came to each function that refuses files, as the beginning
of the next search. Each kind of file gets its share of the time, in a process of its own.
"""

import hashlib
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


SMALL = 4000  # bytes of a file that is kept for being refused


def last_frame(error: BaseException) -> traceback.FrameSummary:
    """Where in Ramify it was raised."""
    return [frame for frame in traceback.extract_tb(error.__traceback__) if "ramify" in frame.filename][-1]


def keep(kind: str, where: str, content: bytes) -> None:
    """In the corpus, the smallest for each place."""
    from fuzzing import CORPUS

    CORPUS.mkdir(exist_ok=True)
    path = CORPUS / f"{kind}-{hashlib.sha256(where.encode()).hexdigest()[:12]}"
    if not path.exists() or path.stat().st_size > len(content):
        path.write_bytes(content)


def fuzz(kind: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["ramify"]):
        import fuzzing

    found: set[str] = set()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        folder, corpus = Path(place), Path(place, "corpus")
        corpus.mkdir()
        fuzzing.prepare(folder)
        kept = [path.read_bytes() for path in fuzzing.CORPUS.glob(f"{kind}-*")]
        for number, content in enumerate(fuzzing.seeds()[kind] + kept):
            (corpus / f"seed{number}").write_bytes(content)

        def one(content: bytes) -> None:
            try:
                refusal = fuzzing.try_one(kind, content, folder)
            except Exception as error:
                frame = last_frame(error)
                where = f"{type(error).__name__} at {frame.filename}:{frame.lineno}"
                if where not in found:
                    found.add(where)
                    keep(kind, where, content)
                    print(f"FOUND {kind}: {where}: {error}", flush=True)
            else:
                if refusal is not None and len(content) <= SMALL:
                    frame = last_frame(refusal)
                    keep(kind, f"{Path(frame.filename).name} {frame.name}", content)

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
