"""Finish: expected gain first, then the parts of groups that mend most errors a second; against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quick_learner import QuickRefine
from ramify.data import benchmark
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.pace import Pace
from ramify.quality.decoding import choose
from ramify.strategies import ExpectedGain, Finish, Pool
from ramify.strategies.finish import is_known, values
from ramify.taxonomy import Taxonomy
from test_finishing import TAXONOMY, data

__all__ = ["data"]
NONE = np.empty(0, np.intp)
PACE = Pace(1.5, 2, 0.5)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), max_size=30))
def test_values_are_those_of_the_best_part_of_each_group(entries):
    """Every part of every group, tried one by one."""
    groups, worth = np.array([g for g, _ in entries], np.intp), np.array([w for _, w in entries])
    found = values(groups, worth, PACE)
    for group in set(groups.tolist()):
        own = np.flatnonzero(groups == group)
        ranked = sorted(worth[own].tolist(), reverse=True)
        worths = [sum(ranked[:k]) / (3.5 + 0.5 * k) for k in range(1, len(ranked) + 1)]
        assert found[own].max() == pytest.approx(max(worths))
        first = own[found[own] >= found[own].max() * (1 - 1e-12)]
        assert worth[first].sum() / (3.5 + 0.5 * len(first)) == pytest.approx(max(worths))
        rest = np.setdiff1d(own, first)
        if len(rest):
            assert worth[rest].max() <= worth[first].min()
            assert found[rest] == pytest.approx(worth[rest].sum() / (3.5 + 0.5 * len(rest)))


@pytest.fixture(scope="module")
def taught(data):
    drawn = benchmark(data, warm=30)
    return drawn.train, QuickRefine(random_state=0).fit(drawn.train.features, drawn.train.labels)


def test_the_most_errors_a_second_come_first(taught):
    train, learner = taught
    labels = train.labels
    p, states = learner.opinions(train.features, labels), labels.states(concepts=np.arange(len(TAXONOMY)))
    known = np.where(states >= 0, states, p).astype(np.float64)
    wrong = np.where(choose(known, states, TAXONOMY), 1 - known, known)
    best = {}
    asked = [(item, concept) for item, concept in np.transpose(labels.questions()).tolist()]
    for item, parent in {(i, TAXONOMY.parents[c]) for i, c in asked}:
        own = [c for i, c in asked if (i, TAXONOMY.parents[c]) == (item, parent)]
        ranked = sorted(own, key=lambda c, item=item: -wrong[item, c])
        for k in range(1, len(ranked) + 1):
            best[item, frozenset(ranked[:k])] = sum(wrong[item, ranked[:k]]) / (3.5 + 0.5 * k)
    (item, children), value = max(best.items(), key=lambda pair: pair[1])
    query = Finish(random_state=0, teach=0.0).query(learner, train.features, labels, 5)
    assert query.items[: len(children)].tolist() == [item] * len(children)
    assert set(query.concepts[: len(children)].tolist()) == set(children)
    assert query.scores[0] == pytest.approx(value)
    group = Finish(random_state=0, teach=0.0).shortlist(learner, Pool(train.features, labels, NONE), 50).take_group()
    assert (group[0], set(group[1].tolist())) == (item, set(children))
    short = Finish(random_state=0, teach=0.0).shortlist(learner, Pool(train.features, labels, NONE), 5)
    assert len(short.take_entries(12)[0]) == 12  # a grid of one concept is full, however short a list is wanted


def test_it_teaches_as_expected_gain_does_until_a_share_is_known(taught):
    train, learner = taught
    pool = Pool(train.features, train.labels, NONE)
    share, more = 0.0, 1.0  # the largest that is known, to a thousandth
    while more - share > 0.001:
        middle = (share + more) / 2
        share, more = (middle, more) if is_known(middle, pool) else (share, middle)
    assert 0 < share < 1
    by_gain = ExpectedGain(random_state=3).query(learner, train.features, train.labels, 20)
    for teach in (share, more):
        query = Finish(random_state=3, teach=teach).query(learner, train.features, train.labels, 20)
        same = (query.items.tolist(), query.concepts.tolist()) == (by_gain.items.tolist(), by_gain.concepts.tolist())
        assert same == (teach == more)


def test_the_known_share_by_hand():
    """Of the four entries below relevant concepts two are known, one answered and one that follows from it."""
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}, "food": ["apple", "pear"]})
    labels = Labels(taxonomy, [[1, 0], [1, 0], [0, 0]])
    labels.record([0], ["cat"], [0], "annotated")
    pool = Pool(np.zeros((3, 1)), labels, NONE)
    assert is_known(2 / 4, pool)
    assert not is_known(2 / 4 + 1e-9, pool)
    labels.record([1], ["cat"], [0], "annotated")
    assert is_known(1, Pool(np.zeros((3, 1)), labels, NONE))


def test_what_is_left_is_counted_no_further_than_needed():
    labels = Labels(Taxonomy({"animal": ["cat", "dog"]}), [[1]] * 10)
    labels.record([0, 0], ["cat", "dog"], [1, 0], "annotated")
    looks = []
    pool = Pool(np.zeros((10, 1)), labels, NONE, rows=1, rest=looks.append)
    assert not is_known(0.5, pool)
    assert len(looks) < 3
    assert is_known(0.1, pool)
    assert len(looks) > 8


def test_a_share_beyond_all_is_refused(taught):
    train, learner = taught
    with pytest.raises(RamifyError, match="teach of finish is a share from 0 to 1, not 2"):
        Finish(teach=2).query(learner, train.features, train.labels, 5)
