"""Features for any source, outside of projects: an .npy file with a row for each item, in the order of the source."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ramify.embed import default_embedder, embed, embedder
from ramify.embed.base import digest
from ramify.engine import check
from ramify.errors import RamifyError
from ramify.files import disk_troubles, whole_file
from ramify.readers.folder import find_pictures
from ramify.readers.formats import format_of, path_of, read_source
from ramify.readers.guessing import guess_layout
from ramify.readers.rows import read_rows
from ramify.readers.table import texts_of

__all__ = ["Embedded", "embed_source"]

LISTED = 5  # items that cannot be read, in a sentence


@dataclass(frozen=True)
class Embedded:
    """What ``embed_source`` made."""

    rows: int
    columns: int
    by: str
    """The embedder."""


@dataclass(frozen=True)
class _Contents:
    """What can be embedded of a source."""

    where: Callable[[int], str]
    texts: list[str | None]
    pictures: list[str | None]


def embed_source(
    source: str | Path,
    out: Path,
    *,
    by: str | None = None,
    images: str | Path | None = None,
    text: str | None = None,
    picture: str | None = None,
    how: str = "serial",
    progress: Callable[[str, int, int], None] | None = None,
) -> Embedded:
    """Write a row of features for each item of a table, a folder of pictures or a file of another tool.

    ``by`` names the embedder, ``text`` or ``picture`` the column of a table; else both are guessed. What an interrupted
    call has embedded is found again by the next. ``how`` is the engine.
    """
    check(how)
    contents = _contents(source, text, picture)
    if by is None and any(contents.texts) and any(contents.pictures):
        raise RamifyError(f"{source} has both texts and pictures: say by which it is embedded, --with text or pictures")
    used = embedder(by or default_embedder(texts=any(contents.texts)))
    start = path_of(source)
    folder = (Path(images) if images is not None else start if start.is_dir() else start.parent).absolute()
    values: list[str] = []
    for number, value in enumerate(contents.texts if used.reads == "text" else contents.pictures):
        if value is None:
            missing = f"it has no {used.reads}, which {used.name} needs"
            raise RamifyError(f"{contents.where(number)}: {missing}: leave it out, or choose another with --with")
        values.append(value if used.reads == "text" else str(folder / value))
    parts = out.with_name(f".{out.name}.parts")
    with disk_troubles(out):
        if used.fits and progress is not None:
            progress("Learning the words", 0, len(values))
        used.fit(values)
        report = None if progress is None else lambda done, total: progress("Embedding", done, total)
        rows, wrong = embed(used, values, parts / digest(used.fingerprint()), report, how)
    if wrong:
        listed = [f"{contents.where(number)}: {why}" for number, why in sorted(wrong.items())][:LISTED]
        more = ", ..." if len(wrong) > LISTED else ""
        raise RamifyError(f"{len(wrong)} of {len(values)} items cannot be read: mend them ({'; '.join(listed)}{more})")
    with whole_file(out) as draft, draft.open("wb") as file:
        np.save(file, rows, allow_pickle=False)
    shutil.rmtree(parts, ignore_errors=True)
    return Embedded(len(rows), rows.shape[1], used.name)


def _contents(source: str | Path, text: str | None, picture: str | None) -> _Contents:
    if format_of(source) is not None:
        items = read_source(source)
        return _Contents(items.where, items.texts, items.pictures)
    path = Path(source)
    if path.is_dir():
        files = [file.as_posix() for file in find_pictures(path)[0]]
        return _Contents(lambda number: str(path / files[number]), [None] * len(files), list(files))
    rows = read_rows(path)
    layout = guess_layout(rows)
    if text is not None or picture is not None:
        layout = replace(layout, text=text, picture=picture)
    for name in (layout.text, layout.picture):
        if name is not None and name not in rows.columns:
            raise RamifyError(f"{path}: there is no column {name!r}, only {', '.join(map(repr, rows.columns))}")
    if layout.text is None and layout.picture is None:
        raise RamifyError(f"{path}: no column seems to hold texts or pictures: name one with --text or --picture")
    return _Contents(rows.where, texts_of(rows, layout.text), texts_of(rows, layout.picture))
