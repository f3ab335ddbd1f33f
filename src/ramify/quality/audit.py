"""The audit: questions drawn at random, and what the labels of all items are like by them alone.

A *unit* is an item and a coarse concept of it that is not known irrelevant, with everything unknown below: what one
screen asks, or several where the taxonomy is deep. A unit is drawn uniformly from the units of its coarse concept
(its stratum) that are open at that moment, whatever a strategy asks otherwise; with it is noted of how many it was
one, how many items the project had, and after which answer it came. That is all that estimates need to be unbiased:

With N the number of units that a draw was one of, N t has as its expectation the total of t over all entries that
were open then. Those of them that are known by now have a known t, which is taken away; what is left is the total over
the entries that are unknown *now*. So every draw of a stratum estimates the same, and it does not matter that a
strategy took away the entries that it liked best. As the total by one of N units varies as N squared, the draws are
averaged by weights v = 1 / N^2: late ones, made of the few units that were left, are nearest to what is unknown now.
Items that were added later count too: the weight of an entry is N v over the sum of v of the draws that could have
drawn it, its item being there.

t is made of the truth and of the label that an entry would get: by a model that did not see its item's own answers
(``Learner.left_out``), given what was known of the item when it was drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.labels import RELEVANT, UNKNOWN, Labels
from ramify.learners.base import Learner
from ramify.learners.evidence import Floats
from ramify.quality.decoding import MORE_PROBABLE_THAN_NOT, choose
from ramify.taxonomy import Index, Taxonomy

Bools = NDArray[np.bool_]


class Draws(NamedTuple):
    """Units that were drawn, oldest first, as parallel arrays."""

    items: Index
    roots: Index
    """The coarse concepts, by number in the taxonomy."""
    drawn_from: Index
    """How many units of the stratum were open: each was as likely."""
    upto: Index
    """How many items there were."""
    after: Index
    """The number of the last answer before."""

    def some(self, places: Index | Bools) -> "Draws":
        """Some of them."""
        return Draws(*(part[places] for part in self))


class Known(NamedTuple):
    """Entries that answers have settled, asked for by whomever, as parallel arrays."""

    items: Index
    concepts: Index
    """Fine ones, by number in the taxonomy."""
    seqs: Index
    """The number of the answer that settled it."""


@dataclass(frozen=True)
class Entries:
    """Entries whose truth is known, with what a model says of them that did not see it."""

    concepts: Index
    truth: Bools
    p: Floats
    chosen: Bools
    """Whether it would be a label, if it were unknown."""
    weights: Floats
    """Of drawn ones N v over the sum of v; of those to be taken away, the share of v of draws that found them open."""
    bunches: Index
    """Which draw they belong to."""

    def of(self, concepts: ArrayLike) -> "Entries":
        """Those of some concepts."""
        return self.where(np.isin(self.concepts, concepts))

    def where(self, mask: Bools) -> "Entries":
        """Some of them."""
        parts = (self.concepts, self.truth, self.p, self.chosen, self.weights, self.bunches)
        return Entries(*(part[mask] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Audit:
    """What was drawn and answered, ready to estimate from."""

    drawn: Entries
    known: Entries
    """What is known by now, to be taken away: a strategy's answers, and those of the audit itself."""
    draws: int
    """How many units are completely answered."""
    of_concept: Index
    """How many of them there are for each fine concept."""


def audit(
    learner: Learner,
    draws: Draws,
    before: NDArray[np.int8],
    labels: Labels,
    known: Known,
    imported: Callable[[Index], NDArray[np.int8]],
    *,
    least: ArrayLike = MORE_PROBABLE_THAN_NOT,
    coarse_known: bool = True,
) -> Audit | None:
    """What the answered draws say; None where the learner cannot leave answers out.

    ``before`` are the states of all concepts of each draw's item when it was drawn, ``imported`` gives those of items
    without any answer. Draws with an open entry are not counted yet.
    """
    taxonomy, learned = labels.taxonomy, learner.learned_items()
    if learned is None:
        return None
    roots, leaves = taxonomy.root_of, taxonomy.leaves
    below = roots[leaves][None, :] == draws.roots[:, None]
    open_then = below & (before[:, leaves] == UNKNOWN)
    now = labels.states(draws.items)
    done = ~(open_then & (now == UNKNOWN)).any(axis=1) & open_then.any(axis=1) & np.isin(draws.items, learned)
    draws, before, open_then, now = draws.some(done), before[done], open_then[done], now[done]
    found = _judged(learner, taxonomy, draws.items, before, now, open_then, least, coarse_known)
    if found is None:
        return None
    rows, fine, p, chosen = found
    weights = draws.drawn_from * _say(draws) / _covering(draws, draws.items, draws.roots)
    truth = now[rows, fine] == RELEVANT
    drawn = Entries(fine, truth, p, chosen, weights[rows], rows)
    taken = _known_entries(draws, rows, fine, known, learned, roots)
    gone = _taken_away(learner, labels, draws, taken, imported, least, coarse_known)
    of_concept = np.bincount(draws.roots, minlength=len(taxonomy))[roots[leaves]]
    return Audit(drawn, gone, len(draws.items), of_concept)


def _judged(
    learner: Learner,
    taxonomy: Taxonomy,
    items: Index,
    given: NDArray[np.int8],
    now: NDArray[np.int8],
    asked: Bools,
    least: ArrayLike,
    coarse_known: bool,
) -> tuple[Index, Index, Floats, Bools] | None:
    """Rows and fine concepts of the asked entries, their left-out probabilities, and whether they would be chosen."""
    p = learner.left_out(items, given, coarse_known=coarse_known)
    if p is None:
        return None
    rows, fine = np.nonzero(asked & (now != UNKNOWN))
    chosen = choose(p, given, taxonomy, least)
    return rows, fine, p[rows, fine], chosen[rows, fine]


def _say(draws: Draws) -> Floats:
    """How much each draw says, v."""
    say: Floats = 1.0 / np.square(np.maximum(draws.drawn_from, 1.0))
    return say


def _covering(draws: Draws, items: Index, roots: Index, seqs: Index | None = None) -> Floats:
    """The sum of v of the draws that could have drawn each unit: its item was there, and (``seqs``) it was open."""
    say, sums = _say(draws), np.zeros(len(items))
    for root in np.unique(draws.roots):
        own, wanted = np.flatnonzero(draws.roots == root), np.flatnonzero(roots == root)
        for first in range(0, len(wanted), 4096):
            part = wanted[first : first + 4096]
            could = draws.upto[own][None, :] > items[part, None]
            if seqs is not None:
                could &= draws.after[own][None, :] < seqs[part, None]
            sums[part] = could @ say[own]
    return sums


def _known_entries(draws: Draws, rows: Index, fine: Index, known: Known, learned: Index, roots: Index) -> Known:
    """All that answers have settled and a draw has found open; the drawn entries themselves were open until drawn."""
    wide = len(roots)
    own = draws.items[rows] * wide + fine
    others = ~np.isin(known.items * wide + known.concepts, own) & np.isin(known.items, learned)
    others &= np.isin(roots[known.concepts], draws.roots)
    return Known(
        np.append(draws.items[rows], known.items[others]),
        np.append(fine, known.concepts[others]),
        np.append(draws.after[rows] + 1, known.seqs[others]),
    )


def _taken_away(
    learner: Learner,
    labels: Labels,
    draws: Draws,
    known: Known,
    imported: Callable[[Index], NDArray[np.int8]],
    least: ArrayLike,
    coarse_known: bool,
) -> Entries:
    taxonomy = labels.taxonomy
    roots = taxonomy.root_of[known.concepts]
    times = _covering(draws, known.items, roots, known.seqs)
    there = times > 0
    share = times / np.where(there, _covering(draws, known.items, roots), 1.0)
    items, rows = np.unique(known.items[there], return_inverse=True)
    asked = np.zeros((len(items), len(taxonomy.leaves)), np.bool_)
    fine = known.concepts[there]
    asked[rows, fine] = True
    weights = np.zeros(asked.shape)
    weights[rows, fine] = share[there]
    now = labels.states(items)
    judged = _judged(learner, taxonomy, items, imported(items), now, asked, least, coarse_known)
    assert judged is not None  # the same learner said before that it can
    rows, fine, p, chosen = judged
    return Entries(fine, now[rows, fine] == RELEVANT, p, chosen, weights[rows, fine], rows)
