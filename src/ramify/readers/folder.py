"""Items from a folder of pictures: each picture is one, and the folders it lies in may say what it shows."""

import re
from pathlib import Path

import numpy as np
from PIL import Image

from ramify.concepts import HALF
from ramify.errors import RamifyError
from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN, Labels
from ramify.readers.columns import Layout
from ramify.readers.items import Items
from ramify.taxonomy import Taxonomy

__all__ = ["read_folder"]


def read_folder(folder: str | Path, taxonomy: Taxonomy, layout: Layout | None = None) -> Items:
    """Every picture in a folder and those below it; its id is its path.

    A folder called like a concept says that its pictures show it, and no coarse concept but those; pictures that lie
    elsewhere say nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "cat").mkdir()
    ...     Image.new("RGB", (8, 8)).save(Path(folder, "cat", "tom.png"))
    ...     items = read_folder(folder, Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]}))
    >>> items.ids, items.labels.states().tolist()
    (['cat/tom.png'], [[1, -1, 0]])
    """
    folder, layout = Path(folder), layout or Layout()
    endings = {ending for ending, kind in Image.registered_extensions().items() if kind in Image.OPEN}
    pictures = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.suffix.lower() in endings)
    pictures = [path for path in pictures if not any(part.startswith(".") for part in path.parts)]
    if not pictures:
        raise RamifyError(f"{folder}: there is no picture in this folder: give the folder that holds them")
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
            shown = taxonomy.indices(named).tolist()
        except RamifyError as error:
            raise RamifyError(f"{folder / path.parent}: {error}") from None
        if shown and not layout.partial:
            coarse[number] = IRRELEVANT
        for concept in shown:
            root = int([*taxonomy.ancestors(concept), concept][0])
            coarse[number, place[root]] = RELEVANT
            if concept != root:
                finer.append((number, concept))
    labels = Labels(taxonomy, coarse)
    if finer:
        numbers, concepts = np.array(finer).T
        labels.record(numbers, concepts, RELEVANT, "imported")
    unlabelled = int((coarse == UNKNOWN).all(axis=1).sum())
    return Items(
        lambda number: str(folder / ids[number]), ids, [None] * len(ids), list(ids), labels, tuple(ignored), unlabelled
    )
