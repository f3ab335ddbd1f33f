"""The beginning."""

from alembic import op
from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Identity,
    Integer,
    Text,
    UniqueConstraint,
    text,
)

revision, down_revision = "1", None

NEVER = "events are append-only"
REFUSE = {
    "sqlite": [
        f"CREATE TRIGGER events_never_{name} BEFORE {what} ON events BEGIN SELECT RAISE(ABORT, '{NEVER}'); END"
        for name, what in (("change", "UPDATE"), ("go", "DELETE"))
    ],
    "postgresql": [
        f"""CREATE FUNCTION refuse_to_change_events() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN RAISE EXCEPTION ''{NEVER}''; END'""",
        """CREATE TRIGGER events_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON events
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_events()""",
    ],
}


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "meta", Column("key", Text, primary_key=True), Column("value", Text, nullable=False), sqlite_with_rowid=False
    )
    op.create_table(
        "concepts",
        Column("id", Integer, Identity(), primary_key=True),
        Column("path", Text, nullable=False, unique=True),
    )
    op.create_table(
        "items",
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("id", Text, nullable=False, unique=True),
        Column("text", Text),
        Column("picture", Text),
    )
    op.create_table(
        "events",
        Column("seq", Integer, Identity(), primary_key=True),
        Column("key", Text, nullable=False),
        Column("at", Float, nullable=False),
        Column("annotator", Text, nullable=False),
        Column("item", Integer, ForeignKey("items.number"), nullable=False),
        Column("concept", Integer, ForeignKey("concepts.id"), nullable=False),
        Column("answer", Text, CheckConstraint("answer IN ('yes', 'no', 'skip', 'undo')"), nullable=False),
        Column("undoes", Integer, ForeignKey("events.seq")),
        Column("model", Integer),
        UniqueConstraint("key", "item", "concept"),
        CheckConstraint("(answer = 'undo') = (undoes IS NOT NULL)"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_entry", "events", ["item", "concept"])
    op.create_index("events_of_annotator", "events", ["annotator", "seq"])
    undone = text("undoes IS NOT NULL")
    op.create_index("events_undone", "events", ["undoes"], unique=True, sqlite_where=undone, postgresql_where=undone)
    for statement in REFUSE[op.get_context().dialect.name]:
        op.execute(statement)
    op.create_table(
        "leases",
        Column("item", Integer, ForeignKey("items.number"), primary_key=True),
        Column("concept", Integer, ForeignKey("concepts.id"), primary_key=True),
        Column("annotator", Text, primary_key=True),
        Column("until", Float, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("leases_of_annotator", "leases", ["annotator", "until"])
    op.create_table(
        "models",
        Column("version", Integer, primary_key=True, autoincrement=False),
        Column("at", Float, nullable=False),
        Column("learner", Text),
        Column("answers", Integer),
        Column("estimate", Text),
        Column("note", Text),
    )
    op.create_table(
        "trainings",
        Column("id", Integer, Identity(), primary_key=True),
        Column("started", Float, nullable=False),
        Column("finished", Float),
        Column("pid", Integer, nullable=False),
        Column("error", Text),
        sqlite_autoincrement=True,
    )
