"""EPIG: questions whose answers would tell most about the answers to come.

Bickford Smith, Kirsch, Farquhar, Gal, Foster and Rainforth, "Prediction-Oriented Bayesian Active Learning" (AISTATS
2023): the expected predictive information gain of a question is the mutual information between its answer y and the
answer y* at a target x*, on the mean over targets. With a learner's evidence, answers about a concept j are jointly
Gaussian, and it has a closed form:

    EPIG_ij = mean over x* of -1/2 log(1 - rho²),
    rho²    = (phi_i'S_j phi_*)² / ((phi_i'S_j phi_i + r_ij) (phi_*'S_j phi_* + r_*j)),

with S_j the posterior covariance given all known answers (``groups.py``). Answers about other concepts are independent.

What was adapted: x* are items of the pool, and of concept j there is an answer at x* only where its parent is relevant.
So a target counts with its parent's probability w_*j: for each concept ``targets`` items are drawn in proportion to it,
and their mean is multiplied by the mean of w_*j over the pool. The paper asks one question at a time; in a batch each
one that was picked counts as answered for the next ones, which is exact, as S_j does not depend on what the answer is.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ramify.learners.base import Learner
from ramify.learners.evidence import Evidence, Floats, parents_relevant
from ramify.noise import noise
from ramify.strategies.base import Strategy, whole_items
from ramify.strategies.expected_gain import FOR_MATTERS
from ramify.strategies.groups import Knowledge
from ramify.strategies.pool import Pool
from ramify.strategies.select import best_of, by_weight
from ramify.strategies.shortlist import Entries, Query, Shortlist
from ramify.taxonomy import Index


@dataclass(kw_only=True, eq=False, repr=False)
class EPIG(Strategy):
    """The questions whose answers say most about what would be answered elsewhere.

    Like ``ExpectedGain`` it needs no fine label to begin with, and asks about random items where there is no evidence.
    """

    name: ClassVar[str] = "epig"
    begins: ClassVar[bool] = True
    counts: ClassVar[tuple[str, ...]] = ("directions", "targets", "considered")
    directions: int = 64
    """The leading directions of the features that are looked at."""
    targets: int = 128
    """Items whose answers are to be foretold, for each concept."""
    considered: int = 2048
    """The best questions that are considered when a batch is put together."""

    def _shortlist(self, learner: Learner, pool: Pool, length: int, seed: int) -> Shortlist:
        sample = pool.sample(seed, FOR_MATTERS)
        evidence = learner.evidence(pool.features, pool.labels, sample, self.directions, pool.cache)
        if evidence is None:
            return whole_items(pool, length, seed)
        if pool.cache is None:
            evidence = evidence.remembering(sample)
        knowledge = Knowledge.of(evidence, pool.labels, sample, pool.answered)
        weights = parents_relevant(pool.labels, sample, pool.opinions(learner, sample).astype(np.float64))
        looks = evidence.look(sample)
        told = {}
        for concept in range(len(pool.labels.taxonomy)):
            drawn = draw_targets(weights[:, concept], self.targets, seed)
            share = float(weights[:, concept].mean())
            told[concept] = Told(knowledge.covariance[concept], looks.phi[drawn], looks.noise[drawn, concept], share)

        def score(items: Index, concepts: Index) -> Floats:
            shown, rows = np.unique(items, return_inverse=True)
            looks = evidence.look(shown)
            scores = np.empty(len(items))
            for concept in np.unique(concepts):
                here = np.flatnonzero(concepts == concept)
                scores[here] = told[concept].gains(looks.phi[rows[here]], looks.noise[rows[here], concept])
            return scores

        ranked = Query(*best_of(pool, score, max(self.considered, length), seed))
        return Entries(greedy(told, evidence, ranked, length), pool, length)


class Told:
    """What answers about one concept tell of its targets."""

    def __init__(self, covariance: Floats, targets: Floats, noise: Floats, share: float) -> None:
        self.covariance, self.targets, self.noise, self.share = covariance, targets, noise, share

    def gains(self, phi: Floats, noise: Floats) -> Floats:
        """EPIG of questions about some items."""
        known, about = phi @ self.covariance, self.targets @ self.covariance
        variance = np.einsum("nd,nd->n", known, phi) + noise
        of_targets = np.einsum("nd,nd->n", about, self.targets) + self.noise
        squared = (phi @ about.T) ** 2 / (variance[:, None] * of_targets)
        gains: Floats = -0.5 * self.share * np.log1p(-squared).mean(axis=1)
        return gains

    def answered(self, phi: Floats, noise: float) -> "Told":
        """What they tell after one more answer."""
        u = self.covariance @ phi
        return Told(self.covariance - np.outer(u, u) / (phi @ u + noise), self.targets, self.noise, self.share)


def draw_targets(weights: Floats, count: int, seed: int) -> Index:
    """So many places, each as often as its weight says, up to one: evenly spaced along their sum from a drawn start.

    >>> draw_targets(np.array([1.0, 0.0, 3.0]), 4, seed=0)
    array([0, 2, 2, 2])
    """
    return by_weight(weights, (np.arange(count) + noise(seed, np.zeros(1, np.intp))) / count)


def greedy(told: dict[int, Told], evidence: Evidence, ranked: Query, count: int) -> Query:
    """The best question, then the best given its answer, and so on."""
    items, concepts, gains = ranked.items, ranked.concepts, ranked.scores.copy()
    told = dict(told)
    shown, rows = np.unique(items, return_inverse=True)
    looks = evidence.look(shown)
    noises = looks.noise[rows, concepts]
    left = np.ones(len(items), np.bool_)
    picks, scores = [], []
    for _ in range(min(count, len(items))):
        pick = int(np.argmax(gains))  # of equal ones the first: they are in a drawn order
        picks.append(pick)
        scores.append(gains[pick])
        left[pick], gains[pick] = False, -np.inf
        concept = int(concepts[pick])
        told[concept] = told[concept].answered(looks.phi[rows[pick]], noises[pick])
        same = np.flatnonzero(left & (concepts == concept))
        gains[same] = told[concept].gains(looks.phi[rows[same]], noises[same])
    return Query(items[picks], concepts[picks], np.array(scores))
