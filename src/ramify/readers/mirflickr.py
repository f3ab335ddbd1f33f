"""MIRFLICKR-25k: a folder with a file of image numbers for each label, read as the paper's two levels."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ramify.data.bundle import known_labels
from ramify.errors import RamifyError
from ramify.files import readable
from ramify.labels import Labels
from ramify.readers.items import Items
from ramify.taxonomy import Taxonomy

__all__ = ["FOLDER", "GROUPS", "IMAGES", "LABELS", "NARROW", "items_of", "matches", "read", "read_labels"]

IMAGES = 25_000
FOLDER = "mirflickr25k_annotations_v080"
NARROW = "_r1"  # the same label in its narrower sense: images in which it is what one sees first
GROUPS: Mapping[str, tuple[str, ...]] = {
    "sky": ("clouds", "clouds_r1", "sky", "sunset"),
    "water": ("lake", "river", "river_r1", "sea", "sea_r1", "water"),
    "people": (
        *("baby", "baby_r1", "female", "female_r1", "male", "male_r1"),
        *("people", "people_r1", "portrait", "portrait_r1"),
    ),
    "night": ("night", "night_r1"),
    "plant_life": ("flower", "flower_r1", "plant_life", "tree", "tree_r1"),
    "animals": ("animals", "bird", "bird_r1", "dog", "dog_r1"),
    "structures": ("structures",),
    "transport": ("car", "car_r1", "transport"),
    "indoor": ("indoor",),
    "food": ("food",),
}
"""The 38 labels below the 10 coarse concepts that the paper groups them in."""
LABELS = tuple(sorted(label for labels in GROUPS.values() for label in labels))
"""All of them, in the order of the alphabet."""
ENOUGH = 3  # label files by which the folder is known


def matches(path: Path) -> bool:
    """Whether a folder holds the label files, or the folder that does; some may be missing, which is then told."""
    folder = _folder(path)
    found = [label for label in LABELS if (folder / f"{label}.txt").is_file()]
    return len(found) >= ENOUGH and any(label.endswith(NARROW) for label in found)


def read(path: Path) -> Items:
    """The 25 000 images with 38 fine concepts below 10 coarse ones; all labels are known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for label in LABELS:
    ...         _ = Path(folder, f"{label}.txt").write_text("25000\\n" if label == "baby" else "1\\n2\\n")
    ...     items = read(Path(folder))
    >>> items.labels, items.labels.states(24_999, ["people", "baby", "baby_r1"]).tolist()
    (<Labels: 25000 items, 10 coarse and 38 fine concepts, 0 unknown of 86 open entries>, [[1, 1, 0]])
    """
    truth = read_labels(path)
    coarse = list(GROUPS)
    parents = [len(LABELS) + next(n for n, name in enumerate(coarse) if label in GROUPS[name]) for label in LABELS]
    taxonomy = Taxonomy.from_arrays([*LABELS, *coarse], [*parents, *[-1] * len(coarse)], exhaustive=True)
    return items_of(path, known_labels(taxonomy, truth), truth)


def read_labels(path: Path) -> NDArray[np.uint8]:
    """Which images carry which of the labels: images x labels in the order of the alphabet."""
    folder = _folder(path)
    missing = [f"{label}.txt" for label in LABELS if not (folder / f"{label}.txt").is_file()]
    if missing:
        some = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise RamifyError(
            f"{folder}: {len(missing)} of the {len(LABELS)} label files are missing ({some}): unpack {FOLDER} again"
        )
    truth = np.zeros((IMAGES, len(LABELS)), np.uint8)
    for column, label in enumerate(LABELS):
        truth[_numbers(folder / f"{label}.txt"), column] = 1
    return truth


def _numbers(path: Path) -> list[int]:
    with readable(path) as file:
        lines = file.read().splitlines()
    places: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if not re.fullmatch(rb"\s*[0-9]{1,9}\s*", line) or not 1 <= int(line) <= IMAGES:
            said = line.strip()[:40].decode(errors="replace")
            raise RamifyError(f"{path}, row {number}: {said!r} is no number of an image, from 1 to {IMAGES}: mend it")
        places.append(int(line) - 1)
    if not places:
        raise RamifyError(f"{path}: the file is empty: unpack {FOLDER} again")
    return places


def items_of(path: Path, labels: Labels, truth: NDArray[np.uint8], *notes: str) -> Items:
    """The images with these labels, and their pictures where they lie in the folder or beside it."""
    folder = _folder(path)
    told = list(notes)
    bare = int((~truth.any(axis=1)).sum())
    if bare:
        told.append(f"{bare} images carry no label: all were looked at, so no concept is relevant to them")
    others = sorted({file.name for file in folder.glob("*.txt")} - {f"{label}.txt" for label in (*LABELS, "README")})
    if others:
        told.append(f"files of other labels were not read: {', '.join(others)}")
    places = (path, path / "mirflickr", folder.parent / "mirflickr", folder.parent)
    images = next((place for place in places if (place / "im1.jpg").is_file()), None)
    there = set(os.listdir(images)) if images is not None else set()
    names = [f"im{number}.jpg" for number in range(1, IMAGES + 1)]
    if images is not None and images != path:
        told.append(f"the pictures are in {images}: name this folder with --images")
    return Items(
        lambda number: f"{path}, image {number + 1}",
        [str(number) for number in range(1, IMAGES + 1)],
        [None] * IMAGES,
        [name if name in there else None for name in names],
        labels,
        notes=tuple(told),
    )


def _folder(path: Path) -> Path:
    """Where the label files lie: in the folder itself, or in the one of the name they are handed out by."""
    return path / FOLDER if (path / FOLDER).is_dir() else path
