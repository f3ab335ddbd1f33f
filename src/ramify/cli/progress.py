"""How far a command is, and what it says on Ctrl-C: the same for all commands."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ramify.progress import Shown


@contextmanager
def progress(what_stays: str, again: str = "the same command") -> Iterator[Shown]:
    """Shows how far a command is, once there is something to show; Ctrl-C ends it with one sentence.

    On a terminal it is a bar with an estimate, redirected it is a line now and then; both on stderr.
    """
    with interruptible(what_stays, again):
        shown = Shown()
        try:
            yield shown
        finally:
            shown.stop()


@contextmanager
def interruptible(what_stays: str, again: str = "the same command") -> Iterator[None]:
    """Ctrl-C ends with one sentence."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"Interrupted: {what_stays}. Run {again} to go on.", file=sys.stderr)
        raise typer.Exit(130) from None
