"""Labels: a function of the live assertions, whatever their history; views and round trips."""

import numpy as np
import pyarrow
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Contradiction, Labels, Source
from ramify.labels import labels as labels_module
from ramify.taxonomy import Taxonomy
from strategies import label_matrices, taxonomies
from test_deduction import by_definition

PETS = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
SOURCES = ("imported", "annotated")


def from_scratch(taxonomy: Taxonomy, n_items: int, live: dict) -> Labels:
    """Labels deduced from live assertions {(item, concept, source): value} with no history at all."""
    labels = Labels(taxonomy, np.full((n_items, len(taxonomy.roots)), UNKNOWN))
    for source in SOURCES:
        cells = [(item, concept, value) for (item, concept, s), value in live.items() if s == source]
        if cells:
            labels.record(*(np.array(column) for column in zip(*cells, strict=True)), source)
    return labels


@st.composite
def histories(draw, taxonomy: Taxonomy, n_items: int):
    """Steps of (items, concepts, values or None to retract, source)."""
    step = st.integers(1, 8).flatmap(
        lambda size: st.tuples(
            st.lists(st.integers(0, n_items - 1), min_size=size, max_size=size),
            st.lists(st.integers(0, len(taxonomy) - 1), min_size=size, max_size=size),
            st.one_of(st.none(), st.lists(st.integers(0, 1), min_size=size, max_size=size)),
            st.sampled_from(SOURCES),
        )
    )
    return draw(st.lists(step, max_size=8))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_history_gives_the_labels_of_its_live_assertions(data):
    taxonomy = data.draw(taxonomies(6))
    n_items = data.draw(st.integers(1, 3))
    coarse = data.draw(label_matrices(n_items, len(taxonomy.roots)))
    history = data.draw(histories(taxonomy, n_items))
    one_by_one, in_bulk = Labels(taxonomy, coarse), Labels(taxonomy, coarse)
    live = {
        (item, int(root), "imported"): int(coarse[item, column])
        for item in range(n_items)
        for column, root in enumerate(taxonomy.roots)
        if coarse[item, column] != UNKNOWN
    }
    for items, concepts, values, source in history:
        for step, (item, concept) in enumerate(zip(items, concepts, strict=True)):
            if values is None:
                one_by_one.retract(item, concept, source)
                live.pop((item, concept, source), None)
            else:
                one_by_one.record(item, concept, values[step], source)
                live[item, concept, source] = values[step]
        labels_module.ONE_BY_ONE, short = 0, labels_module.ONE_BY_ONE
        try:
            if values is None:
                in_bulk.retract(np.array(items), np.array(concepts), source)
            else:
                in_bulk.record(np.array(items), np.array(concepts), np.array(values), source)
        finally:
            labels_module.ONE_BY_ONE = short

    expected = from_scratch(taxonomy, n_items, live)
    assert one_by_one == expected
    assert in_bulk == expected
    backwards = from_scratch(taxonomy, n_items, dict(reversed(live.items())))
    assert backwards == expected

    everything = np.arange(len(taxonomy))
    states, sources = expected.states(concepts=everything), expected.sources(concepts=everything)
    torn = {(c.item, said) for c in expected.contradictions() for said in c.assertions}
    torn_expected = set()
    for item in range(n_items):
        said = sorted({(concept, value) for (i, concept, _), value in live.items() if i == item})
        by_hand, held = by_definition(taxonomy, said)
        assert states[item].tolist() == by_hand
        for concept in range(len(taxonomy)):
            claims = {source: live.get((item, concept, source)) for source in SOURCES}
            for source, value in claims.items():
                if (concept, value) in held:
                    torn_expected.add((item, (taxonomy.path(concept), value, Source[source.upper()])))
            why = (
                Source.UNKNOWN if by_hand[concept] == UNKNOWN
                else Source.ANNOTATED if claims["annotated"] is not None
                else Source.IMPORTED if claims["imported"] is not None
                else Source.DEDUCED
            )  # fmt: skip
            assert sources[item, concept] == why
    assert torn == torn_expected

    said = expected.assertions()
    listed = zip(said.items.tolist(), said.concepts.tolist(), said.sources.tolist(), said.values.tolist(), strict=True)
    assert {(i, c, Source(s).name.lower()): v for i, c, s, v in listed} == live


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_views_agree_with_the_dense_states(data):
    taxonomy = data.draw(taxonomies(8))
    n_items = data.draw(st.integers(0, 5))
    matrix = data.draw(label_matrices(n_items, len(taxonomy)))
    labels = Labels.from_matrix(taxonomy, matrix, np.arange(len(taxonomy)))
    everything = np.arange(len(taxonomy))
    states = labels.states(concepts=everything)
    fine = states[:, taxonomy.leaves]
    assert np.array_equal(labels.states(), fine)
    assert np.array_equal(np.stack(labels.unknown()), np.stack(np.nonzero(fine == UNKNOWN)))
    assert np.array_equal(labels.warm_items(), np.flatnonzero((fine != UNKNOWN).all(axis=1)))
    for count, value in zip(labels.counts(), (1, 0, -1), strict=True):
        assert np.array_equal(count, (states == value).sum(axis=0))
    sources = labels.sources(concepts=everything)
    assert np.array_equal(labels.source_counts(), np.stack([(sources == s).sum(axis=0) for s in Source], axis=1))
    closed = [states[:, p] == 0 if p >= 0 else np.zeros(n_items, bool) for p in taxonomy.parents]
    assert np.array_equal(labels.open_entries(), [n_items - c.sum() for c in closed])
    chosen = data.draw(st.lists(st.integers(0, n_items - 1), max_size=6)) if n_items else []
    assert np.array_equal(labels.take(chosen).states(concepts=everything), states[chosen])
    assert np.array_equal(labels.states(chosen, [0, 0]), fine[chosen][:, [0, 0]] if taxonomy.leaves.size else [])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_round_trips(data, tmp_path_factory):
    taxonomy = data.draw(taxonomies(7))
    n_items = data.draw(st.integers(0, 4))
    matrix = data.draw(label_matrices(n_items, len(taxonomy.leaves)))
    labels = Labels.from_matrix(taxonomy, matrix, source="annotated")
    path = tmp_path_factory.mktemp("labels") / "labels.npz"
    labels.save(path)
    assert Labels.load(path) == labels
    if not labels.contradictions():
        for again in (labels.states(), labels.to_float(), labels.to_sparse()):
            assert np.array_equal(Labels.from_matrix(taxonomy, again).states(), labels.states())


def test_every_kind_of_matrix_means_the_same():
    dense = np.array([[1, 0], [-1, 1]])
    expected = Labels(PETS, dense)
    assert Labels(PETS, dense.tolist()) == expected
    assert Labels(PETS, np.where(dense == -1, np.nan, dense)) == expected
    assert Labels(PETS, scipy.sparse.coo_array(dense)) == expected
    assert Labels(PETS, dense == 1) == Labels(PETS, (dense == 1).astype(int))


def test_recording_is_deduced_from_at_once():
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": {"exhaustive": True, "poodle": None}}})
    labels = Labels(taxonomy, [[1]])
    labels.record(0, "cat", 0, "annotated")
    assert labels.states(0, ["animal", "cat", "dog", "poodle"]).tolist() == [[1, 0, 1, 1]]
    labels.record(0, "poodle", 0, "imported")
    (torn,) = labels.contradictions()
    assert str(torn) == (
        "item 0: 'animal' is relevant (imported) against 'animal > cat' is irrelevant (annotated) "
        "against 'animal > dog > poodle' is irrelevant (imported)"
    )
    assert (labels.states(0, ["animal", "cat", "dog", "poodle"]) == UNKNOWN).all()
    labels.retract(0, "poodle", "imported")
    assert labels.contradictions() == []
    assert labels.warm_items().tolist() == [0]


def test_a_source_replaces_only_what_it_said_itself():
    labels = Labels(PETS, [[1, 1]])
    labels.record(0, "cat", 1, "imported")
    labels.record(0, "cat", 0, "annotated")
    assert labels.contradictions() == [
        Contradiction(0, (("animal > cat", 1, Source.IMPORTED), ("animal > cat", 0, Source.ANNOTATED)))
    ]
    labels.record(0, "cat", 1, "annotated")
    assert labels.contradictions() == []
    assert labels.sources(0, "cat").tolist() == [[Source.ANNOTATED]]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_questions_are_the_first_unknown_on_every_way_down(data):
    """And answered truly, again and again, they settle everything fine without anything unneeded being asked."""
    taxonomy = data.draw(taxonomies(8))
    everything = np.arange(len(taxonomy))
    world = data.draw(label_matrices(4, len(taxonomy))) > 0
    for concept in taxonomy.preorder[::-1]:  # from below: what is possible by the rules
        if len(children := taxonomy.children(concept)):
            some = world[:, children].any(axis=1)
            world[:, concept] = some if taxonomy.exhaustive[concept] else some | world[:, concept]
    shown = np.where(data.draw(label_matrices(4, len(taxonomy))) > 0, world, UNKNOWN)
    labels = Labels.from_matrix(taxonomy, shown, everything)
    for _ in range(len(taxonomy) + 1):
        states = labels.states(concepts=everything)
        items, concepts = labels.questions()
        assert sorted(set(zip(items, concepts, strict=True))) == list(zip(items, concepts, strict=True))
        assert (states[items, concepts] == UNKNOWN).all()
        parents = taxonomy.parents[concepts]
        assert ((parents < 0) | (states[items, parents] == 1)).all()
        ways = {(i, f): {*taxonomy.ancestors(f).tolist(), f} for i, f in zip(*labels.unknown(), strict=True)}
        for (item, _), way in ways.items():
            assert len(way & set(concepts[items == item].tolist())) == 1
        for item, concept in zip(items.tolist(), concepts.tolist(), strict=True):
            assert any(i == item and concept in way for (i, _), way in ways.items())
        of_one = items == 2
        assert np.array_equal(np.stack(labels.questions(2)), np.stack([items[of_one], concepts[of_one]]))
        labels.record(items, concepts, world[items, concepts].astype(int), "annotated")
    assert not len(labels.questions()[0])
    assert np.array_equal(labels.states(), world[:, taxonomy.leaves])


def test_with_two_levels_and_all_coarse_labels_known_the_questions_are_the_unknown_entries():
    labels = Labels(PETS, [[1, 0], [1, 1], [0, 0]])
    labels.record(1, "cat", 1, "annotated")
    assert np.array_equal(np.stack(labels.questions()), np.stack(labels.unknown()))


def test_rows_that_grow_move_and_are_packed_again():
    rng = np.random.default_rng(0)
    n_items = 3000
    labels = Labels(PETS, np.zeros((n_items, 2), int))
    assert labels.unknown()[0].size == 0
    for _ in range(3):  # closed, opened and closed again, in bulk
        labels.retract(np.arange(n_items), "animal", "imported")
        assert labels.open_entries()[PETS.index("cat")] == n_items
        labels.record(np.arange(n_items), "animal", 0, "imported")
        assert labels.open_entries()[PETS.index("cat")] == 0
    for item in rng.permutation(n_items).tolist():
        labels.retract(item, "food", "imported")
    fresh = Labels(PETS, np.column_stack([np.zeros(n_items, int), np.full(n_items, -1)]))
    assert labels == fresh
    assert labels.nbytes < 3 * fresh.nbytes


def test_split_and_merge_migrate_old_labels():
    taxonomy = Taxonomy({"animal": ["cat", "dog", "fish"]})
    labels = Labels(taxonomy, [[1], [1], [1], [1]])
    labels.record([0, 1, 1, 2, 3, 3], ["dog", "cat", "dog", "cat", "cat", "dog"], [1, 0, 0, 0, 0, 1], "annotated")
    finer = labels.migrate(*taxonomy.split("dog", ["poodle", "beagle"]))
    assert finer.states(concepts=["dog", "poodle", "beagle"]).tolist() == [
        [1, -1, -1], [0, 0, 0], [-1, -1, -1], [1, -1, -1],
    ]  # fmt: skip
    merged = labels.migrate(*taxonomy.merge(["cat", "dog"], "pet"))
    assert merged.states(concepts="pet").T.tolist() == [[1, 0, -1, 1]]
    labels.record(2, "dog", 0, "imported")  # one no from each source: together they deny the pet
    assert labels.migrate(*taxonomy.merge(["cat", "dog"], "pet")).states(2, "pet").tolist() == [[0]]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Labels(PETS, [1, 0]), "labels must be a table, items x concepts, not an array of 1 dimension(s)"),
        (lambda: Labels(PETS, [[1]]), "the labels have 1 columns for 2 concepts: give one for each"),
        (lambda: Labels(PETS, [["yes", "no"]]), "labels must be numbers (1, 0, -1 or NaN for unknown), not <U3"),
        (
            lambda: Labels(PETS, [[1, 0], [0, 7]]),
            "item 1, concept 'food': the label is 7; it must be 1 (relevant), 0 (irrelevant), -1 or NaN (unknown)",
        ),
        (
            lambda: Labels(PETS, [[1, 0]]).record(0, "horse", 1, "annotated"),
            "there is no concept 'horse' in the taxonomy: its roots are 'animal', 'food'",
        ),
        (
            lambda: Labels(PETS, [[1, 0]]).record([0], [6], [1], "annotated"),
            "there is no concept number 6: this taxonomy numbers 0 to 5",
        ),
        (
            lambda: Labels(PETS, [[1, 0]]).record(1, "cat", 1, "annotated"),
            "there is no item 1: items are numbered 0 to 0",
        ),
        (
            lambda: Labels(PETS, [[1, 0]]).record(0, "cat", -1, "annotated"),
            "an assertion is 1 (relevant) or 0 (irrelevant), not -1; see also retract",
        ),
        (
            lambda: Labels(PETS, [[1, 0]]).record([0, 0], ["cat", "dog"], [1, 0, 1], "annotated"),
            "items, concepts and values must have one length (or be single), not 2, 2, 3",
        ),
        (
            lambda: Labels(PETS, [[1, 0]]).record(0, "cat", 1, "guessed"),
            "the source of an assertion is 'annotated' or 'imported', not 'guessed'",
        ),
        (lambda: Labels(PETS, [[1, 0]]).states([0.5]), "items are numbers from 0 to 0, not float64"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(act, message):
    with pytest.raises(RamifyError) as error:
        act()
    assert str(error.value) == message


def test_a_refused_record_changes_nothing():
    labels = Labels(PETS, [[1, 1]])
    before = labels.take(None)
    with pytest.raises(RamifyError):
        labels.record([0, 0, 5], ["cat", "dog", "cat"], 1, "annotated")
    assert labels == before


# -- columns with names ------------------------------------------------------------------------------------------------


class Frame:
    """The little that a DataFrame must have: names of columns, and numbers."""

    def __init__(self, **columns):
        self.columns, self.values = list(columns), np.array(list(columns.values())).T

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values


def polars_like(**columns):
    """A frame of several kinds of columns, with None for what is missing."""
    frame = Frame(**columns)
    frame.values = np.array(list(columns.values()), object).T
    frame.to_numpy = lambda: frame.values
    return frame


def pandas_frame(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def pandas_nullable(**columns):
    return pytest.importorskip("pandas").DataFrame(columns).astype("Int64")


@pytest.mark.parametrize("frame", [Frame, polars_like, pandas_frame, pandas_nullable, lambda **c: pyarrow.table(c)])
def test_columns_are_taken_by_name_not_by_place(frame):
    expected = Labels(PETS, [[1, 0], [0, 1], [-1, 1]])
    assert Labels(PETS, frame(food=[0, 1, 1], animal=[1, 0, -1])) == expected
    fine = frame(**{"dog": [0, 1], "food > banana": [1, 0], "apple": [0, 0], "cat": [1, -1]})
    assert Labels.from_matrix(PETS, fine) == Labels.from_matrix(PETS, [[1, 0, 0, 1], [-1, 1, 0, 0]])
    some = frame(food=[1, 0], kitty=[0, 1])
    taxonomy = Taxonomy({"animal": {"cat": {"aliases": ["kitty"]}, "dog": None}, "food": ["apple"]})
    by_place = Labels.from_matrix(taxonomy, [[0, 1], [1, 0]], ["cat", "food"])
    assert Labels.from_matrix(taxonomy, some, ["cat", "food"]) == by_place


def test_a_name_within_the_wanted_concepts_is_enough():
    """A coarse and a fine concept may share a name: the column is the one that is asked for, and a path is itself."""
    taxonomy = Taxonomy({"people": ["baby", "people"]})
    frame = Frame(people=[1], baby=[0])
    assert Labels.from_matrix(taxonomy, frame).states(0, ["people > people", "baby"]).tolist() == [[1, 0]]
    everything = Frame(**{"people > people": [0], "people": [1], "baby": [1]})
    assert Labels.from_matrix(taxonomy, everything, range(3)).states(0, [0, 1, 2]).tolist() == [[1, 0, 1]]


def test_frames_with_gaps_and_of_several_kinds():
    pandas = pytest.importorskip("pandas")
    gaps = pandas.DataFrame({"food": [True, False, None], "animal": pandas.array([1, None, 0], dtype="Int64")})
    expected = Labels(PETS, [[1, 1], [-1, 0], [0, -1]])
    assert Labels(PETS, gaps) == expected
    assert Labels(PETS, polars_like(food=[True, False, None], animal=[1, None, 0])) == expected
    assert Labels(PETS, pyarrow.table({"food": [True, False, None], "animal": [1, None, 0]})) == expected
    assert Labels(PETS, pandas.DataFrame([[1, 1], [-1, 0], [0, -1]])) == expected  # columns 0 and 1 are places
    paths = pandas.DataFrame([[1, 0]], columns=pandas.MultiIndex.from_tuples([("animal", "dog"), ("animal", "cat")]))
    assert Labels.from_matrix(PETS, paths, ["cat", "dog"]).states(0, ["cat", "dog"]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"id": [7], "animal": [1], "food": [0]},
            "the column 'id' is none of the concepts 'animal', 'food': rename it, or leave it out",
        ),
        ({"animal": [1]}, "the labels have no column 'food': give one for each concept"),
        ({"animal": ["yes"], "food": ["no"]}, "labels must be numbers (1, 0, -1 or NaN for unknown), not <U3"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(RamifyError) as error:
        Labels(PETS, Frame(**columns))
    assert str(error.value) == message


def test_columns_that_are_not_unique_are_refused():
    taxonomy = Taxonomy({"a": {"other": {"aliases": ["rest"]}}, "b": ["other"]})
    frame = Frame(other=[1], rest=[1])
    with pytest.raises(RamifyError) as error:
        Labels.from_matrix(taxonomy, frame)
    assert str(error.value) == "the column 'other' may be 'a > other' or 'b > other': call it by its path"
    frame.columns = ["a > other", "rest"]
    with pytest.raises(RamifyError) as error:
        Labels.from_matrix(taxonomy, frame)
    assert str(error.value) == "the columns 'a > other' and 'rest' are both 'a > other': keep one"
    with pytest.raises(RamifyError) as error:
        Labels(PETS, polars_like(animal=["yes"], food=[None]))
    assert str(error.value) == (
        "labels must be numbers (1, 0, -1 or NaN for unknown): could not convert string to float: 'yes'"
    )
