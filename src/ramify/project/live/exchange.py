"""Exchange: files in and out of a project while it is served. One at a time, with a store of its own as any command."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ramify.errors import RamifyError
from ramify.project.live import shapes
from ramify.project.store.store import Store
from ramify.project.transfer.answer_table import answer_from_table
from ramify.project.transfer.exporting import export_events, export_labels, export_predictions, shortened
from ramify.project.transfer.importing import add
from ramify.project.transfer.predicting import predicting

BUSY = "another file of this project is being read or written just now: try again when it is done"


class Exchange:
    """Writes what is downloaded, and takes in what is uploaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()  # each may take long and much memory: answers come first

    def export(self, what: shapes.Exported, kind: shapes.Format, *, safe: bool = False) -> Path:
        """Write a table to a folder of its own, which whoever sends it removes."""
        with self._alone(), Store(self.folder) as store:
            out = Path(tempfile.mkdtemp(prefix="ramify-")) / f"{self.folder.resolve().name}-{what}.{kind}"
            try:
                _write(store, what, kind, out, safe)
            except BaseException:
                shutil.rmtree(out.parent, ignore_errors=True)
                raise
            return out

    def take_in(self, what: shapes.Imported, name: str, content: bytes) -> list[str]:
        """Add the items, or record the answers, of a table: all or nothing. Returns sentences on what was done."""
        with self._alone(), Store(self.folder) as store, _folder() as folder:
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                if what == "answers":
                    return answer_from_table(store, path).told()
                done = add(store, path)
                return done.told(len(store))
            except RamifyError as error:  # people know the file by its name, not by where it lay meanwhile
                said = str(error).replace(f"{folder}{os.sep}", "").replace(folder, "the table's folder")
                raise type(error)(said) from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise RamifyError(BUSY)
        try:
            yield
        finally:
            self._lock.release()


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="ramify-") as folder:
        yield str(Path(folder).resolve())


def _write(store: Store, what: shapes.Exported, kind: str, out: Path, safe: bool) -> None:
    if what == "answers":
        export_events(store, out, kind, safe=safe)
    elif what == "predictions":
        top = shortened(store.taxonomy)
        with predicting(store, top=top) as predicted:
            export_predictions(out, kind, store.taxonomy, predicted.ids, predicted.blocks, top, safe=safe)
    else:
        export_labels(store, out, kind, known_only=what == "known", safe=safe)
