"""Service: the one thing that the page, the command line and notebooks call. It asks, takes answers, and learns.

What takes longer than milliseconds happens in threads (``background.py``), and training in a process of its own.
"""

import math
import os.path
import subprocess
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ramify.errors import RamifyError
from ramify.labels import ANSWERS, UNKNOWN
from ramify.progress import Report
from ramify.project.limits import LONGEST_PAGE, MODES, check_name
from ramify.project.live import changing, shapes
from ramify.project.live.auditing import Auditing, share_of
from ramify.project.live.background import Background
from ramify.project.live.gold import Gold
from ramify.project.live.kept import kept_questions
from ramify.project.live.model import Model
from ramify.project.live.screens import REMEMBERED, Screens
from ramify.project.live.settings import Serving, change, settings_of
from ramify.project.live.shortlists import Questions, make_strategy
from ramify.project.live.state import State
from ramify.project.live.status import noted, status_of, taxonomy_of
from ramify.project.live.tally import Tally, find_positives
from ramify.project.live.views import Views
from ramify.project.store.answers import Request
from ramify.project.store.leases import Entry
from ramify.project.store.store import Store

if TYPE_CHECKING:
    from ramify.project.live.exchange import Exchange
    from ramify.project.live.occlusion import Occlusion

REFUSED = 200  # times that others may be quicker, at other servers too, until somebody is told that there is nothing
SECOND_OPINIONS = 50  # entries that wait for another annotator, looked at together
SOON = 0.5  # seconds after which it is worth looking again whether really nothing is left


class Service:
    """A project that people answer questions of, from any number of threads."""

    def __init__(
        self,
        folder: str | Path,
        *,
        strategy: str | None = None,
        overlap: int | None = None,
        budget: int | None = None,
        lease_seconds: float = 600.0,
        train_every: int | None = None,
        audit: float | None = None,
        gold: float | None = None,
        background: bool = True,
        engine: str | None = None,
        report: Report | None = None,
    ) -> None:
        """What is None is as the project keeps it: see ``settings``."""
        if engine is not None:
            from ramify.engine import check

            check(engine)
        self.store = Store(folder)
        self.serving = Serving.of(
            self.store, strategy=strategy, overlap=overlap, gold=gold, budget=budget, train_every=train_every
        )
        kept = kept_questions(self.store, self.serving.strategy) if background and engine is None else None
        if kept is None:
            make_strategy(self.serving.strategy)  # one that nobody knows is told before anything else is done
        self.store.database.check_writable()  # at least that a question is out is written
        self.leases = self.store.leases(overlap=self.serving.overlap, seconds=lease_seconds)
        self._modes: dict[tuple[str, str], str] = {}  # of each annotator, in each of their tabs
        self._spending = Lock()  # what the budget leaves is handed out once
        self._process: subprocess.Popen[bytes] | None = None
        self._train_started = 0.0
        self.state = State(self.store, until_loaded=None if kept is None else Model(version=kept["model"]))
        self.questions = Questions(self.state, self.leases, self.serving.strategy, engine, report, kept)
        self.auditing = Auditing(self.state, self.leases, share_of(self.state, audit), wait=background)
        self.gold = Gold(self.state)
        self._worth_again_at = 0.0
        self._looking = Lock()
        self.screens = Screens(self.state)
        self.views = Views(self.state, self.screens)
        self._tally: Tally | None = None
        self._counted = False
        self.background = Background(self)
        if background:
            self.background.start()

    def take_up(self) -> None:
        """Where items were added or the taxonomy was changed, here or elsewhere: new questions, counts, and a model."""
        if not self.state.reload():
            return
        self._tally, self._counted = None, False
        self.auditing.forget()
        self.screens.positives.clear()
        self.questions.make(everything=False)
        self.train()

    @cached_property
    def exchange(self) -> "Exchange":
        """Files in and out; its readers and writers are loaded when they are needed, not before the first question."""
        from ramify.project.live.exchange import Exchange

        return Exchange(self.store.folder)

    @cached_property
    def occlusion(self) -> "Occlusion":
        """Which words speak for a concept; loaded when it is asked."""
        from ramify.project.live.occlusion import Occlusion

        return Occlusion(self.state)

    def close(self) -> None:
        """Stop the threads and a training; everything is on disk already."""
        self.background.stop()
        if self._process is not None:  # nobody is left to use what it would find
            self._process.terminate()
            self._process.wait()
        self.store.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- asking --------------------------------------------------------------------------------------------------------

    def next(self, annotator: str, *, mode: str = "group", count: int = 1, tab: str = "") -> list[shapes.Screen]:
        """The next questions: first those that this tab already holds, then new ones, leased to nobody else."""
        annotator = check_name(annotator)
        if mode not in MODES:
            raise RamifyError(f"the mode is {', '.join(MODES)}, not {mode!r}")
        if not isinstance(count, int) or count < 1:
            raise RamifyError(f"ask for at least 1 question, not {count!r}")
        count = min(count, len(self.state.labels) * len(self.store.taxonomy))  # there are no more
        held, skipped = self.leases.own(annotator, tab)
        if self._modes.setdefault((annotator, tab), mode) != mode:  # screens of another mode are given back
            self._modes[annotator, tab] = mode
            self.leases.release(annotator, [(item, concept) for item, concept, _ in held])
            self.state.note_opened()  # they are on no list
            held = []
        screens = self.screens.held(held, mode, count)
        refused = 0
        with nullcontext() if self.serving.budget is None else self._spending:
            screens += self._gold_screens(annotator, mode, skipped, count - len(screens), tab)
            while len(screens) < count and refused < REFUSED:
                left = self._left()
                offers = self._offers(annotator, mode, skipped, count - len(screens)) if left > 0 else []
                if not offers:
                    break
                granted = self._lease(annotator, mode, _cut(offers, left), tab)
                screens += granted
                refused += not granted
        return screens

    def _gold_screens(
        self, annotator: str, mode: str, skipped: set[Entry], count: int, tab: str
    ) -> list[shapes.Screen]:
        """Of so many screens those that are to be gold questions, as far as there are any."""
        if not self.serving.gold:
            return []
        due = sum(self.gold.due(self.serving.gold) for _ in range(count))
        if not due:
            return []
        known = self.screens.group(self.gold.entries(annotator, skipped), mode)[:due]
        known = [sorted(entries) for entries in known]  # a random order would give them away
        return self._lease(annotator, mode, _cut(known, self._left()), tab, gold=True)

    def _left(self) -> float:
        """How many more entries the budget allows to ask; what is out counts as answered."""
        budget = self.serving.budget
        return math.inf if budget is None else budget - self.store.count_answers() - self.leases.out()

    def _lease(
        self, annotator: str, mode: str, offers: list[list[Entry]], tab: str, *, gold: bool = False
    ) -> list[shapes.Screen]:
        """What of some screens the annotator gets: a group wholly or not at all, of a grid what is free."""
        screens = offers if mode != "grid" else [[entry] for entries in offers for entry in entries]
        granted = self.leases.lease(annotator, screens, tab=tab, gold=gold)
        free = {entry for entries, given in zip(screens, granted, strict=True) if given for entry in entries}
        until = time.time() + self.leases.seconds
        there = self.store.number_of  # the taxonomy may have been changed meanwhile
        kept = [[entry for entry in entries if entry in free and entry[1] in there] for entries in offers]
        return [self.screens.screen(mode, entries, until) for entries in kept if entries]

    def _offers(self, annotator: str, mode: str, skipped: set[Entry], count: int) -> list[list[Entry]]:
        """Up to so many screens of entries, as items and stable concept ids."""
        second = self.screens.group(self.leases.second_opinions(annotator, SECOND_OPINIONS), mode)
        if second:
            return second[:count]
        offers: list[list[Entry]] = []
        while len(offers) < count:
            passed = skipped.union(*offers)  # both may come to the same entries
            entries = self.auditing.take(mode, passed) if self.auditing.due() else None
            entries = entries or self.questions.take(mode, passed)
            if entries is None:
                break
            offers.append(entries)
        return offers or self._last_resort(annotator, mode)[:count]

    def _last_resort(self, annotator: str, mode: str) -> list[list[Entry]]:
        """Nothing else is left: what answers have opened and what the list let slip, then what was skipped."""
        skipped = self.leases.skipped(annotator)
        taken = set(zip(*(part.tolist() for part in self.leases.taken()), strict=True))
        back = [entry for entry in skipped if entry not in taken and self._is_open(entry)]
        if self._looking.acquire(blocking=False):  # one look serves everybody: meanwhile others are answered
            try:
                self._look_again(bool(back))
            finally:
                self._looking.release()
            entries = self.questions.take(mode, set(back))
            if entries:
                return self.screens.group(entries, mode)
        return self.screens.group(back, mode)

    def _look_again(self, is_content: bool) -> None:
        """A list of all items, if that may help; who is content with what was skipped waits only for what was opened.

        A list looks nearly used up to the end where questions were skipped, which says nothing then.
        """
        opened, due = self.questions.outdated(), time.monotonic() >= self._worth_again_at
        if (opened and due) if is_content else (opened or due or self.questions.shortlist.low()):
            start = time.monotonic()
            self.questions.make(everything=True)
            self._worth_again_at = time.monotonic() + max(SOON, 10 * (time.monotonic() - start))

    # -- answering -----------------------------------------------------------------------------------------------------

    def answer(
        self,
        key: str,
        annotator: str,
        answers: Sequence[tuple[int, int, str]],
        *,
        settles: bool = False,
        **about: Any,
    ) -> shapes.Saved:
        """Keep answers (item, stable concept id, yes, no or skip) on disk, deduce, and let the model learn.

        ``about`` them: ``seconds``, ``flag`` and ``note``, as ``Answers.record`` has it. The same key again changes
        nothing.
        """
        annotator = check_name(annotator)
        for item, concept, answer in answers:
            self._check_answer(item, concept, answer)
        if not answers or not key:
            raise RamifyError("an answer needs a key of its own and at least one entry")
        request = Request(key, annotator, answers, self.state.model.version, settles)
        ((events, new),) = self.store.record_all([request], **about)
        if new:
            self.state.note_own(event.seq for event in events)
        deduced = self._apply([(item, concept) for item, concept, _ in answers]) if new else 0
        return shapes.Saved(saved=len(events), deduced=deduced, events=[event.seq for event in events])

    def lift(self, key: str) -> shapes.Lifted:
        """Let what was flagged under a key be asked again."""
        lifted = self.store.lift_flag(key)
        self._worth_again_at = 0.0
        self.state.note_opened()
        return shapes.Lifted(lifted=lifted)

    def undo(self, key: str, annotator: str, *, tab: str = "") -> shapes.Undone:
        """Take back the annotator's last screen; it is theirs to answer again."""
        annotator = check_name(annotator)
        before = self.store.last_event()
        events = self.store.undo(key, annotator)
        entries = [(event.item, event.concept) for event in events]
        said = {event.seq: event.answer for event in self.store.answers.at([event.undoes for event in events])}
        screen = None
        if events and events[0].seq > before:
            self.state.note_own(event.seq for event in events)
            self._apply(entries)
            self.state.note_opened()  # a skip, or its flag, that is taken back changes no label
            again = [entry for entry in entries if self._is_open(entry)]
            gold: set[Entry] = set()
            if not again and self.serving.gold:
                gold = set(self.gold.entries(annotator, set())).intersection(entries)
            again = again or [entry for entry in entries if entry in gold]
            if not again and set(said.values()) == {"no"}:  # a yes was no word about what is below
                again = self._asked_below(entries)
            lease = [[entry] for entry in again]
            if again and all(self.leases.lease(annotator, lease, tab=tab, gold=bool(gold))):
                mode = "grid" if len({item for item, _ in again}) > 1 else "group"
                screen = self.screens.screen(mode, again, time.time() + self.leases.seconds)
        undone = [
            shapes.UndoneAnswer(item=event.item, concept=event.concept, answer=said[event.undoes])  # type: ignore[index,arg-type]
            for event in events
        ]
        return shapes.Undone(undone=undone, task=screen)

    def _apply(self, entries: Sequence[Entry]) -> int:
        """Bring everything in line with the answers on disk; returns how many more entries are known by deduction."""
        change = self.state.apply(entries)
        self._counted = False
        self.auditing.look_again(change.items.tolist())
        yes = change.values == ANSWERS["yes"]
        self.screens.remember(change.items[yes].tolist(), change.concepts[yes].tolist())
        self.background.take_in(change)
        return change.deduced

    def catch_up(self) -> None:
        """Take in what other processes have answered: another server of the project, or ``ramify answer``."""
        entries, newest = self.state.others()
        if entries:
            self._apply(entries)
        self.state.have_seen(newest)

    def _check_answer(self, item: object, concept: object, answer: object) -> None:
        count = len(self.state.labels)
        if not isinstance(item, int) or not 0 <= item < count:
            raise RamifyError(f"there is no item {item!r}: items are numbered 0 to {count - 1}")
        if concept not in self.store.number_of:
            raise self.store.no_concept(concept)
        if answer not in ANSWERS:
            raise RamifyError(f"an answer is {', '.join(ANSWERS)}, not {answer!r}")

    def _is_open(self, entry: Entry) -> bool:
        """Whether it is a question: not a coarse label that was called wrong, which nobody is asked about again."""
        item, concept = entry
        number = self.store.number_of.get(concept)
        return number is not None and int(self.state.labels.states(item, number)[0, 0]) == UNKNOWN

    def _asked_below(self, entries: Sequence[Entry]) -> list[Entry]:
        """What is open directly below an entry: what was asked when its coarse label was called wrong."""
        if len(entries) != 1 or entries[0][1] not in self.store.number_of:
            return []
        item, number = entries[0][0], self.store.number_of[entries[0][1]]
        _, asked = self.state.labels.questions([item])
        return [(item, int(self.store.id_of[lower])) for lower in asked if self.store.taxonomy.parents[lower] == number]

    # -- showing -------------------------------------------------------------------------------------------------------

    def history(self, annotator: str, limit: int = 10, before: int | None = None) -> list[shapes.PastAnswer]:
        """The annotator's last answers, or those before one of them (its ``seq``), newest first."""
        if not 1 <= limit <= LONGEST_PAGE:
            raise RamifyError(f"ask for 1 to {LONGEST_PAGE} answers at a time, not {limit}")
        return self.views.history(check_name(annotator), limit, before)

    def status(self) -> shapes.Status:
        """How far the project is."""
        problems = self.background.problems()
        if self.state.model.problem is not None:
            problems.append(shapes.Problem(what=self.state.model.problem, at=time.time()))
        version = self.state.model.version
        status = status_of(self.store, self.tally(), budget=self.serving.budget, version=version, problems=problems)
        has_begun = status.training is not None and status.training.since >= self._train_started
        if self._training_here() and not has_begun:  # its process is just beginning
            status.training = shapes.TrainingFacts.beginning(self._train_started)
        return status

    def _training_here(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def quality(self) -> shapes.Quality | None:
        """How good the labels are by the audit, as it was estimated last; None before there was anything to tell by."""
        return noted(self.store)

    def judge(self) -> shapes.Quality | None:
        """Estimate how good the labels are now, and note it."""
        from ramify.project.live.judging import judge

        now = self.state.snapshot()
        model = now.model
        if model.learner is None or model.learner.taxonomy_ != now.labels.taxonomy:
            return None
        with model.lock:
            return judge(self.store, model.learner, now.labels, lambda items: model.opinions(now.labels, items))

    def taxonomy(self) -> list[shapes.Concept]:
        """All concepts in reading order."""
        return taxonomy_of(self.store.contents)

    def predictions(self, item: int) -> shapes.KnownItem:
        """The state and the probability of every concept of an item."""
        return self.views.predictions(item)

    def browse(self, **filters: Any) -> shapes.Page:
        """Items by what is known or predicted of a concept, and by their id or text."""
        return self.views.browse(**filters)

    def found(self, **filters: Any) -> shapes.Found:
        """The numbers of such items, to do something with all of them."""
        return self.views.found(**filters)

    def why(self, item: int, concept: int) -> shapes.Why:
        """The state of one entry, and the reasons for it."""
        return self.views.why(item, concept)

    def words(self, item: int, concepts: Sequence[int]) -> shapes.Words:
        """Which words of an item's text speak for some concepts (stable ids)."""
        for concept in concepts:
            self._check_answer(item, concept, "skip")
        return self.occlusion.words(item, concepts)

    def review(self) -> shapes.Review:
        """What somebody should look at."""
        return self.views.review(self.tally())

    def picture(self, item: int) -> Path:
        """The file of an item's picture, which must lie in the image folder, or where a link in it leads."""
        (shown,) = self.store.items([item])
        images = self.store.setting("images")
        if shown.picture is None or images is None:
            raise RamifyError(f"item {shown.id} has no picture")
        root: Path = (self.store.folder / str(images)).resolve()
        path = Path(os.path.normpath(root / shown.picture))
        if not path.is_relative_to(root) or not path.is_file():
            raise RamifyError(f"the picture of item {shown.id} is not in the image folder")
        return path.resolve()

    def tally(self) -> Tally:
        """The newest counts; they are renewed in the background."""
        counts = self._tally
        if counts is not None and len(counts.yes) != len(self.store.taxonomy):  # somebody is taking up another one
            self._counted = False
            counts = None
        return counts or self.count()

    def count(self) -> Tally:
        """Count everything again, if anything changed."""
        if self._tally is None or not self._counted:
            self._counted = True
            labels = self.state.snapshot().labels
            self._tally = Tally.of(labels)
            if not self.screens.positives:
                find_positives(labels, REMEMBERED, self.screens.remember)
        return self._tally

    # -- what whoever serves it may do ---------------------------------------------------------------------------------

    def people(self) -> list[shapes.Person]:
        """Who answered how much, how quickly, and when last."""
        return self.views.people()

    def settings(self) -> shapes.Settings:
        """What holds now, and what there is to choose from."""
        return settings_of(self)

    def change_settings(self, new: shapes.NewSettings) -> shapes.Settings:
        """Let other settings hold from now on."""
        change(self, new)
        return self.settings()

    def export(self, what: shapes.Exported, kind: shapes.Format, *, safe: bool = False) -> Path:
        """Write labels, answers or predictions to a table, in a folder of its own that the caller removes."""
        return self.exchange.export(what, kind, safe=safe)

    def take_in(self, what: shapes.Imported, name: str, content: bytes) -> shapes.TakenIn:
        """Add the items, or record the answers, of a table: all or nothing."""
        said = self.exchange.take_in(what, name, content)
        self.take_up()
        self.catch_up()
        return shapes.TakenIn(said=said)

    def change_taxonomy(self, wanted: changing.TaxonomyChange) -> changing.TaxonomyOutlook:
        """Change the taxonomy, or only tell what would become of labels; what is asked follows at once."""
        told = changing.change_taxonomy(self.store.folder, wanted)
        self.take_up()
        return told

    def undo_taxonomy(self, wanted: changing.TaxonomyUndo) -> changing.TaxonomyOutlook:
        """Take back the last change of the taxonomy, or only tell what this would do."""
        told = changing.undo_taxonomy(self.store.folder, wanted)
        self.take_up()
        return told

    def last_change(self) -> changing.LastChange:
        """The last change of the taxonomy that stands."""
        change, said = self.store.changes.last() or (None, None)
        return changing.LastChange(change=change, said=said)

    # -- training ------------------------------------------------------------------------------------------------------

    def train(self) -> shapes.TrainingStart:
        """Begin to train a new model in another process; the old one serves until the new one is there."""
        from ramify.project.live import training

        running = self.store.training()
        with self.state.lock:
            if self._training_here() or (running is not None and running["running"]):
                return shapes.TrainingStart(started=False, reason="a model is being trained already")
            if self.state.features is None:
                return shapes.TrainingStart(started=False, reason="there are no features to learn from")
            self._train_started = time.time()
            self._process = training.start(self.store.folder)
        return shapes.TrainingStart(started=True, reason=None)


def _cut(offers: list[list[Entry]], left: float) -> list[list[Entry]]:
    """Screens with so many entries at most, the last one cut to what is left.

    >>> _cut([[(0, 1), (0, 2)], [(1, 1), (1, 2)], [(2, 1)]], 3)
    [[(0, 1), (0, 2)], [(1, 1)]]
    """
    kept = []
    for entries in offers:
        kept.append([entry for place, entry in enumerate(entries) if place < left])
        left -= len(entries)
    return [entries for entries in kept if entries]
