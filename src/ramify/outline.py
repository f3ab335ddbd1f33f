"""Outline: a forest as a text that people read, and as the nested mapping that files hold."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.concepts import Concept

Numbers = NDArray[np.intp]


def tree_text(
    roots: Numbers, children: Sequence[Numbers], names: Sequence[str], note: Callable[[int], str] = lambda number: ""
) -> str:
    """The forest as text, each line followed by what ``note`` says of the concept.

    >>> print(tree_text(np.array([1]), [np.array([], int), np.array([0])], ["cat", "animal"], str))
    animal  1
    └── cat  0
    """
    lines: list[str] = []

    def add(number: int, lead: str, branch: str, below: str) -> None:
        said = note(number)
        lines.append(lead + branch + names[number] + (f"  {said}" if said else ""))
        listed = children[number].tolist()
        for child in listed:
            last = child == listed[-1]
            add(child, lead + below, "└── " if last else "├── ", "    " if last else "│   ")

    for root in roots.tolist():
        add(root, "", "", "")
    return "\n".join(lines)


def nested(
    concepts: Sequence[Concept], roots: Numbers, children: Sequence[Numbers], preorder: Numbers
) -> dict[str, Any]:
    """The nested mapping that ``Taxonomy`` reads, without loss.

    >>> concepts, below = [Concept("cat", 1), Concept("animal")], [np.array([], int), np.array([0])]
    >>> nested(concepts, np.array([1]), below, np.array([1, 0]))
    {'animal': {'children': {'cat': None}}}
    """
    # Most taxonomies are numbered as they are read; only the others must say the numbers.
    as_read = sorted(preorder.tolist(), key=lambda number: bool(len(children[number])))
    keep_numbers = as_read != list(range(len(concepts)))

    def body(number: int) -> dict[str, Any] | None:
        concept = concepts[number]
        said: dict[str, Any] = {}
        if len(children[number]):
            said["children"] = {concepts[child].name: body(child) for child in children[number].tolist()}
        if concept.description:
            said["description"] = concept.description
        if concept.aliases:
            said["aliases"] = list(concept.aliases)
        if concept.exhaustive:
            said["exhaustive"] = True
        if keep_numbers:
            said["index"] = number
        return said or None

    return {concepts[root].name: body(root) for root in roots.tolist()}
