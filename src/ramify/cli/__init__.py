"""The command line: it parses, calls, prints."""

from ramify.cli import project
from ramify.cli.base import app, main
from ramify.cli.embedding import embed
from ramify.cli.experiments import compare, inspect, reproduce, simulate
from ramify.cli.names import names
from ramify.cli.start import start

__all__ = ["app", "compare", "embed", "inspect", "main", "names", "project", "reproduce", "simulate", "start"]
