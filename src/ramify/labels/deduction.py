"""What the hierarchy settles: from the assertions about one tree to the state of every concept in it.

Let yes and no be the concepts asserted relevant and irrelevant. The rules are

    no(parent)                             =>  no(child)
    yes(child)                             =>  yes(parent)
    exhaustive: no(every child)            =>  no(parent)
    exhaustive: yes(parent), no(all but one child)  =>  yes(the last child)

Two facts make them cheap. The irrelevant concepts follow from the irrelevant assertions alone (first and third rule),
so one pass up and one down find them all. And assertions contradict each other exactly where a concept asserted
relevant is among them: otherwise calling every other concept relevant satisfies all rules. Hence every minimal
contradiction is one yes(y) with a minimal reason for no(y): a single no at y or above it, or, when the exhaustive
children leave nothing below y, the noes that do so. All assertions of all minimal contradictions are *held*: set aside
until somebody resolves them. What the others settle is consistent, and does not depend on any order.
"""

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, TypeAlias

import numpy as np

from ramify.taxonomy import Taxonomy

Bits: TypeAlias = Any
"""True / False for one item, or a boolean array for many: only ``&``, ``|`` and ``^`` are used, so both work."""


@dataclass(frozen=True)
class Tree:
    """One root and all below it, numbered in preorder from 0, so that every parent comes before its children."""

    first: int
    """The root's position in the taxonomy's preorder."""
    parents: tuple[int, ...]
    children: dict[int, list[int]]
    """Of every concept that has any, in preorder."""
    exhaustive: list[int]
    """The concepts whose children are exhaustive, in preorder."""

    def __len__(self) -> int:
        return len(self.parents)


def trees(taxonomy: Taxonomy) -> tuple[Tree, ...]:
    """The trees of a taxonomy, in the order of its roots.

    >>> trees(Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}, "sky": None}))
    (Tree(first=0, parents=(-1, 0, 0), children={0: [1, 2]}, exhaustive=[0]),
     Tree(first=3, parents=(-1,), children={}, exhaustive=[]))
    """
    position = np.argsort(taxonomy.preorder)
    forest = []
    for root in taxonomy.roots:
        members = [root, *taxonomy.descendants(root)]
        first = int(position[root])
        below = [(position[taxonomy.children(member)] - first).tolist() for member in members]
        children = {number: listed for number, listed in enumerate(below) if listed}
        parents = (-1, *(int(position[taxonomy.parent(member)]) - first for member in members[1:]))
        forest.append(Tree(first, parents, children, [n for n in children if taxonomy.exhaustive[members[n]]]))
    return tuple(forest)


def settle(tree: Tree, yes: list[Bits], no: list[Bits]) -> tuple[list[Bits], list[Bits], list[Bits]]:
    """From what is asserted of each concept to what is relevant, what is irrelevant, and which assertions are held.

    >>> tree, = trees(Taxonomy({"animal": ["cat", "dog"]}))
    >>> settle(tree, [False, True, False], [False, False, False])  # a cat, so an animal
    ([True, True, False], [False, False, False], [False, False, False])
    >>> settle(tree, [False, True, False], [True, False, False])  # a cat, but no animal
    ([False, False, False], [False, False, False], [True, True, False])
    """
    emptied, irrelevant = _irrelevant(tree, no)
    relevant = _relevant(tree, yes)
    held: list[Bits] = [False] * len(tree)
    if _any(reduce(or_, map(and_, yes, irrelevant))):
        held = _held(tree, yes, no, emptied, irrelevant, relevant)
        relevant = _relevant(tree, [said & (aside ^ True) for said, aside in zip(yes, held, strict=True)])
        _, irrelevant = _irrelevant(tree, [said & (aside ^ True) for said, aside in zip(no, held, strict=True)])
    for parent in tree.exhaustive:
        children = tree.children[parent]
        left = len(children) - sum([irrelevant[child] for child in children])
        only_one = relevant[parent] & (left == 1)
        if _any(only_one):
            for child in children:
                relevant[child] = relevant[child] | (only_one & (irrelevant[child] ^ True))
    return relevant, irrelevant, held


def _any(bits: Bits) -> bool:
    return bits if isinstance(bits, bool) else bool(bits.any())


def _irrelevant(tree: Tree, no: list[Bits]) -> tuple[list[Bits], list[Bits]]:
    """Where all exhaustive children are irrelevant by reasons below, and what is irrelevant by any reason."""
    emptied: list[Bits] = [False] * len(tree)
    irrelevant = list(no)
    for parent in reversed(tree.exhaustive):
        emptied[parent] = reduce(and_, [irrelevant[child] for child in tree.children[parent]])
        irrelevant[parent] = irrelevant[parent] | emptied[parent]
    for parent, children in tree.children.items():
        if _any(irrelevant[parent]):
            for child in children:
                irrelevant[child] = irrelevant[child] | irrelevant[parent]
    return emptied, irrelevant


def _relevant(tree: Tree, yes: list[Bits]) -> list[Bits]:
    """What is asserted relevant, or has something below that is."""
    relevant = list(yes)
    for parent, children in reversed(tree.children.items()):
        relevant[parent] = reduce(or_, [relevant[child] for child in children], relevant[parent])
    return relevant


def _held(
    tree: Tree, yes: list[Bits], no: list[Bits], emptied: list[Bits], irrelevant: list[Bits], relevant: list[Bits]
) -> list[Bits]:
    """The assertions that take part in a minimal contradiction."""
    # A no helps to empty a concept asserted relevant above it when every concept between is emptied as well.
    empties_a_yes: list[Bits] = [False] * len(tree)
    for parent, children in tree.children.items():
        for child in children:
            empties_a_yes[child] = emptied[parent] & (yes[parent] | empties_a_yes[parent])
    return [(yes[n] & irrelevant[n]) | (no[n] & (relevant[n] | empties_a_yes[n])) for n in range(len(tree))]
