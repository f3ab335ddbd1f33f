"""A real PostgreSQL on loopback, for the tests of projects that keep their database in one."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
INITDB = shutil.which("initdb") or (str(PROGRAMS[-1]) if PROGRAMS else None)
PASSWORD = "a secret"


class Server:
    """Databases of a server that was started for the tests."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._numbers = count()

    def new(self) -> str:
        """The address of a new database."""
        name = f"project{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return f"postgresql://ramify@127.0.0.1:{self.port}/{name}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple]:
        import psycopg

        with psycopg.connect(host="127.0.0.1", port=self.port, user="ramify", dbname=database, autocommit=True) as link:
            cursor = link.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        control(self.folder, "stop", "-m", "immediate")

    def start(self) -> None:
        # What must survive here is the death of our processes; a test machine need not survive a power cut.
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        control(self.folder, "start", "-w", "-l", str(self.folder / "log"), "-o", options)


def as_nobody(*command: str) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return [*(("runuser", "-u", "postgres", "--") if os.getuid() == 0 else ()), *command]


def control(folder: Path, *arguments: str) -> None:
    program = str(Path(str(INITDB)).with_name("pg_ctl"))
    # Its output goes to a file: the server would keep a pipe open.
    with (folder / "control").open("w+") as said:
        done = subprocess.run(as_nobody(program, "-D", str(folder / "data"), *arguments), stdout=said, stderr=said)
        said.seek(0)
        assert not done.returncode, said.read()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started_postgres() -> Iterator[Server]:
    """A server whose only user needs a password, which the environment holds."""
    if INITDB is None and not os.environ.get("CI"):
        pytest.skip("there is no PostgreSQL: apt-get install postgresql")
    assert INITDB is not None, "CI tests with PostgreSQL: apt-get install postgresql"
    with tempfile.TemporaryDirectory(prefix="ramify-postgres-") as place:  # pytest's own folders are for us alone
        folder = Path(place)
        (folder / "password").write_text(PASSWORD)
        if os.getuid() == 0:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres")
        made = (INITDB, "-D", str(folder / "data"), "-U", "ramify", "--auth=scram-sha-256", "--no-sync")
        secret = f"--pwfile={folder / 'password'}"
        subprocess.run(as_nobody(*made, secret, "--locale=C.UTF-8", "-E", "UTF8"), check=True, capture_output=True)
        os.environ["PGPASSWORD"] = PASSWORD
        server = Server(folder, free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()
