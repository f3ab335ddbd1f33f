"""Store: everything a project holds, safe for many threads and processes, and against being killed at any moment."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.concepts import check_apart
from ramify.errors import RamifyError
from ramify.files import disk_troubles
from ramify.labels import Labels
from ramify.project.store import adding
from ramify.project.store.answers import Answered, Answers, Event, Request
from ramify.project.store.audits import Audits
from ramify.project.store.backup import read_backup, write_backup
from ramify.project.store.changes import Change, Changes
from ramify.project.store.consensus import Consensus
from ramify.project.store.flags import Flag, Flags
from ramify.project.store.items import Contents, Item, Items, get, last_paths, no_concept, put, put_taxonomy
from ramify.project.store.leases import SECONDS, Leases
from ramify.project.store.models import Models
from ramify.project.store.moving import move, recover
from ramify.project.store.place import DATABASE, MARK, database_at, database_of, write_mark
from ramify.project.store.sqlite import SQLite
from ramify.project.store.trainings import Trainings
from ramify.project.store.troubles import UnavailableError
from ramify.taxonomy import ConceptRef, Index, Taxonomy

__all__ = ["Contents", "Event", "Item", "Store", "UnavailableError"]


class Store:
    """A project folder: taxonomy, items, imported labels, answers, models. Items are numbers, concepts stable ids.

    It is put together from parts that each know some tables, and hands on to them. Where the folder cannot be written,
    all that reads works, and the rest is refused.

    >>> import tempfile
    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store.create(folder.name, taxonomy) as store:
    ...     store.add(["a", "b"], ["purrs", "barks"], None, None, Labels(taxonomy, [[1], [1]]))
    ...     cat, dog = store.id_of[taxonomy.indices(["cat", "dog"])].tolist()
    ...     _ = store.record("key 1", "ann", [(0, cat, "yes"), (0, dog, "no"), (1, cat, "no")])
    ...     _ = store.record("key 2", "ann", [(1, dog, "yes")])
    ...     _ = store.undo("key 3", "ann")
    ...     store.labels().states()
    Counts(new=2, present=0, changed=0)
    array([[ 1,  0],
           [ 0, -1]], dtype=int8)
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.database = database_of(self.folder)
        recover(self.folder, self.database)
        self._items = Items(self.folder, self.database)
        self.answers = Answers(self._items)
        self.consensus = Consensus(self._items)
        self.changes = Changes(self._items, self.consensus)
        self.flags = Flags(self.database)
        self.audits = Audits(self._items)
        self.models = Models(self.folder, self.database)
        self.trainings = Trainings(self.folder, self.database)

    # -- a project's life ----------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: str | Path,
        taxonomy: Taxonomy,
        settings: Mapping[str, Any] | None = None,
        *,
        address: str | None = None,
    ) -> "Store":
        """Make a new project, with its first settings, in a folder that is empty or not there yet.

        Its database is in the folder, or at an address, ``postgresql://user@host/name``.
        """
        check_apart(taxonomy.concepts)
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise RamifyError(f"{place} is a file: give a folder for the project")
        with disk_troubles(place, "no project was made"):
            place.mkdir(parents=True, exist_ok=True)
            # A project's mark is written last: without it, a database is what an interrupted beginning left.
            left = [path for path in place.iterdir() if path.name.startswith((DATABASE, f".{MARK}"))]
            if (place / MARK).exists() or len(left) < len(list(place.iterdir())):
                what = "is a project already" if (place / MARK).exists() else "is not empty"
                raise RamifyError(f"{place} {what}: give a new folder")
            for path in left:
                path.unlink()
            database = SQLite(place / DATABASE) if address is None else database_at(address)
            try:
                with closing(database), database.write() as connection:
                    if get(connection, "taxonomy") is not None:
                        raise RamifyError(f"{database.place} holds a project already: give an empty database")
                    put_taxonomy(connection, taxonomy, [None] * len(taxonomy))
                    for key, value in {"revision": 1, "items": 0, "features": None, "imported": None}.items():
                        put(connection, key, value)
                    for key, value in (settings or {}).items():
                        put(connection, f"setting {key}", value)
                    if address is not None:  # inside: who begins again could not remove what is elsewhere
                        write_mark(place, database.place)
            except BaseException:
                (place / MARK).unlink(missing_ok=True)
                raise
            if address is None:
                write_mark(place)
        return cls(place)

    def backup(self, path: str | Path) -> None:
        """Write everything but pictures to one new .zip file, while others may go on writing."""
        write_backup(self.folder, self.database, Path(path))

    @staticmethod
    def restore(path: str | Path, folder: str | Path) -> None:
        """Make a project from a backup, in a folder that is empty or not there yet."""
        read_backup(Path(path), Path(folder))

    @staticmethod
    def move(folder: str | Path, address: str | None) -> None:
        """Move the database of a project to an address of PostgreSQL, or (None) into its folder."""
        with Store(folder) as store, store.trainings.alone():
            move(store.folder, address)

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

    # -- taxonomy, items, settings -------------------------------------------------------------------------------------

    @property
    def contents(self) -> Contents:
        """The state that is shown: all of it at once, for those who use several parts of it beside other threads."""
        return self._items.contents

    @property
    def taxonomy(self) -> Taxonomy:
        """The concepts; their numbers change when it is changed, see ``id_of``."""
        return self.contents.taxonomy

    @property
    def id_of(self) -> Index:
        """The id of each concept number; ids never change."""
        return self.contents.id_of

    @property
    def number_of(self) -> dict[int, int]:
        """The concept number of each id."""
        return self.contents.number_of

    def last_paths(self) -> dict[int, str]:
        """The paths of all concepts by their ids; of those that are gone, the last one that they had."""
        with self.database.read() as connection:
            return last_paths(connection)

    def no_concept(self, concept: object) -> RamifyError:
        """What is said to whoever means a concept, by its id, that is not there."""
        with self.database.read() as connection:
            return no_concept(connection, concept)

    def __len__(self) -> int:
        return self.contents.items

    def refresh(self) -> bool:
        """Look whether other processes have added items or changed the taxonomy; says whether they have."""
        return self._items.refresh()

    def items(self, numbers: ArrayLike) -> list[Item]:
        """The items with these numbers, in their order."""
        return self._items.items(numbers)

    def search(self, query: str) -> Index:
        """The numbers of all items whose id or text holds some words, large or small letters alike."""
        return self._items.search(query)

    def all_ids(self) -> NDArray[np.str_]:
        """The ids of all items, by number."""
        return self._items.all_ids()

    def features(self) -> NDArray[np.floating[Any]] | None:
        """The features of all items as a memory map, items x columns; None where the project has none."""
        return self._items.features()

    def imported(self) -> Labels:
        """What was imported of all items, without any answer; the caller may change these labels."""
        return self.consensus.imported()

    def setting(self, key: str, default: Any = None) -> Any:
        """What was kept under this key."""
        return self._items.setting(key, default)

    def set_setting(self, key: str, value: Any) -> None:
        """Keep a value (anything that JSON can say) under a key."""
        self._items.set_setting(key, value)

    def add(
        self,
        ids: Iterable[str],
        texts: Sequence[str | None] | None,
        pictures: Sequence[str | None] | None,
        features: Any,
        labels: Labels,
    ) -> adding.Counts:
        """Add items with what is known of them, all or nothing: see ``adding.add``."""
        return adding.add(self._items, ids, texts, pictures, features, labels)

    def replace_features(self, features: Any, settings: Mapping[str, Any]) -> None:
        """Give all items other features; nobody may train meanwhile: see ``adding.replace_features``."""
        with self.trainings.alone():
            adding.replace_features(self._items, features, settings)

    def split(self, concept: ConceptRef, finer: Iterable[str], *, exhaustive: bool = False) -> None:
        """Refine a fine concept, given by name, path or number in the taxonomy; what is known of it stays known."""
        self.changes.change(Change("split", [concept], list(finer), exhaustive=exhaustive))

    # -- answers, and what follows from them ---------------------------------------------------------------------------

    def record(
        self,
        key: str,
        annotator: str,
        answers: Sequence[Answered],
        *,
        model: int | None = None,
        settles: bool = False,
        **about: Any,
    ) -> list[Event]:
        """Keep the answers of one request, all or nothing; the same again changes nothing, see ``Answers.record``."""
        return self.record_all([Request(key, annotator, answers, model, settles)], **about)[0][0]

    def record_all(self, requests: Iterable[Request], **about: Any) -> list[tuple[list[Event], bool]]:
        """Keep several requests, all of them or none; returns the events of each, and whether they are new."""
        return self.answers.record(requests, **about)

    def undo(self, key: str, annotator: str) -> list[Event]:
        """Take back all answers of the annotator's last request that stands; returns the events that do so."""
        return self.answers.undo(key, annotator)

    def events(self, *, after: int = 0, annotator: str | None = None, last: int | None = None) -> list[Event]:
        """The events after a sequence number, oldest first: all, those of one annotator, or the ``last`` so many."""
        return self.answers.events(after=after, annotator=annotator, last=last)

    def events_about(self, item: int, concept: int) -> list[Event]:
        """All events about one entry, oldest first."""
        return self.answers.about(item, concept)

    def standing_flags(self) -> list[Flag]:
        """Why some questions are not asked, oldest first."""
        return self.flags.standing()

    def lift_flag(self, key: str) -> bool:
        """Let what was flagged under a key be asked again; says whether there was such a flag."""
        return self.flags.lift(key)

    def last_event(self) -> int:
        """The sequence number of the newest event, 0 before the first."""
        return self.answers.last()

    def values(self, items: ArrayLike, concepts: ArrayLike) -> NDArray[np.int8]:
        """1, 0 or -1 (nobody answered, or people disagree) for each entry, from answers alone."""
        return self.consensus.values(items, concepts)

    def labels(self) -> Labels:
        """Imported labels and all answers that stand; an answer outranks what was imported of the same entry."""
        return self.consensus.labels()

    def disagreements(self) -> list[tuple[int, int, dict[str, int]]]:
        """The entries that annotators disagree about and nobody settled: item, concept, what each says."""
        return self.consensus.disagreements()

    def refused_coarse(self) -> list[tuple[int, int, str]]:
        """Every answer that says no to a concept with finer ones and that nobody settled: item, concept, annotator."""
        return self.consensus.refused_coarse()

    def answered_items(self) -> Index:
        """The items about which an answer yes or no stands."""
        return self.consensus.answered_items()

    def count_answers(self) -> int:
        """How many answers yes and no stand."""
        return self.consensus.count_answers()

    def annotators(self) -> list[dict[str, Any]]:
        """For each annotator by name: answers yes, no and skip that stand, answers undone, agreement with others."""
        return self.consensus.annotators()

    def leases(self, *, overlap: int = 1, seconds: float = SECONDS, now: Callable[[], float] = time.time) -> Leases:
        """Questions that are an annotator's for some seconds; with ``overlap`` k each goes to up to k annotators."""
        return Leases(self.consensus, overlap=overlap, seconds=seconds, now=now)

    # -- models and trainings ------------------------------------------------------------------------------------------

    def new_model(self, build: Callable[[Path], Mapping[str, Any]]) -> int:
        """Let ``build`` write a model into an empty folder and name it; returns its version, see ``Models.add``."""
        return self.models.add(build)

    def model(self) -> tuple[int, Path] | None:
        """Version and folder of the newest model that is whole."""
        newest = self.models.newest()
        return None if newest is None else (newest.version, newest.folder)

    def model_facts(self) -> dict[str, Any] | None:
        """What was noted of the newest whole model: version, at, learner, answers, estimate, note."""
        return self.models.facts()

    def damaged_models(self) -> list[tuple[int, str]]:
        """The versions that are newer than the newest whole model, and what is wrong with their files."""
        return [(model.version, str(model.damage)) for model in self.models.left_out()]

    def training(self) -> dict[str, Any] | None:
        """The newest training: id, started, finished, pid, error, running; one whose process is gone has failed."""
        return self.trainings.newest()

    def add_curve_point(self, answers: int, estimate: Mapping[str, Any]) -> None:
        """Note how good the model is thought to be after so many answers."""
        self.models.add_curve_point(answers, estimate)

    def curve(self) -> list[dict[str, Any]]:
        """All such points, oldest first: answers, at, estimate."""
        return self.models.curve()
