"""Units that were drawn for the audit."""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer

revision, down_revision = "6", "5"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "audits",
        Column("item", Integer, ForeignKey("items.number"), primary_key=True, autoincrement=False),
        Column("concept", Integer, ForeignKey("concepts.id"), primary_key=True, autoincrement=False),
        Column("at", Float, nullable=False),
        Column("drawn_from", Integer, nullable=False),
        Column("items", Integer, nullable=False),
        Column("after", Integer, nullable=False),
    )
