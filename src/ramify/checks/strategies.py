"""What every strategy does alike; each check takes a strategy and a learner that is not fitted."""

from collections.abc import Callable

import numpy as np
import scipy.sparse
from sklearn.base import clone

from ramify.checks.data import TAXONOMY, data
from ramify.labels import RELEVANT, Labels
from ramify.learners import Learner
from ramify.strategies import Pool, Query, Shortlist, Strategy
from ramify.taxonomy import Index

NONE = np.empty(0, np.intp)


def check_query(query: Query, labels: Labels, batch_size: int) -> None:
    """Questions, none twice, with finite scores, as many as were asked for or as there are."""
    assert len(query.items) == len(query.concepts) == len(query.scores) == min(batch_size, len(labels.questions()[0]))
    assert len(entries(query)) == len(query.items)
    assert entries(query) <= _questions(labels)
    assert np.isfinite(query.scores).all()
    assert query.item_views == len(set(query.items.tolist()))


def entries(query: Query) -> set[tuple[int, int]]:
    """The questions as a set."""
    return set(zip(query.items.tolist(), query.concepts.tolist(), strict=True))


def same(first: Query, second: Query) -> bool:
    """Whether two queries ask the same in the same order."""
    return np.array_equal(first.items, second.items) and np.array_equal(first.concepts, second.concepts)


# -- queries -----------------------------------------------------------------------------------------------------------


def check_seeded_query(strategy: Strategy, learner: Learner) -> None:
    """A query is a pure function of its arguments and the seed, and changes nothing."""
    features, labels = data()
    model, seeded = clone(learner).fit(features, labels), clone(strategy).set_params(random_state=3)
    before = labels.take(None)
    query = seeded.query(model, features, labels, 10)
    check_query(query, labels, 10)
    assert same(seeded.query(model, features, labels, 10), query)
    assert same(seeded.query(model, scipy.sparse.csr_array(features), labels, 10), query)
    assert labels == before
    assert repr(strategy).startswith(type(strategy).__name__)


def check_exclusion(strategy: Strategy, learner: Learner) -> None:
    """What is out with somebody is not asked."""
    features, labels = data()
    model, seeded = clone(learner).fit(features, labels), clone(strategy).set_params(random_state=3)
    query = seeded.query(model, features, labels, 10)
    other = seeded.query(model, features, labels, 10, exclude=(query.items, query.concepts))
    check_query(other, labels, 10)
    assert not entries(other) & entries(query)
    nothing = seeded.query(model, features, labels, 5, exclude=labels.questions())
    assert len(nothing.items) == len(nothing.concepts) == len(nothing.scores) == nothing.item_views == 0


def check_everything(strategy: Strategy, learner: Learner) -> None:
    """More than there is: everything, once; and nothing where all is known."""
    features, labels = data()
    model = clone(learner).fit(features, labels)
    everything = strategy.query(model, features, labels, 10_000)
    assert entries(everything) == _questions(labels)
    assert len(everything.items) == len(_questions(labels))
    check_query(strategy.query(model, features, labels, 1), labels, 1)
    known = data(warm=len(features))[1]
    assert not len(strategy.query(clone(learner).fit(features, known), features, known, 5).items)


def check_beginning(strategy: Strategy, learner: Learner) -> None:
    """With nothing fine known: whole items, with no learner; with a fitted one too, unless the strategy ``begins``."""
    features, labels = data()
    cold = Labels(TAXONOMY, labels.states(concepts=TAXONOMY.roots))
    seeded = clone(strategy).set_params(random_state=3)
    query = seeded.query(None, features, cold, 12)
    check_query(query, cold, 12)
    for item in np.unique(query.items):
        if item != query.items[-1]:
            assert (query.items == item).sum() == len(cold.questions(item)[0])
    assert same(seeded.query(clone(learner), features, cold, 12), query)
    if learner.can_begin(cold):
        first = seeded.query(clone(learner).fit(features, cold), features, cold, 12)
        check_query(first, cold, 12)
        assert strategy.begins or same(first, query)


def check_ways_down(strategy: Strategy, learner: Learner) -> None:
    """Whatever is known of coarse labels, exhaustive or not: answers lead down until everything fine is known."""
    for taxonomy in (TAXONOMY, TAXONOMY.not_exhaustive()):
        truth = data(n_items=30, warm=30, taxonomy=taxonomy)[1].states(concepts=np.arange(len(taxonomy)))
        for coarse in (0.0, 0.5, 1.0):
            features, labels = data(n_items=30, warm=10, taxonomy=taxonomy, coarse=coarse)
            model = clone(learner).fit(features, labels)
            while len(labels.questions()[0]):
                query = strategy.query(model, features, labels, 30)
                check_query(query, labels, 30)
                answers = (
                    truth[query.items, query.concepts] == RELEVANT
                )  # an inner one may be unknown: of no other kind
                labels.record(query.items, query.concepts, answers.astype(int), "annotated")
            assert np.array_equal(labels.states(), truth[:, taxonomy.leaves])


# -- shortlists --------------------------------------------------------------------------------------------------------


def check_taking(strategy: Strategy, learner: Learner) -> None:
    """Taken in parts, a shortlist gives what it gives at once."""
    _, shortlist = _shortlist(strategy, learner)
    _, other = _shortlist(strategy, learner)
    whole = other.take(12)
    parts = [shortlist.take(5), shortlist.take(7)]
    assert np.array_equal(np.concatenate([part.items for part in parts]), whole.items)
    assert np.array_equal(np.concatenate([part.concepts for part in parts]), whole.concepts)


def check_groups(strategy: Strategy, learner: Learner) -> None:
    """Screens of open siblings, until everything was asked once; what became known meanwhile is passed over."""
    labels, shortlist = _shortlist(strategy, learner)
    listed = _questions(labels)
    items, concepts = labels.questions()
    labels.record(items[:3], concepts[:3], np.ones(3, int), "annotated")
    questions = listed & _questions(labels)  # what follows below comes with the next list
    asked: set[tuple[int, int]] = set()
    while (group := shortlist.take_group()) is not None:
        item, children = group
        assert len({int(TAXONOMY.parents[child]) for child in children}) == 1
        screen = {(item, int(child)) for child in children}
        assert screen <= questions - asked
        asked |= screen
        shortlist.renew([int(TAXONOMY.parents[children[0]])])
    assert asked == questions
    assert len(shortlist.take(1).items) == 0
    assert isinstance(shortlist.low(), bool)


def check_entries(strategy: Strategy, learner: Learner) -> None:
    """One concept for several items, until everything was asked once."""
    labels, shortlist = _shortlist(strategy, learner)
    asked: set[tuple[int, int]] = set()
    while (taken := shortlist.take_entries(4)) is not None:
        items, concept = taken
        assert 1 <= len(items) <= 4
        screen = {(int(item), concept) for item in items}
        assert screen <= _questions(labels) - asked
        asked |= screen
    assert asked == _questions(labels)


def check_first(strategy: Strategy, learner: Learner) -> None:
    """Looked at, a shortlist stays as it is; what comes first is on it."""
    labels, shortlist = _shortlist(strategy, learner)
    first = shortlist.first(12)
    assert 1 <= len(first.items) <= 12
    assert set(zip(first.items.tolist(), first.concepts.tolist(), strict=True)) <= _questions(labels)
    _, other = _shortlist(strategy, learner)
    for taken, expected in zip(shortlist.take(12), other.take(12), strict=True):
        assert np.array_equal(taken, expected)
    shortlist.take(10_000)
    assert not len(shortlist.first(12).items)


def check_part_of_the_pool(strategy: Strategy, learner: Learner) -> None:
    """Only the items of the pool are asked about."""
    chosen = np.arange(25, 45)
    _, shortlist = _shortlist(strategy, learner, items=chosen)
    assert set(shortlist.take(10_000).items.tolist()) <= set(chosen.tolist())


STRATEGY_CHECKS: tuple[Callable[[Strategy, Learner], None], ...] = (
    check_seeded_query,
    check_exclusion,
    check_everything,
    check_beginning,
    check_ways_down,
    check_taking,
    check_groups,
    check_entries,
    check_first,
    check_part_of_the_pool,
)


def check_strategy(strategy: Strategy, learner: Learner) -> None:
    """All checks."""
    for check in STRATEGY_CHECKS:
        check(strategy, learner)


def _shortlist(strategy: Strategy, learner: Learner, items: Index | None = None) -> tuple[Labels, Shortlist]:
    features, labels = data()
    model, seeded = clone(learner).fit(features, labels), clone(strategy).set_params(random_state=3)
    return labels, seeded.shortlist(model, Pool(features, labels, NONE, items=items), 10_000)


def _questions(labels: Labels) -> set[tuple[int, int]]:
    return set(zip(*(part.tolist() for part in labels.questions()), strict=True))
