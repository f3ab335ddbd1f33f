"""From probabilities given the parent to probabilities: of everything below the roots, and given what is known."""

import torch
from torch import Tensor

from ramify.labels import IRRELEVANT, RELEVANT
from ramify.taxonomy import Taxonomy


def path_products(given_parent: Tensor, taxonomy: Taxonomy) -> Tensor:
    """From P(concept | its parent) to P(concept), for all concepts.

    >>> taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    >>> path_products(torch.tensor([[0.5, 0.25, 0.5]]), taxonomy)
    tensor([[0.2500, 0.1250, 0.5000]])
    """
    columns = list(given_parent.unbind(dim=1))  # column by column and not in place: gradients go through
    for concept in taxonomy.preorder.tolist():
        if taxonomy.parents[concept] >= 0:
            columns[concept] = columns[concept] * columns[taxonomy.parents[concept]]
    return torch.stack(columns, dim=1)


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
    can = [(states != IRRELEVANT).to(independent), (states != RELEVANT).to(independent)]
    # The likelihood of what is known of a concept and below it, if it is relevant and if it is not.
    relevant, irrelevant = (list(part.unbind(dim=1)) for part in can)
    q = independent.unbind(dim=1)
    inner = [concept for concept in taxonomy.preorder.tolist() if len(taxonomy.children(concept))]
    pairs: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
    for concept in reversed(inner):
        children = taxonomy.children(concept).tolist()
        yes = torch.stack([q[child] * relevant[child] for child in children], dim=1)
        no = torch.stack([(1 - q[child]) * irrelevant[child] for child in children], dim=1)
        total = (yes + no).prod(dim=1)
        scale = torch.ones_like(total)
        if taxonomy.exhaustive[concept]:
            total = total - no.prod(dim=1)
            scale = (1 - torch.stack([1 - q[child] for child in children], dim=1).prod(dim=1)).clamp_min(1e-30)
        pairs[concept] = yes, no, total
        relevant[concept] = relevant[concept] * (total / scale).clamp_min(0)
        irrelevant[concept] = irrelevant[concept] * torch.stack([irrelevant[c] for c in children], dim=1).prod(dim=1)

    def settled(concept: int, p: Tensor) -> Tensor:
        """What is known is certain, however improbable it was."""
        return torch.where(states[:, concept] >= 0, states[:, concept].to(p), p)

    p: dict[int, Tensor] = {}
    for root in taxonomy.roots.tolist():
        there, not_there = q[root] * relevant[root], (1 - q[root]) * irrelevant[root]
        p[root] = settled(root, there / (there + not_there).clamp_min(1e-30))
    for concept in inner:
        yes, no, total = pairs[concept]
        given = (yes * _of_others(yes + no) / total.clamp_min(1e-30)[:, None]).clamp(0, 1)
        for child, column in zip(taxonomy.children(concept).tolist(), given.unbind(dim=1), strict=True):
            p[child] = settled(child, p[concept] * column)
    return torch.stack([p[n] for n in range(len(q))], dim=1)


def _of_others(factors: Tensor) -> Tensor:
    """For each column the product of all others."""
    ones = torch.ones_like(factors[:, :1])
    before = torch.cat([ones, factors[:, :-1]], dim=1).cumprod(dim=1)
    after = torch.cat([ones, factors[:, 1:].flip(1)], dim=1).cumprod(dim=1).flip(1)
    return before * after
