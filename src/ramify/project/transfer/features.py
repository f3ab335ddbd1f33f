"""The features of incoming items: given in a file, or made by the embedder that the project uses."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ramify.data.features import as_features
from ramify.data.shards import read_features
from ramify.embed import Embedder, Floats, default_embedder, embed, embedder
from ramify.embed.base import digest
from ramify.errors import RamifyError
from ramify.files import disk_troubles, sync
from ramify.project.store.store import Store

Progress: TypeAlias = Callable[[str, int, int], None]

EMBEDDER = "embedder"  # the folder of what later items need
GIVEN = "features"  # what the setting "embed" says where features come from files
FITTED = "fitted"  # the setting: where in the folder of embedders the fitted one lies, and on how many texts
LISTED = 10  # unreadable items named in an error
STALE = 24 * 3600.0  # seconds after which what an interrupted command left is dropped


def choose_embedder(
    store: Store, *, texts: bool, pictures: bool, features: str | Path | None, name: str | None
) -> Embedder | None:
    """The embedder for incoming items, None where their features are given; a project stays with what it began with.

    ``texts`` and ``pictures`` say whether the items have any.
    """
    if features is not None and name is not None:
        raise RamifyError("give either --features or --embed, not both")
    used = store.setting("embed", GIVEN) if len(store) else None
    if used is None:
        if features is not None:
            return None
        if name is None and texts == pictures:
            both = "both texts and pictures" if texts else "neither texts nor pictures"
            raise RamifyError(
                f"the items have {both}: say --embed text, --embed pictures, or give their --features as an .npy file"
            )
        return embedder(name or default_embedder(texts=texts))
    if used == GIVEN:
        if name is not None:
            raise RamifyError(f"the features of {store.folder} come from files: give --features instead of --embed")
        return None
    if features is not None or (name is not None and embedder(name).name != used):
        raise RamifyError(
            f"the items of {store.folder} are embedded by {used}: leave --embed and --features out, "
            "new items are embedded in the same way"
        )
    return used_embedder(store, used)


def used_embedder(store: Store, name: str) -> Embedder:
    """The embedder of the project's features, as it was fitted."""
    return embedder(name, store.folder / EMBEDDER / store.setting(FITTED, {}).get("folder", ""))


def given_features(store: Store, features: Any, ids: Sequence[str], source: Path) -> Any:
    """The features of a file or of shards, or given as an array: one row for each of these items."""
    in_file = isinstance(features, str | Path)
    name = str(features) if in_file else "the array of features"
    if in_file:
        with _drafts(store) as drafts:
            features = read_features(features, ids=ids, drafts=drafts)
    try:
        checked = as_features(features)
    except RamifyError as error:
        raise RamifyError(f"{name}: {error}") from None
    if checked.shape[0] != len(ids) or not checked.shape[1]:
        shape = " x ".join(map(str, checked.shape))
        raise RamifyError(
            f"{name} holds {shape} numbers for the {len(ids)} items of {source}: give one row for each item"
        )
    return checked


def embedded(
    store: Store,
    by: Embedder,
    inputs: Sequence[str | None],
    known: Mapping[int, int],
    unreadable: dict[int, str],
    progress: Progress | None,
    how: str = "serial",
) -> tuple[Any, Embedder, Path | None]:
    """A row for each input, the fitted embedder, and the folder of drafts.

    ``known`` says which ones are items of the project already; what cannot be read is added to ``unreadable``. ``how``
    is the engine.
    """
    wanted = [number for number in range(len(inputs)) if number not in known and number not in unreadable]
    unreadable.update((number, f"it has no {by.reads}") for number in wanted if not inputs[number])
    wanted = [number for number in wanted if number not in unreadable]
    values = [value for number in wanted if (value := inputs[number])]
    if not values:
        return None, by, None
    report = None if progress is None else lambda done, total: progress("Embedding", done, total)
    with _drafts(store) as drafts, disk_troubles(drafts, "nothing was embedded"):
        by, folder = _fitted(store, by, values, drafts, progress)
        embeddings, wrong = embed(by, values, folder, report, how)
    unreadable.update((wanted[place], why) for place, why in wrong.items())
    if len(wanted) == len(inputs):
        return embeddings, by, folder
    rows: Floats = np.zeros((len(inputs), embeddings.shape[1]), np.float32)
    rows[wanted] = embeddings
    kept = store.features()
    if kept is not None and kept.shape[1] == rows.shape[1]:
        rows[list(known)] = kept[list(known.values())]
    return rows, by, folder


@contextmanager
def _drafts(store: Store) -> Iterator[Path]:
    """The folder of what is embedded on the way: in the project, unless that can only be read."""
    if store.database.writable:
        yield store.folder / "drafts"
    else:
        with tempfile.TemporaryDirectory(prefix="ramify-") as folder:
            yield Path(folder)


def _fitted(
    store: Store, by: Embedder, values: Sequence[str], drafts: Path, progress: Progress | None
) -> tuple[Embedder, Path]:
    """The embedder, fitted where these are the project's first items, and its own folder of drafts."""
    if len(store):
        return by, drafts / digest(by.fingerprint())
    if not by.fits:
        by.fit(values)
        return by, drafts / digest(by.fingerprint())
    folder = drafts / digest(by.name, *values)
    if (folder / "fitted").is_dir():  # by a call that was interrupted
        return embedder(by.name, folder / "fitted"), folder
    if progress is not None:
        progress("Learning the words", 0, len(values))
    by.fit(values)
    keep_embedder(by, folder / "fitted")
    return by, folder


def keep_embedder(by: Embedder, folder: Path) -> None:
    """Write what later items need into a folder, whole; it replaces what an earlier failed try left."""
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    by.save(draft)
    for written in (*draft.rglob("*"), draft):
        sync(written)
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
    sync(folder.parent)


def drop_drafts(store: Store, *used: Path | None) -> None:
    """Remove what was embedded on the way, but not what another process may be embedding just now."""
    drafts = store.folder / "drafts"
    if not store.database.writable or not drafts.is_dir():
        return
    for folder in drafts.iterdir():
        if folder in used or time.time() - folder.stat().st_mtime > STALE:
            shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # it is not empty: others are embedding
        drafts.rmdir()


def refuse_unreadable(reasons: list[str], total: int, otherwise: str = "") -> NoReturn:
    """Say which of so many items cannot be read, and what to do."""
    more = [f"and {len(reasons) - LISTED} more"] if len(reasons) > LISTED else []
    listed = "\n  ".join(["", *reasons[:LISTED], *more])
    raise RamifyError(
        f"{len(reasons)} of {total} items cannot be read, so nothing was changed; mend them and run the same command "
        f"again (what is embedded stays so){otherwise}:{listed}"
    )


def image_folder(store: Store) -> Path | None:
    """The folder that the project's pictures lie in, None before the first picture."""
    kept = store.setting("images")
    return None if kept is None else store.folder.resolve() / kept
