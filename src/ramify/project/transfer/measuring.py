"""Measuring: how good a project's labels are by its audit, and from which probability on labels are chosen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.learners import Learner
from ramify.learners.base import at_once
from ramify.noise import sample
from ramify.project.store.consensus import apply_answers
from ramify.project.store.store import Store
from ramify.quality.audit import Audit, Draws, Known, audit
from ramify.quality.deciding import believed, has_coarse
from ramify.quality.decoding import choose
from ramify.quality.estimate import Counts
from ramify.taxonomy import Index

COUNTED = 20_000  # items whose labels are counted: shares of them are all that estimates need
Opinions = Callable[[Index], NDArray[Any]]
"""The probability of every concept of some items, given what is known of them."""


@dataclass(frozen=True)
class Answered:
    """What people said that stands, oldest first, as parallel arrays; concepts are numbers of the taxonomy."""

    items: Index
    concepts: Index
    values: NDArray[np.int8]
    seqs: Index


def answered(store: Store, labels: Labels) -> Answered:
    """All answers yes and no that stand, about what these labels hold."""
    ledger = store.consensus.ledger()
    said, concepts = ledger.said, store.contents.numbers(ledger.said.concepts)
    there = (said.values != UNKNOWN) & ~ledger.undone & (said.items < len(labels)) & (concepts >= 0)
    return Answered(said.items[there], concepts[there], said.values[there], ledger.seqs[there])


def known_by(answers: Answered, labels: Labels, imported: Labels) -> Known:
    """The fine entries that answers have settled, each by the first answer about itself or else about its tree."""
    taxonomy = labels.taxonomy
    items = np.unique(answers.items)
    now, before = labels.states(items), imported.states(items)
    rows, fine = np.nonzero((now != UNKNOWN) & (before == UNKNOWN))
    roots = taxonomy.root_of
    first: dict[tuple[int, int], int] = {}
    for item, concept, seq in zip(
        answers.items[::-1].tolist(), answers.concepts[::-1].tolist(), answers.seqs[::-1].tolist(), strict=True
    ):
        first[item, concept] = seq
        first[item, -1 - int(roots[concept])] = seq
    pairs = zip(items[rows].tolist(), fine.tolist(), strict=True)
    seqs = [first.get((i, f), first.get((i, -1 - int(roots[f])), 0)) for i, f in pairs]
    return Known(items[rows], fine, np.array(seqs, np.intp))


def drawn_before(answers: Answered, imported: Labels, draws: Draws) -> NDArray[np.int8]:
    """The states of all concepts of each draw's item when it was drawn: draws x concepts."""
    labels = imported.take(draws.items)
    places: dict[int, list[int]] = {}
    for place, item in enumerate(answers.items.tolist()):
        places.setdefault(item, []).append(place)
    rows, given = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for row, (item, after) in enumerate(zip(draws.items.tolist(), draws.after.tolist(), strict=True)):
        own = np.array(places.get(item, ()), np.intp)
        own = own[answers.seqs[own] <= after]
        rows.append(np.full(len(own), row))
        given.append(own)
    where, said = np.concatenate(rows), np.concatenate(given)
    apply_answers(labels, labels, where, answers.concepts[said], answers.values[said])
    return labels.states(concepts=np.arange(len(labels.taxonomy)))


def audit_of(
    store: Store, learner: Learner, labels: Labels, imported: Labels, least: ArrayLike, *, coarse_known: bool = True
) -> Audit | None:
    """What the project's audit says of labels that are chosen so; None where the learner cannot leave answers out."""
    number_of = {int(store.id_of[root]): int(root) for root in labels.taxonomy.roots}  # what was a root may be none now
    rows = [r for r in store.audits.all() if r.item < len(labels) and r.concept in number_of]
    columns = [(r.item, number_of[r.concept], r.drawn_from, r.items, r.after) for r in rows]
    draws = Draws(*np.array(columns, np.intp).reshape(-1, 5).T)
    said, every = answered(store, labels), np.arange(len(labels.taxonomy))
    return audit(
        learner,
        draws,
        drawn_before(said, imported, draws),
        labels,
        known_by(said, labels, imported),
        lambda items: imported.states(items, every),
        least=least,
        coarse_known=coarse_known,
    )


def opinions_of(learner: Learner, features: Any, labels: Labels) -> Opinions:
    """What is predicted of some items: given their coarse labels, where any is known."""
    coarse_known = has_coarse(labels)
    return lambda items: believed(learner, features[items], labels.take(items), coarse_known=coarse_known)


def count_labels(labels: Labels, opinions: Opinions, least: ArrayLike) -> Counts:
    """How many labels there are of each fine concept, known and chosen; where items are many, in a sample of them."""
    taxonomy = labels.taxonomy
    counts, every, size = Counts.empty(len(taxonomy.leaves)), np.arange(len(taxonomy)), at_once(len(taxonomy))
    counted = np.sort(sample(0, len(labels), COUNTED))
    for first in range(0, len(counted), size):
        items = counted[first : first + size]
        states = labels.states(items, every)
        fine = slice(0, len(taxonomy.leaves))
        counts.add(states[:, fine], choose(opinions(items), states, taxonomy, least)[:, fine])
    return counts


def no_left_out(learner: Learner) -> RamifyError:
    """What is said of a learner that cannot be judged by its own answers."""
    return RamifyError(f"{learner.name} cannot be judged without the answers it learned from: use refine")
