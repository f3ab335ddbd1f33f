"""Ridge regressions answer by answer: few answers or many, equal to starting again, whatever siblings do meanwhile."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.learners import factors
from ramify.learners.factors import Few, Many, factors_of
from ramify.learners.ridge import Ridge, add, remove
from ramify.learners.rows import LAMBDAS

WIDTH = 4
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["both", "both", "both", "first", "second", "back", "back", "again"]), st.integers(0, 10**6)
    ),
    max_size=40,
)


def beginning_again(ridge):
    """The same answers, learned from the beginning."""
    n = len(ridge)
    return Ridge(factors_of(ridge.slots, ridge.weights, ridge.factors.features(n)), ridge.rights.copy())


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 100), MOVES, st.integers(0, 9), st.booleans(), st.sampled_from([WIDTH, 12]), st.sampled_from([2, 32])
)
def test_answers_given_and_taken_back_equal_starting_again(seed, moves, begun, weighted, width, most_gone):
    rng = np.random.default_rng(seed)

    def draw(count):
        return rng.normal(size=(count, width)) / 2, rng.integers(0, 2, (2, 2, count)).astype(float)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factors, "GONE", most_gone)
        check_moves(rng, draw, moves, begun, weighted)


def check_moves(rng, draw, moves, begun, weighted):

    phi, rights = draw(begun)
    shared = factors_of(list(range(begun)), np.ones(begun), phi)
    first = Ridge(shared, rights[0])
    ridges = [first, Ridge(shared, rights[1], first)]
    slot = begun
    for move, number in moves:
        chosen = {"first": [0], "second": [1]}.get(move, [0, 1])
        if move in ("both", "first", "second"):
            (features,), right = draw(1)
            weights = [rng.choice([0.25, 1.0]) if weighted else 1.0 for _ in chosen]
            add([ridges[n] for n in chosen], slot, weights, right[chosen, :, 0], features)
            slot += 1
        if move == "back" and slot:
            gone = number % slot
            answered = [place for place, ridge in enumerate(ridges) if gone in ridge.slots]
            for place, fewer in zip(answered, remove([ridges[place] for place in answered], gone), strict=True):
                ridges[place] = fewer
        for place in chosen:
            ridge = ridges[place]
            if move == "again" and len(ridge):
                ridge.revalue(ridge.slots[number % len(ridge)], float(number % 2))
    new, _ = draw(3)
    for ridge in ridges:
        anew = beginning_again(ridge)
        for name in ("solutions", "of_ones", "diagonal"):
            assert getattr(ridge, name) == pytest.approx(getattr(anew, name), abs=1e-8), name
        for number in range(len(LAMBDAS)):
            assert ridge.variances(number, new) == pytest.approx(anew.variances(number, new), abs=1e-8)


@pytest.mark.parametrize("n", [1, 4, 5, 12])
def test_both_ways_are_the_inverse_of_a(n):
    rng = np.random.default_rng(n)
    phi, weights, right = rng.normal(size=(n, WIDTH)), rng.uniform(0.2, 1, n), rng.normal(size=(2, n))
    for kind in (Few, Many):
        kept = kind(list(range(n)), weights, phi)
        for number, lam in enumerate(LAMBDAS):
            inverse = np.linalg.inv(phi @ phi.T + lam + 0.1 + lam * np.diag(1 / weights))
            assert kept.solve(number, n, right) == pytest.approx(right @ inverse, abs=1e-9)
            assert kept.diagonal(number, n) == pytest.approx(np.diag(inverse), abs=1e-9)
            assert kept.without(n, n - 1)[1][number] == pytest.approx(inverse[:, -1], abs=1e-9)


def test_many_answers_take_room_by_features_and_rounding_does_not_add_up(monkeypatch):
    monkeypatch.setattr(factors, "AFRESH", 50)
    rng = np.random.default_rng(0)
    ridge = Ridge(factors_of([], np.ones(0), np.zeros((0, WIDTH))), np.zeros((1, 0)))
    for slot in range(400):
        add([ridge], slot, [1.0], rng.integers(0, 2, (1, 1)).astype(float), rng.normal(size=WIDTH))
    assert isinstance(ridge.factors, Many)
    assert ridge.factors.inverse.shape == (len(LAMBDAS), WIDTH + 1, WIDTH + 1)
    assert ridge.factors.rows.features.nbytes < 2 * 400 * WIDTH * 8
    assert np.abs(ridge.solutions - beginning_again(ridge).solutions).max() < 1e-10
    for slot in range(398):
        (ridge,) = remove([ridge], slot)
    assert isinstance(ridge.factors, Few)
    assert np.abs(ridge.solutions - beginning_again(ridge).solutions).max() < 1e-9


@pytest.mark.parametrize("count", [3, 12])
def test_siblings_that_lose_an_answer_together_go_on_together(count):
    rng = np.random.default_rng(0)
    shared = factors_of(list(range(count)), np.ones(count), rng.normal(size=(count, WIDTH)))
    first = Ridge(shared, rng.normal(size=(1, count)))
    ridges = remove([first, Ridge(shared, rng.normal(size=(1, count)), first)], 1)
    assert ridges[0].factors is ridges[1].factors
    assert first.slots == list(range(count))  # as they were


@pytest.mark.parametrize("count", [3, 12])
def test_an_answer_that_is_taken_back_copies_no_rows(count):
    rng = np.random.default_rng(0)
    ridge = Ridge(factors_of(list(range(count)), np.ones(count), rng.normal(size=(count, WIDTH))), np.ones((1, count)))
    (fewer,) = remove([ridge], 1)
    assert fewer.factors.rows is ridge.factors.rows
    assert (ridge.slots, fewer.slots) == (list(range(count)), [0, *range(2, count)])
    add([fewer], 1, [1.0], np.ones((1, 1)), ridge.factors.features(count)[1])  # and given again
    assert fewer.factors.rows is ridge.factors.rows
    assert fewer.slots == [0, *range(2, count), 1]
    assert ridge.slots == list(range(count))
    assert fewer.solutions == pytest.approx(beginning_again(fewer).solutions, abs=1e-10)
