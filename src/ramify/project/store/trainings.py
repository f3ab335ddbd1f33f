"""Trainings: whoever trains holds a lock, so that nobody trains beside, and a process that is gone is known to be."""

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
from ramify.project.store.database import Database, intact, of_kinds
from ramify.project.store.locks import LockedError, is_locked, locked
from ramify.project.store.schema import trainings

LOCK, LOG = "training.lock", "training.log"
LONGEST_LOG = 20_000  # characters: the end of a traceback, where the cause stands
GONE = "the training ended before it was finished: its process is gone"


class Trainings:
    """The part of a store that knows who trains a model, and how it went."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder, database
        self.log = folder / LOG
        """Where the traceback of a training that crashed lies, until one succeeds."""

    @contextmanager
    def begin(self) -> Iterator[None]:
        """Train inside: refused at once where another process does; how it ends stands in the database.

        What is not the user's to mend leaves its traceback in the log.
        """
        with self._alone():
            number = self._note_beginning()
            try:
                yield
            except BaseException as error:
                with suppress(RamifyError):  # the disk is full, say: what went wrong first matters more
                    self._note_end(number, self._reason(error))
                raise
            self.log.unlink(missing_ok=True)
            self._note_end(number)

    def check_free(self) -> None:
        """Refuse at once where another process trains, before anything is loaded that takes long."""
        self.database.check_writable()
        if is_locked(self.folder / LOCK):
            raise self._trained_already()

    @contextmanager
    def _alone(self) -> Iterator[None]:
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
        """The newest training: id, started, finished, pid, error, running; one whose process is gone has failed."""
        training = self._row()
        if training is None or training["finished"] is not None:
            return training and {**training, "running": False}
        if is_locked(self.folder / LOCK):
            return {**training, "running": True}
        # Nobody holds the lock any more. Who does notes the end first: so look again whether it has ended in between.
        again = self._row()
        if again != training:
            return self.newest()
        return {**training, "running": False, "error": GONE}

    def _row(self) -> dict[str, Any] | None:
        newest = select(trainings).order_by(trainings.c.id.desc()).limit(1)
        with self.database.read() as connection, intact("the list of trainings"):
            row = connection.execute(newest).one_or_none()
            if row is None:
                return None
            return dict(zip(trainings.c.keys(), of_kinds(row, int, float, float | None, int, str | None), strict=True))
