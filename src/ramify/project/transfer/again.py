"""Other features for a project's items: by another embedder, or by one that is fitted again on all of them."""

import shutil
from contextlib import suppress
from typing import Any

from ramify.embed import Embedder, embed, embedder
from ramify.embed.base import digest
from ramify.engine import check
from ramify.errors import RamifyError
from ramify.files import disk_troubles
from ramify.project.store.revisions import OutdatedError
from ramify.project.store.store import Store
from ramify.project.transfer.features import (
    EMBEDDER,
    FITTED,
    GIVEN,
    Progress,
    drop_drafts,
    given_features,
    image_folder,
    keep_embedder,
    refuse_unreadable,
)

__all__ = ["embed_again"]


def embed_again(
    store: Store,
    name: str | None = None,
    *,
    features: Any = None,
    how: str = "serial",
    progress: Progress | None = None,
) -> str:
    """Give all items of a project other features; what is known of them stays. Returns how they were made.

    By the embedder that is named, by default the project's own; one that learns from items is fitted again, on all of
    them. Or by ``features``: an array, an .npy file or shards with a row for each item, in the order in which they were
    added.
    What an interrupted call has embedded is found again by the next. ``how`` is the engine that embeds. A new model has
    to be trained.
    """
    check(how)
    store.database.check_writable()
    if name is not None and features is not None:
        raise RamifyError("give either an embedder or features, not both")
    while True:
        store.refresh()
        if not len(store):
            raise RamifyError(f"{store.folder} has no items yet: add some first")
        with suppress(OutdatedError):  # another process added items meanwhile
            if features is not None:
                rows = given_features(store, features, store.all_ids().tolist(), store.folder)
                store.replace_features(rows, {"embed": GIVEN, FITTED: {}})
                return GIVEN
            return _embed_again(store, name or store.setting("embed", GIVEN), how, progress)


def _embed_again(store: Store, name: str, how: str, progress: Progress | None) -> str:
    if name == GIVEN:
        raise RamifyError(f"the features of {store.folder} come from files: say by what its items are to be embedded")
    by = embedder(name)
    values = _values(store, by)
    report = None if progress is None else lambda done, total: progress("Embedding", done, total)
    drafts = store.folder / "drafts"
    with disk_troubles(drafts, "nothing was changed"):
        if by.fits and progress is not None:
            progress("Learning the words", 0, len(values))
        by.fit(values)
        folder = drafts / digest(by.fingerprint())
        rows, wrong = embed(by, values, folder, report, how)
    if wrong:
        refuse_unreadable([f"the item {store.items([n])[0].id!r}: {why}" for n, why in wrong.items()], len(values))
    place, keep = digest(by.fingerprint()), store.folder / EMBEDDER
    if by.fits:
        keep_embedder(by, keep / place)
    store.replace_features(rows, {"embed": by.name, FITTED: {"folder": place, "texts": len(values)} if by.fits else {}})
    for old in keep.iterdir() if keep.is_dir() else ():  # nothing names them any more
        if old.name != place:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    drop_drafts(store, folder)
    return by.name


def _values(store: Store, by: Embedder) -> list[str]:
    """The text of each item, or the file of its picture."""
    images = image_folder(store)
    values = []
    for item in store.items(range(len(store))):
        value = item.text if by.reads == "text" else item.picture
        if value is None:
            raise RamifyError(f"the item {item.id!r} has no {by.reads}, which {by.name} needs: nothing was changed")
        values.append(value if by.reads == "text" or images is None else str(images / value))
    return values
