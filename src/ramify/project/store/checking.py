"""Whether a project is still what was written: its database, features, imported labels and models, byte for byte."""

from collections.abc import Iterator
from dataclasses import dataclass

from ramify.errors import RamifyError
from ramify.project.store.items import get, put
from ramify.project.store.models import damage, measured
from ramify.project.store.revisions import checksum_key
from ramify.project.store.store import Store

WHAT = {"features": "features", "imported": "imported labels"}
FROM_BACKUP = "restore the project from a backup with `ramify restore`"
REMEDIES = {
    "features": (
        f"{FROM_BACKUP}, or make them anew with `ramify embed DIR --again` (where they were given, with --features "
        "FILE); no answer is lost by that"
    ),
    "imported": f"{FROM_BACKUP}; the answers are whole, and `ramify export DIR --events` takes them out",
}


@dataclass(frozen=True)
class Finding:
    """Something that was looked at, what is wrong with it if anything is, and how that is mended."""

    what: str
    damage: str | None = None
    remedy: str = ""
    note: str = ""
    """What else there is to say."""


def check(store: Store) -> Iterator[Finding]:
    """Look at everything, thoroughly, one after another; it takes as long as reading all of it."""
    yield _database(store)
    for key in WHAT:
        if (finding := _file(store, key)) is not None:
            yield finding
    remedy = "train a new one with `ramify train DIR`; until then an older one is used, if there is any"
    newer_whole = False
    for model in store.models.candidates(thorough=True):
        if newer_whole and not model.folder.is_dir():  # a backup takes the newest whole one alone
            continue
        newer_whole |= model.damage is None
        # A training may have made newer ones meanwhile, and removed this one.
        if model.damage is None or model.version in {kept.version for kept in store.models.candidates()}:
            note = "" if model.measured else "no checksums were kept of it"
            yield Finding(f"model {model.version}", model.damage, remedy, note)


def _database(store: Store) -> Finding:
    try:
        return Finding("database", store.database.damage(), FROM_BACKUP)
    except RamifyError as error:
        return Finding("database", str(error), FROM_BACKUP)


def _file(store: Store, key: str) -> Finding | None:
    """Of the current features, or imported labels; what an older Ramify wrote gets its checksum now."""
    with store.database.read() as connection:
        name, kept = get(connection, key), get(connection, checksum_key(key))
    if name is None:
        return None
    what = f"{WHAT[key]} ({name})"
    if kept is not None and kept[0] == name:
        damaged = damage(store.folder, {name: kept[1:]}, thorough=True)
        if damaged is not None and _replaced(store, key, name):
            return _file(store, key)
        return Finding(what, damaged, REMEDIES[key])
    try:
        size, checksum = measured(store.folder / name)
    except OSError as error:
        if _replaced(store, key, name):
            return _file(store, key)
        return Finding(what, f"{name} cannot be read ({error.strerror})", REMEDIES[key])
    if not store.database.writable:
        return Finding(what, note="no checksum was kept of it, and none can be kept here")
    with store.database.write() as connection:
        if get(connection, key) == name:
            put(connection, checksum_key(key), (name, size, checksum))
    return Finding(what, note="no checksum was kept of it; it has one from now on")


def _replaced(store: Store, key: str, name: str) -> bool:
    """Whether another process has put another file in its place meanwhile."""
    with store.database.read() as connection:
        return bool(get(connection, key) != name)
