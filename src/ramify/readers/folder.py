"""Items from a folder of pictures: each picture is one, and the folders it lies in may say what it shows."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from ramify.concepts import ARROW, HALF
from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.readers.columns import Layout
from ramify.readers.items import Items
from ramify.taxonomy import Taxonomy

__all__ = ["PICTURES", "find_pictures", "read_folder"]


PICTURES = frozenset(ending for ending, kind in Image.registered_extensions().items() if kind in Image.OPEN)
"""How the names of files with pictures end."""


def read_folder(folder: str | Path, taxonomy: Taxonomy, layout: Layout | None = None) -> Items:
    """Every picture in a folder and those below it; its id is its path.

    A folder called like a concept says that its pictures show it, and no coarse concept but those; pictures that lie
    elsewhere say nothing. Links to folders are followed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "cat").mkdir()
    ...     Image.new("RGB", (8, 8)).save(Path(folder, "cat", "tom.png"))
    ...     items = read_folder(folder, Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]}))
    >>> items.ids, items.labels.states().tolist()
    (['cat/tom.png'], [[1, -1, 0]])
    """
    folder, layout = Path(folder), layout or Layout()
    pictures, notes = find_pictures(folder)
    ids = [path.as_posix() for path in pictures]
    foreign = next((name for name in ids if re.search(HALF, name)), None)
    if foreign is not None:
        raise RamifyError(f"{folder}: the name of the picture {foreign!r} is not UTF-8: rename it")
    coarse = np.full((len(ids), len(taxonomy.roots)), UNKNOWN, np.int8)
    place = {root: number for number, root in enumerate(taxonomy.roots.tolist())}
    ignored: dict[str, None] = {}
    finer: list[tuple[int, int]] = []
    for number, path in enumerate(pictures):
        named = [name for name in path.parent.parts if taxonomy.called(name)]
        ignored.update(dict.fromkeys(name for name in path.parent.parts if name not in named))
        try:
            whole = taxonomy.called(ARROW.join(named))
            shown = whole if len(whole) == 1 else taxonomy.indices(named).tolist()
        except RamifyError as error:
            raise RamifyError(f"{folder / path.parent}: {error}") from None
        if shown and not layout.partial:
            coarse[number] = IRRELEVANT
        for concept in shown:
            root = int(taxonomy.root_of[concept])
            coarse[number, place[root]] = RELEVANT
            if concept != root:
                finer.append((number, concept))
    labels = Labels(taxonomy, coarse)
    if finer:
        numbers, concepts = np.array(finer).T
        labels.record(numbers, concepts, RELEVANT, "imported")
    unlabelled = int((coarse == UNKNOWN).all(axis=1).sum())
    return Items(
        lambda number: str(folder / ids[number]),
        ids,
        [None] * len(ids),
        list(ids),
        labels,
        tuple(ignored),
        unlabelled,
        notes=notes,
    )


def find_pictures(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The pictures in a folder and those below it, relative to it, and a sentence on drawings that are left out."""
    files = list(_files(folder))
    pictures = sorted(path for path in files if path.suffix.lower() in PICTURES)
    drawn = sum(path.suffix.lower() == ".svg" for path in files)
    notes = (f"{drawn} .svg files are left out: they hold no pixels, so save them as .png",) if drawn else ()
    if not pictures:
        why = notes[0] if notes else "give the folder that holds them"
        raise RamifyError(f"{folder}: there is no picture in this folder: {why}")
    return pictures, notes


def _files(folder: Path) -> Iterator[Path]:
    """All files in a folder and those below it but hidden ones, relative to it.

    Links to folders are followed after everything else, so that a folder that is met twice is read once, by its own
    name, and one that leads back to where it lies ends there.
    """
    met: set[str] = set()
    waiting = [str(folder)]
    while waiting:
        start, links = waiting.pop(0), []
        for here, folders, names in os.walk(start):
            real = os.path.realpath(here)
            shown = [] if real in met else sorted(name for name in folders if not name.startswith("."))
            links += [path for name in shown if os.path.islink(path := os.path.join(here, name))]
            folders[:] = shown
            if real not in met:
                met.add(real)
                yield from (Path(here, name).relative_to(folder) for name in names if not name.startswith("."))
        waiting += links
