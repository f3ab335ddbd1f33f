"""Changes of the taxonomy, each with what was before it."""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Identity, Integer, Text, text

revision, down_revision = "7", "6"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "changes",
        Column("seq", Integer, Identity(), primary_key=True),
        Column("at", Float, nullable=False),
        Column("said", Text, nullable=False),
        Column("before", Text, nullable=False),
        Column("undoes", Integer, ForeignKey("changes.seq")),
    )
    undone = text("undoes IS NOT NULL")
    op.create_index("changes_undone", "changes", ["undoes"], unique=True, sqlite_where=undone, postgresql_where=undone)
