"""Store: everything a project holds, safe for many threads and processes, and against being killed at any moment."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.project.store.adding import CanGrow
from ramify.project.store.answers import Event, HasAnswers
from ramify.project.store.backup import DATABASE, MARK, read_backup, write_backup
from ramify.project.store.consensus import HasStanding
from ramify.project.store.database import Database, UnavailableError
from ramify.project.store.items import Contents, Item, name_concepts, put
from ramify.project.store.models import HasModels
from ramify.project.store.revisions import sync
from ramify.taxonomy import Taxonomy

__all__ = ["Contents", "Event", "Item", "Store", "UnavailableError"]

FORMAT = 1


class Store(CanGrow, HasAnswers, HasStanding, HasModels):
    """A project folder: taxonomy, items, imported labels, answers, models.

    >>> import tempfile
    >>> from ramify.labels import Labels
    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store.create(folder.name, taxonomy) as store:
    ...     store.add(["a", "b"], ["purrs", "barks"], None, None, Labels(taxonomy, [[1], [1]]))
    ...     cat, dog = store.id_of[taxonomy.indices(["cat", "dog"])].tolist()
    ...     _ = store.record("key 1", "ann", [(0, cat, "yes"), (0, dog, "no"), (1, cat, "no")])
    ...     _ = store.record("key 2", "ann", [(1, dog, "yes")])
    ...     _ = store.undo("key 3", "ann")
    ...     store.labels().states()
    (2, 0)
    array([[ 1,  0],
           [ 0, -1]], dtype=int8)
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)
        _check_mark(self.folder)
        self.database = Database(self.folder / DATABASE)
        self.refresh()

    @classmethod
    def create(cls, folder: str | Path, taxonomy: Taxonomy) -> "Store":
        """Make a new project in a folder that is empty or not there yet."""
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise RamifyError(f"{place} is a file: give a folder for the project")
        try:
            place.mkdir(parents=True, exist_ok=True)
            # A project's mark is written last: without it, a database is what an interrupted beginning left.
            left = [path for path in place.iterdir() if path.name.startswith((DATABASE, f".{MARK}"))]
            if (place / MARK).exists() or len(left) < len(list(place.iterdir())):
                what = "is a project already" if (place / MARK).exists() else "is not empty"
                raise RamifyError(f"{place} {what}: give a new folder")
            for path in left:
                path.unlink()
            database = Database(place / DATABASE)
            with database.write() as connection:
                name_concepts(connection, taxonomy, [taxonomy.path(number) for number in range(len(taxonomy))])
                for key, value in {"revision": 1, "items": 0, "features": None, "imported": None}.items():
                    put(connection, key, value)
            database.close()
            with whole_file(place / MARK) as draft:
                draft.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")
            sync(place)
        except OSError as error:
            raise RamifyError(f"{place}: {error.strerror}: choose a folder that you may write to") from None
        return cls(place)

    def backup(self, path: str | Path) -> None:
        """Write everything but pictures to one .zip file, while others may go on writing."""
        write_backup(self.folder, self.database.copy_to, Path(path))

    @staticmethod
    def restore(path: str | Path, folder: str | Path) -> None:
        """Make a project from a backup, in a folder that is empty or not there yet."""
        read_backup(Path(path), Path(folder))

    def close(self) -> None:
        """Close the database; the store can still be used, and opens it again."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.folder}: {len(self)} items>"


def _check_mark(folder: Path) -> None:
    try:
        mark: Any = json.loads((folder / MARK).read_text(encoding="utf-8"))
        found = int(mark["format"])
    except FileNotFoundError:
        raise RamifyError(f"{folder} is not a project of Ramify: make one with 'ramify init {folder}'") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise RamifyError(f"{folder / MARK} is damaged: restore the project from a backup") from None
    if found > FORMAT:
        raise RamifyError(f"{folder} was made by a newer Ramify (format {found}): install the newer Ramify")
    if not (folder / DATABASE).is_file():
        raise RamifyError(f"{folder / DATABASE} is missing: restore the project from a backup")
