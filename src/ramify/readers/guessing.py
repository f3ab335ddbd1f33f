"""What a table or a folder seems to be, for somebody who has said nothing of it yet: columns, and concepts."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from ramify.concepts import ARROW
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN
from ramify.readers.columns import LABEL_COLUMNS, PICTURE_COLUMNS, Layout, yes_or_no
from ramify.readers.folder import PICTURES, find_pictures
from ramify.readers.rows import NAMELESS, Rows, as_text, is_empty
from ramify.readers.table_labels import split_names
from ramify.taxonomy import Taxonomy

__all__ = ["folder_concepts", "guess_layout", "table_concepts"]

LISTS = (
    *LABEL_COLUMNS,
    *("label", "category", "categories", "coarse", "fine", "class", "classes", "supercategory", "subcategory"),
    *("topic", "topics", "group", "groups", "tag", "tags", "type", "kind"),
)
"""Columns that list labels, by their names, large and small letters alike."""
TEXTS = ("text", "comment", "caption", "sentence", "review", "description", "body", "content", "message", "title")
FILES = (*PICTURE_COLUMNS, "file", "file_name", "filename")
SENTENCE = 20  # letters: texts are longer on average
PARTS = ("train", "training", "dev", "val", "valid", "validation", "test", "data", "images")  # folders of no concept
MOST = 500  # labels that a column can have without being something else


def guess_layout(rows: Rows) -> Layout:
    """Which column of a table seems to be what; ``id`` is None where no column names each row.

    >>> table = {"file": ["a.jpg", "b.jpg"], "coarse": ["animal;food", "food"], "size": ["12", "13"]}
    >>> layout = guess_layout(Rows(Path("t.csv"), table, range(2)))
    >>> layout.id, layout.picture, layout.labels, layout.ignore
    ('file', 'file', ('coarse',), ('size',))
    """
    names = [name for name in rows.columns if not name.startswith(NAMELESS)]
    lists = [name for name in names if name.casefold() in LISTS and len(_listed(rows.columns[name])) <= MOST]
    others = [name for name in names if name not in lists]
    picture = next((name for name in _usual_first(others, FILES) if _pictures(rows.columns[name])), None)
    text = next((name for name in _usual_first(others, TEXTS) if _is_text(name, rows.columns[name])), None)
    taken = {picture, text, *lists}
    candidates = [name for name in names if name not in lists and name != text and _unique(rows.columns[name])]
    ids = [name for name in candidates if name.casefold() == "id"] or [
        name for name in candidates if name == picture or name.casefold().endswith("id")
    ]
    identity = ids[0] if ids else None
    concepts = [name for name in names if name not in {*taken, identity} and _says_yes_or_no(rows.columns[name])]
    rest = [name for name in rows.columns if name not in {*taken, identity, *concepts}]
    return Layout(identity, text, picture, tuple(rest), tuple(lists))


def table_concepts(rows: Rows, layout: Layout) -> Taxonomy:
    """The concepts that a table names: in columns of yes and no, in lists, and one list above another.

    Where there are two lists, the one with fewer names is the coarser; a fine concept belongs to the rarest coarse one
    that is there (nearly) always when it is.

    >>> table = {"coarse": ["animal", "animal;food", "food"], "fine": ["cat", "cat;apple", "apple"]}
    >>> print(table_concepts(Rows(Path("t.csv"), table, range(3)), Layout(None, labels=("coarse", "fine"))))
    animal
    └── cat
    food
    └── apple
    """
    known = {layout.id, layout.text, layout.picture, *layout.labels, *layout.ignore}
    columns = [name for name in rows.columns if name not in known]
    lists = sorted((_listed(rows.columns[name], layout.separator) for name in layout.labels), key=len)
    if not columns and not lists:
        raise RamifyError(f"{rows.path}: no column holds labels: give a file of concepts with --taxonomy")
    paths = [(name,) for name in columns]
    if len(lists) == 2 and not any(ARROW.strip() in name for names in lists for name in names):
        coarse, fine = (_rows_of(rows.columns[name], layout.separator) for name in _by_size(rows, layout))
        paired = _below(coarse, fine)
        return _tree([*paths, *paired], _always(paired, coarse, fine))
    return _tree([*paths, *(_path(name) for names in lists for name in names)])


def folder_concepts(folder: Path) -> Taxonomy:
    """The concepts that the folders of pictures are called by, one below the other as the folders are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("animal/cat", "animal/dog", "food"):
    ...         Path(folder, name).mkdir(parents=True)
    ...         _ = Path(folder, name, "1.png").write_bytes(b"")
    ...     print(folder_concepts(Path(folder)))
    animal
    ├── cat
    └── dog
    food
    """
    folders = dict.fromkeys(path.parent.parts for path in find_pictures(folder)[0])
    paths = [tuple(name for name in parts if name.casefold() not in PARTS) for parts in folders]
    named = [path for path in paths if path]
    if not named:
        raise RamifyError(
            f"{folder}: its pictures lie in no folders that would say what they show: give a file of concepts with "
            "--taxonomy"
        )
    return _tree(named)


def _tree(paths: Iterable[Sequence[str]], exhaustive: Container[str] = ()) -> Taxonomy:
    """The taxonomy of all these paths, and of those above them; some roots have exhaustive children."""
    tree: dict[str, Any] = {}
    for path in paths:
        below = tree
        for depth, name in enumerate(path):
            said = below.setdefault(name, {"children": {}, "exhaustive": depth == 0 and name in exhaustive})
            below = said["children"]
    return Taxonomy(tree)


def _always(paths: Sequence[tuple[str, ...]], coarse: list[list[str]], fine: list[list[str]]) -> set[str]:
    """The coarse names that never stand without one of their finer ones, where a row lists any fine one at all."""
    below = {path[0]: {other[1] for other in paths if len(other) == 2 and other[0] == path[0]} for path in paths}
    rows = [(tops, set(names)) for tops, names in zip(coarse, fine, strict=True) if names]
    alone = {top for tops, names in rows for top in tops if not below[top] & names}
    return {top for tops, _ in rows for top in tops} - alone


def _path(name: str) -> tuple[str, ...]:
    """The steps of a path such as ``animal > dog``."""
    return tuple(step.strip() for step in name.split(ARROW.strip()) if step.strip())


def _below(coarse: list[list[str]], fine: list[list[str]]) -> list[tuple[str, ...]]:
    """The path of every coarse and every fine name, by which stand in the same rows."""
    often = Counter(name for names in coarse for name in dict.fromkeys(names))
    both = Counter(
        (above, name) for tops, names in zip(coarse, fine, strict=True) for above in set(tops) for name in set(names)
    )
    paths: list[tuple[str, ...]] = [(above,) for above in often]
    for name in dict.fromkeys(name for names in fine for name in names):
        beside = {above: both[above, name] for above in often if both[above, name]}
        if not beside:
            paths.append((name,))
            continue
        always = max(beside.values())
        paths.append((min((above for above, times in beside.items() if times == always), key=often.__getitem__), name))
    return paths


def _by_size(rows: Rows, layout: Layout) -> list[str]:
    return sorted(layout.labels, key=lambda name: len(_listed(rows.columns[name], layout.separator)))


def _usual_first(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The names in their order, but the usual ones first."""
    return sorted(names, key=lambda name: usual.index(name.casefold()) if name.casefold() in usual else len(usual))


def _is_text(name: str, values: Sequence[Any]) -> bool:
    """Whether these are texts that people read: by their name, or because they are long and most of them differ."""
    texts = [value for value in values if isinstance(value, str) and not is_empty(value)]
    if name.casefold() in TEXTS:
        return bool(texts)
    long = bool(texts) and sum(map(len, texts)) / len(texts) >= SENTENCE and any(" " in text for text in texts)
    return long and len(set(texts)) > len(texts) / 2


def _pictures(values: Sequence[Any]) -> bool:
    """Whether most values are names of files with pictures."""
    named = [Path(text).suffix.lower() in PICTURES for value in values if (text := as_text(value)) is not None]
    return bool(named) and sum(named) > len(named) / 2


def _unique(values: Sequence[Any]) -> bool:
    names = [as_text(value) for value in values if not isinstance(value, list | dict | bool)]
    return len(names) == len(values) and None not in names and len(set(names)) == len(names)


def _says_yes_or_no(values: Sequence[Any]) -> bool:
    said = [yes_or_no(value) for value in values]
    return None not in said and any(value != UNKNOWN for value in said)


def _rows_of(values: Sequence[Any], separator: str | None = None) -> list[list[str]]:
    """The names in each cell of a list of labels."""
    return [
        [str(name).strip() for name in value]
        if isinstance(value, list)
        else split_names(as_text(value) or "", separator)
        for value in values
    ]


def _listed(values: Sequence[Any], separator: str | None = None) -> dict[str, None]:
    names = dict.fromkeys(name for names in _rows_of(values, separator) for name in names)
    names.pop("none", None)
    return names
