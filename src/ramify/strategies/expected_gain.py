"""Expected gain on groups: ask on one screen all open children of one concept for one item, where it teaches most.

With the evidence of ``evidence.py``, what is known of concept j has the posterior covariance

    S_j = (I / prior + sum over known (k, j) of phi_k phi_k' / r_kj)^-1;

with T_j = sum over the pool of t_nj phi_n phi_n', an answer about item i lowers the variance of predictions, summed
over the pool with the weights t_nj, by

    gain_ij = phi_i' S_j T_j S_j phi_i / (r_ij + phi_i' S_j phi_i).

A group's score is the mean over its open entries. Groups are picked greedily, and S_j is updated after each pick
(rank one, so every gain follows in O(directions)): without it a batch would ask the same thing many times.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ramify.labels import RELEVANT, Labels
from ramify.learners.base import ROWS, Learner, answered_items
from ramify.strategies.base import Pool, Query, Strategy
from ramify.strategies.evidence import Evidence, Floats, Looked, evidence
from ramify.strategies.select import Best, noise
from ramify.taxonomy import Index

FOR_MATTERS = 8192  # items from which T is estimated where the pool has more


@dataclass(kw_only=True, eq=False, repr=False)
class ExpectedGain(Strategy):
    """The groups (item, parent) whose answers would teach most, shared fairly among the parents.

    ``directions`` of the features are looked at; of each parent the ``shortlist`` best groups are considered when a
    batch is put together.
    """

    name: ClassVar[str] = "expected-gain"
    directions: int = 64
    shortlist: int = 2048

    def _choose(self, learner: Learner, pool: Pool, batch_size: int, seed: int) -> Query:
        everything = np.arange(len(pool.labels))
        sample = everything[np.argsort(noise(seed, everything))[:FOR_MATTERS]]
        told = evidence(learner, pool, sample, self.directions)
        knowledge = Knowledge.of(told, pool.labels, sample)
        listed = self._listed(told, knowledge, pool, max(self.shortlist, batch_size), seed)
        return _picked(listed, batch_size, seed)

    def _listed(
        self, told: Evidence, knowledge: "Knowledge", pool: Pool, length: int, seed: int
    ) -> dict[int, "Groups"]:
        """The best groups of each parent, by one stream over the pool."""
        parents = pool.labels.taxonomy.parents
        best: dict[int, Best] = {}
        open_groups: dict[int, int] = {}
        members: dict[int, list[tuple[Index, Index]]] = {}
        for items, concepts in pool.blocks():
            shown, rows = np.unique(items, return_inverse=True)
            looked = told.look(shown)
            gains = np.empty(len(items))
            for concept in np.unique(concepts):
                mine = np.flatnonzero(concepts == concept)
                where = rows[mine]
                top, spread = knowledge.forms(concept, looked.phi[where])
                gains[mine] = top / (looked.noise[where, concept] + spread)
            for parent in np.unique(parents[concepts]).tolist():
                mine = np.flatnonzero(parents[concepts] == parent)
                counts = np.bincount(rows[mine], minlength=len(shown))
                there = np.flatnonzero(counts)
                open_groups[parent] = open_groups.get(parent, 0) + len(there)
                means = np.bincount(rows[mine], gains[mine], len(shown))[there] / counts[there]
                best.setdefault(parent, Best(length, seed)).offer(means, shown[there], there * 0 + parent)
        wanted = {parent: each.ranked()[0] for parent, each in sorted(best.items())}
        for items, concepts in pool.blocks():
            for parent, chosen in wanted.items():
                mine = (parents[concepts] == parent) & np.isin(items, chosen)
                members.setdefault(parent, []).append((items[mine], concepts[mine]))
        listed = np.unique(np.concatenate([np.empty(0, np.intp), *wanted.values()]))
        looked = told.look(listed)
        return {
            parent: Groups(knowledge, listed, looked, *_joined(members[parent]), open_groups[parent])
            for parent in wanted
        }


@dataclass
class Knowledge:
    """What is known of each fine concept, S_j, and where more would matter, T_j."""

    covariance: Floats
    """S, fine concepts x directions x directions."""
    matters: Floats
    """T, of the same shape."""

    @classmethod
    def of(cls, told: Evidence, labels: Labels, sample: Index) -> "Knowledge":
        """From the known entries whose parents are relevant, and a sample of all items."""
        looked = told.look(sample)
        scale = len(labels) / len(sample)
        matters = np.stack([scale * (looked.phi.T * t) @ looked.phi for t in looked.matters.T])

        taxonomy = labels.taxonomy
        parents = taxonomy.parents[taxonomy.leaves]
        precision = np.repeat(np.eye(looked.phi.shape[1])[None] / told.prior_variance, len(parents), axis=0)
        answered = answered_items(labels)
        for first in range(0, len(answered), ROWS):
            items = answered[first : first + ROWS]
            seen = told.look(items)
            known = (labels.states(items) >= 0) & (labels.states(items, np.maximum(parents, 0)) == RELEVANT)
            known &= parents >= 0
            for concept in np.flatnonzero(known.any(axis=0)):
                mine = known[:, concept]
                phi = seen.phi[mine]
                precision[concept] += (phi.T / seen.noise[mine, concept]) @ phi
        return cls(np.asarray(np.linalg.inv(precision), np.float64), matters)

    def forms(self, concept: int, phi: Floats) -> tuple[Floats, Floats]:
        """phi' S T S phi and phi' S phi of items."""
        known = phi @ self.covariance[concept]
        about = known @ self.matters[concept]
        return np.einsum("nd,nd->n", about, known), np.einsum("nd,nd->n", known, phi)


class Groups:
    """Groups of one parent, and how their gains change with each that is picked."""

    def __init__(
        self, knowledge: Knowledge, listed: Index, looked: Looked, items: Index, concepts: Index, count: int
    ) -> None:
        self.count = count  # of all open groups of this parent, listed or not
        self.items, rows = np.unique(items, return_inverse=True)
        self.children, columns = np.unique(concepts, return_inverse=True)
        self.open = np.zeros((len(self.items), len(self.children)), np.bool_)
        self.open[rows, columns] = True
        where = np.searchsorted(listed, self.items)
        self.phi, self.noise = looked.phi[where], looked.noise[np.ix_(where, self.children)]
        forms = [knowledge.forms(child, self.phi) for child in self.children]
        self.top = np.stack([top for top, _ in forms], axis=1)
        self.spread = np.stack([spread for _, spread in forms], axis=1)
        self.covariance = knowledge.covariance[self.children].copy()
        self.matters = knowledge.matters[self.children]
        self.left = np.ones(len(self.items), np.bool_)

    def __len__(self) -> int:
        return int(self.left.sum())

    def take_best(self) -> tuple[int, Index, float]:
        """Item, open children and score of the best group; the others' gains follow from its being asked."""
        gains = np.where(self.open, self.top / (self.noise + self.spread), 0).sum(axis=1) / self.open.sum(axis=1)
        pick = int(np.argmax(np.where(self.left, gains, -np.inf)))
        self.left[pick] = False
        asked = np.flatnonzero(self.open[pick])
        for child in asked:
            u = self.covariance[child] @ self.phi[pick]
            total = self.noise[pick, child] + self.phi[pick] @ u
            about = self.matters[child] @ u
            along, across = self.phi @ u, self.phi @ (self.covariance[child] @ about)
            self.top[:, child] += along**2 * (u @ about) / total**2 - 2 * along * across / total
            self.spread[:, child] -= along**2 / total
            self.covariance[child] -= np.outer(u, u) / total
        return int(self.items[pick]), self.children[asked], float(gains[pick])


def _picked(listed: dict[int, Groups], batch_size: int, seed: int) -> Query:
    """Group after group until the batch is full; parents have their turns in proportion to their open groups.

    So answers are shared in proportion to unknown entries. The first turn of each is drawn, so that this holds over
    many small batches as well.
    """
    gap = {parent: 1 / groups.count for parent, groups in listed.items()}
    drawn = noise(seed, np.array(list(listed), np.intp) + 1, np.array(sum(g.count for g in listed.values())))
    turn = {parent: -np.log1p(-u) * gap[parent] for parent, u in zip(listed, drawn, strict=True)}
    items, concepts, scores = [np.empty(0, np.intp)], [np.empty(0, np.intp)], [np.empty(0)]
    count = 0
    while turn and count < batch_size:
        parent = min(turn, key=turn.__getitem__)
        turn[parent] += gap[parent]
        item, children, score = listed[parent].take_best()
        children = children[: batch_size - count]
        count += len(children)
        items.append(np.full(len(children), item))
        concepts.append(children)
        scores.append(np.full(len(children), score))
        if not len(listed[parent]):
            del turn[parent]
    return Query(np.concatenate(items), np.concatenate(concepts), np.concatenate(scores))


def _joined(parts: list[tuple[Index, Index]]) -> tuple[Index, Index]:
    items, concepts = zip(*parts, strict=True)
    return np.concatenate(items), np.concatenate(concepts)
