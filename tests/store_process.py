"""Stores in processes of their own, killed at random moments: python store_process.py WHAT FOLDER ...

The processes are forked from this one, which has already imported everything: only the store itself is killed. What
they have finished they say through a pipe; what came of it is printed as JSON.
"""

import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import sqlalchemy

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.store import backup
from ramify.project.store.changes import Change
from ramify.project.store.store import Store

ENTRIES = 3  # answers of one request
BATCH = 40  # items of one add


def answer(folder: Path, name: str, done: Callable[[str], None]) -> None:
    """Answer for ever; every fourth request is an undo."""
    with Store(folder) as store:
        ids = store.id_of.tolist()
        for number in range(10**9):
            key = f"{name}-{number}"
            if number % 4 == 3:
                store.undo(key, name)
            else:
                item = random.randrange(len(store))
                chosen = random.sample(ids, ENTRIES)
                try:
                    store.record(key, name, [(item, concept, random.choice(["yes", "no"])) for concept in chosen])
                except RamifyError:  # somebody has changed the taxonomy
                    store.refresh()
                    ids = store.id_of.tolist()
                    continue
            done(key)


def reshape(folder: Path, name: str, done: Callable[[str], None]) -> None:
    """Change the taxonomy for ever, and take most of it back."""
    some = (
        Change("split", ["cat"], ["tabby", "siamese"]),
        Change("merge", ["apple", "banana"], ["fruit"]),
        Change("remove", ["dog"]),
        Change("move", ["cat"], below="food"),
        Change("rename", ["animal"], ["beast"]),
    )
    with Store(folder) as store:
        while True:
            try:
                if random.random() < 0.6:
                    done(store.changes.change(random.choice(some)).said)
                else:
                    done(store.changes.undo().said)
            except RamifyError:  # it makes no sense any more, or nothing is left
                continue


def add(folder: Path, name: str, done: Callable[[str], None]) -> None:
    """Add items for ever, with features and labels that tell which they are."""
    with Store(folder) as store:
        while True:
            first = len(store)
            numbers = np.arange(first, first + BATCH)
            features = np.column_stack([numbers, numbers]).astype(np.float32)
            labels = Labels(store.taxonomy, np.column_stack([numbers % 2] * len(store.taxonomy.roots)))
            store.add([f"item {number}" for number in numbers], None, None, features, labels)
            done(str(len(store)))


def start(work: Callable[..., None], folder: Path, name: str) -> tuple[int, int]:
    """A child at work, and the pipe through which it says what is done."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            random.seed(name)
            work(folder, name, lambda said: os.write(write, f"{said}\n".encode()))
        finally:
            os._exit(1)
    os.close(write)
    return child, read


def killed(children: list[tuple[int, int]], after: float) -> list[list[str]]:
    """Kill the children some time after all of them have done something; what each has said."""
    said = [b"" for _ in children]
    until = time.monotonic() + 300
    begun = False
    while time.monotonic() < until:
        ready, _, _ = select.select([pipe for _, pipe in children], [], [], 0.001)
        for number, (_, pipe) in enumerate(children):
            if pipe in ready:
                heard = os.read(pipe, 1 << 16)
                assert heard, "a child ended by itself"
                said[number] += heard
        if not begun and all(said):
            begun, until = True, time.monotonic() + after
    for child, _ in children:
        os.kill(child, signal.SIGKILL)
    for number, (child, pipe) in enumerate(children):
        os.waitpid(child, 0)
        while heard := os.read(pipe, 1 << 16):
            said[number] += heard
        os.close(pipe)
    return [text.decode().splitlines() for text in said]


def main(what: str, folder: Path, *rest: str) -> None:
    if what == "trains":
        with Store(folder) as store, store.trainings.begin():
            print("training", flush=True)
            signal.pause()
    if what == "restores":
        print(restores(folder, Path(rest[0])))
        return
    if what == "changes":
        print(json.dumps(changed(folder)))
        return
    if what == "writes":
        print(json.dumps(write(folder, rest[0], int(rest[1]))))
        return
    drawn = random.Random(0)
    heard = []
    for round_ in range(int(rest[0])):
        if what == "both":
            children = [start(answer, folder, f"a{round_}"), start(reshape, folder, f"b{round_}")]
            heard += killed(children, drawn.uniform(0, 0.3))
            continue
        work, names = (answer, (f"a{round_}", f"b{round_}")) if what == "answers" else (add, (f"a{round_}",))
        heard += killed([start(work, folder, name) for name in names], drawn.uniform(0, 0.15))
    print(json.dumps(heard))


def restores(archive: Path, parent: Path) -> int:
    """Restore into folders 0, 1, 2, ..., killed after so many steps in each; how many were killed."""
    for steps in range(10**9):
        child = os.fork()
        if not child:
            restore(archive, parent / str(steps), steps)
            os._exit(0)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            return steps
    raise AssertionError


def restore(archive: Path, folder: Path, steps: int) -> None:
    """Restore, and be killed after so many steps: before and in the middle of all that is written, and in between."""
    left = iter(range(steps))

    def step() -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    def halting(honest: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            step()
            return honest(*arguments, **options)

        return called

    def halves(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
        content = b"".join(whole(archive, name))
        for part in (content[: len(content) // 2], content[len(content) // 2 :]):
            yield part
            step()

    whole, backup._blocks = backup._blocks, halves
    for module, name in ((Path, "write_text"), (Path, "write_bytes"), (Path, "unlink"), (os, "replace"), (os, "fsync")):
        setattr(module, name, halting(getattr(module, name)))
    sqlite3.connect = halting(sqlite3.connect)
    Store.restore(archive, folder)


def changed(folder: Path) -> list[str]:
    """Split a concept, killed after so many steps in each attempt, until it is split; the taxonomy after each."""
    left = []
    for steps in range(10**9):
        child = os.fork()
        if not child:
            change(folder, steps)
            os._exit(0)
        os.waitpid(child, 0)
        with Store(folder) as store:
            assert store.labels().taxonomy == store.imported().taxonomy == store.taxonomy
            left.append(str(store.taxonomy))
        if left[-1] != left[0]:
            return left
    raise AssertionError


def change(folder: Path, steps: int) -> None:
    """Split a concept, and be killed after so many steps: before all that is written or noted."""
    counted = iter(range(steps))

    def halting(honest: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            if next(counted, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return honest(*arguments, **options)

        return called

    places = ((os, "replace"), (os, "fsync"), (Path, "unlink"), (sqlalchemy.Connection, "execute"))
    with Store(folder) as store:
        for module, name in places:
            setattr(module, name, halting(getattr(module, name)))
        store.changes.change(Change("split", ["cat"], ["tabby", "siamese"]))


def write(folder: Path, name: str, count: int) -> int:
    """Answer and lease a while, beside others; how many answers were kept."""
    with Store(folder) as store:
        leases = store.leases(overlap=9)
        kept = 0
        for number in range(count):
            entry = (number % len(store), int(store.id_of[number % 4]))
            leases.lease(name, [[entry]])
            kept += len(store.record(f"{name}-{number}", name, [(*entry, "yes")]))
        return kept


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
