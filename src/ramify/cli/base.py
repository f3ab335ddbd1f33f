"""The command itself: its name, its version, and how a mistake is told."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from ramify.errors import RamifyError
from ramify.version import __version__

PROJECT, EXPERIMENTS = "Your project", "Data and experiments"  # panels of --help

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


def main() -> None:
    """Run the command line; a mistake of the user is one sentence, not a traceback."""
    try:
        app()
    except RamifyError as error:
        Console(stderr=True).print(Text(f"ramify: {error}"), soft_wrap=True)
        sys.exit(1)
