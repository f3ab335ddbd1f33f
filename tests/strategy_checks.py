"""The conformance suite: what every strategy does alike, in code that a new strategy's author can call too."""

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

from learner_checks import TAXONOMY, data
from ramify.labels import UNKNOWN, Labels
from ramify.strategies import Query, Strategy


def check_strategy(strategy: Strategy, learner: Any) -> None:
    """Check everything, with a learner that is not fitted yet; raises AssertionError where something else is done."""
    features, labels = data()
    learner = clone(learner).fit(features, labels)
    strategy = clone(strategy).set_params(random_state=3)
    assert repr(strategy).startswith(type(strategy).__name__)
    before = labels.assertions()

    query = strategy.query(learner, features, labels, 10)
    check_query(query, labels, 10)
    assert same(strategy.query(learner, features, labels, 10), query)
    assert same(strategy.query(learner, scipy.sparse.csr_array(features), labels, 10), query)
    assert all(np.array_equal(a, b) for a, b in zip(labels.assertions(), before, strict=True))

    # What is out with somebody is not asked, and what is asked first does not depend on how much is asked.
    other = strategy.query(learner, features, labels, 10, exclude=(query.items, query.concepts))
    check_query(other, labels, 10)
    assert not entries(other) & entries(query)

    # More than there is: everything, once.
    everything = strategy.query(learner, features, labels, 10_000)
    unknown = set(zip(*(part.tolist() for part in labels.unknown()), strict=True))
    assert entries(everything) == unknown
    assert len(everything.items) == len(unknown)
    nothing = strategy.query(learner, features, labels, 5, exclude=labels.unknown())
    assert len(nothing.items) == len(nothing.concepts) == len(nothing.scores) == nothing.item_views == 0
    all_known = data(warm=len(features))[1]
    assert len(strategy.query(clone(learner).fit(features, all_known), features, all_known, 5).items) == 0

    # One question alone, and nothing known at all: whole items, with no learner.
    check_query(strategy.query(learner, features, labels, 1), labels, 1)
    cold = Labels(TAXONOMY, labels.states(concepts=TAXONOMY.roots))
    check_query(first := strategy.query(None, features, cold, 12), cold, 12)
    for item in np.unique(first.items)[:-1]:
        if item != first.items[-1]:
            assert (first.items == item).sum() == (cold.states(item) == UNKNOWN).sum()


def check_query(query: Query, labels: Labels, batch_size: int) -> None:
    """Unknown entries, none twice, with finite scores, the most wanted first in each parent."""
    assert len(query.items) == len(query.concepts) == len(query.scores) == min(batch_size, len(labels.unknown()[0]))
    assert len(entries(query)) == len(query.items)
    assert (labels.states()[query.items, query.concepts] == UNKNOWN).all()
    assert np.isfinite(query.scores).all()
    assert query.item_views == len(set(query.items.tolist()))


def entries(query: Query) -> set[tuple[int, int]]:
    """The questions as a set."""
    return set(zip(query.items.tolist(), query.concepts.tolist(), strict=True))


def same(one: Query, other: Query) -> bool:
    """Whether two queries ask the same in the same order."""
    return np.array_equal(one.items, other.items) and np.array_equal(one.concepts, other.concepts)
