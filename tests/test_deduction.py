"""Deduction against the definition: every assignment of relevant / irrelevant that obeys the taxonomy is tried."""

from itertools import combinations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.labels.deduction import settle, trees
from ramify.taxonomy import Taxonomy
from strategies import taxonomies


def obeys(taxonomy: Taxonomy, world: tuple[int, ...]) -> bool:
    for concept, parent in enumerate(taxonomy.parents):
        if parent >= 0 and world[concept] and not world[parent]:
            return False
    return all(
        not world[concept] or any(world[child] for child in taxonomy.children(concept))
        for concept in range(len(taxonomy))
        if taxonomy.exhaustive[concept] and len(taxonomy.children(concept))
    )


def by_definition(taxonomy: Taxonomy, said: list[tuple[int, int]]) -> tuple[list[int], set[tuple[int, int]]]:
    """The states, and the assertions that are part of a minimal contradiction, by trying everything."""
    worlds = [world for world in product((0, 1), repeat=len(taxonomy)) if obeys(taxonomy, world)]

    def possible(assertions) -> list[tuple[int, ...]]:
        return [world for world in worlds if all(world[concept] == value for concept, value in assertions)]

    held: set[tuple[int, int]] = set()
    contradictions: list[set[tuple[int, int]]] = []
    for size in range(1, len(said) + 1):
        for chosen in map(set, combinations(said, size)):
            if not any(known <= chosen for known in contradictions) and not possible(chosen):
                contradictions.append(chosen)
                held |= chosen
    left = np.array(possible(set(said) - held))
    states = [int(column[0]) if (column == column[0]).all() else -1 for column in left.T]
    return states, held


@st.composite
def assertions(draw, taxonomy: Taxonomy, max_size: int = 6) -> list[tuple[int, int]]:
    cells = st.tuples(st.integers(0, len(taxonomy) - 1), st.integers(0, 1))
    return sorted(draw(st.sets(cells, max_size=max_size)))


def settled(taxonomy: Taxonomy, many: list[list[tuple[int, int]]], as_arrays: bool):
    """Settle several sets of assertions, together as arrays or one by one as plain bools."""
    position = np.argsort(taxonomy.preorder)
    results = []
    for batch in [many] if as_arrays else [[one] for one in many]:
        yes, no = np.zeros((2, len(taxonomy), len(batch)), bool)
        for column, said in enumerate(batch):
            for concept, value in said:
                (yes if value else no)[position[concept], column] = True
        relevant, irrelevant, held = (np.zeros((len(taxonomy), len(batch)), bool) for _ in range(3))
        for tree in trees(taxonomy):
            part = slice(tree.first, tree.first + len(tree))
            planes = (list(yes[part]), list(no[part])) if as_arrays else (yes[part, 0].tolist(), no[part, 0].tolist())
            for result, found in zip((relevant, irrelevant, held), settle(tree, *planes), strict=True):
                result[part] = np.reshape(np.broadcast_arrays(*found, np.zeros(len(batch)))[:-1], (len(tree), -1))
        states = np.where(relevant, 1, np.where(irrelevant, 0, -1))[position]
        results.extend(zip(states.T.tolist(), held[position].T.tolist(), strict=True))
    return results


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_settles_what_every_possible_world_agrees_on(data):
    taxonomy = data.draw(taxonomies(6))
    many = data.draw(st.lists(assertions(taxonomy), min_size=1, max_size=4))
    expected = []
    for said in many:
        states, held = by_definition(taxonomy, said)
        held_concepts = {concept for concept, _ in held}
        expected.append((states, [concept in held_concepts for concept in range(len(taxonomy))]))
        assert all(states[concept] == -1 for concept in held_concepts)
    assert settled(taxonomy, many, as_arrays=False) == expected
    assert settled(taxonomy, many, as_arrays=True) == expected


def test_holds_exactly_the_assertions_of_minimal_contradictions():
    """Two sources disagree about the cat; the dog, which nobody disputes, stays known."""
    taxonomy = Taxonomy({"animal": ["cat", "dog"]})
    cat, dog = 0, 1
    said = [(cat, 0), (cat, 1), (dog, 1)]
    assert settled(taxonomy, [said], as_arrays=False) == [([-1, 1, 1], [True, False, False])]
    assert by_definition(taxonomy, said) == ([-1, 1, 1], {(cat, 0), (cat, 1)})


def test_an_only_child_of_an_exhaustive_concept_follows_its_parent():
    taxonomy = Taxonomy({"food": {"exhaustive": True, "apple": None}})
    for value in (0, 1):
        assert settled(taxonomy, [[(1, value)]], as_arrays=False)[0][0] == [value, value]
        assert settled(taxonomy, [[(0, value)]], as_arrays=False)[0][0] == [value, value]
