"""Outline: a forest as a text that people read, and as the nested mapping that files hold."""

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.concepts import Concept

Numbers = NDArray[np.intp]


def tree_text(
    roots: Numbers,
    children: Sequence[Numbers],
    names: Sequence[str],
    note: Callable[[int], str] = lambda number: "",
    only: Container[int] | None = None,
) -> str:
    """The forest as text, each line followed by what ``note`` says of the concept.

    With ``only`` the others are left out, with all below them; it is told how many stand in a place.

    >>> print(tree_text(np.array([1]), [np.array([], int), np.array([0])], ["cat", "animal"], str))
    animal  1
    └── cat  0
    >>> below = [*[np.array([], int)] * 3, np.array([0, 1, 2])]
    >>> print(tree_text(np.array([3]), below, ["cat", "dog", "owl", "animal"], only={2, 3}))
    animal
    ├── ... 2 more
    └── owl
    >>> print(tree_text(np.array([3]), below, ["cat", "dog", "owl", "animal"], only={3}))
    animal  3 below
    """
    lines: list[str] = []

    def add(places: list[list[int]], lead: str, inner: bool) -> None:
        for place in places:
            last = place is places[-1]
            branch, below = (("└── ", "    ") if last else ("├── ", "│   ")) if inner else ("", "")
            shown = only is None or place[0] in only
            said = note(place[0]) if shown else ""
            text = names[place[0]] if shown else f"... {len(place)} more"
            deeper = _places(children[place[0]].tolist(), only) if shown else []
            if len(deeper) == 1 and only is not None and deeper[0][0] not in only:
                said, deeper = "; ".join(filter(None, [said, f"{len(deeper[0])} below"])), []
            lines.append(lead + branch + text + (f"  {said}" if said else ""))
            add(deeper, lead + below, inner=True)

    add(_places(roots.tolist(), only), "", inner=False)
    return "\n".join(lines)


def _places(listed: list[int], only: Container[int] | None) -> list[list[int]]:
    """Concepts that stand side by side, each by itself, but those that are left out together.

    >>> _places([1, 2, 3, 4], {3})
    [[1, 2], [3], [4]]
    """
    places: list[list[int]] = []
    for number in listed:
        shown = only is None or number in only
        if places and not shown and only is not None and places[-1][0] not in only:
            places[-1].append(number)
        else:
            places.append([number])
    return places


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
