"""Forest: from what two stages say of items, P(root | x) and P(concept | its parent, x), to all probabilities.

Trees have nothing to do with each other. So what is asked of all concepts can be computed tree by tree, and of a tree
whose root is known to be irrelevant only for the other items: with many coarse concepts that is nearly nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ramify.labels import IRRELEVANT
from ramify.learners.evidence import LEAST
from ramify.learners.tree import given_known, path_products
from ramify.taxonomy import Index, Taxonomy

Given: TypeAlias = Callable[[Tensor | slice, Index | slice], Tensor]
"""P(concept | its parent, x), uncorrected, from rows and places among the learned concepts."""


class Tree(NamedTuple):
    """One root and all below it."""

    root: int
    """Its place among the roots."""
    concepts: Index
    """All its concepts, by their numbers in the whole forest, ascending."""
    learned: Index
    """Places of its learned concepts among all that are learned."""
    alone: "Forest"


class Forest:
    """Some concepts, and which of them are learned; matrices are rows x concepts.

    >>> forest = Forest(Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}}), np.array([0, 1, 2]))
    >>> coarse, given = torch.tensor([[0.8]]), torch.tensor([[0.5, 0.5, 0.0]])
    >>> forest.given_parent(coarse, given).round(decimals=3)
    tensor([[0.6670, 0.6670, 0.8000]])
    """

    def __init__(self, taxonomy: Taxonomy, learned: Index) -> None:
        self.taxonomy, self.learned = taxonomy, learned
        has_one = (taxonomy.parents >= 0) & taxonomy.exhaustive[taxonomy.parents]
        self._shared = learned[has_one[learned]]  # one of them is relevant whenever their parent is
        self._below = learned[taxonomy.parents[learned] >= 0]

    @cached_property
    def trees(self) -> list[Tree]:
        """Each root with all below it."""
        place = np.full(len(self.taxonomy), -1)
        place[self.learned] = np.arange(len(self.learned))
        found = []
        for number, root in enumerate(self.taxonomy.roots.tolist()):
            concepts = np.sort(np.append(self.taxonomy.descendants(root), root))
            parents = np.searchsorted(concepts, self.taxonomy.parents[concepts])
            own = [
                replace(self.taxonomy.concepts[concept], parent=int(parent) if concept != root else -1)
                for concept, parent in zip(concepts, parents, strict=True)
            ]
            learned = np.flatnonzero(place[concepts] >= 0)
            found.append(Tree(number, concepts, place[concepts[learned]], Forest(Taxonomy.of(own), learned)))
        return found

    def independent(self, coarse: Tensor, given: Tensor) -> Tensor:
        """P(concept | its parent, x) of all concepts, as if siblings had nothing to do with each other."""
        taxonomy = self.taxonomy
        independent = coarse.new_ones((len(coarse), len(taxonomy)))
        independent[:, self.learned] = given.to(coarse)
        independent[:, taxonomy.roots] = (independent[:, taxonomy.roots] + coarse).clamp(0, 1)
        independent[:, self._below] = independent[:, self._below].clamp(LEAST, 1.0)
        return independent

    def given_parent(self, coarse: Tensor, given: Tensor) -> Tensor:
        """P(concept | its parent, x) of all concepts; where children are exhaustive, given that there is one."""
        given_parent = self.independent(coarse, given)
        parents = torch.from_numpy(self.taxonomy.parents[self._shared].astype(np.int64)).to(coarse.device)
        p = given_parent[:, self._shared]
        # The product of all (1 - p) below each parent at once. Where a child is certain, log(0) has no gradient.
        certain = p >= 1
        logs = torch.log1p(-p.masked_fill(certain, 0)).masked_fill(certain, -torch.inf)
        none = p.new_zeros((len(p), len(self.taxonomy))).index_add_(1, parents, logs).exp()
        given_parent[:, self._shared] = p / (1 - none[:, parents])
        return given_parent

    def scores(self, coarse: Tensor, given: Tensor) -> Tensor:
        """P(concept | x) of every fine concept, with nothing known of the item."""
        return path_products(self.given_parent(coarse, given), self.taxonomy)[:, : len(self.taxonomy.leaves)]

    def opinions(
        self, coarse: Tensor, given: Given, states: Tensor, calibrate: Callable[[Tensor], Tensor] = lambda p: p
    ) -> Tensor:
        """Of unknown concepts given all that is known of the item, of known ones given what is known above them.

        In double precision: both ways to the same probability must meet. All but those of roots are calibrated.
        """
        roots, coarse = self.taxonomy.roots, coarse.double()
        places = np.searchsorted(self.learned, roots)
        found = coarse.new_zeros(states.shape)
        found[:, roots] = (coarse + given(slice(None), places)).clamp(0, 1)
        for tree in self.trees:
            open_ = states[:, roots[tree.root]] != IRRELEVANT
            concepts = torch.from_numpy(tree.concepts).to(coarse.device)
            rows: Tensor | slice = slice(None)
            cells: tuple[Tensor | slice, Tensor] = rows, concepts
            if not bool(open_.all()):
                rows = torch.nonzero(open_)[:, 0]
                cells = rows[:, None], concepts
            own = coarse[rows, tree.root : tree.root + 1]
            if len(own):
                p = tree.alone.opinions_at_once(own, given(rows, tree.learned), states[rows][:, concepts])
                p = torch.where(torch.from_numpy(tree.alone.taxonomy.parents >= 0).to(p.device), calibrate(p), p)
                found[cells] = p
        return found

    def opinions_at_once(self, coarse: Tensor, given: Tensor, states: Tensor) -> Tensor:
        """The same of all rows, uncalibrated."""
        parents = torch.from_numpy(self.taxonomy.parents).to(coarse.device)
        p = given_known(self.independent(coarse, given), states, self.taxonomy)
        given_parent = self.given_parent(coarse, given)
        from_above = torch.where(parents >= 0, given_parent * p[:, parents], given_parent)
        return torch.where(states >= 0, from_above, p)


def dense(given: Tensor) -> Given:
    """What is there for all rows and all learned concepts."""
    return lambda rows, places: given[rows][:, places]
