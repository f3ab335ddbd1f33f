"""Files of other tools, which bring their own concepts. A new format is one file beside this one and one line here.

A format's module has ``matches(path)``, which looks at no more than it must, and ``read(path)``, which gives Items
with labels about the concepts of the file.
"""

from pathlib import Path
from typing import Protocol

from ramify.errors import RamifyError
from ramify.readers import arff, coco, fiftyone, hugging_face, label_studio, mirflickr, mirflickr_tree, open_images
from ramify.readers.items import Items

__all__ = ["FORMATS", "Format", "format_of", "path_of", "read_source"]


class Format(Protocol):
    """What the module of a format has."""

    def matches(self, path: Path) -> bool:
        """Whether this file or folder is of the format, as far as a short look tells."""

    def read(self, path: Path) -> Items:
        """Its items, with labels about its own concepts."""


FORMATS: dict[str, Format] = {
    "label-studio": label_studio,
    "coco": coco,
    "fiftyone": fiftyone,
    "open-images": open_images,
    "arff": arff,
    "hugging-face": hugging_face,
    "mirflickr": mirflickr,
    "mirflickr-tree": mirflickr_tree,
}
"""By the name that may stand before a path (``coco:instances.json``), in the order in which they are tried."""


def format_of(source: str | Path) -> tuple[Format, Path] | None:
    """The format of a source (by the name before it, or else by what it holds) and its path; None where it has none."""
    name, _, path = str(source).partition(":")
    if name in FORMATS and path and not Path(source).exists():
        return FORMATS[name], Path(path)
    found = Path(source)
    for form in FORMATS.values() if found.exists() else ():
        if form.matches(found):
            return form, found
    return None


def path_of(source: str | Path) -> Path:
    """Where a source lies, without the name of a format before it.

    >>> path_of("coco:instances.json").name, path_of("items.csv").name
    ('instances.json', 'items.csv')
    """
    found = format_of(source)
    return Path(source) if found is None else found[1]


def read_source(source: str | Path) -> Items:
    """The items of a source, about its own concepts."""
    found = format_of(source)
    if found is None:
        raise RamifyError(
            f"{source}: this is of no known format: Ramify reads {', '.join(FORMATS)}, tables and folders of pictures"
        )
    form, path = found
    if not path.exists():
        raise RamifyError(f"{path}: there is no such file or folder")
    return form.read(path)
