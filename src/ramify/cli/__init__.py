"""The command line: it parses, calls, prints."""

from ramify.cli import project
from ramify.cli.base import app, main
from ramify.cli.experiments import compare, inspect, simulate
from ramify.cli.names import names

__all__ = ["app", "compare", "inspect", "main", "names", "project", "simulate"]
