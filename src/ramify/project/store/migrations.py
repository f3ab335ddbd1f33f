"""How the database comes to be: ordered steps, each in a transaction. A step that was released never changes."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine

from ramify.errors import RamifyError

MIGRATIONS: list[tuple[str, ...]] = [
    (  # 1: the beginning
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE concepts (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
        "CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT, picture TEXT)",
        """CREATE TABLE events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL,
            at REAL NOT NULL,
            annotator TEXT NOT NULL,
            item INTEGER NOT NULL REFERENCES items (number),
            concept INTEGER NOT NULL REFERENCES concepts (id),
            answer TEXT NOT NULL CHECK (answer IN ('yes', 'no', 'skip', 'undo')),
            undoes INTEGER REFERENCES events (seq),
            model INTEGER,
            UNIQUE (key, item, concept),
            CHECK ((answer = 'undo') = (undoes IS NOT NULL))
        )""",
        "CREATE INDEX events_of_entry ON events (item, concept)",
        "CREATE INDEX events_of_annotator ON events (annotator, seq)",
        "CREATE UNIQUE INDEX events_undone ON events (undoes) WHERE undoes IS NOT NULL",
        """CREATE TRIGGER events_never_change BEFORE UPDATE ON events
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
        """CREATE TRIGGER events_never_go BEFORE DELETE ON events
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
        """CREATE TABLE leases (
            item INTEGER NOT NULL REFERENCES items (number),
            concept INTEGER NOT NULL REFERENCES concepts (id),
            annotator TEXT NOT NULL,
            until REAL NOT NULL,
            PRIMARY KEY (item, concept, annotator)
        ) WITHOUT ROWID""",
        "CREATE INDEX leases_of_annotator ON leases (annotator, until)",
        """CREATE TABLE models (
            version INTEGER PRIMARY KEY, at REAL NOT NULL, learner TEXT, answers INTEGER, estimate TEXT, note TEXT
        )""",
        """CREATE TABLE trainings (
            id INTEGER PRIMARY KEY AUTOINCREMENT, started REAL NOT NULL, finished REAL, pid INTEGER NOT NULL, error TEXT
        )""",
    ),
    (  # 2: answers that settle a disagreement, the learning curve, and skips found without reading all answers
        "ALTER TABLE events ADD COLUMN settles BOOLEAN NOT NULL DEFAULT 0 CHECK (settles IN (0, 1))",
        "CREATE TABLE curve (answers INTEGER NOT NULL, at REAL NOT NULL, estimate TEXT NOT NULL)",
        "CREATE INDEX events_skipped ON events (annotator) WHERE answer = 'skip'",
    ),
    (  # 3: which files a model consists of, so that damage is seen without reading them
        "ALTER TABLE models ADD COLUMN files TEXT",
    ),
]


def version(connection: Connection) -> int:
    """How many of the steps a database has behind it."""
    done = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    if done < 0:
        raise sqlite3.DatabaseError("the version is malformed")
    return done


def check_version(connection: Connection, path: Path) -> None:
    """Refuse a database of another version than this one, where it cannot be brought to the newest."""
    done = version(connection)
    _refuse_newer(done, path)
    if done < len(MIGRATIONS):
        raise RamifyError(
            f"{path} was written by an older Ramify (version {done} of the database, this one needs "
            f"{len(MIGRATIONS)}) and can only be read: open it once where you may write to it, or copy its folder"
        )


def migrate(writing: Engine) -> None:
    """Bring a database to the newest version; several processes may try at once."""
    done = -1
    while done < len(MIGRATIONS):
        with writing.begin() as connection:
            done = version(connection)
            _refuse_newer(done, writing.url.database)
            if done < len(MIGRATIONS):
                for statement in MIGRATIONS[done]:
                    connection.exec_driver_sql(statement)
                done += 1
                connection.exec_driver_sql(f"PRAGMA user_version = {done}")


def _refuse_newer(done: int, path: str | Path | None) -> None:
    if done > len(MIGRATIONS):
        raise RamifyError(
            f"{path} was written by a newer Ramify (version {done} of the database, this one knows "
            f"{len(MIGRATIONS)}): install the newer Ramify"
        )
