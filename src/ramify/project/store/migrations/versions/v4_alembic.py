"""Alembic counts from here on. A Ramify that reads SQLite's own number of a version must refuse what is newer."""

from alembic import op

revision, down_revision = "4", "3"


def upgrade() -> None:
    """Leave the old number behind, as one that no Ramify has used."""
    if op.get_context().dialect.name == "sqlite":
        op.execute("PRAGMA user_version = 4")
