"""Measuring: CPU time of one thread, by turns, as ratios inside one run; and how a script tells what it found.

A script of the suite has ``measure()``, which gives Rows, and ends with ``run(measure)``. By itself it prints them and
fails where a bound does not hold; ``benchmarks/bench.py`` runs several and writes docs/results/speed.md.
"""

import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

Work = Callable[[], object]
FOUND = "RAMIFY_BENCH"  # the file that the suite reads a script's rows from


@dataclass(kw_only=True)
class Row:
    """One figure: what was measured, its median, the quartiles (or extremes of few), and what it is held to."""

    what: str
    unit: str = "x"
    value: float | None = None
    """None where a peer is missing: ``note`` says so."""
    low: float | None = None
    high: float | None = None
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is within its bound."""
        if self.value is None:
            return True
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    def words(self) -> tuple[str, str, str, str]:
        """What, the figure, its spread and its bound, to be printed."""
        if self.value is None:
            return self.what, "missing", "", self.note
        spread = "" if self.low is None else f"{_short(self.low)} to {_short(self.high)}"
        bound = f"at most {self.most:g}" if self.most is not None else ""
        bound = f"at least {self.least:g}" if self.least is not None else bound
        kept = f"{bound}: {'kept' if self.holds else '**missed**'}" if bound else ""
        return (
            self.what,
            f"{_short(self.value)} {self.unit}",
            spread,
            "; ".join(part for part in (kept, self.note) if part),
        )


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cpu(work: Work) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def by_turns(ways: dict[str, Work], rounds: int) -> dict[str, np.ndarray]:
    """CPU seconds of each, round after round, as busy moments then hit all alike; one is not counted."""
    for work in ways.values():
        work()
    taken = [[cpu(work) for work in ways.values()] for _ in range(rounds)]
    return dict(zip(ways, np.array(taken).T, strict=True))


def figure(what: str, values: Sequence[float] | np.ndarray, unit: str = "x", **held: object) -> Row:
    """The median of repeats, with quartiles."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Row(what=what, value=float(middle), low=float(low), high=float(high), unit=unit, **held)  # type: ignore[arg-type]


def growth(what: str, works: dict[int, Work], rounds: int, most: float | None = None) -> Row:
    """The exponent of the time in the size: the slope through all sizes on a log-log scale, round by round.

    >>> growth("sorting", {n: lambda n=n: sorted(range(n)) for n in (10_000, 40_000)}, 1).unit
    'exponent'
    """
    taken = by_turns({str(size): work for size, work in works.items()}, rounds)
    sizes = np.log(list(works))
    slopes = [np.polyfit(sizes, np.log(seconds), 1)[0] for seconds in np.array(list(taken.values())).T]
    first, last = (statistics.median(seconds) * 1000 for seconds in (taken[str(min(works))], taken[str(max(works))]))
    note = f"{min(works)} to {max(works)}: {_short(first)} to {_short(last)} ms"
    low, high = min(slopes), max(slopes)
    middle = statistics.median(slopes)
    return Row(what=what, value=middle, low=low, high=high, unit="exponent", most=most, note=note)


def missing(*modules: str) -> list[str]:
    """Those of some modules that cannot be imported."""
    gone = []
    for module in modules:
        try:
            import_module(module)
        except Exception as error:  # an old peer may fail in any way with new libraries
            gone.append(f"{module} ({type(error).__name__})")
    return gone


def resident(name: str = "VmHWM") -> float:
    """Megabytes of this process: the most so far, or (VmRSS) now. Getrusage would count what its parent held too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(name))


def run(measure: Callable[[], Iterable[Row]]) -> None:
    """Measure with one thread, print, leave the rows for the suite; by itself fail where a bound does not hold."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows: list[Row] = []
    with threadpool_limits(1):
        for row in measure():
            rows.append(row)
            what, value, spread, held = row.words()
            print(f"{what:64} {value:>18}  {spread:22} {held}", flush=True)
            if FOUND in os.environ:
                Path(os.environ[FOUND]).write_text(json.dumps([asdict(row) for row in rows]))
    if FOUND not in os.environ and (broken := [row.what for row in rows if not row.holds]):
        sys.exit("a bound does not hold: " + "; ".join(broken))
