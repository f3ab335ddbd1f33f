"""From raw data to a project in one step: what was found is said, concepts are proposed, items are added."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ramify.embed import default_embedder
from ramify.errors import RamifyError
from ramify.files import whole_file
from ramify.project.store.backup import MARK
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
    items: int
    said: str
    """In words: how many items, and which column is what."""
    to_ask: int
    """Entries that are unknown, so that there is something to ask."""
    embed: str | None
    """What the items are embedded by, where they have both texts and pictures; else None, for the default."""


def look(source: str | Path, taxonomy: str | Path | None = None, *, coarse_only: bool = False) -> Found:
    """Look at a file or a folder: its items, its concepts (or those of a file), and what is still to be asked."""
    if not path_of(source).exists():
        raise RamifyError(f"{source}: there is no such file or folder")
    if taxonomy is None:
        concepts, layout = propose(source)
    else:
        concepts, layout = Taxonomy.load(taxonomy), guess(source)
    items = read_for(source, concepts, layout)
    if coarse_only:
        items = items.coarse_only()
    kinds = [kind for kind, values in (("texts", items.texts), ("pictures", items.pictures)) if any(values)]
    columns = {"ids": (layout.id,), "texts": (layout.text,), "pictures": (layout.picture,), "labels": layout.labels}
    named = [f"{what} in {' and '.join(map(repr, names))}" for what, names in columns.items() if any(names)]
    of_what = f" with {' and '.join(kinds)}" if kinds else ""
    is_table = layout != Layout()
    said = f"{len(items.ids)} items{of_what}" + (f": {', '.join(named)}" if is_table and named else "")
    return Found(
        concepts,
        layout,
        len(items.ids),
        said,
        len(items.labels.unknown()[0]),
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
    progress: Progress | None = None,
) -> Added:
    """Make the project, unless it is there, and add the items: those that it has already change nothing."""
    with Store(folder) if (folder / MARK).is_file() else init(folder, found.taxonomy) as store:
        options: dict[str, Any] = {"embed": embed or (None if len(store) else found.embed), "images": images}
        return add(store, source, layout=found.layout, coarse_only=coarse_only, progress=progress, **options)


def project_folder(source: str | Path) -> Path:
    """Where the project of a source lies if nobody says it: beside where one works, called like the source.

    >>> project_folder("photos/labels.csv").name
    'labels-ramify'
    """
    path = path_of(source).resolve()
    return Path(f"{path.name if path.is_dir() else path.stem}-ramify")


def write_concepts(taxonomy: Taxonomy, path: Path) -> None:
    """Write a taxonomy as a file to be edited: every concept on a line of its own, with room below it."""
    if path.exists():
        raise RamifyError(f"{path} is there already: edit it, and give it with --taxonomy")
    plain = yaml.safe_dump(taxonomy.to_dict(), allow_unicode=True, sort_keys=False)
    with whole_file(path) as draft:
        draft.write_text(f"# Write finer concepts below these, such as  dog: [poodle, pug]\n{plain}", encoding="utf-8")
