"""What hypothesis draws in more than one test: taxonomies and assertions about them."""

import numpy as np
from hypothesis import strategies as st

from ramify.concepts import Concept
from ramify.taxonomy import Taxonomy


@st.composite
def taxonomies(draw, max_concepts: int = 7) -> Taxonomy:
    """Any forest: parents may come after their children, names may repeat on other paths."""
    size = draw(st.integers(1, max_concepts))
    order = draw(st.permutations(range(size)))
    parents = [-1] * size
    for rank, number in enumerate(order[1:], start=1):
        parents[number] = draw(st.sampled_from([-1, *order[:rank]]))
    exhaustive = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return Taxonomy.of([Concept(f"n{n}", parents[n], exhaustive=exhaustive[n]) for n in range(size)])


@st.composite
def label_matrices(draw, n_items: int, n_columns: int) -> np.ndarray:
    """Any 1, 0 and -1."""
    size = n_items * n_columns
    values = draw(st.lists(st.integers(-1, 1), min_size=size, max_size=size))
    return np.array(values, int).reshape(n_items, n_columns)
