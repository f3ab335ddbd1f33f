"""The command line: it parses, calls, prints."""
# ruff: noqa: I001  (the commands are listed in the order in which they are imported)

from ramify.cli.base import app, main
from ramify.cli.start import start
from ramify.cli import project, tables, taxonomy, keeping
from ramify.cli.names import names
from ramify.cli.embedding import embed
from ramify.cli.experiments import compare, inspect, reproduce, simulate

__all__ = [
    "app",
    "compare",
    "embed",
    "inspect",
    "keeping",
    "main",
    "names",
    "project",
    "reproduce",
    "simulate",
    "start",
    "tables",
    "taxonomy",
]
