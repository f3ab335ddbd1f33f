"""Items: what a source says of its items, whatever the source is."""

from collections.abc import Callable
from dataclasses import dataclass

from ramify.labels import Labels

__all__ = ["Items"]


@dataclass(frozen=True, eq=False)
class Items:
    """What a source says of its items."""

    where: Callable[[int], str]
    """How an error names the place of an item, such as ``items.csv, row 3``."""
    ids: list[str]
    """Their unique names."""
    texts: list[str | None]
    """The text of each; None where it has none."""
    pictures: list[str | None]
    """The picture's path of each; None where it has none."""
    labels: Labels
    """What is said of each."""
    ignored: tuple[str, ...]
    """Columns that hold neither ids, texts, pictures nor labels."""
    unlabelled: int = 0
    """Items whose list of labels is empty, which says nothing (``none`` says that no concept applies)."""
