"""Groups: all open children of one concept for one item, and how much their answers would teach.

With a learner's evidence, what is known of concept j has the posterior covariance

    S_j = (I / prior + sum over known (k, j) of phi_k phi_k' / r_kj)^-1;

with T_j = sum over the pool of t_nj phi_n phi_n', an answer about item i lowers the variance of predictions, summed
over the pool with the weights t_nj, by

    gain_ij = phi_i' S_j T_j S_j phi_i / (r_ij + phi_i' S_j phi_i).

A group's score is the mean over its open entries. Groups are picked greedily, and S_j is updated after each pick
(rank one, so every gain follows in O(directions)): without it a batch would ask the same thing many times.

Open children are questions, at any level; the group of an item's unknown roots has the parent -1.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ramify.labels import IRRELEVANT, Labels
from ramify.learners.base import at_once
from ramify.learners.evidence import Evidence, Floats
from ramify.noise import noise
from ramify.strategies.pool import Pool
from ramify.strategies.select import Best, Scored, worth_sending
from ramify.strategies.shortlist import LOW, Query, still_asked
from ramify.taxonomy import Index, Taxonomy

LEVELS_APART = 1_000_003  # a prime
PAIRED = 512  # items whose pairs of directions are multiplied at once


@dataclass
class Knowledge:
    """What is known of each concept, S_j, and where more would matter, T_j: S follows when groups are picked."""

    covariance: Floats
    """S, concepts x directions x directions."""
    matters: Floats
    """T, of the same shape."""

    @classmethod
    def of(cls, evidence: Evidence, labels: Labels, sample: Index, answered: Index) -> "Knowledge":
        """From the known labels of answered items, but those below irrelevant concepts, and a sample of all items.

        Roots are known of items that nobody answered: what is known of them is estimated from the sample.
        """
        parents = labels.taxonomy.parents
        every = np.arange(len(parents))
        roots = labels.taxonomy.roots
        size, scale = at_once(len(parents)), len(labels) / len(sample)
        width = evidence.look(sample[:1]).phi.shape[1]
        matters, at_roots = Squares(len(parents), width), Squares(len(roots), width)
        for part in _split(sample, size):
            looks = evidence.look(part)
            matters.add(looks.phi, scale * looks.matters)
            known = labels.states(part, roots) >= 0
            at_roots.add(looks.phi, scale * known / looks.noise[:, roots])
        precision = np.repeat(np.eye(width)[None] / evidence.prior_variance, len(parents), axis=0)
        precision[roots] += at_roots.whole()
        for part in _split(answered, size):
            states, looks = labels.states(part, every), evidence.look(part)
            below = (states >= 0) & (parents >= 0) & (states[:, parents] != IRRELEVANT)
            for concept in np.flatnonzero(below.any(axis=0)):
                rows = below[:, concept]
                phi = looks.phi[rows]
                precision[concept] += (phi.T / looks.noise[rows, concept]) @ phi
        for concept in every:  # one by one, in place: with ten thousand concepts these are what takes memory
            precision[concept] = np.linalg.inv(precision[concept])
        return cls(precision, matters.whole())

    def forms(self, concept: int, phi: Floats) -> tuple[Floats, Floats]:
        """phi' S T S phi and phi' S phi of items."""
        known = phi @ self.covariance[concept]
        about = known @ self.matters[concept]
        return np.einsum("nd,nd->n", about, known), np.einsum("nd,nd->n", known, phi)


class Squares:
    """Sums of w phi phi' over items, for many weights w at once: by one product with all pairs of directions."""

    def __init__(self, count: int, width: int) -> None:
        self.width, self.sums = width, np.zeros((count, width * (width + 1) // 2))  # the other half is the same

    def add(self, phi: Floats, weights: Floats) -> None:
        """Take in some items, with a row of weights each; the pairs of a few at a time, that they stay in the cache."""
        for first in range(0, len(phi), PAIRED):
            rows = phi[first : first + PAIRED]
            pairs = np.concatenate([rows[:, n : n + 1] * rows[:, n:] for n in range(self.width)], axis=1)
            self.sums += weights[first : first + PAIRED].T @ pairs

    def whole(self) -> Floats:
        """The sums as matrices: weights x directions x directions."""
        squares = np.empty((len(self.sums), self.width, self.width))
        rows, columns = np.triu_indices(self.width)
        squares[:, rows, columns] = self.sums
        squares[:, columns, rows] = self.sums
        return squares


class Groups:
    """Groups of one parent, and how their gains change with each that is picked."""

    def __init__(
        self, knowledge: Knowledge, phi: Floats, noises: Floats, items: Index, concepts: Index, count: int, seed: int
    ) -> None:
        """From their entries and the noise of each; ``phi`` is of the items, in ascending order."""
        self.count = count  # of all open groups of this parent, listed or not
        self.items, rows = np.unique(items, return_inverse=True)
        self.tie_break = noise(seed, self.items)
        self.children, columns = np.unique(concepts, return_inverse=True)
        self.open = np.zeros((len(self.items), len(self.children)), np.bool_)
        self.open[rows, columns] = True
        self.phi, self.noise = phi, np.ones(self.open.shape)  # of what is not open nobody asks
        self.noise[rows, columns] = noises
        forms = [knowledge.forms(child, self.phi) for child in self.children]
        self.top = np.stack([top for top, _ in forms], axis=1)
        self.spread = np.stack([spread for _, spread in forms], axis=1)
        self.knowledge = knowledge
        self.left = np.ones(len(self.items), np.bool_)

    def __len__(self) -> int:
        return int(self.left.sum())

    def still_open(self) -> int:
        """How many groups of the parent were not taken, listed or not."""
        return self.count - (len(self.items) - len(self))

    def take_best(self) -> tuple[int, Index, float]:
        """Item, open children and score of the best group; the others' gains follow from its being asked."""
        gains = self.scores()
        best = np.flatnonzero(gains == gains.max())
        pick = int(best[np.argmax(self.tie_break[best])])
        self.left[pick] = False
        asked = np.flatnonzero(self.open[pick])
        self.ask(pick, asked)
        return int(self.items[pick]), self.children[asked], float(gains[pick])

    def scores(self) -> Floats:
        """Of every group, the mean gain of its open entries; of those that were taken minus infinity."""
        gains: Floats = np.where(self.open, self.gains(), 0).sum(axis=1) / np.maximum(self.open.sum(axis=1), 1)
        gains[~self.left] = -np.inf
        return gains

    def best(self, count: int) -> list[tuple[int, Index, float]]:
        """Items, open children and scores of so many of the best groups, as if none of them had been asked."""
        scores = self.scores()
        picks = np.lexsort((self.tie_break, scores))[::-1][: min(count, len(self))]
        return [(int(self.items[n]), self.children[self.open[n]], float(scores[n])) for n in picks]

    def take_entries(self, count: int) -> tuple[Index, int]:
        """Items and the one child for which answers about so many items would teach most, each asked for itself."""
        gains = np.where(self.open & self.left[:, None], self.gains(), -np.inf)
        top = -np.sort(-gains, axis=0)[:count]
        child = int(np.argmax(np.where(np.isfinite(top), top, 0).sum(axis=0) + np.isfinite(top).sum(axis=0) * 1e-12))
        picks = np.lexsort((self.tie_break, gains[:, child]))[::-1][:count]
        picks = picks[np.isfinite(gains[picks, child])]
        for pick in picks:
            self.ask(pick, np.array([child]))
        self.open[picks, child] = False
        self.left &= self.open.any(axis=1)
        return self.items[picks], int(self.children[child])

    def gains(self) -> Floats:
        """Of every entry, groups x children."""
        gains: Floats = self.top / (self.noise + self.spread)
        return gains

    def ask(self, pick: int, asked: Index) -> None:
        """Take some children of a group for answered: nothing more is to be learned there."""
        for child in asked:
            covariance = self.knowledge.covariance[self.children[child]]
            u = covariance @ self.phi[pick]
            total = self.noise[pick, child] + self.phi[pick] @ u
            about = self.knowledge.matters[self.children[child]] @ u
            along, across = self.phi @ u, self.phi @ (covariance @ about)
            self.top[:, child] += along**2 * (u @ about) / total**2 - 2 * along * across / total
            self.spread[:, child] -= along**2 / total
            covariance -= np.outer(u, u) / total


class Turns:
    """Whose turn it is among parents: in proportion to their open groups, so answers are shared as unknown entries are.

    The first turn of each is drawn, so that this holds over many small batches as well.
    """

    def __init__(self, open_groups: dict[int, int], taxonomy: Taxonomy, seed: int) -> None:
        self.gap = {parent: 1 / count for parent, count in open_groups.items()}
        # An answer may close one group and open another below it: levels differ, or the same turn would be drawn again.
        coarse = set(taxonomy.roots.tolist())
        left = sum(n if parent in coarse else n * LEVELS_APART * (parent + 2) for parent, n in open_groups.items())
        drawn = noise(seed, np.array(list(open_groups), np.intp) + 1, np.array(left))
        self.at = {parent: -np.log1p(-u) * self.gap[parent] for parent, u in zip(open_groups, drawn, strict=True)}

    def next(self) -> int:
        """The parent whose turn it is; its next one comes after its gap."""
        parent = min(self.at, key=self.at.__getitem__)
        self.at[parent] += self.gap[parent]
        return parent


def list_groups(evidence: Evidence, knowledge: Knowledge, pool: Pool, length: int, seed: int) -> dict[int, Groups]:
    """The best groups of each parent, by one stream over the pool."""
    parents = pool.labels.taxonomy.parents
    size = at_once(len(parents))

    def look(items: Index, concepts: Index) -> list[tuple[int, int, Scored]]:
        """Of each parent how many groups are open in a block, and the best of them."""
        shown, rows = np.unique(items, return_inverse=True)
        phi, noises = evidence.entries(shown, rows, concepts, size)
        gains = np.empty(len(items))
        for concept, entries in by_concept(concepts):
            top, spread = knowledge.forms(concept, phi[rows[entries]])
            gains[entries] = top / (noises[entries] + spread)
        listed = []
        for parent, entries in by_concept(parents[concepts]):
            counts = np.bincount(rows[entries], minlength=len(shown))
            there = np.flatnonzero(counts)
            means = np.bincount(rows[entries], gains[entries], len(shown))[there] / counts[there]
            groups = worth_sending(pool, (shown[there], there * 0 + parent, means), length, seed)
            listed.append((parent, len(there), groups))
        return listed

    best: dict[int, Best] = {}
    open_groups: dict[int, int] = {}
    for block in pool.each(look):
        for parent, count, (items, concepts, means) in block:
            open_groups[parent] = open_groups.get(parent, 0) + count
            best.setdefault(parent, Best(length, seed)).offer(means, items, concepts)
    wanted = {parent: groups.ranked()[0] for parent, groups in sorted(best.items())}
    items, concepts = pool.entries(np.unique(np.concatenate([np.empty(0, np.intp), *wanted.values()])))
    if not len(items):
        return {}
    shown, rows = np.unique(items, return_inverse=True)
    phi, noises = evidence.entries(shown, rows, concepts, size)
    groups = {}
    for parent, entries in by_concept(parents[concepts]):
        own = entries[np.isin(items[entries], wanted.get(parent, np.empty(0, np.intp)))]
        if len(own):  # else all of them were answered while others were looked at
            whose = phi[np.unique(rows[own])]
            groups[parent] = Groups(knowledge, whose, noises[own], items[own], concepts[own], open_groups[parent], seed)
    return groups


def by_concept(concepts: Index) -> Iterator[tuple[int, Index]]:
    """Each concept of some entries, ascending, and where it stands.

    >>> [(concept, where.tolist()) for concept, where in by_concept(np.array([4, 2, 4]))]
    [(2, [1]), (4, [0, 2])]
    """
    order = np.argsort(concepts, kind="stable")
    there, first = np.unique(concepts[order], return_index=True)
    return zip(there.tolist(), np.split(order, first[1:]), strict=True)


def _split(items: Index, size: int) -> Iterator[Index]:
    return (items[first : first + size] for first in range(0, len(items), size))


class GroupList:
    """A shortlist of groups: the best of each parent, and whose turn it is."""

    def __init__(self, groups: dict[int, Groups], evidence: Evidence, labels: Labels, seed: int) -> None:
        self.groups, self.evidence, self.labels = groups, evidence, labels
        self.turns = Turns({parent: listed.count for parent, listed in groups.items()}, labels.taxonomy, seed)
        self._rest = Query(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))

    def take(self, count: int) -> Query:
        """Group after group, until there are so many entries; the rest of the last group comes first the next time."""
        taken, size = [self._rest], len(self._rest.items)
        while size < count and (parent := self._turn()) is not None:
            taken.append(_entries(*self.groups[parent].take_best()))
            size += len(taken[-1].items)
        whole = _joined(taken)
        self._rest = whole.some(slice(count, None))
        return whole.some(slice(count))

    def take_group(self) -> tuple[int, Index] | None:
        """The best group of the parent whose turn it is, as far as it is still unknown."""
        while (parent := self._turn()) is not None:
            item, children, _ = self.groups[parent].take_best()
            children = children[still_asked(self.labels, np.array([item]), children)[0]]
            if len(children):
                return item, children
        return None

    def take_entries(self, count: int) -> tuple[Index, int] | None:
        """Items for which answers about one child of the parent whose turn it is would teach most."""
        while (parent := self._turn()) is not None:
            items, child = self.groups[parent].take_entries(count)
            items = items[still_asked(self.labels, items, np.array([child]))[:, 0]]
            if len(items):
                return items, child
        return None

    def first(self, count: int) -> Query:
        """The best groups of each parent in turn."""
        each = -(-count // max(1, len(self.groups)))
        best = [self.groups[parent].best(each) for parent in sorted(self.turns.at, key=self.turns.at.__getitem__)]
        rounds = (group for groups in zip_longest(*best) for group in groups if group is not None)
        return _joined([self._rest, *(_entries(*group) for group in rounds)]).some(slice(count))

    def low(self) -> bool:
        """Whether some parent's list is nearly used up while more of its groups are open."""
        return any(len(listed) < min(LOW, listed.still_open()) for listed in self.groups.values())

    def renew(self, parents: Iterable[int]) -> None:
        """Foreseen answers teach less: look again at how noisy answers are."""
        for parent in parents:
            if parent in self.groups:
                groups = self.groups[parent]
                groups.noise = self.evidence.look(groups.items).noise[:, groups.children]

    def _turn(self) -> int | None:
        while self.turns.at:
            parent = self.turns.next()
            if len(self.groups[parent]):
                return parent
            del self.turns.at[parent]
        return None


def _entries(item: int, children: Index, score: float) -> Query:
    return Query(np.full(len(children), item), children, np.full(len(children), score))


def _joined(queries: list[Query]) -> Query:
    return Query(*(np.concatenate(parts) for parts in zip(*queries, strict=True)))
