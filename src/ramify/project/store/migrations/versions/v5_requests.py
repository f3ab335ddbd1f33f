"""What is said of a whole request: how long its screen took, and a flag with a note; and which tab holds a question."""

from alembic import op
from sqlalchemy import CheckConstraint, Column, Float, Text, text

revision, down_revision = "5", "4"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "requests",
        Column("key", Text, primary_key=True),
        Column("seconds", Float),
        Column("flag", Text, CheckConstraint("flag IN ('cannot tell', 'broken')")),
        Column("note", Text, nullable=False, server_default=""),
        Column("lifted", Float),
        sqlite_with_rowid=False,
    )
    standing = text("flag IS NOT NULL AND lifted IS NULL")
    op.create_index("requests_flagged", "requests", ["key"], sqlite_where=standing, postgresql_where=standing)
    op.add_column("leases", Column("tab", Text, nullable=False, server_default=""))
