"""From probabilities given the parent to probabilities: of everything below the roots, and given what is known."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ramify.labels import IRRELEVANT, RELEVANT
from ramify.taxonomy import Index, Taxonomy


def path_products(given_parent: Tensor, taxonomy: Taxonomy) -> Tensor:
    """From P(concept | its parent) to P(concept), for all concepts.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> path_products(torch.tensor([[0.5, 0.25, 0.5]]), taxonomy)
    tensor([[0.2500, 0.1250, 0.5000]])
    """
    joint = given_parent
    for level in taxonomy.families:
        below = [_columns(given_parent, children) * _columns(joint, parents)[..., None] for parents, children in level]
        joint = _with_columns(joint, [children for _, children in level], below)
    return joint


def given_known(independent: Tensor, states: Tensor, taxonomy: Taxonomy) -> Tensor:
    """P(concept | everything known of the item), for all concepts; the known ones are 1 or 0.

    ``independent`` is P(concept | its parent) as if siblings had nothing to do with each other; where children are
    exhaustive, it is conditioned here on at least one of them being relevant. Exact for this model: likelihoods of what
    is known go up the tree, probabilities come down.

    >>> taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None, "owl": None}})
    >>> p = torch.tensor([[0.5, 0.2, 0.4, 0.9]])
    >>> given_known(p, torch.tensor([[-1, -1, -1, 1]]), taxonomy).round(decimals=3)  # an animal
    tensor([[0.6580, 0.2630, 0.5260, 1.0000]])
    >>> given_known(p, torch.tensor([[0, -1, -1, 1]]), taxonomy).round(decimals=3)  # but no cat
    tensor([[0.0000, 0.3850, 0.7690, 1.0000]])
    """
    q, exhaustive = independent, torch.from_numpy(taxonomy.exhaustive).to(independent.device)
    # The likelihood of what is known of a concept and below it, if it is relevant and if it is not.
    relevant, irrelevant = (states != IRRELEVANT).to(q), (states != RELEVANT).to(q)
    seen = []
    for level in reversed(taxonomy.families):
        families = [_Family.of(q, relevant, irrelevant, *family, exhaustive) for family in level]
        seen.append(families)
        parents = [parents for parents, _ in level]
        relevant = _with_columns(relevant, parents, [family.relevant for family in families])
        irrelevant = _with_columns(irrelevant, parents, [family.irrelevant for family in families])

    roots = _numbers(taxonomy.roots, q)
    there, not_there = (q * relevant)[:, roots], ((1 - q) * irrelevant)[:, roots]
    # What is known is certain, however improbable it was.
    known, certain = states >= 0, states.to(q)
    p = torch.where(known, certain, certain.index_copy(1, roots, there / (there + not_there).clamp_min(1e-30)))
    for level, families in zip(taxonomy.families, reversed(seen), strict=True):
        below = [_columns(p, f[0])[..., None] * family.given for f, family in zip(level, families, strict=True)]
        p = torch.where(known, certain, _with_columns(p, [children for _, children in level], below))
    return p


class _Family(NamedTuple):
    """What is known of some parents' children, and what it says of the parents and of each child."""

    relevant: Tensor
    """The likelihood of what is known of the parents and below them, if they are relevant."""
    irrelevant: Tensor
    given: Tensor
    """P(child | its parent is relevant, and what is known below it)."""

    @classmethod
    def of(
        cls, q: Tensor, relevant: Tensor, irrelevant: Tensor, parents: Index, children: Index, exhaustive: Tensor
    ) -> "_Family":
        p, not_there = _columns(q, children), _columns(irrelevant, children)
        yes, no = p * _columns(relevant, children), (1 - p) * not_there
        one_must = exhaustive[_numbers(parents, q)]
        total = (yes + no).prod(dim=-1) - torch.where(one_must, no.prod(dim=-1), 0.0)
        scale = 1 - torch.where(one_must, (1 - p).prod(dim=-1), 0.0)
        given = (yes * _of_others(yes + no) / total.clamp_min(1e-30)[..., None]).clamp(0, 1)
        return cls(
            _columns(relevant, parents) * (total / scale.clamp_min(1e-30)).clamp_min(0),
            _columns(irrelevant, parents) * not_there.prod(dim=-1),
            given,
        )


def _numbers(concepts: Index, like: Tensor) -> Tensor:
    return torch.from_numpy(concepts.ravel().astype(np.int64)).to(like.device)


def _columns(values: Tensor, concepts: Index) -> Tensor:
    """The columns of some concepts: rows x the shape of their numbers."""
    return values.index_select(1, _numbers(concepts, values)).view(len(values), *concepts.shape)


def _with_columns(values: Tensor, concepts: list[Index], new: list[Tensor]) -> Tensor:
    """The same with other columns for some concepts. Not in place: gradients go through."""
    numbers = torch.cat([_numbers(some, values) for some in concepts])
    return values.index_copy(1, numbers, torch.cat([part.flatten(1) for part in new], dim=1))


def _of_others(factors: Tensor) -> Tensor:
    """For each of the last dimension the product of all others."""
    ones = torch.ones_like(factors[..., :1])
    before = torch.cat([ones, factors[..., :-1]], dim=-1).cumprod(dim=-1)
    after = torch.cat([ones, factors[..., 1:].flip(-1)], dim=-1).cumprod(dim=-1).flip(-1)
    return before * after
