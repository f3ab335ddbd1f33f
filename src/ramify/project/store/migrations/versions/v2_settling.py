"""Answers that settle a disagreement, the learning curve, and skips found without reading all answers."""

from alembic import op
from sqlalchemy import Boolean, Column, Float, Integer, Text, false, text

revision, down_revision = "2", "1"


def upgrade() -> None:
    """Add them."""
    op.add_column("events", Column("settles", Boolean, nullable=False, server_default=false()))
    op.create_table(
        "curve",
        Column("answers", Integer, nullable=False),
        Column("at", Float, nullable=False),
        Column("estimate", Text, nullable=False),
    )
    skipped = text("answer = 'skip'")
    op.create_index("events_skipped", "events", ["annotator"], sqlite_where=skipped, postgresql_where=skipped)
