"""Auditing: some of the questions are drawn at random instead of by the strategy, and nobody sees which."""

import time
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from ramify.errors import RamifyError
from ramify.noise import noise
from ramify.pace import GRID
from ramify.project.live.state import State
from ramify.project.store.leases import Entry, Leases
from ramify.quality.drawing import Units

SHARE = 0.1  # of all questions
AT_ONCE = 8192  # items up to which nobody waits until all were looked at

Unit = tuple[int, int]
"""An item and a root of the taxonomy, by number."""


def share_of(state: State, share: float | None) -> float:
    """The share of questions that are drawn: as it is given, which then holds from now on, or as it held before.

    >>> SHARE
    0.1
    """
    if share is None:
        return float(state.store.setting("audit", SHARE))
    if not 0 <= share <= 1:
        raise RamifyError(f"the audit is a share of the questions from 0 to 1, not {share:g}")
    state.store.set_setting("audit", share)
    return share


class Auditing:
    """What is drawn, and what of it is still to be asked."""

    def __init__(self, state: State, leases: Leases, share: float, *, wait: bool) -> None:
        """``wait`` says that somebody will call ``renew`` where there are many items."""
        self.state, self.leases, self.share, self.wait = state, leases, share, wait
        self._first, self._asked = state.store.last_event(), 0
        self.forget()

    def forget(self) -> None:
        """Items were added or the taxonomy was changed: look at everything again."""
        self._units: Units | None = None
        self._pending: set[Unit] = set()
        self._out: dict[Unit, float] = {}
        self._changed: set[int] = set()

    def missing(self) -> bool:
        """Whether ``renew`` should be called."""
        return self._units is None and self.share > 0

    def renew(self, rest: Callable[[], None] = lambda: None) -> None:
        """Look at all items; ``rest`` is called now and then."""
        self._changed = set()
        now = self.state.snapshot()
        number_of = now.contents.number_of
        roots = {int(now.contents.id_of[root]) for root in now.labels.taxonomy.roots}
        audited = self.state.store.audits.all()  # also of roots that are gone, or are none any more
        drawn = [(row.item, number_of[row.concept]) for row in audited if row.concept in roots]
        drawn = [unit for unit in drawn if unit[0] < len(now.labels)]
        units = Units(now.labels, drawn, rest)
        with self.state.lock:
            if now.contents is not self.state.store.contents:  # others added or changed meanwhile
                return
            self._units = units
            self._pending = set(drawn)
            self.look_again({item for item, _ in drawn} | self._changed)

    def look_again(self, items: Iterable[int]) -> None:
        """Answers have changed some items."""
        looked = set(items)
        with self.state.lock:
            self._changed |= looked
            if self._units is None or not looked:
                return
            labels = self.state.labels
            self._units.look_again(labels, looked)
            drawn = set(self._units.taken(looked))
            owners, concepts = labels.questions(sorted(looked))
            roots = labels.taxonomy.root_of[concepts].tolist()
            self._pending -= drawn
            for unit in drawn:  # it was answered: what lies below may be asked at once
                self._out.pop(unit, None)
            self._pending |= drawn & set(zip(owners.tolist(), roots, strict=True))

    def due(self) -> bool:
        """Whether the next question should be drawn: so many are, at random."""
        self._asked += 1
        return bool(noise(self._first, np.array([self._asked]))[0] < self.share)

    def take(self, mode: str, skipped: set[Entry]) -> list[Entry] | None:
        """Entries for one screen, of what was drawn and is not answered, or drawn now; None when nothing is left."""
        if self._units is None:
            if self.wait and len(self.state.labels) > AT_ONCE:
                return None
            self.renew()
        with self.state.lock:
            entries = self._open(mode, skipped)
            if not entries and self._draw(GRID if mode == "grid" else 1):
                entries = self._open(mode, skipped)
        return entries or None

    def _draw(self, count: int) -> bool:
        """So many new units of one stratum; says whether there was any."""
        assert self._units is not None
        root, id_of, found = None, self.state.store.id_of, False
        for _ in range(count):
            chance = float(noise(self._first, np.array([int(self._units.drawn.sum())]), np.array([1]))[0])
            drawn = self._units.draw(chance, root)
            if drawn is None:
                break
            if self.state.store.audits.add(drawn.item, int(id_of[drawn.root]), drawn.drawn_from) is not None:
                self._pending.add((drawn.item, drawn.root))
            root, found = drawn.root, True
        return found

    def _open(self, mode: str, skipped: set[Entry]) -> list[Entry]:
        """What one screen asks of the units that wait and are not out with somebody."""
        now, store, labels = time.monotonic(), self.state.store, self.state.labels
        waiting = {unit for unit in self._pending if self._out.get(unit, 0.0) <= now}
        owners, concepts = labels.questions(sorted({item for item, _ in waiting}))
        roots, parents = labels.taxonomy.root_of, labels.taxonomy.parents
        asked = [
            (item, concept)
            for item, concept in zip(owners.tolist(), concepts.tolist(), strict=True)
            if (item, int(roots[concept])) in waiting and (item, int(store.id_of[concept])) not in skipped
        ]
        if not asked:
            return []
        if mode == "grid":
            concept = Counter(concept for _, concept in asked).most_common(1)[0][0]
            asked = [entry for entry in asked if entry[1] == concept][:GRID]
        else:
            item, concept = asked[0]
            asked = [entry for entry in asked if entry[0] == item and parents[entry[1]] == parents[concept]]
            asked = asked[:1] if mode == "single" else asked
        for item, concept in asked:
            self._out[item, int(roots[concept])] = now + self.leases.seconds
        return [(item, int(store.id_of[concept])) for item, concept in asked]
