"""From raw data to a project in one step: what was found is said, concepts are proposed, items are added."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ramify.embed import default_embedder
from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.project.store.place import MARK
from ramify.project.store.store import Store
from ramify.project.transfer.features import Progress
from ramify.project.transfer.importing import Added, add, init
from ramify.readers import Layout, guess, propose, read_for
from ramify.readers.formats import path_of
from ramify.taxonomy import Taxonomy

__all__ = ["Found", "begin", "look", "project_folder", "write_concepts"]


@dataclass(frozen=True)
class Found:
    """What a source seems to hold."""

    taxonomy: Taxonomy
    layout: Layout
    said: str
    """In words: how many items, and which column is what."""
    to_ask: int
    """Entries that are unknown, so that there is something to ask."""
    embed: str | None
    """What the items are embedded by, where they have both texts and pictures; else None, for the default."""


def look(
    source: str | Path,
    folder: Path,
    taxonomy: str | Path | None = None,
    *,
    coarse_only: bool = False,
    partial: bool = False,
    **columns: Any,
) -> Found:
    """Look at a file or a folder: its items, its concepts, and what is still to be asked.

    Concepts are those of the project, where it is there already, or of a taxonomy file, or else what the source names.
    ``columns`` (id, text, picture, labels, ignore) are those of a table that need no guess; ``partial`` is as
    ``Layout`` has it.
    """
    if not path_of(source).exists():
        raise RamifyError(f"{source}: there is no such file or folder")
    given = None if taxonomy is None else Taxonomy.load(taxonomy)
    there = _concepts(folder, begun=True)
    if there is not None:
        concepts, layout = there, guess(source, there, **columns)
        if given is not None and given != there:
            raise RamifyError(
                f"{folder} is a project with other concepts than {taxonomy}: begin another one with --project, or "
                f"divide its concepts with `ramify taxonomy split {folder} CONCEPT FINER ...`"
            )
    elif given is not None:
        concepts, layout = given, guess(source, given, **columns)
    else:
        concepts, layout = propose(source, **columns)
    is_table, layout = layout != Layout(), replace(layout, partial=partial)
    items = read_for(source, concepts, layout)
    if coarse_only:
        items = items.coarse_only()
    kinds = [kind for kind, values in (("texts", items.texts), ("pictures", items.pictures)) if any(values)]
    to_ask = len(items.with_annotations(everyone=True).labels.unknown()[0])
    if to_ask and not kinds:
        raise RamifyError(
            f"{source}: its items have neither texts nor pictures that people could look at: make the project with "
            "`ramify init`, and add them with their features (`ramify add DIR FILE --features FILE.npy`)"
        )
    parts = {"ids": (layout.id,), "texts": (layout.text,), "pictures": (layout.picture,), "labels": layout.labels}
    numbered = " (no column names each row, so rows are numbered)" if layout.id is None else ""
    named = [f"{what} in {' and '.join(map(repr, names))}" for what, names in parts.items() if any(names)]
    of_what = f" with {' and '.join(kinds)}" if kinds else ""
    said = f"{len(items.ids)} items{of_what}" + (f": {', '.join(named)}{numbered}" if is_table and named else "")
    return Found(
        concepts,
        layout,
        said,
        to_ask,
        default_embedder(texts=False) if len(kinds) == 2 else None,
    )


def begin(
    source: str | Path,
    folder: Path,
    found: Found,
    *,
    embed: str | None = None,
    images: str | Path | None = None,
    coarse_only: bool = False,
    skip_unreadable: bool = False,
    progress: Progress | None = None,
) -> Added:
    """Make the project, unless it is there, and add the items: those that it has already change nothing."""
    there = _concepts(folder)
    if there is not None and there != found.taxonomy:
        shutil.rmtree(folder)  # nothing was ever added to it, or ``look`` would have taken its concepts
        there = None
    with init(folder, found.taxonomy) if there is None else Store(folder) as store:
        options: dict[str, Any] = {"embed": embed or (None if len(store) else found.embed), "images": images}
        options |= {"coarse_only": coarse_only, "skip_unreadable": skip_unreadable, "progress": progress}
        return add(store, source, layout=found.layout, **options)


def _concepts(folder: Path, *, begun: bool = False) -> Taxonomy | None:
    """The concepts of a project, None where there is none; or none that has ``begun``, which has items."""
    if not (folder / MARK).is_file():
        return None
    with Store(folder) as store:
        return store.taxonomy if len(store) or not begun else None


def project_folder(source: str | Path) -> Path:
    """Where the project of a source lies if nobody says it: beside where one works, called like the source.

    >>> project_folder("photos/labels.csv").name
    'labels-ramify'
    """
    path = path_of(source).resolve()
    return Path(f"{path.name if path.is_dir() else path.stem}-ramify")


def write_concepts(taxonomy: Taxonomy, path: Path) -> None:
    """Write a taxonomy as a file to be edited, unless it is there: every concept on a line of its own."""
    if path.exists():
        return
    plain = yaml.safe_dump(taxonomy.to_dict(), allow_unicode=True, sort_keys=False)
    with whole_file(path) as draft:
        draft.write_text(f"# Write finer concepts below these, such as  dog: [poodle, pug]\n{plain}", encoding="utf-8")
