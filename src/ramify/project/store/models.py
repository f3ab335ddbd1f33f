"""Models in numbered folders, what is noted of them, and the learning curve."""

import json
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Integer, cast, func, select

from ramify.errors import RamifyError
from ramify.files import disk_troubles, sync, sync_tree
from ramify.project.store.database import Database
from ramify.project.store.locks import is_locked, locked
from ramify.project.store.schema import curve, meta, models
from ramify.project.store.troubles import intact, of_kinds

KEPT = 3  # models: the newest, and those that another process may still be reading
BLOCK = 1 << 20  # bytes read at once
FACTS = {
    "version": int,
    "at": float,
    "learner": str | None,
    "answers": int | None,
    "estimate": str,
    "note": str | None,
}
"""What is noted of a model, and of which kinds it is."""
OUTGROWN = "models_before_features"  # the newest model that learned from other features than the project has now
_outgrown = select(cast(meta.c.value, Integer)).where(meta.c.key == OUTGROWN).scalar_subquery()
NEWEST = (
    select(models.c.version, models.c.files)
    .where(models.c.version > func.coalesce(_outgrown, 0))
    .order_by(models.c.version.desc())
    .limit(KEPT)
)
LAST = select(func.coalesce(func.max(models.c.version), 0))


@dataclass(frozen=True)
class KeptModel:
    """A model of the project: its version, where it lies, and what is wrong with its files."""

    version: int
    folder: Path
    damage: str | None
    """One of its files, and what became of it; None where all are there, as long as they were."""
    measured: bool
    """Whether it is known what they were: an older Ramify noted nothing."""


class Models:
    """The part of a store that keeps what was learnt."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder / "models", database

    def add(self, build: Callable[[Path], Mapping[str, Any]]) -> int:
        """Let ``build`` write a model into an empty folder and name it in the database; returns its version.

        ``build`` returns what is to be noted of it: learner, answers (how many it learnt from), estimate, note.
        """
        self.database.check_writable()
        with disk_troubles(self.folder, "no model was added"), self._draft() as draft:
            noted = build(draft)
            files = {path.relative_to(draft).as_posix(): measured(path) for path in _files(draft)}
            sync_tree(draft)
            row = {
                "at": time.time(),
                "learner": noted.get("learner"),
                "answers": noted.get("answers"),
                "estimate": json.dumps(noted.get("estimate")),
                "note": noted.get("note"),
                "files": json.dumps(files),
            }
            version = self._name(draft, row)
        for path in self.folder.iterdir():
            if path.name.isdigit() and int(path.name) <= version - KEPT:
                shutil.rmtree(path, ignore_errors=True)
        return version

    @contextmanager
    def _draft(self) -> Iterator[Path]:
        """An empty folder that is removed at the end, if it is still there; what killed processes left goes first."""
        self.folder.mkdir(exist_ok=True)
        for left in self.folder.glob(".draft-*"):
            if not is_locked(left):
                shutil.rmtree(left, ignore_errors=True)
        draft = self.folder / f".draft-{os.getpid()}-{time.monotonic_ns()}"
        draft.mkdir()
        try:
            with locked(draft):
                yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _name(self, draft: Path, row: Mapping[str, Any]) -> int:
        """Give the draft the next number and its place."""
        place = None
        try:
            with self.database.write() as connection:
                version = int(connection.execute(LAST).scalar_one()) + 1
                place = self.folder / f"{version:04d}"
                if place.exists():  # its process was killed before it could be named
                    shutil.rmtree(place)
                os.replace(draft, place)
                sync(self.folder)
                connection.execute(models.insert().values(version=version, **row))
        except BaseException:
            if place is not None:
                self._drop_unnamed(place)
            raise
        return version

    def _drop_unnamed(self, place: Path) -> None:
        """Remove a folder that was to become a model; unless another process has named it meanwhile."""
        with suppress(RamifyError), self.database.write() as connection:
            named = select(models.c.version).where(models.c.version == int(place.name))
            if connection.execute(named).one_or_none() is None:
                shutil.rmtree(place, ignore_errors=True)

    # -- reading -------------------------------------------------------------------------------------------------------

    def candidates(self, *, thorough: bool = False) -> list[KeptModel]:
        """The models that are kept, newest first, each with what is wrong with it.

        Names and sizes of its files tell that something is missing or cut off; ``thorough`` reads them all.
        """
        with self.database.read() as connection, intact("the list of models"):
            return kept_models(self.folder, connection.execute(NEWEST), thorough)

    def newest(self) -> KeptModel | None:
        """The newest model that is whole."""
        return next((model for model in self.candidates() if model.damage is None), None)

    def left_out(self) -> list[KeptModel]:
        """Models that are newer than the newest whole one: their files are damaged or missing."""
        models = self.candidates()
        whole = next((place for place, model in enumerate(models) if model.damage is None), len(models))
        return models[:whole]

    def facts(self) -> dict[str, Any] | None:
        """What was noted of the newest whole model: version, at, learner, answers, estimate, note."""
        newest = self.newest()
        if newest is None:
            return None
        of_newest = select(*(models.c[name] for name in FACTS)).where(models.c.version == newest.version)
        with self.database.read() as connection, intact("the list of models"):
            row = of_kinds(connection.execute(of_newest).one(), *FACTS.values())
            facts = dict(zip(FACTS, row, strict=True))
            return {**facts, "estimate": json.loads(facts["estimate"])}

    # -- the learning curve --------------------------------------------------------------------------------------------

    def add_curve_point(self, answers: int, estimate: Mapping[str, Any]) -> None:
        """Note how good the model is thought to be after so many answers."""
        with self.database.write() as connection:
            connection.execute(curve.insert().values(answers=answers, at=time.time(), estimate=json.dumps(estimate)))

    def curve(self) -> list[dict[str, Any]]:
        """All such points, oldest first: answers, at, estimate."""
        with self.database.read() as connection, intact("the learning curve"):
            rows = [of_kinds(row, int, float, str) for row in connection.execute(select(curve).order_by(curve.c.at))]
            return [{"answers": answers, "at": at, "estimate": json.loads(text)} for answers, at, text in rows]


def kept_models(folder: Path, rows: Iterable[Sequence[Any]], thorough: bool = False) -> list[KeptModel]:
    """What is kept of some models, given by versions and lists of files (as JSON; an older Ramify noted none)."""
    models = []
    for version, listed in (of_kinds(row, int, str | None) for row in rows):
        files = dict(json.loads(listed or "{}"))
        place = folder / f"{version:04d}"
        models.append(KeptModel(version, place, damage(place, files, thorough), bool(files)))
    return models


def damage(folder: Path, files: Mapping[str, Sequence[int]], thorough: bool = False) -> str | None:
    """The first file of a folder that is not what it was (size and checksum by name), and what became of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "weights").write_bytes(b"12")
    ...     damage(Path(folder), {"weights": (3, 0)}), damage(Path(folder), {"scale": (3, 0)})
    ('weights has 2 bytes instead of 3', 'scale is missing')
    """
    if not folder.is_dir():
        return "its folder is missing"
    for name, (size, checksum) in files.items():
        try:
            now = (folder / name).stat().st_size
            if now != size:
                return f"{name} has {now} bytes instead of {size}"
            if thorough and _checksum(folder / name) != checksum:
                return f"{name} has other contents than it had"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror})"
    return None


def measured(path: Path) -> tuple[int, int]:
    """The size and the checksum of a file."""
    return path.stat().st_size, _checksum(path)


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]
