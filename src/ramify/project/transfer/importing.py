"""Starting a project and adding items: everything is read, checked and embedded before anything is added."""

import os.path
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ramify.concepts import check_apart, check_template
from ramify.embed import Embedder, default_embedder
from ramify.engine import check
from ramify.errors import RamifyError
from ramify.files import disk_troubles
from ramify.project.store.adding import Counts
from ramify.project.store.locks import locked
from ramify.project.store.store import Item, Store
from ramify.project.transfer.again import embed_again
from ramify.project.transfer.features import (
    EMBEDDER,
    FITTED,
    GIVEN,
    Progress,
    choose_embedder,
    drop_drafts,
    embedded,
    given_features,
    image_folder,
    keep_embedder,
    refuse_unreadable,
)
from ramify.project.transfer.names import TEMPLATES, file_templates
from ramify.project.transfer.revising import revision_of
from ramify.readers import Items, Layout, read_for
from ramify.readers.formats import path_of
from ramify.taxonomy import Index, Taxonomy

__all__ = ["Added", "Incoming", "add", "init", "prepare"]

NO_FILE = "there is no such file"
SIMPLE = "pictures"  # the extractor that needs no extra
OUTGROWN = 4  # times as many texts as the words were learned from: then it is said


@dataclass(frozen=True)
class Incoming:
    """Items that were read and checked, with their features."""

    items: Items
    chosen: Index
    """Which of them can be used: all, unless unreadable ones may be left out."""
    features: Any
    """Of those; None where the project has all of them already."""
    pictures: list[str | None]
    """Of all items, relative to the image folder."""
    images: Path | None
    embedder: Embedder | None
    """None where features were given."""
    drafts: Path | None
    left_out: list[str]
    """Items that cannot be read, and why."""
    id_of: Index
    """The ids of the concepts that the items were read with, by number."""

    @property
    def embed(self) -> str:
        """How the features were made."""
        return GIVEN if self.embedder is None else self.embedder.name

    @property
    def ids(self) -> list[str]:
        """The ids of the items that can be used."""
        return [self.items.ids[number] for number in self.chosen]

    def shown(self, numbers: Index) -> list[Item]:
        """Some of them, with what people see of them."""
        chosen = [(number, self.chosen[number]) for number in numbers.tolist()]
        items = self.items
        return [Item(number, items.ids[place], items.texts[place], self.pictures[place]) for number, place in chosen]


@dataclass(frozen=True)
class Added:
    """What ``add`` did."""

    added: int
    present: int
    """Items that were in the project already."""
    changed: int
    """Of these, those whose imported labels are others now."""
    embed: str
    """How the features were made."""
    left_out: list[str]
    """Items that cannot be read, and why."""
    ignored: tuple[str, ...]
    """Columns that hold nothing Ramify knows."""
    unlabelled: int
    """Items with an empty list of labels."""
    notes: tuple[str, ...] = ()
    """Sentences on what else one should know."""
    answers: int = 0
    """Answers that came with the items."""
    people: int = 0
    """Who gave them."""

    def told(self, total: int) -> list[str]:
        """Sentences on what was done, where the project has so many items now.

        >>> Added(2, 2, 1, "text", [], ("mood",), 0).told(4)[-1]
        'Added 2 items, 2 were there already (1 with other labels): the project has 4, with features by text.'
        """
        ignored = f"Ignored: {', '.join(map(repr, self.ignored))} (neither id, text, picture nor a concept)."
        empty = f"{self.unlabelled} items list no label, so theirs are unknown (write none where no concept applies)."
        changed = f" ({self.changed} with other labels)" if self.changed else ""
        present = f", {self.present} were there already{changed}" if self.present else ""
        answers = f"Saved {self.answers} answers of {self.people} people."
        return [
            *([ignored] if self.ignored else []),
            *([empty] if self.unlabelled else []),
            *(f"{note[:1].upper()}{note[1:]}." for note in self.notes),
            f"Added {self.added} items{present}: the project has {total}, with features by {self.embed}.",
            *([answers] if self.people else []),
        ]


def init(
    folder: str | Path,
    taxonomy: Taxonomy | Mapping[str, Any] | str | Path,
    templates: Iterable[str] | None = None,
    *,
    address: str | None = None,
) -> Store:
    """Start a project with the concepts of a taxonomy, a mapping or a file.

    ``templates`` are what the names of concepts are put into when they are read; else those of the file, if any. Its
    database is in the folder, or at an address of PostgreSQL.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "taxonomy.yaml").write_text("animal: [cat, dog]")
    ...     with init(Path(folder, "pets"), Path(folder, "taxonomy.yaml")) as store:
    ...         print(len(store), store.taxonomy.names)
    0 ('cat', 'dog', 'animal')
    """
    if templates is None and isinstance(taxonomy, str | Path):
        templates = file_templates(taxonomy)
    concepts = Taxonomy.load(taxonomy) if isinstance(taxonomy, str | Path) else taxonomy
    settings = {} if templates is None else {TEMPLATES: [check_template(template) for template in templates]}
    tree = concepts if isinstance(concepts, Taxonomy) else Taxonomy(concepts)
    try:
        check_apart(tree.concepts)
    except RamifyError as error:
        raise RamifyError(f"{taxonomy}: {error}" if isinstance(taxonomy, str | Path) else str(error)) from None
    return Store.create(folder, tree, settings, address=address)


def add(store: Store, source: Any, **options: Any) -> Added:
    """Add the items of a table (a file, or one in memory), or of a folder of pictures, to a project: all or nothing.

    The options are those of ``prepare``. What an interrupted call has embedded is found again by the next. Where
    another process adds the first items meanwhile, these are embedded again, by what those taught.
    """
    store.database.check_writable()
    drafts: list[Path | None] = []
    counts = None
    while counts is None:
        first = not len(store)
        incoming = prepare(store, source, **options)
        drafts.append(incoming.drafts)
        with disk_troubles(store.folder, "nothing was added"), locked(store.folder, wait=True):
            store.refresh()
            if not first or not len(store):
                counts = _add(store, incoming)
    drop_drafts(store, *drafts)
    read = incoming.items
    answers = _take_in(store, incoming)
    notes = (*read.notes, *_fitting(store, incoming.embedder, options.get("progress")))
    if incoming.embed == SIMPLE and options.get("embed") is None and first and default_embedder(texts=False) == SIMPLE:
        notes = (
            *notes,
            f"{SIMPLE} is a simple extractor: with the extra pictures, features say far more of photos "
            f"(pip install 'ramify[pictures]', then `ramify embed {store.folder} --again --with efficientnet`)",
        )
    people = len({said.annotator for said in read.annotations if answers or not said.is_imported})
    return Added(*counts, incoming.embed, incoming.left_out, read.ignored, read.unlabelled, notes, answers, people)


def _take_in(store: Store, incoming: Incoming) -> int:
    """Record what people say of the items as answers; returns how many are new. The same again changes nothing."""
    items, id_of = incoming.items, incoming.id_of
    if not items.annotations:
        return 0
    numbers = {name: number for number, name in enumerate(store.all_ids().tolist())}
    usable = set(incoming.chosen.tolist())
    listed = [said for said in items.annotations if said.item in usable]
    try:
        return store.answers.revise([revision_of(said, numbers[items.ids[said.item]], id_of) for said in listed]).saved
    except RamifyError as error:
        raise RamifyError(
            f"the items were added, but nothing of what people say of them (the same command may be repeated): {error}"
        ) from None


def _fitting(store: Store, by: Embedder | None, progress: Progress | None) -> list[str]:
    """Fit an embedder that learned from far fewer items again, on all; where a model depends on it, only say so."""
    texts = store.setting(FITTED, {}).get("texts", len(store))
    if by is None or not by.fits or texts == len(store):
        return []
    if not store.models.candidates():
        embed_again(store, progress=progress)
        return []
    if len(store) < OUTGROWN * texts:
        return []
    return [
        f"the words were learned from the first {texts} items only: to learn them from all {len(store)}, "
        f"run `ramify embed {store.folder} --again`, then `ramify train {store.folder}`"
    ]


def _add(store: Store, incoming: Incoming) -> Counts:
    if not len(store):  # until the first items are in, nothing depends on what an earlier failed try left here
        if incoming.embedder is not None and incoming.drafts is not None:
            keep_embedder(incoming.embedder, store.folder / EMBEDDER)
            store.set_setting(FITTED, {"texts": len(incoming.chosen)})
        store.set_setting("embed", incoming.embed)
    if incoming.images is not None:
        _set_image_folder(store, incoming.images)
    items, chosen = incoming.items, incoming.chosen
    return store.add(
        incoming.ids,
        [items.texts[number] for number in chosen],
        [incoming.pictures[number] for number in chosen],
        incoming.features,
        items.labels if len(chosen) == len(items.ids) else items.labels.take(chosen),
    )


def prepare(
    store: Store,
    source: Any,
    *,
    layout: Layout | None = None,
    features: Any = None,
    embed: str | None = None,
    images: str | Path | None = None,
    skip_unreadable: bool = False,
    coarse_only: bool = False,
    new: bool = False,
    how: str = "serial",
    progress: Progress | None = None,
) -> Incoming:
    """Read, check and embed the items of any source, without adding them.

    Features are given, as an array, an .npy file or shards with a row for each item, or come with the source, or are
    made by the embedder that ``embed`` names; by default the one the project uses, or else what ``default_embedder``
    says. With ``coarse_only`` what the source says of finer concepts is left out, to try Ramify where all is known.
    With ``new`` all are embedded, also those that are in the project. ``how`` is the engine that embeds.
    """
    check(how)
    contents = store.contents
    items = read_for(source, contents.taxonomy, layout)
    if new:
        items = items.with_annotations(everyone=True)
    elif items.former:
        items = items.called(set(store.all_ids().tolist()))
    if coarse_only:
        items = items.coarse_only()
    features = items.features if features is None and embed is None else features
    source = path_of(source) if isinstance(source, str | Path) else Path("the table")
    folder, pictures = _pictures(items, source, images, None if new or not len(store) else image_folder(store))
    by = choose_embedder(store, texts=any(items.texts), pictures=any(pictures), features=features, name=embed)
    known = {} if new else _known(store, items, pictures)
    unreadable = {
        number: NO_FILE
        for number, picture in enumerate(pictures)
        if picture is not None and folder is not None and number not in known and not (folder / picture).is_file()
    }
    first = next((pictures[number] for number in unreadable), None)
    looked_for = "" if folder is None or first is None else str(folder / first)
    if not skip_unreadable:  # before anything takes long
        _refuse(items, unreadable, looked_for)
    rows, drafts = None, None
    if by is None:
        if features is None and len(known) < len(items.ids):
            raise RamifyError(f"the features of {store.folder} come from files: give those of {source} with --features")
        rows = None if features is None else given_features(store, features, items.ids, source)
    else:
        files = [None if picture is None or folder is None else str(folder / picture) for picture in pictures]
        rows, by, drafts = embedded(
            store, by, items.texts if by.reads == "text" else files, known, unreadable, progress, how
        )
    chosen = np.setdiff1d(np.arange(len(items.ids)), list(unreadable))
    if not (skip_unreadable and len(chosen)):
        _refuse(items, unreadable, looked_for)
    left_out = _reasons(items, unreadable)
    if left_out and rows is not None:
        rows = rows[chosen]
    return Incoming(items, chosen, rows, pictures, folder, by, drafts, left_out, contents.id_of)


def _reasons(items: Items, unreadable: Mapping[int, str]) -> list[str]:
    return [f"{items.where(number)} ({items.ids[number]!r}): {why}" for number, why in sorted(unreadable.items())]


def _refuse(items: Items, unreadable: Mapping[int, str], looked_for: str) -> None:
    if unreadable:
        where = f", or say with --images where they lie (there is no {looked_for})"
        missing = where if set(unreadable.values()) == {NO_FILE} else ""
        otherwise = f", or leave them out with --skip-unreadable{missing}"
        refuse_unreadable(_reasons(items, unreadable), len(items.ids), otherwise)


def _set_image_folder(store: Store, images: Path) -> None:
    """Kept relative where it lies in the project, so that both can move together."""
    here = store.folder.resolve()
    store.set_setting("images", (images.relative_to(here) if images.is_relative_to(here) else images).as_posix())


def _pictures(
    items: Items, source: Path, images: str | Path | None, project: Path | None
) -> tuple[Path | None, list[str | None]]:
    """The folder that pictures lie in, the project's where it has one, and their paths relative to it."""
    if not any(items.pictures):
        return None, items.pictures
    if images is not None and not Path(images).is_dir():
        raise RamifyError(f"{images}: there is no such folder: --images is the folder that the pictures lie in")
    if images is not None or source.is_dir():
        start = Path(images or source).resolve()
    else:
        start = project or source.resolve().parent
    folder = project or start
    relative: list[str | None] = []
    for number, picture in enumerate(items.pictures):
        path = None if picture is None else Path(_normal(start / picture))
        if path is not None and not path.is_relative_to(folder):
            raise RamifyError(
                f"{items.where(number)}: the picture {picture!r} lies outside of {folder}, where this project's "
                "pictures are: move it there" + (", or name another folder with --images" if project is None else "")
            )
        relative.append(None if path is None else path.relative_to(folder).as_posix())
    return folder, relative


def _normal(path: Path) -> str:
    """Without ``..``, so that what leaves a folder is seen; links are followed only when a picture is opened."""
    return os.path.normpath(path)


def _known(store: Store, items: Items, pictures: list[str | None]) -> dict[int, int]:
    """The number in the project of each item that is there already; refuses one that has changed."""
    if not len(store):
        return {}
    number_of = {name: number for number, name in enumerate(store.all_ids().tolist())}
    known = {place: number_of[name] for place, name in enumerate(items.ids) if name in number_of}
    for (place, _), there in zip(known.items(), store.items(list(known.values())), strict=True):
        for what, said, kept in (("text", items.texts[place], there.text), ("picture", pictures[place], there.picture)):
            if said is not None and said != kept:
                raise RamifyError(
                    f"{items.where(place)}: the item {there.id!r} is in the project already, with another {what}: "
                    "give the new one another id, or leave it out"
                )
    return known
