"""Pace: seconds of screens by hand and by brute force, and a fit that finds what made the times."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.errors import RamifyError
from ramify.pace import GRID, Pace

PARENTS = np.array([5, 5, 5, 6, 6, -1, -1])
questions = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 4)), unique=True, max_size=120)
paces = st.builds(Pace, *[st.floats(0, 10)] * 3)


@given(questions, paces)
def test_every_question_is_on_one_screen_and_the_quicker_way_is_taken(asked, pace):
    """Another computation: question by question, with sets and dictionaries."""
    seconds = 0.0
    for parent in (5, 6):
        own = [(item, concept) for item, concept in asked if PARENTS[concept] == parent]
        by_item = by_concept = 0.0
        for item in {item for item, _ in own}:
            by_item += pace.screen + pace.item + pace.concept * sum(other == item for other, _ in own)
        for concept in {concept for _, concept in own}:
            left = sum(other == concept for _, other in own)
            while left > 0:
                by_concept += pace.screen + pace.concept + pace.item * min(left, 12)
                left -= 12
        seconds += min(by_item, by_concept)
    items, concepts = zip(*asked, strict=True) if asked else ((), ())
    screens = pace.arrange(items, concepts, PARENTS)
    assert pace.seconds(screens).sum() == pytest.approx(seconds)
    assert (screens.items * screens.concepts).sum() == len(asked)
    assert ((screens.items == 1) | (screens.concepts == 1)).all()
    assert (screens.items <= GRID).all()


def test_a_fit_finds_what_made_the_times():
    rng = np.random.default_rng(0)
    grids = rng.random(4000) < 0.4
    items, concepts = np.where(grids, rng.integers(2, 13, 4000), 1), np.where(grids, 1, rng.integers(1, 20, 4000))
    means = 2.5 + 1.2 * items + 0.8 * concepts
    found = Pace.fitted(items, concepts, rng.gamma(4, means / 4))  # people's times have a long tail
    for name, true in (("screen", 2.5), ("item", 1.2), ("concept", 0.8)):
        assert getattr(found, name) == pytest.approx(true, rel=0.15)


def test_a_fit_never_gives_less_than_nothing_and_keeps_the_mean():
    items, concepts = np.ones(40), np.tile([1, 4], 20)
    found = Pace.fitted(items, concepts, np.tile([9.0, 5.0], 20))  # the more concepts, the quicker
    assert (found.item, found.concept) == (0, 0)
    assert found.screen == pytest.approx(7)


def test_answers_of_one_key_are_one_screen():
    sizes = [1, 3, 5, 2, 4, 6, 1, 3, 5, 2, 4, 7]
    rows = [(key, "x", f"c{n}", 2 + 0.5 * size) for key, size in enumerate(sizes) for n in range(size)]
    rows += [(99, "y", "c0", np.nan)]  # answered in a table: nobody knows how long it took
    found = Pace.of_answers(*zip(*rows, strict=True))
    assert (found.screen, found.concept) == pytest.approx((2, 0.5))
    assert found.item == 0  # always one: it cannot be told from the screen


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pace(item=-1), "the seconds for each item are a number from 0 on, not -1"),
        (lambda: Pace(screen=np.nan), "the seconds for each screen are a number from 0 on, not nan"),
        (lambda: Pace.fitted([1], [1], [1.0]), "only 1 screens with times: a pace is fitted from 10 on"),
        (lambda: Pace.fitted([1] * 20, [1] * 19, [1.0] * 20), "are three lists of one length"),
        (lambda: Pace.fitted([1] * 20, [1] * 20, [-1.0] * 20), "are numbers from 0 on"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(RamifyError, match=message):
        call()


def test_more_of_anything_never_takes_less():
    numbers = [Pace().seconds(Pace().arrange(range(n), [0] * n, PARENTS)).sum() for n in range(1, 40)]
    assert all(less < more for less, more in pairwise(numbers))
