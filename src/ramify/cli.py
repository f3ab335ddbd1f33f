"""The command line: it parses, calls, prints."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ramify import __version__
from ramify.errors import RamifyError

app = typer.Typer(
    help="Ramify splits coarse labels into finer ones with as few human answers as possible.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ramify {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Ramify splits coarse labels into finer ones with as few human answers as possible."""


@app.command()
def inspect(
    path: Annotated[str, typer.Argument(help="An .npz bundle, a folder, a taxonomy file, or 'scenes'.")],
    not_exhaustive: Annotated[
        bool, typer.Option("--not-exhaustive", help="Read a bundle as the paper does: deduce only what is irrelevant.")
    ] = False,
) -> None:
    """Show what a data set holds: items, features, the taxonomy with counts, and what is known of it."""
    console = Console()
    if Path(path).suffix in (".yaml", ".yml", ".json"):
        from ramify.taxonomy import Taxonomy

        console.print(Text(str(Taxonomy.load(path))))
        return
    from ramify.readers import read
    from ramify.summary import concept_rows, facts

    dataset = read(path, exhaustive=not not_exhaustive)
    console.print(Text(str(path), style="bold"))
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts(dataset):
        grid.add_row(Text(name, style="dim"), Text(fact))
    console.print(grid)
    for contradiction in dataset.labels.contradictions()[:10]:
        console.print(Text(f"  {contradiction}"))
    table = Table("concept", box=None, header_style="dim")
    for column in ("relevant", "irrelevant", "unknown"):
        table.add_column(column, justify="right")
    for line, *counts in concept_rows(dataset.labels):
        table.add_row(Text(line), *(f"{count}" for count in counts))
    console.print(table)


def main() -> None:
    """Run the command line; a mistake of the user is one sentence, not a traceback."""
    try:
        app()
    except RamifyError as error:
        Console(stderr=True).print(Text(f"ramify: {error}"), soft_wrap=True)
        sys.exit(1)
