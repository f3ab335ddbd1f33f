"""Small projects for the tests of the store."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from ramify import Labels, Taxonomy
from ramify.project.store.store import Store

HERE = Path(__file__).parent
TREE = {"animal": ["cat", "dog"], "food": ["apple", "banana"]}
TAXONOMY = Taxonomy(TREE)


def filled(folder, count=3, columns=2, address=None):
    store = Store.create(folder, TAXONOMY, address=address)
    numbers = np.arange(count)
    features = np.column_stack([numbers] * columns).astype(np.float32) if columns else None
    store.add([f"i{n}" for n in numbers], [f"text {n}" for n in numbers], None, features, coarse(count))
    return store


def coarse(count, value=1):
    return Labels(TAXONOMY, np.full((count, 2), value, np.int8))


def ids(store, *names):
    return store.id_of[store.taxonomy.indices(list(names))].tolist()


def files(store):
    return sorted(path.name for path in store.folder.iterdir() if not path.name.startswith("project.db"))


def integrity(folder):
    with closing(sqlite3.connect(folder / "project.db")) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


def process(*arguments):
    script = [sys.executable, str(HERE / "store_process.py"), *map(str, arguments)]
    return subprocess.Popen(script, stdout=subprocess.PIPE, text=True)


def answers_survive(store, rounds):
    """Let pairs of processes answer and be killed, so many times; what they said is done is there, exactly once.

    How many were killed.
    """
    heard = json.loads(process("answers", store.folder, rounds).communicate(timeout=3600)[0])
    assert len(heard) == 2 * rounds
    assert store.database.damage() is None
    by_key = {}
    for event in store.events():
        by_key.setdefault(event.key, []).append(event)
    for said in heard:
        assert said
        for key in said:
            if int(key.split("-")[1]) % 4 != 3:
                assert len(by_key[key]) == 3
    # Of what was under way when it was killed, all is there or nothing: then sending it again changes nothing.
    assert {len(events) for events in by_key.values()} == {3}
    assert len(by_key) - sum(map(len, heard)) <= len(heard)
    last = by_key[heard[0][0]]
    assert store.record(last[0].key, last[0].annotator, [(e.item, e.concept, e.answer) for e in last]) == last
    return len(heard)
