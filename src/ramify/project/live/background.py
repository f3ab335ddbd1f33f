"""Meanwhile: what happens while people answer. One thread learns from answers, another renews what takes longer."""

import contextlib
import time
from collections.abc import Iterator
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

from ramify.errors import RamifyError
from ramify.learners import Refine
from ramify.project.live.model import Model

if TYPE_CHECKING:
    from ramify.project.live.service import Service

RELIST_AFTER = 25  # answers
ESTIMATE_AFTER = 25  # answers
TRAIN_AFTER = 100  # answers, where the learner does not take in each at once
AT_ONCE = 32  # items that are learned together, at most
LEAST_PAUSE = 1.0  # seconds between two renewals
PAUSES = 3.0  # times as long as it works, while it looks at all items
PATIENCE = 20  # times as long as a renewal took, until the next


class Meanwhile:
    """The two threads of a service."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self.since_list = self.since_estimate = self.since_training = 0
        self.dirty_parents: set[int] = set()
        self._closing = Event()
        self._changed = Condition()
        self._to_learn: list[int] = []
        self._missed: list[int] | None = None  # learned by the old model while a new one is loading
        self._next: dict[str, float] = {}
        self._threads = [Thread(target=loop, daemon=True) for loop in (self._learning, self._renewing)]

    def start(self) -> None:
        """Let the threads run; a project that was added to or split since its model was trained gets a new one."""
        if self.service.outdated():
            self.service.train()
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

    def took(self, items: list[int], parents: list[int], count: int) -> None:
        """Told of new answers: what is known of some items has changed."""
        with self._changed:
            self.since_list += count
            self.since_estimate += count
            self.since_training += count
            self.dirty_parents |= set(parents)
            self._to_learn += items
            self._changed.notify_all()

    # -- learning ------------------------------------------------------------------------------------------------------

    def _learning(self) -> None:
        """Takes in answers as they come, several at once when they come quickly."""
        while not self._closing.is_set():
            with self._changed:
                while not self._to_learn and not self._closing.is_set():
                    self._changed.wait(timeout=1.0)
                waiting = list(dict.fromkeys(self._to_learn))
                items, self._to_learn = waiting[:AT_ONCE], waiting[AT_ONCE:]
                if self._missed is not None:
                    self._missed += items
            if items:
                start = time.monotonic()
                with contextlib.suppress(RamifyError):  # a model of another taxonomy, about to be replaced
                    self.service.model.learn(self.service.features, self.service.labels, items)
                # Many annotators answer faster than it learns one by one: then several answers are learned at once.
                self._closing.wait(6 * (time.monotonic() - start))

    # -- renewing ------------------------------------------------------------------------------------------------------

    def _renewing(self) -> None:
        """Everything that takes longer than a person would wait."""
        while not self._closing.wait(0.25):
            try:
                self._renew()
            except RamifyError:  # the disk is full, say: people see it when they answer; here it is tried again
                self._closing.wait(1.0)

    def _renew(self) -> None:
        service = self.service
        if service.reload():
            service.train()
        self._take_new_model()
        with self._when_due("noise", bool(self.dirty_parents)) as due:
            if due:
                self._renew_noise()
        stale = self.since_list >= RELIST_AFTER or service.lists.low() or not service.listed_whole
        with self._when_due("lists", stale) as due:
            if due:
                self.since_list = 0
                service.list_again(everything=True, rest=self._rest)
        with self._when_due("estimate", self.since_estimate >= ESTIMATE_AFTER) as due:
            if due:
                self.since_estimate = 0
                self._estimate()
        with self._when_due("counts", True) as due:
            if due:
                service.views.count()
        every = service.train_every or (None if isinstance(service.model.learner, Refine) else TRAIN_AFTER)
        if every is not None and self.since_training >= every:
            self.since_training = 0
            service.train()

    def _rest(self, worked: float) -> None:
        if self._closing.wait(PAUSES * worked):
            raise RamifyError("the service is closing")

    @contextlib.contextmanager
    def _when_due(self, what: str, wanted: bool) -> Iterator[bool]:
        """Whether it is wanted and may be done again: nothing here takes more than a small part of the time."""
        due = wanted and time.monotonic() >= self._next.get(what, 0.0)
        start = time.monotonic()
        yield due
        if due:
            end = time.monotonic()
            self._next[what] = end + max(LEAST_PAUSE, PATIENCE * (end - start))

    def _renew_noise(self) -> None:
        with self._changed:
            parents, self.dirty_parents = self.dirty_parents, set()
        told = self.service.model.evidence(self.service.labels)
        for parent in parents:
            self.service.lists.renew_noise(told, parent)

    def _take_new_model(self) -> None:
        service = self.service
        named = service.store.model()
        if named is None or named[0] == service.model.version:
            return
        with self._changed:
            self._missed = []
        model = Model.load(named, service.features, service.labels, service.store.answered_items())
        with self._changed:
            service.model = model
            self._to_learn += self._missed
            self._missed = None
            self._changed.notify_all()
        self._estimate()
        service.list_again(everything=False)

    def _estimate(self) -> None:
        found = self.service.model.estimate()
        if found:
            self.service.store.add_curve_point(self.service.store.count_answers(), found)
