"""The names of a project's concepts as vectors: read by its embedder when a model is trained, or given in a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ramify.concepts import read_file, take_templates
from ramify.data import NameVectors
from ramify.data.bundle import as_names
from ramify.embed.names import name_vectors
from ramify.errors import RamifyError
from ramify.files import read_npz, write_npz
from ramify.project.store.backup import NAMES
from ramify.project.store.store import Store
from ramify.project.transfer.features import GIVEN, used_embedder
from ramify.taxonomy import Taxonomy

__all__ = ["TEMPLATES", "ReadNames", "file_templates", "give_names", "read_names"]

TEMPLATES = "templates"  # the setting
FOLDER = "names"  # what was embedded of them, so that training again needs no encoder
LISTED = 3  # concepts named in a sentence


@dataclass(frozen=True)
class ReadNames:
    """The vectors of a project's names, and in words where they come from, or why there are none."""

    vectors: NameVectors | None
    said: str


def read_names(store: Store, templates: Sequence[str] | None = None) -> ReadNames:
    """Read the names of the concepts as they are now: those that were given, or else by the project's embedder.

    Templates are those that are given, or kept, or else the embedder's own. Names that cannot be read are told and left
    out: a model learns without them too.
    """
    features, contents = store.features(), store.contents
    width = None if features is None else features.shape[1]
    used, filled = store.setting("embed", GIVEN), store.setting(TEMPLATES) if templates is None else templates
    try:
        if (store.folder / NAMES).is_file():
            return _given(store, width)
        how = f"give vectors with `ramify names {store.folder} FILE`"
        if used == GIVEN:
            return ReadNames(None, f"none, since the features come from files: {how}")
        by = used_embedder(store, used)
        if not by.reads_names:
            return ReadNames(None, f"none, since {used} reads no texts: {how}")
        vectors, unknown = name_vectors(contents.taxonomy, by, filled, store.folder / FOLDER)
        vectors.check(contents.taxonomy, width)
    except RamifyError as error:
        return ReadNames(None, f"left out, {error}")
    but = f"; it knows no word of {len(unknown)} ({_some(unknown)})" if unknown else ""
    return ReadNames(vectors, f"{len(contents.taxonomy)} concepts read by {used}, {_space(vectors)}{but}")


def give_names(store: Store, source: Any, *, other_space: bool = False) -> int:
    """Keep the vectors of all concepts' names, from an .npz file with ``concepts`` and ``vectors``, or a mapping.

    They are kept by the ids of the concepts, which never change. They lie in the space of the features where they are
    as wide, unless ``other_space`` says that they do not. Returns how many there are.
    """
    store.database.check_writable()
    store.refresh()
    if isinstance(source, Mapping):
        where, concepts = "the mapping", list(source)
        widths = {np.shape(vector) for vector in source.values()}
        if len(widths) > 1:
            raise RamifyError(f"{where}: the vectors have the shapes {sorted(widths)}: give all the same width")
        vectors: Any = np.array(list(source.values()))
    else:
        where, arrays = str(source), read_npz(source, ("concepts", "vectors"))
        concepts, vectors = as_names(arrays["concepts"], "concepts").tolist(), arrays["vectors"]
    try:
        ordered = _ordered(store.taxonomy, concepts, vectors)
        names = NameVectors.of(store.taxonomy, ordered, shared=False)
    except RamifyError as error:
        raise RamifyError(f"{where}: {error}") from None
    kept: dict[str, Any] = {"ids": store.id_of, "vectors": names.vectors, "other_space": np.array(other_space)}
    write_npz(store.folder / NAMES, kept)
    return len(names.vectors)


def file_templates(taxonomy: str | Path) -> list[str] | None:
    """The templates at the top of a taxonomy file, None where it says nothing of them."""
    try:
        return take_templates(read_file(Path(taxonomy)))[1]
    except RamifyError as error:
        raise RamifyError(f"{taxonomy}: {error}") from None


def _ordered(taxonomy: Taxonomy, concepts: Sequence[str], vectors: Any) -> Any:
    """The vectors in the order of the concepts' numbers: there must be one for each, named in any way."""
    if np.ndim(vectors) != 2 or len(vectors) != len(concepts):
        raise RamifyError(
            f"vectors has the shape {np.shape(vectors)} for {len(concepts)} concepts: give one row for each"
        )
    place_of: dict[int, int] = {}
    for place, concept in enumerate(concepts):
        number = taxonomy.index(concept)
        if number in place_of:
            raise RamifyError(f"the concept {taxonomy.path(number)!r} has two vectors: give it one")
        place_of[number] = place
    missing = [taxonomy.path(number) for number in taxonomy.preorder.tolist() if number not in place_of]
    if missing:
        raise RamifyError(
            f"{len(missing)} concepts have no vector ({_some(missing)}): give one for every concept, coarse ones too"
        )
    return vectors[[place_of[number] for number in range(len(taxonomy))]]


def _given(store: Store, width: int | None) -> ReadNames:
    arrays = read_npz(store.folder / NAMES, ("ids", "vectors", "other_space"))
    contents, place_of = store.contents, {stable: place for place, stable in enumerate(arrays["ids"].tolist())}
    missing = [contents.taxonomy.path(n) for n, stable in enumerate(contents.id_of.tolist()) if stable not in place_of]
    if missing:
        return ReadNames(
            None,
            f"left out, {len(missing)} concepts have no vector ({_some(missing)}): "
            f"give all of them again with `ramify names {store.folder} FILE`",
        )
    rows = arrays["vectors"][[place_of[stable] for stable in contents.id_of.tolist()]]
    vectors = NameVectors.of(contents.taxonomy, rows, shared=not arrays["other_space"] and rows.shape[1] == width)
    return ReadNames(vectors, f"{len(rows)} concepts as they were given, {_space(vectors)}")


def _space(vectors: NameVectors) -> str:
    return "in the items' own space" if vectors.shared else "in another space than the items"


def _some(paths: Sequence[str]) -> str:
    return ", ".join(map(repr, paths[:LISTED])) + (", ..." if len(paths) > LISTED else "")
