"""Progress: how far something is that takes long, and how long it will take; the same in scripts and for commands."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from rich import progress as bars
from rich.console import Console, RenderableType

__all__ = ["Pace", "Report", "Shown", "in_words", "plain_line", "showing"]

Report: TypeAlias = Callable[[str, int, int], None]
"""What is being done, how much of it is finished, and of how much."""

PLAIN_FIRST, PLAIN_EVERY = 5.0, 30.0  # seconds to the first line and between two later ones, where nobody watches
HOUR = 3600.0  # what is finished may take long: the time left is estimated from all that was finished in the last hour


@contextmanager
def showing(wanted: bool = True) -> Iterator[Report]:
    """A report that is shown while this lasts: a bar on a terminal, else a line now and then; both on stderr.

    >>> with showing(wanted=False) as report:
    ...     report("steps", 1, 3)
    """
    if not wanted:
        yield lambda what, done, total: None
        return
    shown = Shown()
    try:
        yield shown
    finally:
        shown.stop()


class Pace:
    """How long a piece of work will still take, by its pace since it was begun."""

    def __init__(self) -> None:
        self._what: str | None = None
        self._begun, self._at_first = 0.0, 0

    def left(self, what: str, done: int, total: int) -> float | None:
        """The seconds left; None as long as nothing was finished. Other work has a pace of its own."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._begun, self._at_first = what, now, done
        finished = done - self._at_first
        return (now - self._begun) / finished * (total - done) if finished > 0 else None


class Shown:
    """What is on the screen of it: called with how far the work is."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = _Bar(console) if console.is_terminal else None
        self._pace = Pace()
        self._said, self._pause = time.monotonic(), PLAIN_FIRST

    def __call__(self, what: str, done: int, total: int, above: RenderableType | None = None) -> None:
        """So much is done of so much; ``above`` the bar something may be shown that changes as well."""
        if self._bar is not None:
            self._bar.show(what, done, total, above)
            return
        left, now = self._pace.left(what, done, total), time.monotonic()
        if now - self._said >= self._pause and done < total:
            self._said, self._pause = now, PLAIN_EVERY
            print(plain_line(what, done, total, left), file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Take the bar from the screen."""
        if self._bar is not None:
            self._bar.stop()


def plain_line(what: str, done: int, total: int, left: float | None) -> str:
    """The line that says how far something is, and how many seconds are left.

    >>> plain_line("rounds", 30, 90, left=1800)
    'rounds: 30 of 90, about 30 min left'
    >>> plain_line("rounds", 30, 90, left=None)
    'rounds: 30 of 90'
    """
    return f"{what}: {done} of {total}{'' if left is None else f', about {in_words(left)} left'}"


def in_words(seconds: float) -> str:
    """A time that is an estimate.

    >>> in_words(44.4), in_words(200), in_words(9000)
    ('44 s', '3 min', '150 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


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
        elif self.tasks[0].description != what:  # other work has a pace of its own
            self.remove_task(self.tasks[0].id)
        if not self.tasks:
            self.add_task(what, total=total, completed=done)
        self.update(self.tasks[0].id, completed=done, total=total)

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is above, then the bar."""
        if self._above is not None:
            yield self._above
        yield from super().get_renderables()
