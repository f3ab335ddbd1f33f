"""How far a command is, and what it says on Ctrl-C: the same for all commands."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import typer
from rich import progress as bars
from rich.console import Console, RenderableType

Report: TypeAlias = Callable[[str, int, int], None]
"""What is being done, how much of it is finished, and of how much."""

PLAIN_EVERY = 30.0  # seconds between two lines where nobody watches
HOUR = 3600.0  # what is finished may take long: the time left is estimated from all that was finished in the last hour


@contextmanager
def progress(what_stays: str, again: str = "the same command") -> Iterator["Shown"]:
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


class Shown:
    """What is on the screen of it: called with how far the command is."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = _Bar(console) if console.is_terminal else None
        self._begun: tuple[float, int] | None = None
        self._said = time.monotonic()

    def __call__(self, what: str, done: int, total: int, above: RenderableType | None = None) -> None:
        """So much is done of so much; ``above`` the bar something may be shown that changes as well."""
        if self._bar is not None:
            self._bar.show(what, done, total, above)
            return
        now = time.monotonic()
        self._begun = self._begun or (now, done)
        if now - self._said >= PLAIN_EVERY and done < total:
            self._said = now
            begun, at_first = self._begun
            print(plain_line(what, done, total, done - at_first, now - begun), file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Take the bar from the screen."""
        if self._bar is not None:
            self._bar.stop()


def plain_line(what: str, done: int, total: int, finished: int, seconds: float) -> str:
    """The line that says how far a command is, where ``finished`` were done in the last ``seconds``.

    >>> plain_line("rounds", 30, 90, finished=20, seconds=600)
    'rounds: 30 of 90, about 30 min left'
    >>> plain_line("rounds", 30, 90, finished=0, seconds=600)
    'rounds: 30 of 90'
    """
    left = f", about {seconds / finished * (total - done) / 60:.0f} min left" if finished else ""
    return f"{what}: {done} of {total}{left}"


class _Bar(bars.Progress):
    """One bar, and what is shown above it."""

    def __init__(self, console: Console) -> None:
        columns: list[Any] = [bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn()]
        self._above: RenderableType | None = None
        super().__init__(
            *columns, bars.TimeRemainingColumn(), console=console, transient=True, speed_estimate_period=HOUR
        )

    def show(self, what: str, done: int, total: int, above: RenderableType | None) -> None:
        self._above = above
        if not self.tasks:
            self.start()
            self.add_task(what, total=total, completed=done)
        self.update(self.tasks[0].id, description=what, completed=done, total=total)

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is above, then the bar."""
        if self._above is not None:
            yield self._above
        yield from super().get_renderables()
