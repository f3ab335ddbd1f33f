"""Trainings: whoever trains holds a lock, so that nobody trains beside, and a process that is gone is known to be."""

import json
import os
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from ramify.errors import RamifyError
from ramify.files import disk_troubles, whole_file
from ramify.progress import Pace, Report
from ramify.project.store.database import Database
from ramify.project.store.locks import LockedError, is_locked, locked
from ramify.project.store.schema import trainings
from ramify.project.store.troubles import intact, of_kinds

LOCK, LOG, PROGRESS = "training.lock", "training.log", "training.json"
LONGEST_LOG = 20_000  # characters: the end of a traceback, where the cause stands
NOTE_EVERY = 1.0  # seconds between two notes of how far a training is
GONE = "the training ended before it was finished: its process is gone"


class Trainings:
    """The part of a store that knows who trains a model, and how it went."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder, database
        self.log = folder / LOG
        """Where the traceback of a training that crashed lies, until one succeeds."""

    @contextmanager
    def begin(self) -> Iterator[Report]:
        """Train inside: refused at once where another process does; how it ends stands in the database.

        What is given is told how far it is. That stands in a file: the database would have to be locked for it, and
        people who answer would wait for a process of low priority.

        What is not the user's to mend leaves its traceback in the log.
        """
        with self.alone():
            number = self._note_beginning()
            try:
                yield _Notes(self.folder / PROGRESS, number)
            except BaseException as error:
                with suppress(RamifyError):  # the disk is full, say: what went wrong first matters more
                    self._note_end(number, self._reason(error))
                raise
            self.log.unlink(missing_ok=True)
            self._note_end(number)
            (self.folder / PROGRESS).unlink(missing_ok=True)

    def check_free(self) -> None:
        """Refuse at once where another process trains, before anything is loaded that takes long."""
        self.database.check_writable()
        if is_locked(self.folder / LOCK):
            raise self._trained_already()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody trains inside: refused at once where another process does."""
        self.database.check_writable()
        with ExitStack() as held:
            try:
                with disk_troubles(self.folder, "nothing was trained"):
                    held.enter_context(locked(self.folder / LOCK))
            except LockedError:
                raise self._trained_already() from None
            yield

    def _trained_already(self) -> RamifyError:
        training = self.newest()
        who, since = "another process", ""
        if training is not None and training["running"]:
            who = f"process {training['pid']}"
            since = time.strftime(" (since %H:%M)", time.localtime(training["started"]))
        return RamifyError(f"{self.folder}: {who} is training a model already{since}: wait for it")

    def _note_beginning(self) -> int:
        with self.database.write() as connection:
            done = connection.execute(trainings.insert().values(started=time.time(), pid=os.getpid()))
            assert done.inserted_primary_key is not None
            return int(done.inserted_primary_key[0])

    def _note_end(self, number: int, error: str | None = None) -> None:
        with self.database.write() as connection:
            said = None if error is None else error.encode(errors="backslashreplace").decode()  # whatever it quotes
            ended = {"finished": time.time(), "error": said}
            connection.execute(update(trainings).where(trainings.c.id == number).values(ended))

    def _reason(self, error: BaseException) -> str:
        """Why a training failed, in one sentence."""
        if isinstance(error, RamifyError):
            return str(error)
        if not isinstance(error, Exception):
            return "it was interrupted"
        text = "".join(traceback.format_exception(error))[-LONGEST_LOG:]
        where = f"the traceback is in {LOG}"
        try:
            with whole_file(self.log) as draft:
                draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        except RamifyError:
            where = f"{LOG} could not be written"
        first, *_ = str(error).splitlines() or [""]
        return f"{type(error).__name__}: {first} ({where})"

    def newest(self) -> dict[str, Any] | None:
        """The newest training: id, started, finished, pid, error, running; one whose process is gone has failed.

        Where it runs and how far it is is known: doing, share (0 to 1) and left (seconds, or None) as well.
        """
        training = self._row()
        if training is None or training["finished"] is not None:
            return training and {**training, "running": False}
        if is_locked(self.folder / LOCK):
            return {**training, "running": True, **self._how_far(training["id"])}
        # Nobody holds the lock any more. Who does notes the end first: so look again whether it has ended in between.
        again = self._row()
        if again != training:
            return self.newest()
        return {**training, "running": False, "error": GONE}

    def _how_far(self, number: int) -> dict[str, Any]:
        try:
            noted = json.loads((self.folder / PROGRESS).read_text(encoding="utf-8"))
            if noted["training"] != number:  # it is left from one whose process was killed
                return {}
            share, left = float(noted["share"]), noted["left"] and float(noted["left"])
            return {"doing": str(noted["doing"]), "share": min(1.0, max(0.0, share)), "left": left}
        except (OSError, ValueError, TypeError, LookupError):  # not there yet, or damaged: it is written again soon
            return {}

    def _row(self) -> dict[str, Any] | None:
        newest = select(trainings).order_by(trainings.c.id.desc()).limit(1)
        with self.database.read() as connection, intact("the list of trainings"):
            row = connection.execute(newest).one_or_none()
            if row is None:
                return None
            return dict(zip(trainings.c.keys(), of_kinds(row, int, float, float | None, int, str | None), strict=True))


class _Notes:
    """Writes now and then to a file how far a training is."""

    def __init__(self, path: Path, number: int) -> None:
        self._path, self._number, self._pace = path, number, Pace()
        self._next, self._doing = 0.0, ""

    def __call__(self, what: str, done: int, total: int) -> None:
        left, now = self._pace.left(what, done, total), time.monotonic()
        if now < self._next and what == self._doing:
            return
        self._next, self._doing = now + NOTE_EVERY, what
        noted = {"training": self._number, "doing": what, "share": done / max(1, total), "left": left}
        draft = self._path.with_name(f".{self._path.name}.draft")
        with suppress(OSError):  # a training that can be finished must not fail because nobody can watch it
            draft.write_text(json.dumps(noted), encoding="utf-8")
            os.replace(draft, self._path)  # not by whole_file: it need not survive a power cut
