"""BADGE: questions whose gradients are large and point in different directions.

Ash, Zhang, Krishnamurthy, Langford and Agarwal, "Deep Batch Active Learning by Diverse, Uncertain Gradient Lower
Bounds" (ICLR 2020). An item's gradient embedding is the gradient of the loss by the last layer, with the label that the
learner itself would give; a batch is drawn by k-means++ seeding: the first uniformly, each other one with a probability
proportional to D², its squared distance to the nearest one drawn before.

Here a question is an entry (i, k), whose loss softplus(z) - y z has the gradient

    g_ik = a_ik phi_i in the weights of concept k, 0 elsewhere;   a_ik = p_ik - [p_ik >= 1/2],

so that gradients of different concepts are orthogonal, and none of them need be formed:

    |g_ik - g_jl|² = |g_ik|² + |g_jl|² - 2 [k = l] a_ik a_jk phi_i'phi_j.

What was adapted: phi is what the learner gives as evidence (the last layer's input of a net, Refine's own features),
along its leading directions; p are opinions, given what is known of the item. A batch is drawn among ``candidates``, a
uniform sample of all questions.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ramify.learners.base import Learner
from ramify.learners.evidence import FOR_DIRECTIONS, Floats
from ramify.noise import noise
from ramify.strategies.base import Strategy, whole_items
from ramify.strategies.pool import ROWS, Pool
from ramify.strategies.select import best_of, by_weight, check_numbers
from ramify.strategies.shortlist import Entries, Query, Shortlist
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class BADGE(Strategy):
    """Questions drawn by k-means++ over the gradients that the learner's own answers to them would have.

    With a learner that gives no evidence it asks about random items.
    """

    name: ClassVar[str] = "badge"
    counts: ClassVar[tuple[str, ...]] = ("directions", "candidates")
    directions: int = 64
    """The leading directions of the features that are looked at."""
    candidates: int = 32768
    """Random questions among which a batch is drawn; as many as are asked for where these are more."""

    def _shortlist(self, learner: Learner, pool: Pool, length: int, seed: int) -> Shortlist:
        sample = pool.sample(seed, FOR_DIRECTIONS)
        evidence = learner.evidence(pool.features, pool.labels, sample, self.directions, pool.cache)
        if evidence is None:
            return whole_items(pool, length, seed)
        items, concepts, _ = best_of(pool, partial(noise, seed), max(self.candidates, length), seed)
        shown, rows = np.unique(items, return_inverse=True)
        blocks = [shown[first : first + ROWS] for first in range(0, len(shown), ROWS)]
        if not blocks:
            return Entries(Query(items, concepts, np.empty(0)), pool, length)
        phi = np.concatenate([evidence.look(block).phi for block in blocks])
        p = np.concatenate([pool.opinions(learner, block) for block in blocks])[rows, concepts].astype(np.float64)
        check_numbers(p)
        drawn, scores = Gradients(phi, rows, concepts, p).draw(min(length, len(items)), seed)
        return Entries(Query(items[drawn], concepts[drawn], scores), pool, length)


class Gradients:
    """Gradient embeddings of questions, and D² to those that were drawn."""

    def __init__(self, phi: Floats, rows: Index, concepts: Index, p: Floats) -> None:
        self.phi, self.rows, self.concepts = phi, rows, concepts
        self.a = p - (p >= 0.5)
        self.norms = self.a**2 * np.einsum("nd,nd->n", phi, phi)[rows]
        self.nearest = np.full(len(rows), np.inf)
        """D²; infinite while nothing was drawn."""
        self._of = {int(concept): np.flatnonzero(concepts == concept) for concept in np.unique(concepts)}

    def add(self, drawn: int) -> None:
        """Take one for drawn."""
        same = self._of[int(self.concepts[drawn])]
        along = self.phi[self.rows[same]] @ self.phi[self.rows[drawn]] * self.a[same] * self.a[drawn]
        distances = self.norms + self.norms[drawn]
        distances[same] -= 2 * along
        np.minimum(self.nearest, np.maximum(distances, 0), out=self.nearest)  # below 0 by rounding alone
        self.nearest[drawn] = 0

    def draw(self, count: int, seed: int) -> tuple[Index, Floats]:
        """So many by k-means++ seeding, and D² of each when it was drawn (of the first one, its squared length)."""
        chances = noise(seed, np.arange(count))
        left = np.ones(len(self.rows), np.bool_)
        drawn, scores = np.empty(count, np.intp), np.empty(count)
        for number, chance in enumerate(chances):
            uniform = not number or not self.nearest.any()  # all others are equal to one that was drawn
            pick = int(by_weight(left.astype(np.float64) if uniform else self.nearest, chance))
            drawn[number], scores[number] = pick, self.nearest[pick] if number else self.norms[pick]
            left[pick] = False
            self.add(pick)
        return drawn, scores
