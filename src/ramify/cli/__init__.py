"""The command line: it parses, calls, prints."""

from ramify.cli import project
from ramify.cli.base import app, main
from ramify.cli.experiments import compare, inspect, simulate

__all__ = ["app", "compare", "inspect", "main", "project", "simulate"]
