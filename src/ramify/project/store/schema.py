"""The tables as queries see them; ``migrations`` makes them, and a test holds both together."""

from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, MetaData, Select, Table, Text, exists, select

from ramify.labels import ANSWERS, UNKNOWN

METADATA = MetaData()

meta = Table("meta", METADATA, Column("key", Text, primary_key=True), Column("value", Text))
"""Settings, the taxonomy, and which files are the current ones; values are JSON."""
MOVING = "moving"
"""The key that is there while the project is moved to another database."""

concepts = Table("concepts", METADATA, Column("id", Integer, primary_key=True), Column("path", Text))
"""A concept's id never changes, whereas its number in the taxonomy does when that is changed. What is gone is kept, as
``path; id``, which no concept can be called."""

changes = Table(
    "changes",
    METADATA,
    Column("seq", Integer, primary_key=True),
    Column("at", Float),
    Column("said", Text),
    Column("before", Text),
    Column("undoes", Integer),
)
"""Changes of the taxonomy, and those that take one back: rows are only ever added. ``before`` is JSON."""

items = Table(
    "items",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("id", Text),
    Column("text", Text),
    Column("picture", Text),
)

events = Table(
    "events",
    METADATA,
    Column("seq", Integer, primary_key=True),
    Column("key", Text),
    Column("at", Float),
    Column("annotator", Text),
    Column("item", Integer),
    Column("concept", Integer),
    Column("answer", Text),
    Column("undoes", Integer),
    Column("model", Integer),
    Column("settles", Boolean),
)
"""Answers, and answers taken back: rows are only ever added."""

requests = Table(
    "requests",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("seconds", Float),
    Column("flag", Text),
    Column("note", Text),
    Column("lifted", Float),
)
"""What is said of the answers of one request together, where anything is: their events bear the same key."""

leases = Table(
    "leases",
    METADATA,
    Column("item", Integer, primary_key=True),
    Column("concept", Integer, primary_key=True),
    Column("annotator", Text, primary_key=True),
    Column("until", Float),
    Column("tab", Text),
)

audits = Table(
    "audits",
    METADATA,
    Column("item", Integer, primary_key=True),
    Column("concept", Integer, primary_key=True),
    Column("at", Float),
    Column("drawn_from", Integer),
    Column("items", Integer),
    Column("after", Integer),
)
"""Units that were drawn at random: an item and a root of the taxonomy, one of so many."""

models = Table(
    "models",
    METADATA,
    Column("version", Integer, primary_key=True),
    Column("at", Float),
    Column("learner", Text),
    Column("answers", Integer),
    Column("estimate", Text),
    Column("note", Text),
    Column("files", Text),
)
"""The files are JSON: by their names, size and checksum."""

trainings = Table(
    "trainings",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("started", Float),
    Column("finished", Float),
    Column("pid", Integer),
    Column("error", Text),
)

curve = Table("curve", METADATA, Column("answers", Integer), Column("at", Float), Column("estimate", Text))

UNDO = "undo"
"""The event that takes an answer back."""
KNOWN = [word for word, value in ANSWERS.items() if value != UNKNOWN]
"""The answers that say something: yes and no."""
_undoing = events.alias("undoing")
NOT_UNDONE = ~exists().where(_undoing.c.undoes == events.c.seq)
"""Of an event: nobody took it back."""


def live(*columns: Column[Any]) -> Select[Any]:
    """Columns of all answers yes and no that stand."""
    return select(*columns).where(events.c.answer.in_(KNOWN), NOT_UNDONE)
