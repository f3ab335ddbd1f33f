"""Service: the one thing that the page and the command line call. It asks, takes answers, and learns meanwhile.

Two locks: ``_lock`` guards labels and lists and is held for milliseconds; a model's own lock is held while it learns.
What takes longer happens in threads (``meanwhile.py``), and training in a process of its own.
"""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.errors import RamifyError
from ramify.labels import ANSWERS, UNKNOWN, Labels, Source
from ramify.project.live import training
from ramify.project.live.background import Meanwhile
from ramify.project.live.model import Model
from ramify.project.live.screens import GRID, Tasks
from ramify.project.live.shortlists import Lists, Rest, SharedLabels
from ramify.project.live.views import Views
from ramify.project.store.store import Store
from ramify.taxonomy import Index

MODES = {"group": 1, "single": 1, "grid": GRID}
SOON = 0.5  # seconds after which it is worth looking again whether really nothing is left
LONGEST_NAME = 100


class Service:
    """A project that people answer questions of, from any number of threads."""

    def __init__(
        self,
        folder: str | Path,
        *,
        overlap: int = 1,
        budget: int | None = None,
        lease_seconds: float = 600.0,
        train_every: int | None = None,
        background: bool = True,
    ) -> None:
        self.store = Store(folder)
        self.queue = self.store.leases(overlap=overlap, seconds=lease_seconds)
        self.overlap, self.budget, self.train_every = overlap, budget, train_every
        self._lock = RLock()
        self._modes: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._seed = 0
        self._load()
        self.tasks = Tasks(self)
        self.views = Views(self)
        self.meanwhile = Meanwhile(self)
        if background:
            self.meanwhile.start()

    def _load(self) -> None:
        """Everything from disk; of the pool only a sample is looked at, so that the first question comes soon."""
        self.features = self.store.features()
        self.imported = self.store.imported()
        self.labels = SharedLabels(self.store.labels(), self._lock)
        self.model = Model.load(self.store.model(), self.features, self.labels, self.store.answered_items())
        self.list_again(everything=False)

    def reload(self) -> bool:
        """Take up what another process added or split; says whether there was anything."""
        with self._lock:
            changed = self.store.refresh()
            if changed:
                self._load()
            return changed

    def close(self) -> None:
        """Stop the threads and a training; everything is on disk already."""
        self.meanwhile.stop()
        if self._process is not None:  # nobody is left to use what it would find
            self._process.terminate()
            self._process.wait()
        self.store.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- asking --------------------------------------------------------------------------------------------------------

    def next(self, annotator: str, *, mode: str = "group", count: int = 1) -> list[dict[str, Any]]:
        """The next questions: first those that this annotator already holds, then new ones, leased to nobody else."""
        annotator = _name(annotator)
        if mode not in MODES:
            raise RamifyError(f"the mode is {', '.join(MODES)}, not {mode!r}")
        if not 1 <= count <= 50:
            raise RamifyError(f"ask for 1 to 50 questions at a time, not {count}")
        held, skipped = self.queue.own(annotator)
        if self._modes.setdefault(annotator, mode) != mode:  # screens of another mode are given back
            self._modes[annotator] = mode
            self.queue.release(annotator, [(item, concept) for item, concept, _ in held])
            held = []
        tasks = self.tasks.regrouped(held, mode, count)
        if len(tasks) < count and not self._used_up():
            refused = 0
            while len(tasks) < count and refused < 20:
                picked = self._pick(annotator, mode, skipped)
                if picked is None:
                    break
                granted = self.queue.lease(annotator, [picked] if mode != "grid" else [[entry] for entry in picked])
                kept = picked if granted == [True] else [e for e, g in zip(picked, granted, strict=False) if g]
                if kept:
                    tasks.append(self.tasks.task(mode, kept, time.time() + self.queue.seconds))
                else:
                    refused += 1
        return tasks

    def _pick(self, annotator: str, mode: str, skipped: set[tuple[int, int]]) -> list[tuple[int, int]] | None:
        """Entries that belong on one screen, as items and stable concept ids."""
        if self.overlap > 1:
            seconds = self.queue.second_opinions(annotator, 50)
            first = self.tasks.together(seconds, mode)
            if first:
                return first[0]
        with self._lock:
            id_of = self.store.id_of
            for _ in range(100):
                if mode == "group":
                    found = self.lists.group(self.labels)
                    if found is None:
                        break
                    entries = [(found[0], int(id_of[child])) for child in found[1]]
                else:
                    several = self.lists.entries(self.labels, MODES[mode])
                    if several is None:
                        break
                    entries = [(int(item), int(id_of[several[1]])) for item in several[0]]
                # What this annotator skipped goes to the back; the lists offer it to others when they are made again.
                entries = [entry for entry in entries if entry not in skipped]
                if entries:
                    return entries
            complete = self.lists.complete
        if not complete:  # a sample was used up before all items were looked at: take another one
            self.list_again(everything=False)
            return self._pick(annotator, mode, skipped)
        return self._last_resort(skipped, mode)

    def _last_resort(self, skipped: set[tuple[int, int]], mode: str) -> list[tuple[int, int]] | None:
        """Nothing else is left: what was skipped comes back, and what the lists let slip."""
        taken = set(zip(*(part.tolist() for part in self.queue.taken()), strict=True))
        number_of = self.store.number_of
        back = sorted(entry for entry in skipped - taken if entry[1] in number_of)
        back = [e for e in back if self.labels.states(e[0], number_of[e[1]])[0, 0] == UNKNOWN]
        if not back:
            if time.monotonic() > self._list_again_at:
                self.list_again(everything=True)
            with self._lock:
                found = self.lists.group(self.labels)
            if found is None:
                return None
            back = [(found[0], int(self.store.id_of[child])) for child in found[1]]
        return self.tasks.together(back, mode)[0]

    def _used_up(self) -> bool:
        return self.budget is not None and self.store.count_answers() >= self.budget

    # -- answering -----------------------------------------------------------------------------------------------------

    def answer(
        self, key: str, annotator: str, answers: Sequence[dict[str, Any]], *, settles: bool = False
    ) -> dict[str, Any]:
        """Keep answers on disk, deduce, and let the model learn; the same key again changes nothing."""
        annotator = _name(annotator)
        entries = [self._entry(each) for each in answers]
        if not entries or not key:
            raise RamifyError("an answer needs a key of its own and at least one entry")
        request = (key, annotator, entries)
        ((events, new),) = self.store.record_all([request], model=self.model.version, settles=settles)
        deduced = 0
        if new:
            deduced = self._apply([(item, concept) for item, concept, _ in entries])
        return {"saved": len(events), "deduced": deduced, "events": [event.seq for event in events]}

    def undo(self, key: str, annotator: str) -> dict[str, Any]:
        """Take back the annotator's last screen; it is theirs to answer again."""
        annotator = _name(annotator)
        before = self.store.last_event()
        events = self.store.undo(key, annotator)
        entries = [(event.item, event.concept) for event in events]
        task = None
        if events and events[0].seq > before:
            self._apply(entries)
            again = [entry for entry in entries if entry[1] in self._fine_ids()]
            if again and all(self.queue.lease(annotator, [[entry] for entry in again])):
                task = self.tasks.task("group", again, time.time() + self.queue.seconds)
        undone = [{"item": item, "concept": concept} for item, concept in entries]
        return {"undone": undone, "task": task}

    def _apply(self, entries: Sequence[tuple[int, int]]) -> int:
        """Bring the labels in line with the answers on disk; returns how many more entries are known by deduction."""
        items, ids = np.array(entries, np.intp).T
        values = self.store.values(items, ids)
        with self._lock:  # labels and numbers of concepts change together
            concepts = np.array([self.store.number_of[each] for each in ids.tolist()], np.intp)
            unknown = self._unknown_of(items)
            apply_values(self.labels, self.imported, items, concepts, values)
            settled = unknown - self._unknown_of(items)
            parents = self.labels.taxonomy.parents[concepts].tolist()
        self.views.took(items, concepts, values)
        self.meanwhile.took(sorted(set(items.tolist())), parents, len(entries))
        return max(0, settled - int((values != UNKNOWN).sum()))

    def _unknown_of(self, items: Index) -> int:
        return int((self.labels.states(np.unique(items)) == UNKNOWN).sum())

    def _entry(self, said: dict[str, Any]) -> tuple[int, int, str]:
        item, concept, answer = said.get("item"), said.get("concept"), said.get("answer")
        if not isinstance(item, int) or not 0 <= item < len(self.labels):
            raise RamifyError(f"there is no item {item!r}: items are numbered 0 to {len(self.labels) - 1}")
        if concept not in self.store.number_of:
            raise RamifyError(f"there is no concept {concept!r}: see the taxonomy for their ids")
        if answer not in ANSWERS:
            raise RamifyError(f"an answer is yes, no or skip, not {answer!r}")
        return item, int(concept), str(answer)

    def _fine_ids(self) -> set[int]:
        contents = self.store.contents
        return set(contents.id_of[contents.taxonomy.leaves].tolist())

    # -- showing: see ``Views`` ----------------------------------------------------------------------------------------

    def history(self, annotator: str, limit: int = 10) -> list[dict[str, Any]]:
        """The annotator's last answers, newest first."""
        return self.views.history(_name(annotator), limit)

    def status(self, annotator: str | None = None) -> dict[str, Any]:
        """Everything about how far the project is."""
        return self.views.status(annotator)

    def taxonomy(self) -> list[dict[str, Any]]:
        """All concepts in reading order."""
        return self.views.taxonomy()

    def predictions(self, item: int) -> dict[str, Any]:
        """The state and the probability of every concept of an item."""
        return self.views.predictions(item)

    def browse(self, **filters: Any) -> dict[str, Any]:
        """Items by what is known or predicted of a concept, and by their id or text."""
        return self.views.browse(**filters)

    def why(self, item: int, concept: int) -> dict[str, Any]:
        """The state of one entry, and the reasons for it."""
        return self.views.why(item, concept)

    def review(self) -> dict[str, Any]:
        """What somebody should look at."""
        return self.views.review()

    def picture(self, item: int) -> Path:
        """The file of an item's picture, which must lie in the image folder."""
        if not 0 <= item < len(self.labels):
            raise RamifyError(f"there is no item {item}")
        (found,) = self.store.items([item])
        images = self.store.setting("images")
        if found.picture is None or images is None:
            raise RamifyError(f"item {found.id} has no picture")
        root: Path = (self.store.folder / str(images)).resolve()
        path = Path(root / found.picture).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise RamifyError(f"the picture of item {found.id} is not in the image folder")
        return path

    # -- training ------------------------------------------------------------------------------------------------------

    def train(self) -> dict[str, Any]:
        """Begin to train a new model in another process; the old one serves until the new one is there."""
        running = self.store.training()
        with self._lock:
            starting = self._process is not None and self._process.poll() is None
            if starting or (running is not None and running["running"]):
                return {"started": False, "reason": "a model is being trained already"}
            if self.features is None:
                return {"started": False, "reason": "there are no features to learn from"}
            self._process = training.start(self.store.folder)
        return {"started": True, "reason": None}

    def outdated(self) -> bool:
        """Whether there are features to learn from that the model has not seen, or other concepts than it knows."""
        model = self.model
        return self.features is not None and (model.learner is None or model.upto < len(self.features))

    # -- lists ---------------------------------------------------------------------------------------------------------

    def list_again(self, *, everything: bool, rest: Rest = lambda worked: None) -> None:
        """Make new lists; entries that are out with somebody are not on them."""
        start = time.monotonic()
        items, ids = self.queue.taken()
        with self._lock:
            contents, labels, model = self.store.contents, self.labels, self.model
            self._seed += 1
            seed = self._seed
        id_of = contents.id_of
        number = np.full(max(id_of.max(initial=0), ids.max(initial=0)) + 1, -1)
        number[id_of] = np.arange(len(id_of))
        excluded = (items * len(labels.taxonomy) + number[ids])[number[ids] >= 0]
        upto = model.upto if model.seen is not None else len(labels)
        told = model.evidence(labels)
        lists = Lists.made(told, labels, model.answered(), excluded, seed, everything=everything, upto=upto, rest=rest)
        with self._lock:
            if contents is self.store.contents:  # else another process added or split meanwhile: new lists are coming
                self.lists = lists
                self.listed_whole = lists.complete
                end = time.monotonic()
                self._list_again_at = end + max(SOON, 10 * (end - start))


def apply_values(labels: Labels, imported: Labels, items: Index, concepts: Index, values: NDArray[np.int8]) -> None:
    """Record what people say, or take it back where they say nothing or disagree.

    A person's answer about the very cell that was imported outranks the import: the coarse label was wrong.
    """
    own, rows = np.unique(items, return_inverse=True)
    about, columns = np.unique(concepts, return_inverse=True)
    was = imported.states(own, about)[rows, columns]
    asserted = imported.sources(own, about)[rows, columns] == Source.IMPORTED
    said = values != UNKNOWN
    labels.retract(items[~said], concepts[~said], "annotated")
    back, wrong = asserted & ~said, asserted & said & (was != values)
    labels.record(items[back], concepts[back], was[back], "imported")
    labels.retract(items[wrong], concepts[wrong], "imported")
    labels.record(items[said], concepts[said], values[said], "annotated")


def _name(annotator: str) -> str:
    name = str(annotator).strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise RamifyError(f"an annotator is a name of 1 to {LONGEST_NAME} letters, not {annotator!r}")
    return name
