"""The server is killed again and again while people answer: every acknowledged answer is there, exactly once."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from ramify.project.store.store import Store
from store_checks import integrity
from web_projects import text_project

LIVES, POSTED, CLIENTS = 20, 2000, 4
WAITS = 0.02  # seconds until a client tries again


class Servers:
    """One server after the other, on one port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        script = Path(__file__).with_name("serve_process.py")
        command = [sys.executable, str(script), str(folder), str(self.port)]
        self.mother = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self) -> int:
        """The number of a new server's process, once it listens."""
        self.mother.stdin.write("\n")
        self.mother.stdin.flush()
        said = iter(self.mother.stdout.readline, "")
        child = next(int(line) for line in said if line.strip().isdigit())
        next(line for line in said if "http" in line)
        return child

    def kill(self, child: int) -> None:
        """Returns when it is gone, and its port free."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
            while True:
                os.kill(child, 0)
                time.sleep(0.001)

    def end(self) -> None:
        self.mother.stdin.close()
        self.mother.wait()
        self.mother.stdout.close()


class Client(threading.Thread):
    """Somebody who answers their share; what is not acknowledged is posted again under its key, as the page does."""

    def __init__(self, number: int, port: int, items: int, concepts: list[int]) -> None:
        super().__init__(daemon=True)
        self.name, self.items, self.concepts = f"client-{number}", items, concepts
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self.drawn = random.Random(number)
        self.acknowledged: dict[str, list[dict[str, object]]] = {}
        self.repeated = 0
        self.refused: list[str] = []

    def run(self) -> None:
        for number in range(POSTED // CLIENTS):
            item = self.drawn.randrange(self.items)
            chosen = self.drawn.sample(self.concepts, self.drawn.randint(1, 3))
            said = [
                {"item": item, "concept": concept, "answer": self.drawn.choice(["yes", "no"])} for concept in chosen
            ]
            key = f"{self.name}-{number:05d}"
            while not self._post(key, said):
                self.repeated += 1
                time.sleep(WAITS)
            self.acknowledged[key] = said
        self.http.close()

    def _post(self, key: str, said: list[dict[str, object]]) -> bool:
        try:
            reply = self.http.post("/api/answers", json={"key": key, "annotator": self.name, "answers": said})
        except httpx.TransportError:
            return False
        if reply.status_code not in (200, 503):
            self.refused.append(reply.text)
        return reply.status_code == 200


@pytest.fixture
def folder(tmp_path):
    return text_project(tmp_path / "texts", 60)


@pytest.mark.slow
def test_a_server_killed_twenty_times_loses_and_doubles_nothing(folder):
    with Store(folder) as store:
        concepts = store.id_of[store.taxonomy.leaves].tolist()
    servers = Servers(folder)
    child = servers.start()
    clients = [Client(number, servers.port, 60, concepts) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    drawn = random.Random(0)
    for life in range(1, LIVES + 1):
        wanted = POSTED * life // (LIVES + 1)
        while sum(len(client.acknowledged) for client in clients) < wanted:
            time.sleep(0.001)
        time.sleep(drawn.uniform(0, 0.02))  # in the middle of whatever it does
        servers.kill(child)
        child = servers.start()
    for client in clients:
        client.join()
    servers.kill(child)
    servers.end()

    assert [client.refused for client in clients] == [[]] * CLIENTS
    assert sum(client.repeated for client in clients) >= LIVES / 2  # it was really away
    assert integrity(folder) == "ok"
    with Store(folder) as store:
        kept = Counter((e.key, e.annotator, e.item, e.concept, e.answer) for e in store.events())
    said = [
        (key, client.name, entry["item"], entry["concept"], entry["answer"])
        for client in clients
        for key, answers in client.acknowledged.items()
        for entry in answers
    ]
    assert len({key for key, *_ in said}) == POSTED
    assert kept == Counter(said)
    assert set(kept.values()) == {1}
