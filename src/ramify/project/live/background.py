"""Background: what happens while people answer. One thread learns from answers, another renews what takes longer.

Whatever goes wrong in a thread is logged with its traceback, shown in the status until it works again, and tried again:
no thread ends before the service does.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

from ramify.errors import RamifyError
from ramify.project.live.shapes import Problem
from ramify.project.live.state import Change
from ramify.quality import FEWEST

if TYPE_CHECKING:
    from ramify.project.live.service import Service

RELIST_AFTER = 25  # answers
ESTIMATE_AFTER = 25  # answers
TRAIN_AFTER = 100  # answers, where the learner does not take in each at once
AT_ONCE = 32  # items that are learned together, at most
LEARNING_PAUSE = 6  # times as long as it learned: many answers that come quickly are then learned at once
LEAST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two renewals, and after something went wrong
PAUSES = 3.0  # times as long as it works, while it looks at all items
PATIENCE = 20  # times as long as a renewal took, until the next

log = logging.getLogger("ramify.project")


class ClosingError(Exception):
    """The service is being closed: whatever is under way ends here."""


class Background:
    """The two threads of a service."""

    def __init__(self, service: "Service") -> None:
        self.service, self.state = service, service.state
        self._since = dict.fromkeys(("list", "estimate", "training"), 0)
        self._stale_parents: set[int] = set()
        self._outgrown = False
        self._problems: dict[str, Problem] = {}
        self._closing = Event()
        self._changed = Condition()
        self._to_learn: list[int] = []
        self._missed: list[int] | None = None  # learned by the old model while a new one is loading
        self._next: dict[str, float] = {}
        self._tried: int | None = None  # the newest model that was looked at: a damaged one is tried once
        self._threads = [
            Thread(target=self._keep_going, args=(what, step), daemon=True)
            for what, step in (("learning from answers", self._learn), ("renewing questions", self._renew))
        ]

    def start(self) -> None:
        """Let the threads run; a project that was added to or split since its model was trained gets a new one."""
        if self.state.loaded:
            self._train_if_outdated()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End them; everything is on disk already."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=30)

    def take_in(self, change: Change) -> None:
        """Told of new answers: what is known of some items has changed."""
        with self._changed:
            for what in self._since:
                self._since[what] += len(change.items)
            self._stale_parents |= set(change.parents.tolist())
            self._to_learn += sorted(set(change.items.tolist()))
            self._changed.notify_all()

    def problems(self) -> list[Problem]:
        """What does not work at the moment."""
        return list(self._problems.values())

    def _keep_going(self, what: str, step: Callable[[], None]) -> None:
        """Take steps until the service closes, whatever happens in one of them."""
        pause = LEAST_PAUSE
        while not self._closing.is_set():
            try:
                step()
                self._problems.pop(what, None)
                pause = LEAST_PAUSE
            except ClosingError:
                return
            except Exception as error:
                log.exception("%s failed", what)
                reason = str(error) if isinstance(error, RamifyError) else f"{type(error).__name__}: {error}"
                self._problems[what] = Problem(what=f"{what} failed, and is tried again: {reason}", at=time.time())
                self._closing.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Take in the answers that came, several at once when they come quickly."""
        with self._changed:
            while not (self._to_learn and self.state.loaded) and not self._closing.is_set():
                self._changed.wait(timeout=1.0)
            waiting = list(dict.fromkeys(self._to_learn))
            items, self._to_learn = waiting[:AT_ONCE], waiting[AT_ONCE:]
            if self._missed is not None:
                self._missed += items
        if not items:
            return
        start = time.monotonic()
        now = self.state.snapshot()
        try:
            now.model.learn(now.features, now.labels, items)
        except BaseException:
            with self._changed:  # to be tried again
                self._to_learn = [*items, *self._to_learn]
            raise
        self._closing.wait(LEARNING_PAUSE * (time.monotonic() - start))

    # -- renewing ------------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Everything that takes longer than a person would wait."""
        if self._closing.wait(0.25):
            return
        service, questions = self.service, self.service.questions
        if not self.state.loaded:
            self._load_model()
        service.take_up()
        service.catch_up()
        self._take_new_model()
        if self._outgrown:  # another training ran until now
            self._train_if_outgrown()
        with self._when_due("noise", bool(self._stale_parents)) as due:
            if due:
                with self._changed:
                    parents, self._stale_parents = self._stale_parents, set()
                questions.shortlist.renew(parents)
        stale = self._since["list"] >= RELIST_AFTER or questions.shortlist.low() or not questions.complete
        with self._when_due("list", stale) as due:
            if due:
                self._since["list"] = 0
                questions.make(everything=True, rest=self._rest)
                self._train_if_outgrown()
        if service.auditing.missing():
            service.auditing.renew(partial(self._rest, 0.01))
        with self._when_due("estimate", self._since["estimate"] >= ESTIMATE_AFTER) as due:
            if due:
                self._since["estimate"] = 0
                self._estimate()
        with self._when_due("tally", True) as due:
            if due:
                service.count()
        every = service.serving.train_every or self._train_after()
        if every is not None and self._since["training"] >= every:
            self._since["training"] = 0
            service.train()

    def _train_after(self) -> int | None:
        learner = self.state.model.learner
        return None if learner is not None and learner.learns_at_once else TRAIN_AFTER

    def _train_if_outgrown(self) -> None:
        """A new model where answers since the last training leave the old one behind, such as its coarse labels."""
        now = self.state.snapshot()
        self._outgrown = self._since["training"] > 0 and now.model.outgrown(now.labels)
        if self._outgrown and self.service.train().started:
            self._since["training"], self._outgrown = 0, False

    def _rest(self, seconds: float) -> None:
        if self._closing.wait(PAUSES * seconds):
            raise ClosingError

    @contextlib.contextmanager
    def _when_due(self, what: str, wanted: bool) -> Iterator[bool]:
        """Whether it is wanted and may be done again: nothing here takes more than a small part of the time."""
        due = wanted and time.monotonic() >= self._next.get(what, 0.0)
        start = time.monotonic()
        try:
            yield due
        finally:
            if due:
                end = time.monotonic()
                self._next[what] = end + max(LEAST_PAUSE, PATIENCE * (end - start))

    def _load_model(self) -> None:
        """What was asked until now was kept; from here on the model asks and learns."""
        if self._closing.wait(LEAST_PAUSE):  # the first questions come first: to load it keeps others from computing
            return
        self.service.questions.make(everything=False)
        with self._changed:
            self._changed.notify_all()
        self._train_if_outdated()

    def _train_if_outdated(self) -> None:
        if self.state.outdated():
            self.service.train()

    def _take_new_model(self) -> None:
        newest = self.state.store.model()
        if newest is None or newest[0] in (self.state.model.version, self._tried):
            return
        self._tried = newest[0]
        with self._changed:
            self._missed = []
        model = self.state.load_model()
        with self._changed:
            with self.state.lock:
                self.state.model = model
            self._to_learn += self._missed
            self._missed = None
            self._changed.notify_all()
        self._estimate()
        self.service.questions.make(everything=False)
        self._train_if_outgrown()  # by what was answered while it was trained

    def _estimate(self) -> None:
        quality = self.service.judge()
        estimate = self.state.model.estimate()
        if estimate and (quality is None or quality.all.draws < FEWEST):  # else it was noted with the audit's figures
            self.state.store.add_curve_point(self.state.store.count_answers(), estimate)
