"""What known states teach of each concept, and probabilities given what is known, against every possible world."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.checks.data import TAXONOMY
from ramify.labels import UNKNOWN, Labels
from ramify.learners.lessons import lessons, probable
from ramify.learners.tree import given_known, path_products
from ramify.learners.warm import sibling_rates
from ramify.taxonomy import Taxonomy

DEEP = Taxonomy({"animal": {"cat": None, "dog": ["poodle", "pug"]}, "sky": None})
TREES = [DEEP, TAXONOMY, Taxonomy({"a": {"exhaustive": True, "b": ["c", "d"], "e": {"exhaustive": True, "f": None}}})]


def worlds(taxonomy: Taxonomy) -> list[tuple[int, ...]]:
    """All assignments that obey the taxonomy."""
    found = []
    for world in product((0, 1), repeat=len(taxonomy)):
        above = all(world[p] or not world[n] for n, p in enumerate(taxonomy.parents) if p >= 0)
        some = all(
            not world[n] or any(world[c] for c in taxonomy.children(n))
            for n in range(len(taxonomy))
            if len(taxonomy.children(n)) and taxonomy.exhaustive[n]
        )
        if above and some:
            found.append(world)
    return found


def weight(world: tuple[int, ...], q: np.ndarray, taxonomy: Taxonomy) -> float:
    """The probability of a world: children of a relevant concept independent, but one at least where they must."""
    total = 1.0
    for root in taxonomy.roots:
        total *= q[root] if world[root] else 1 - q[root]
    for n in range(len(taxonomy)):
        children = taxonomy.children(n)
        if len(children) and world[n]:
            total *= np.prod([q[c] if world[c] else 1 - q[c] for c in children])
            total /= 1 - np.prod(1 - q[children]) if taxonomy.exhaustive[n] else 1.0
    return total


@pytest.mark.parametrize("taxonomy", TREES)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_probabilities_given_what_is_known_are_those_of_all_possible_worlds(taxonomy, data):
    possible = worlds(taxonomy)
    q = np.array(data.draw(st.lists(st.floats(0.05, 0.95), min_size=len(taxonomy), max_size=len(taxonomy))))
    truth = np.array(data.draw(st.sampled_from(possible)))
    shown = np.array(data.draw(st.lists(st.booleans(), min_size=len(taxonomy), max_size=len(taxonomy))))
    states = Labels.from_matrix(taxonomy, np.full((1, len(taxonomy.leaves)), -1))
    states.record(np.zeros(shown.sum(), int), np.flatnonzero(shown), truth[shown], "annotated")
    known = states.states(concepts=np.arange(len(taxonomy)))
    weights = np.array([weight(world, q, taxonomy) for world in possible])
    fitting = np.array([all(k in (UNKNOWN, w) for k, w in zip(known[0], world, strict=True)) for world in possible])
    expected = (weights * fitting) @ np.array(possible) / (weights * fitting).sum()
    found = given_known(torch.from_numpy(q[None]), torch.from_numpy(known), taxonomy)[0].numpy()
    assert np.allclose(found, expected, atol=1e-9)


def test_with_nothing_known_it_is_the_product_along_the_path():
    q = torch.rand(5, len(DEEP), dtype=torch.float64)
    nothing = torch.full((5, len(DEEP)), -1)
    assert torch.allclose(given_known(q, nothing, DEEP), path_products(q, DEEP))


def states_of(taxonomy: Taxonomy, **said: int) -> np.ndarray:
    labels = Labels.from_matrix(taxonomy, np.full((1, len(taxonomy.leaves)), -1))
    for name, value in said.items():
        labels.record(0, name, value, "annotated")
    return labels.states(concepts=np.arange(len(taxonomy)))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"animal": 1, "cat": 0}, {"animal": (1, 1.0), "cat": (0, 1.0)}),
        ({"poodle": 1}, {"animal": (1, 1.0), "dog": (1, 1.0), "poodle": (1, 1.0)}),  # not of cat, not of pug
        # A dog is refused by one of three: poodle, pug, another. Whether it is an animal, by a third of that.
        ({"poodle": 0}, {"animal": (0, 1 / 9), "dog": (0, 1 / 3 * 0.6), "poodle": (0, 0.6 / 3)}),
        (
            {"animal": 1, "poodle": 0, "pug": 0},
            {"animal": (1, 1.0), "dog": (0, 2 / 3), "poodle": (0, 1 / 3), "pug": (0, 1 / 3)},
        ),
        ({"animal": 0}, {"animal": (0, 1.0)}),
    ],
)
def test_lessons_of_a_tree_that_is_not_exhaustive(said, expected):
    values, weights = lessons(DEEP, states_of(DEEP, **said), np.array([[0.6, 0.5]]))
    taught = {
        name: (int(values[0, n]), pytest.approx(weights[0, n])) for n, name in enumerate(DEEP.names) if weights[0, n]
    }
    assert taught == {name: (value, pytest.approx(w)) for name, (value, w) in expected.items()}


def test_in_two_levels_with_coarse_labels_lessons_are_the_known_children_of_relevant_concepts():
    taxonomy = Taxonomy(
        {"animal": {"exhaustive": True, "cat": None, "dog": None, "owl": None}, "food": ["apple", "pie"]}
    )
    rng = np.random.default_rng(0)
    labels = Labels(taxonomy, rng.integers(0, 2, (50, 2)))
    items, concepts = labels.unknown()
    some = rng.random(len(items)) < 0.5
    labels.record(items[some], concepts[some], rng.integers(0, 2, some.sum()), "annotated")
    states = labels.states(concepts=np.arange(len(taxonomy)))
    _, weights = lessons(taxonomy, states, rng.random((50, 2)))
    known = (states >= 0) & ((taxonomy.parents < 0) | (states[:, taxonomy.parents] == 1))
    known[:, taxonomy.roots] |= states[:, taxonomy.roots] == UNKNOWN  # a contradiction may leave a root unknown
    assert np.array_equal(weights[:, taxonomy.leaves] == 1, known[:, taxonomy.leaves])


def test_guesses_by_names_say_how_probable_unknown_parents_are():
    states, guesses = states_of(DEEP, animal=1), np.full((1, len(DEEP)), 0.25)
    there = probable(DEEP, states, np.array([[0.6, 0.5]]), guesses)
    assert there[0, DEEP.index("dog")] == 0.25
    assert there[0, DEEP.index("pug")] == 0.0625


def test_refused_children_lower_a_sibling_rate():
    labels = Labels(DEEP, [[1, 0]] * 4)
    before = sibling_rates(labels)[DEEP.index("dog")]
    labels.record([0, 0, 1, 1], ["poodle", "pug"] * 2, [0] * 4, "annotated")
    assert sibling_rates(labels)[DEEP.index("dog")] < before
