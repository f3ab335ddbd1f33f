"""What a data set holds, for the terminal."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ramify.data import Dataset
from ramify.summary import concept_rows, facts

LISTED = 10  # contradictions that are shown


def overview(dataset: Dataset, title: str) -> Group:
    """Facts, the first contradictions, and the taxonomy with counts, to be printed with ``crop=False``."""
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts(dataset):
        grid.add_row(Text(name, style="dim"), Text(fact))
    contradictions = [_line(f"  {contradiction}") for contradiction in dataset.labels.contradictions()[:LISTED]]
    table = Table("concept", box=None, header_style="dim")
    for column in ("relevant", "irrelevant", "unknown"):
        table.add_column(column, justify="right")
    for line, *counts in concept_rows(dataset.labels):
        table.add_row(Text(line), *(f"{count}" for count in counts))
    return Group(_line(title, "bold"), grid, *contradictions, table)


def _line(text: str, style: str = "") -> Text:
    """A line that the terminal may break, but nobody else: it can be copied whole."""
    return Text(text, style, no_wrap=True, overflow="ignore")
