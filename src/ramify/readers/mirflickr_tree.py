"""MIRFLICKR-25k as three levels: the groups, their wide labels, and below these the same in the narrower sense."""

from pathlib import Path

import numpy as np

from ramify.readers.items import Items
from ramify.readers.known import labels_of
from ramify.readers.mirflickr import GROUPS, LABELS, NARROW, items_of, matches, read_labels
from ramify.taxonomy import Taxonomy

__all__ = ["matches", "read"]


def read(path: Path) -> Items:
    """The 25 000 images with ``baby_r1`` below ``baby`` below ``people``; all labels are known.

    A wide label has images that are not in its narrower sense, so it is not exhaustive, while the groups are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for label in LABELS:
    ...         _ = Path(folder, f"{label}.txt").write_text("1\\n" if label == "baby" else "1\\n2\\n")
    ...     items = read(Path(folder))
    >>> items.labels.states(1, ["people > baby", "baby_r1"]).tolist(), items.notes[0]
    ([[1, 1]], '1 images are in baby_r1.txt but not in baby.txt: they count as baby too')
    """
    wide = {group: [label for label in labels if not label.endswith(NARROW)] for group, labels in GROUPS.items()}
    taxonomy = Taxonomy(
        {
            group: {"exhaustive": True, "children": {x: [x + NARROW] if x + NARROW in LABELS else None for x in labels}}
            for group, labels in wide.items()
        }
    )
    column = {label: number for number, label in enumerate(LABELS)}
    truth = read_labels(path)
    notes: list[str] = []
    states = np.zeros((len(truth), len(taxonomy)), np.int8)
    for group, labels in wide.items():
        for label in labels:
            relevant = truth[:, column[label]] > 0
            if label + NARROW in column:
                narrow = truth[:, column[label + NARROW]] > 0
                beyond = int((narrow & ~relevant).sum())
                if beyond:
                    notes.append(
                        f"{beyond} images are in {label + NARROW}.txt but not in {label}.txt: they count as {label} too"
                    )
                relevant |= narrow
                states[:, taxonomy.index([group, label, label + NARROW])] = narrow
            states[:, taxonomy.index([group, label])] = relevant
            states[:, taxonomy.index(group)] |= relevant
    return items_of(path, labels_of(taxonomy, states, lambda n: f"{path}, image {n + 1}"), truth, *notes)
