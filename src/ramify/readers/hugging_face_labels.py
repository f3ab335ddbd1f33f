"""A column of classes as Labels: numbers or names of classes, alone or in lists."""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ramify.concepts import HALF
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.readers.classes import nested, path_labels
from ramify.readers.rows import as_text, is_empty

__all__ = ["class_labels"]

Said: TypeAlias = list[str | int] | None  # None where nothing is said of an item


def class_labels(
    values: Sequence[Any], names: Sequence[str] | None, where: Callable[[int], str]
) -> tuple[Labels, int, bool]:
    """The labels, how many items have none, and whether the concepts' names are mere numbers.

    Without the ``names`` of the classes, those that occur are the concepts; ``where`` names an item in errors.

    >>> labels, unlabelled, numbers = class_labels([[0, 1], [], None], ["cat", "dog"], str)
    >>> labels.states().tolist(), unlabelled, numbers
    ([[1, 1], [0, 0], [-1, -1]], 1, False)
    """
    said = [_said(value, item, where) for item, value in enumerate(values)]
    found = {str(value) for listed in said for value in listed or ()}
    numbers = not names and all(re.fullmatch(r"-?[0-9]{1,9}", value) for value in found)
    concepts = list(names or (sorted(found, key=int) if numbers else sorted(found)))
    taxonomy, places = nested(concepts)
    place = {name: number for number, name in enumerate(concepts)}
    states = np.zeros((len(said), len(concepts)), np.int8)
    for item, listed in enumerate(said):
        if listed is None:
            states[item] = UNKNOWN
            continue
        for value in listed:
            concept = _number(value, len(concepts), place) if names else place[str(value)]
            if concept is None:
                raise RamifyError(
                    f"{where(item)}: {value!r} is none of the {len(concepts)} classes that the folder names: "
                    "correct one of them"
                )
            states[item, concept] = 1
    return path_labels(taxonomy, places, states), said.count(None), numbers


def _number(value: str | int, count: int, place: dict[str, int]) -> int | None:
    """The class that is meant: a number is one even where a name reads the same, a text only where no name does."""
    if isinstance(value, str) and value in place:
        return place[value]
    if isinstance(value, str) and not re.fullmatch(r"[0-9]{1,9}", value):
        return None
    return int(value) if 0 <= int(value) < count else None


def _said(value: Any, item: int, where: Callable[[int], str]) -> Said:
    """The numbers or names of an item's classes; null says nothing, and by the library's custom neither does -1."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise RamifyError(f"{where(item)}: {value!r} is no list: write for example ['cat', 'dog']") from None
    if not isinstance(value, list) and (is_empty(value) or as_text(value) == "-1"):
        return None
    said: list[str | int] = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, int) or (isinstance(each, float) and each.is_integer()):
            said.append(int(each))
        elif isinstance(each, str) and each.strip() and not re.search(HALF, each):
            said.append(each.strip())
        else:
            raise RamifyError(
                f"{where(item)}: {value!r} is neither a number nor a name of a class, nor a list of them: correct it"
            )
    return said
