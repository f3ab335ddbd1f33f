"""What a table or a folder seems to be, for somebody who has said nothing of it yet: columns, and concepts."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from ramify.concepts import ARROW, loose_name
from ramify.errors import RamifyError
from ramify.readers.columns import LABEL_COLUMNS, PICTURE_COLUMNS, Layout, refuse_entries, says_yes_or_no
from ramify.readers.folder import PICTURES, find_pictures
from ramify.readers.rows import FORMATS, NAMELESS, Rows, as_text, is_empty
from ramify.readers.table_labels import split_names
from ramify.taxonomy import Taxonomy

__all__ = ["folder_concepts", "guess_layout", "table_concepts"]

LISTS = (
    *LABEL_COLUMNS,
    *("label", "category", "categories", "coarse", "fine", "class", "classes", "supercategory", "subcategory"),
    *("topic", "topics", "group", "groups", "tag", "tags", "type", "kind"),
)
"""Columns that list labels, by their names, large and small letters alike."""
TITLE = "title"
TEXTS = ("text", "comment", "caption", "sentence", "review", "description", "body", "content", "message", TITLE)
FILES = (*PICTURE_COLUMNS, "file", "file_name", "filename")
USUAL = ("id", *TEXTS, *FILES)  # no concepts, whatever they hold
SENTENCE = 20  # letters: texts are longer on average
PARTS = ("train", "training", "dev", "val", "valid", "validation", "test", "data", "images")  # folders of no concept
FEW, REPEATED, LONGEST_NAME = 100, 4, 60  # labels: so many at most, each so often on average, of so many letters
MOST = 500  # labels that a column can have without being something else


def guess_layout(
    rows: Rows,
    taxonomy: Taxonomy | None = None,
    *,
    id: str | None = None,  # noqa: A002 - as Layout calls it
    text: str | None = None,
    picture: str | None = None,
    labels: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Layout:
    """Which column of a table seems to be what; ``id`` is None where no column names each row.

    Lists of labels are known by their names; by what they list, where it is concepts of a taxonomy; or else, where no
    column is called like labels, by few texts that stand there again and again. What is given needs no guess.

    >>> table = {"file": ["a.jpg", "b.jpg"], "coarse": ["animal;food", "food"], "size": ["12", "13"]}
    >>> layout = guess_layout(Rows(Path("t.csv"), table, range(2)))
    >>> layout.id, layout.picture, layout.labels, layout.ignore
    ('file', 'file', ('coarse',), ('size',))
    """
    given = {id, text, picture, *labels, *ignore} - {None}
    missing = [name for name in given if name not in rows.columns]
    if missing:
        raise RamifyError(f"{rows.path}: there is no column {missing[0]!r}, only {', '.join(map(repr, rows.columns))}")
    refuse_entries(rows, ignore)
    names = [name for name in rows.columns if not name.startswith(NAMELESS) and name not in given]
    concepts = [name for name in names if name.casefold() not in USUAL and says_yes_or_no(rows.columns[name])]
    lists = [name for name in names if name not in concepts and _is_list(name, rows.columns[name], taxonomy)]
    lists = list(labels) or lists
    others = [name for name in names if name not in {*lists, *concepts}]
    files = [name for name in _usual_first(others, FILES) if _pictures(rows.columns[name])]
    picture = picture or (None if text else next(iter(files), None))
    others = [name for name in others if name != picture]
    text = text or _text(others, rows)
    if not lists and not concepts:
        lists = [name for name in others if name != text and _repeats(rows.columns[name])][:1]
    free = [name for name in names if name not in {*lists, *concepts, text}]
    unique = [name for name in free if _unique(rows.columns[name])]
    named = [name for name in unique if name == picture or name.casefold().endswith("id")]
    written = [name for name in unique if all(isinstance(value, str) for value in rows.columns[name])]
    first = [*(name for name in named if name.casefold() == "id"), *named, *written]
    identity = id or next(iter(first), picture if picture and _unique(rows.columns.get(picture, [])) else None)
    rest = [name for name in rows.columns if name not in {*lists, *concepts, text, picture, identity}]
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
    paths = [_path(name) for name in columns]
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
        tables = sorted(path for path in folder.iterdir() if path.suffix.lower().lstrip(".") in FORMATS)
        there = f"give the table that lies in it, {tables[0]}, or " if tables else ""
        raise RamifyError(
            f"{folder}: its pictures lie in no folders that would say what they show: {there}give a file of concepts "
            "with --taxonomy"
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


def _text(names: Sequence[str], rows: Rows) -> str | None:
    """The column of texts that people read: one that is called so, or the longest; a title if there is nothing else."""
    texts = {
        name: [value for value in rows.columns[name] if isinstance(value, str) and value.strip()] for name in names
    }
    lengths = {name: sum(map(len, said)) / len(said) for name, said in texts.items() if said}
    read = [name for name in lengths if lengths[name] >= SENTENCE and any(" " in text for text in texts[name])]
    differ = [name for name in read if len(set(texts[name])) > len(texts[name]) / 2]
    called = [name for name in _usual_first(list(lengths), TEXTS) if name.casefold() in TEXTS]
    titles = [name for name in called if name.casefold() == TITLE]
    bodies = [name for name in called if name not in titles]
    return next(iter([*bodies, *sorted(differ, key=lambda name: -lengths[name]), *titles]), None)


def _is_list(name: str, values: Sequence[Any], taxonomy: Taxonomy | None) -> bool:
    """Whether a column lists labels, by its name or by the concepts that it lists."""
    listed = _listed(values)
    if not listed or len(listed) > MOST:
        return False
    if name.casefold() in LISTS:
        return True
    return taxonomy is not None and sum(bool(taxonomy.called(label)) for label in listed) > len(listed) / 2


def _repeats(values: Sequence[Any]) -> bool:
    """Whether these are a few short texts that stand there again and again."""
    texts = [value for value in values if isinstance(value, str) and not is_empty(value)]
    few = len(set(texts)) <= min(FEW, len(texts) / REPEATED)
    return bool(texts) and few and max(map(len, texts)) <= LONGEST_NAME and not any(map(_is_number, set(texts)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _pictures(values: Sequence[Any]) -> bool:
    """Whether most values are names of files with pictures."""
    named = [Path(text).suffix.lower() in PICTURES for value in values if (text := as_text(value)) is not None]
    return bool(named) and sum(named) > len(named) / 2


def _unique(values: Sequence[Any]) -> bool:
    names = [as_text(value) for value in values if not isinstance(value, list | dict | bool)]
    return len(names) == len(values) and None not in names and len(set(names)) == len(names)


def _rows_of(values: Sequence[Any], separator: str | None = None) -> list[list[str]]:
    """The names in each cell of a list of labels."""
    first: dict[str, str] = {}  # as it was written first: large and small letters are alike
    return [
        [
            first.setdefault(loose_name(name), name)
            for name in (map(str, value) if isinstance(value, list) else split_names(as_text(value) or "", separator))
        ]
        for value in values
    ]


def _listed(values: Sequence[Any], separator: str | None = None) -> dict[str, None]:
    names = dict.fromkeys(name for names in _rows_of(values, separator) for name in names)
    names.pop("none", None)
    return names
