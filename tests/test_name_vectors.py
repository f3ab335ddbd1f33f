"""Name vectors: one for every concept, unit length, kept wherever the data go; a sentence for each mistake."""

import json

import numpy as np
import pytest

import ramify
from ramify.data import Dataset, NameVectors, benchmark
from ramify.errors import RamifyError
from ramify.experiments import common
from ramify.experiments import compare as comparing
from ramify.experiments import simulate as simulating
from ramify.files import read_npz
from ramify.labels import Labels
from ramify.learners import CoarsePrior, Refine
from ramify.loop import ActiveLoop, Truth
from ramify.strategies import Random
from ramify.taxonomy import Taxonomy

TREE = {"animal": ["cat", "dog"], "food": ["apple", "banana"]}
TAXONOMY = Taxonomy(TREE)


def vectors(width: int = 3, rows: int = 6) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)


def data(names: NameVectors | None = None, count: int = 40, width: int = 3) -> Dataset:
    random = np.random.default_rng(1)
    truth = np.eye(4, dtype=int)[random.integers(0, 4, count)]
    return Dataset(
        Labels.from_matrix(TAXONOMY_EXHAUSTIVE, truth), random.normal(size=(count, width)), name_vectors=names
    )


TAXONOMY_EXHAUSTIVE = Taxonomy.from_arrays(
    ["cat", "dog", "apple", "banana", "animal", "food"], [4, 4, 5, 5, -1, -1], exhaustive=True
)


def refused(act) -> str:
    with pytest.raises(RamifyError) as caught:
        act()
    return str(caught.value)


# -- the vectors themselves --------------------------------------------------------------------------------------------


def test_rows_have_unit_length_and_stay_what_they_are():
    names = ramify.NameVectors(vectors() * 7, shared=True)
    assert names.vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(names.vectors, axis=1), 1)
    again = NameVectors(names.vectors, names.shared)
    assert np.array_equal(again.vectors, names.vectors)


def test_very_large_and_very_small_numbers_are_brought_to_unit_length():
    names = NameVectors(np.array([[1e300, 1e300], [1e-300, 0]]), shared=False)
    assert np.allclose(names.vectors, [[0.5**0.5, 0.5**0.5], [1, 0]])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([1.0, 2.0], "name vectors must be a table, concepts x columns, not an array of 1 dimension(s)"),
        ([["a"]], "name vectors must be numbers, not <U1"),
        ([[1.0], [np.nan]], "the name vector of concept number 1 holds nan: replace what is not a finite number"),
        ([[-np.inf], [1.0]], "the name vector of concept number 0 holds -inf: replace what is not a finite number"),
        (
            [[1.0, 0.0], [0.0, 0.0]],
            "the name vector of concept number 1 is zero: give it another one, or leave all of them out",
        ),
        (
            np.zeros((2, 0)),
            "the name vector of concept number 0 is zero: give it another one, or leave all of them out",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(rows, sentence):
    assert refused(lambda: NameVectors(rows, shared=False)) == sentence


def test_with_a_taxonomy_the_concept_is_named():
    rows = vectors()
    rows[1] = 0
    assert refused(lambda: NameVectors.of(TAXONOMY, rows, shared=False)) == (
        "the name vector of 'animal > dog' is zero: give it another one, or leave all of them out"
    )
    assert refused(lambda: NameVectors.of(TAXONOMY, vectors(rows=5), shared=False)) == (
        "5 name vectors for 6 concepts: give one for every concept, the fine ones first"
    )


# -- data sets ---------------------------------------------------------------------------------------------------------


def test_a_data_set_keeps_them():
    names = NameVectors(vectors(), shared=True)
    dataset = data(names)
    drawn = benchmark(dataset, warm=4)
    for part in (
        dataset.take([3, 1]),
        dataset.with_labels(dataset.labels.take(None)),
        drawn.train,
        drawn.validation,
        drawn.test,
    ):
        assert part.name_vectors is names


def test_a_data_set_refuses_those_of_others():
    names = NameVectors(vectors(), shared=True)
    assert refused(lambda: data(names, width=5)) == (
        "the name vectors have 3 columns and the features 5, so they cannot lie in one space: say shared=False"
    )
    assert refused(lambda: data(vectors())) == (
        "name vectors are a ramify.NameVectors, not ndarray: build it from them"
    )
    other = Labels(Taxonomy({"animal": ["cat"]}), np.ones((40, 1), int))
    assert refused(lambda: data(names).with_labels(other)) == (
        "6 name vectors for 2 concepts: give one for every concept, the fine ones first"
    )
    assert data(NameVectors(vectors(), shared=False), width=5).name_vectors is not None


@pytest.mark.parametrize("shared", [True, False])
def test_a_folder_holds_them(tmp_path, shared):
    dataset = data(NameVectors(vectors(), shared=shared))
    dataset.save(tmp_path / "data")
    again = Dataset.load(tmp_path / "data", exhaustive=False)
    assert np.array_equal(again.name_vectors.vectors, dataset.name_vectors.vectors)
    assert again.name_vectors.shared is shared
    data().save(tmp_path / "data")
    assert Dataset.load(tmp_path / "data").name_vectors is None


def test_a_damaged_file_of_a_folder_is_one_sentence(tmp_path):
    data(NameVectors(vectors(), shared=True)).save(tmp_path / "data")
    file = tmp_path / "data" / "name_vectors.npz"
    file.write_bytes(file.read_bytes()[:100])
    assert refused(lambda: Dataset.load(tmp_path / "data")) == (
        f"{file}: this is not a whole .npz file; it may be cut off or of another kind: copy it again"
    )


# -- bundles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [3, 5])
def test_a_bundle_holds_them(tmp_path, width):
    dataset = data(NameVectors(vectors(width), shared=width == 3))
    dataset.save(tmp_path / "data.npz")
    again = Dataset.load(tmp_path / "data.npz")
    assert np.array_equal(again.name_vectors.vectors, dataset.name_vectors.vectors)
    assert again.name_vectors.shared is (width == 3)


def test_coarse_concepts_in_another_order_than_their_numbers_keep_their_vectors(tmp_path):
    tree = {"food": {"index": 3, "apple": {"index": 1}}, "animal": {"index": 2, "cat": {"index": 0}}}
    labels = Labels.from_matrix(Taxonomy(tree), np.eye(2, dtype=int))
    labels = Labels(labels.taxonomy, [[0, 1], [1, 0]])
    labels.record([0, 1], [0, 1], [1, 1], "imported")
    dataset = Dataset(labels, np.eye(2), name_vectors=NameVectors(vectors(rows=4), shared=False))
    dataset.save(tmp_path / "data.npz")
    again = Dataset.load(tmp_path / "data.npz")
    for path in ("food", "animal", "food > apple", "animal > cat"):
        one, other = (d.name_vectors.vectors[d.labels.taxonomy.index(path)] for d in (dataset, again))
        assert np.array_equal(one, other)


def test_a_bundle_refuses_what_it_cannot_say(tmp_path):
    sentence = (
        "a bundle takes name vectors to lie in the space of the features exactly where they are as wide, which is not "
        "so here: save it as a folder instead (a name without .npz)"
    )
    dataset = data(NameVectors(vectors(), shared=False))
    assert refused(lambda: dataset.save(tmp_path / "data.npz")) == sentence
    without = Dataset(dataset.labels, name_vectors=NameVectors(vectors(), shared=True))
    assert refused(lambda: without.save(tmp_path / "data.npz")) == sentence
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"Vc": None}, "V without Vc: name vectors are given for fine and coarse concepts, or for none"),
        ({"V": None}, "Vc without V: name vectors are given for fine and coarse concepts, or for none"),
        (
            {"V": vectors(rows=3)},
            "V has the shape (3, 3) and Vc (2, 3) for 4 fine and 2 coarse concepts: "
            "they must be (4, width) and (2, width)",
        ),
        (
            {"Vc": vectors(4, rows=2)},
            "V has the shape (4, 3) and Vc (2, 4) for 4 fine and 2 coarse concepts: "
            "they must be (4, width) and (2, width)",
        ),
        (
            {"V": np.full((4, 3), np.nan)},
            "the name vector of 'animal > cat' holds nan: replace what is not a finite number",
        ),
        (
            {"Vc": np.zeros((2, 3))},
            "the name vector of 'animal' is zero: give it another one, or leave all of them out",
        ),
    ],
)
def test_mistakes_in_a_bundle_are_one_sentence(tmp_path, change, sentence):
    path = tmp_path / "data.npz"
    data(NameVectors(vectors(), shared=True)).save(path)
    arrays = read_npz(path, ("Y", "fine", "coarse", "parent", "X", "ids", "V", "Vc")) | change
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    assert refused(lambda: Dataset.load(path)) == f"{path}: {sentence}"


@pytest.mark.parametrize(
    ("bundle", "shared"), [("coco_captions", True), ("goemotions", True), ("mirflickr_tags", False)]
)
def test_real_bundles_have_them(real_bundle, bundle, shared):
    dataset = Dataset.load(real_bundle(bundle))
    names = dataset.name_vectors
    assert names.vectors.shape == (len(dataset.labels.taxonomy), 384)
    assert names.shared is shared
    taxonomy = dataset.labels.taxonomy
    if bundle == "coco_captions":  # names of one kind are closer to their parent than to another one
        likeness = names.vectors @ names.vectors.T
        zebra, animal, vehicle = taxonomy.indices(["zebra", "animal", "vehicle"])
        assert likeness[zebra, animal] > likeness[zebra, vehicle]


# -- learners, compare and the loop -----------------------------------------------------------------------------------


def remember(monkeypatch, learner: type) -> list:
    """What a learner is given as names from now on."""
    given = []
    fit = learner.fit

    def noting(self, *arguments, names=None, **more):
        given.append(names)
        return fit(self, *arguments, names=names, **more)

    monkeypatch.setattr(learner, "fit", noting)
    return given


def test_compare_gives_them_to_learners_and_finds_old_results_of_those_that_do_not_use_them(tmp_path, monkeypatch):
    given = remember(monkeypatch, CoarsePrior)
    names = NameVectors(vectors(), shared=True)
    source = tmp_path / "data.npz"
    cells = [comparing.Cell(learner, 4, None, 0) for learner in ("coarse-prior", "refine")]
    rows = []
    for dataset in (data(), data(names)):
        dataset.save(source)
        common.read_once.cache_clear()
        rows.append(comparing.compare(str(source), cells, tmp_path / "out", how="serial"))
        kept = {path.name: json.loads(path.read_text()) for path in (tmp_path / "out" / "cells").iterdir()}
    assert given == [None]  # the second time its result was there
    assert [row["learner"] for row in rows[1]] == ["coarse-prior", "refine"]
    assert "names" not in kept["coarse-prior-4-0.json"]["settings"]
    assert kept["refine-4-0.json"]["settings"]["names"] == names.fingerprint()


def test_one_cell_gets_the_names_of_its_data(tmp_path, monkeypatch):
    given = remember(monkeypatch, Refine)
    names = NameVectors(vectors(), shared=True)
    comparing.run_cell(benchmark(data(names), warm=4), comparing.Cell("refine", 4, None, 0), common.OURS, tmp_path)
    assert given == [names]


def test_a_loop_gives_them_to_its_learner_and_refuses_a_folder_with_others(tmp_path, monkeypatch):
    given = remember(monkeypatch, Refine)
    names = NameVectors(vectors(), shared=True)

    def loop(names):
        dataset = data(names)
        learner = Refine(hidden=(4, 4), steps=5, random_state=0)
        return ActiveLoop(dataset, learner, Random(random_state=0), Truth(dataset.labels), folder=tmp_path / "loop")

    loop(names).run(rounds=0)
    assert given == [names]
    sentence = f"{tmp_path / 'loop'} holds a loop with other names: give another folder, or remove it"
    assert refused(lambda: loop(None)) == sentence
    assert refused(lambda: loop(NameVectors(vectors(), shared=False))) == sentence


def test_a_simulation_refuses_runs_with_other_names(tmp_path):
    source, out = str(tmp_path / "data.npz"), tmp_path / "out"
    for names in (None, NameVectors(vectors(), shared=True)):
        data(names).save(source)
        common.read_once.cache_clear()
        planned = {
            learner: simulating.plan(source, ["random"], learner, warm=4, batch=2, rounds=1, seeds=1)
            for learner in ("coarse-prior", "refine")
        }
        simulating.simulate(planned["coarse-prior"], out, resume=True, how="serial")
    assert refused(lambda: simulating.simulate(planned["refine"], out, resume=True, how="serial")) == (
        f"{out} holds runs with learner coarse-prior, not refine: give the same settings, or another --out"
    )
    simulating.simulate(planned["refine"], tmp_path / "more", how="serial")
    data().save(source)
    common.read_once.cache_clear()
    assert refused(lambda: simulating.simulate(planned["refine"], tmp_path / "more", resume=True, how="serial")) == (
        f"{tmp_path / 'more'} holds runs with other names: give the same settings, or another --out"
    )
