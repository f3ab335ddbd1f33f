"""Choices: a table in which one row asks which of several concepts apply to an item, as rows of single entries."""

from typing import Any

from ramify.errors import RamifyError
from ramify.labels import ANSWERS
from ramify.readers.rows import Rows, as_text, is_empty
from ramify.readers.table_labels import split_names
from ramify.taxonomy import Taxonomy

SEPARATOR = ";"
ANSWER_COLUMNS = ("id", "concept", "answer", "annotator", "model", "content")
CHOICE_COLUMNS = ("id", "group", "choices", "answer", "annotator", "model", "content")
SUSPECT_COLUMNS = ("id", "concept", "label", "doubt", "answer", "settles", "content")
NONE = "none"
SKIP = "skip"


def shortest_name(taxonomy: Taxonomy, concept: int) -> str:
    """A concept's name where no other bears it, else its path.

    >>> taxonomy = Taxonomy({"animal": ["cat", "other"], "food": ["other"]})
    >>> [shortest_name(taxonomy, taxonomy.index(path)) for path in ("cat", "food > other")]
    ['cat', 'food > other']
    """
    name = taxonomy.names[concept]
    try:
        return name if taxonomy.index(name) == concept else taxonomy.path(concept)
    except RamifyError:
        return taxonomy.path(concept)


def as_entries(rows: Rows, taxonomy: Taxonomy) -> Rows:
    """A table with a column ``choices`` as one of single entries; any other table as it is.

    The answer names those of the choices that apply, or ``none``; all others are answered no. ``skip`` skips all.
    """
    if "choices" not in rows.columns or "concept" in rows.columns:
        return rows
    if "answer" not in rows.columns:
        raise RamifyError(
            f"{rows.path}: there is no column 'answer': it names those of the choices that apply, or none"
        )
    kept = [name for name in rows.columns if name not in ("choices", "answer")]
    columns: dict[str, list[Any]] = {name: [] for name in (*kept, "concept", "answer")}
    numbers: list[int] = []
    for row in range(len(rows)):
        for concept, answer in _entries(rows, row, taxonomy):
            for name in kept:
                columns[name].append(rows.columns[name][row])
            columns["concept"].append(taxonomy.path(concept))
            columns["answer"].append(answer)
            numbers.append(rows.numbers[row])
    return Rows(rows.path, columns, numbers)


def _entries(rows: Rows, row: int, taxonomy: Taxonomy) -> list[tuple[int, str | None]]:
    choices = _concepts(rows, row, "choices", taxonomy)
    said = rows.columns["answer"][row]
    if is_empty(said):
        return [(concept, None) for concept in choices]
    word = (as_text(said) or "").lower()
    if word == SKIP:
        return [(concept, SKIP) for concept in choices]
    chosen = [] if word == NONE else _concepts(rows, row, "answer", taxonomy)
    for concept in chosen:
        if concept not in choices:
            raise RamifyError(
                f"{rows.where(row, 'answer')}: {taxonomy.path(concept)!r} is none of the choices: name some of "
                f"{as_text(rows.columns['choices'][row])!r}, or write {NONE} or {SKIP}"
            )
    yes, no = (word for word, value in ANSWERS.items() if value >= 0)
    return [(concept, yes if concept in chosen else no) for concept in choices]


def _concepts(rows: Rows, row: int, column: str, taxonomy: Taxonomy) -> list[int]:
    """The concepts that a cell names."""
    cell = rows.columns[column][row]
    text = as_text(cell) or ""
    concepts = []
    for name in cell if isinstance(cell, list) else [text] if text in taxonomy else split_names(text):
        try:
            concepts.append(taxonomy.index(name))
        except RamifyError as error:
            raise RamifyError(f"{rows.where(row, column)}: {error}") from None
    return concepts
