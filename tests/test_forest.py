"""Tree by tree: the same opinions as all at once, for every forest and whatever is known; sums of squares."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.labels import Labels
from ramify.learners.calibration import Calibration
from ramify.learners.evidence import Evidence, Looks
from ramify.learners.forest import Forest, dense
from ramify.learners.warm import only_children
from ramify.strategies.groups import Squares
from ramify.taxonomy import Taxonomy
from strategies import taxonomies


@settings(max_examples=60)
@given(st.data())
def test_opinions_tree_by_tree_are_those_of_all_at_once(data):
    taxonomy = data.draw(taxonomies())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    labels = Labels(taxonomy, rng.integers(-1, 2, (6, len(taxonomy.roots))))
    states = torch.from_numpy(labels.states(concepts=np.arange(len(taxonomy))))
    learned = np.flatnonzero(~only_children(taxonomy))
    forest = Forest(taxonomy, learned)
    coarse = torch.from_numpy(rng.random((6, len(taxonomy.roots))))
    given_ = torch.from_numpy(rng.random((6, len(learned))))
    calibration = Calibration(np.array([1, 0, 0]), np.array([0.6, 0.5, 0.4]))
    expected = forest.opinions_at_once(coarse, given_, states)
    below = torch.from_numpy(taxonomy.parents >= 0)
    expected[:, below] = calibration(expected)[:, below]
    assert torch.allclose(forest.opinions(coarse, dense(given_), states, calibration), expected, atol=1e-12)


def test_of_a_tree_that_is_known_to_be_irrelevant_nothing_is_computed():
    """What is asked for grows with what is open."""
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "food": ["bread", "soup"]})
    forest = Forest(taxonomy, np.arange(6))
    states = torch.from_numpy(Labels(taxonomy, [[1, 0], [0, 0], [1, 0]]).states(concepts=np.arange(6)))
    asked = []

    def given_(rows, places):
        asked.append((rows, places))
        return torch.full((3, 6), 0.5, dtype=torch.float64)[rows][:, places]

    found = forest.opinions(torch.full((3, 2), 0.25), given_, states)
    (_, roots), (rows, animals) = asked
    assert roots.tolist() == [4, 5]
    assert (rows.tolist(), animals.tolist()) == ([0, 2], [0, 1, 4])
    assert found[1].tolist() == [0, 0, 0, 0, 0.75, 0.75]  # a root's own opinion, whatever is known of it


def test_sums_of_squares_are_those_of_single_items():
    rng = np.random.default_rng(0)
    phi, weights = rng.normal(size=(9, 4)), rng.random((9, 3))
    squares = Squares(3, 4)
    for part in (slice(5), slice(5, 9)):
        squares.add(phi[part], weights[part])
    expected = np.einsum("nw,ni,nj->wij", weights, phi, phi)
    assert np.allclose(squares.whole(), expected)


def test_entries_are_looked_at_some_items_at_a_time():
    rng = np.random.default_rng(0)
    phi, noise = rng.normal(size=(20, 3)), rng.random((20, 5))
    sizes = []

    def look(items):
        sizes.append(len(items))
        return Looks(phi[items], noise[items], noise[items])

    items = np.array([2, 3, 5, 8, 13])
    rows, concepts = np.array([4, 0, 2, 2, 1]), np.array([1, 0, 4, 3, 2])
    found, noises = Evidence(look, 1.0).entries(items, rows, concepts, 2)
    assert sizes == [2, 2, 1]
    assert np.array_equal(found, phi[items])
    assert np.array_equal(noises, noise[items[rows], concepts])


def test_gradients_are_numbers_where_a_child_is_certain():
    """What nobody can doubt moves nothing: a look ahead over such items was NaN once."""
    forest = Forest(Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}}), np.array([0, 1, 2]))
    given = torch.tensor([[1.0, 0.25, 0.5], [0.5, 0.25, 0.5]], dtype=torch.float64, requires_grad=True)
    found = forest.given_parent(torch.zeros(2, 1, dtype=torch.float64), given)
    assert found[0].tolist() == [1.0, 0.25, 0.5]
    (gradient,) = torch.autograd.grad(found.sum(), given)
    assert torch.isfinite(gradient).all()
    step = torch.autograd.gradcheck(lambda g: forest.given_parent(torch.zeros(1, 1).double(), g), (given[1:],))
    assert step
