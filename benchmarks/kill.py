"""A thousand SIGKILLs while people answer, on both databases: python benchmarks/kill.py [KILLS]

Every answer that was acknowledged is there exactly once; of the others all or nothing. PostgreSQL is Debian's, started
on loopback.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from postgres import started_postgres
from store_checks import answers_survive, filled


def main(kills: int = 1000) -> None:
    with tempfile.TemporaryDirectory() as folder, started_postgres() as server:
        for name, address in (("sqlite", None), ("postgresql", server.new())):
            with filled(Path(folder, name), address=address) as store:
                killed = answers_survive(store, kills // 4)
                print(
                    f"{name}: {killed} processes killed, {len(store.events())} answers, none lost or doubled",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
