"""Items from a table: ids, texts, picture paths, and labels as columns of yes and no or as lists of names."""

import re
from collections.abc import Sequence
from typing import Any

from ramify.concepts import HALF
from ramify.errors import RamifyError
from ramify.readers.columns import Layout, Roles, yes_or_no
from ramify.readers.items import Items
from ramify.readers.rows import Rows, as_rows, as_text
from ramify.readers.table_labels import LabelReading
from ramify.taxonomy import Taxonomy

__all__ = ["Items", "Layout", "read_items", "texts_of", "yes_or_no"]


def read_items(table: Any, taxonomy: Taxonomy, layout: Layout | None = None) -> Items:
    """Read and check a table's file, or a table in memory; errors name the file, the row and the column.

    A column called like a concept holds 1/0, yes/no or true/false, empty for unknown. A column ``labels`` lists
    concepts by name, path or alias, separated by ``;``, ``|`` or ``,``; ``-cat`` or ``!cat`` says that it is no cat.
    Coarse concepts that are not listed are irrelevant; finer ones stay unknown.

    >>> table = {"id": ["a", "b"], "text": ["purrs", "crunchy"], "labels": ["animal;-dog", "apple"]}
    >>> items = read_items(table, Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]}))
    >>> items.ids, items.texts
    (['a', 'b'], ['purrs', 'crunchy'])
    >>> items.labels.states(concepts=["animal", "food", "cat", "dog", "apple"])
    array([[ 1,  0, -1,  0,  0],
           [ 0,  1,  0,  0,  1]], dtype=int8)
    """
    layout, rows = layout or Layout(), as_rows(table)
    roles = Roles.of(rows, taxonomy, layout)
    labels, unlabelled = LabelReading(rows, taxonomy, layout, roles).labels()
    return Items(
        rows.where,
        _ids(rows, layout.id),
        texts_of(rows, roles.text),
        texts_of(rows, roles.picture),
        labels,
        tuple(roles.ignored),
        unlabelled,
    )


def _ids(rows: Rows, column: str | None) -> list[str]:
    if column is None:
        return [f"row {number}" for number in rows.numbers]
    ids: list[str] = []
    first: dict[str, int] = {}
    for row, value in enumerate(rows.columns[column]):
        name = as_text(value)
        if name is None or isinstance(value, bool | bytes | list | dict):
            wrong = "the id is missing" if name is None else f"{value!r} is no id"
            raise RamifyError(f"{rows.where(row, column)}: {wrong}: give every item its own")
        if first.setdefault(name, row) != row:
            raise RamifyError(
                f"{rows.where(row, column)}: the id {name!r} stands in row {rows.numbers[first[name]]} already: "
                "ids must be unique"
            )
        ids.append(name)
    _check_characters(rows, column, ids)
    return ids


def texts_of(rows: Rows, column: str | None) -> list[str | None]:
    """The texts of a column, None where a cell is empty; without a column nobody has any.

    >>> texts_of(as_rows({"id": ["a", "b"], "text": ["one", ""]}), "text")
    ['one', None]
    """
    if column is None:
        return [None] * len(rows)
    values = rows.columns[column]
    for row, value in enumerate(values):
        if not isinstance(value, str | int | float | None):
            raise RamifyError(f"{rows.where(row, column)}: this is not text: write it in quotes")
    texts = [as_text(value) for value in values]
    _check_characters(rows, column, texts)
    return texts


def _check_characters(rows: Rows, column: str, texts: Sequence[str | None]) -> None:
    """Refuse half of a character, which a table in memory can hold but no file."""
    try:
        "".join(filter(None, texts)).encode()
    except UnicodeEncodeError:
        row = next(row for row, text in enumerate(texts) if re.search(HALF, text or ""))
        raise RamifyError(f"{rows.where(row, column)}: it holds half of a character (\\ud...): mend it") from None
