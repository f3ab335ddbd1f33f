"""Which files a model consists of, so that damage is seen without reading them."""

from alembic import op
from sqlalchemy import Column, Text

revision, down_revision = "3", "2"


def upgrade() -> None:
    """Add them."""
    op.add_column("models", Column("files", Text))
