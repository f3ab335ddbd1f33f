"""Word vectors from inside a wheel, and how embedders read the names of concepts."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ramify.concepts import Concept, take_templates
from ramify.data import NameVectors
from ramify.embed import embed, embedder
from ramify.embed import words as words_module
from ramify.embed.names import name_texts, name_vectors
from ramify.embed.pictures import PictureEmbedder
from ramify.embed.text import TextEmbedder
from ramify.errors import RamifyError
from ramify.taxonomy import Taxonomy

installed = pytest.mark.skipif(
    not words_module.words_installed(), reason="the extra words is not installed: pip install 'ramify[words]'"
)


def refused(act) -> str:
    with pytest.raises(RamifyError) as caught:
        act()
    return str(caught.value)


def likeness(by, *texts: str) -> np.ndarray:
    rows = by.rows(texts)[0]
    return rows @ rows.T


class Letters:
    """An embedder that counts vowels, and notes what it was asked; names go another way than items do."""

    name, reads, batch, fits, reads_names, templates = "letters", "picture", 8, False, True, ("the {}",)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def fingerprint(self):
        return "letters"

    def names(self, texts):
        self.asked += texts
        return np.array([[text.count(vowel) for vowel in "aeiou"] for text in texts], np.float32)


# -- words -------------------------------------------------------------------------------------------------------------


@installed
def test_words_know_what_is_alike():
    by = embedder("words")
    near, far = likeness(by, "a puppy barks", "the dog", "a loan from the bank")[0, 1:]
    assert near > far + 0.2
    assert likeness(by, "Dog", "dog")[0, 1] == pytest.approx(1)


@installed
def test_a_text_gives_the_same_row_alone_and_in_company_and_again(tmp_path):
    by = embedder("words")
    by.fit(["anything"])
    texts = ["the cat purrs", "a dog", "Straße und Öl", "猫が好き", "x" * 5000, " ", "\n\t", "🐈"]
    rows, wrong = by.rows(texts)
    assert wrong == {}
    assert rows.shape == (len(texts), words_module.COLUMNS)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert np.allclose(np.linalg.norm(rows[:5], axis=1), 1)
    assert np.array_equal(rows, np.concatenate([by.rows([text])[0] for text in texts]))
    assert np.array_equal(embed(by, texts, tmp_path)[0], rows)
    assert np.array_equal(by.names(texts), rows)
    by.save(tmp_path)
    again = embedder("words", tmp_path)
    assert again.fingerprint() == by.fingerprint()
    assert np.array_equal(again.rows(texts)[0], rows)
    assert not by.rows([""])[0].any()


@installed
def test_a_text_is_the_mean_of_its_words():
    by = embedder("words")
    tokens, vectors = by._loaded
    ids = tokens.encode("the cat and the dog", add_special_tokens=False).ids
    mean = vectors[ids].mean(axis=0)
    assert np.allclose(by.rows(["the cat and the dog"])[0][0], mean / np.linalg.norm(mean), atol=1e-6)


@installed
def test_the_package_itself_is_never_imported():
    embedder("words").rows(["cat"])
    assert "wordllama" not in sys.modules


def test_without_the_extra_it_is_one_sentence(monkeypatch):
    monkeypatch.setattr(words_module, "find_spec", lambda name: None)
    sentence = "--embed words needs the package wordllama: pip install 'ramify[words]'"
    assert refused(lambda: embedder("words").fit(["cat"])) == sentence


@pytest.mark.skipif(importlib.util.find_spec("tokenizers") is None, reason="the package tokenizers is not installed")
def test_a_wheel_without_its_vectors_is_one_sentence(monkeypatch, tmp_path):
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(words_module, "find_spec", lambda name: Spec)
    said = refused(lambda: embedder("words").rows(["cat"]))
    assert said.startswith(f"the word vectors of wordllama in {tmp_path} cannot be read (")
    assert said.endswith("): install it again, pip install --force-reinstall 'ramify[words]'")


# -- names -------------------------------------------------------------------------------------------------------------


def test_the_texts_of_a_concept():
    concept = Concept("teddy_bear-toy", aliases=("T-Rex",), description=" soft_toy {} ")
    assert name_texts(concept, ["a {}", "{} or {}"]) == [
        ["teddy bear toy", "a teddy bear toy", "teddy bear toy or teddy bear toy"],
        ["T Rex", "a T Rex", "T Rex or T Rex"],
        [" soft_toy {} "],
    ]
    assert name_texts(Concept("cat"), ["{}"]) == [["cat"]]
    assert name_texts(Concept("-", description="  "), []) == [["-"]]


def test_a_vector_is_the_unit_mean_of_the_unit_rows():
    taxonomy = Taxonomy({"animal": {"description": "it moves", "cat": {"aliases": ["puss_cat"]}}})
    vectors, unknown = name_vectors(taxonomy, Letters())

    def unit(text):
        counts = np.array([text.count(vowel) for vowel in "aeiou"], float)
        return counts / np.linalg.norm(counts)

    expected = [
        sum(map(unit, ("cat", "the cat", "puss cat", "the puss cat"))),
        sum(map(unit, ("animal", "the animal", "it moves"))),
    ]
    assert np.allclose(vectors.vectors, [row / np.linalg.norm(row) for row in expected], atol=1e-6)
    assert vectors.shared
    assert unknown == []


def test_templates_that_are_given_replace_those_of_the_embedder():
    by = Letters()
    name_vectors(Taxonomy({"animal": ["cat"]}), by, ["one {}"])
    assert by.asked == ["cat", "one cat", "animal", "one animal"]
    assert refused(lambda: name_vectors(Taxonomy({"animal": ["cat"]}), by, ["one"])) == (
        "the template 'one' has no {} where the concept's name goes: add it"
    )


def test_a_concept_of_unknown_words_stands_with_its_parent_and_a_root_with_its_children():
    taxonomy = Taxonomy({"animal": {"cat": None, "lynx": ["lynx", "xyz"]}, "sky": ["sun", "moon"]})
    vectors, unknown = name_vectors(taxonomy, Letters(), ["the {}"])
    assert unknown == ["animal > lynx", "animal > lynx > lynx", "animal > lynx > xyz", "sky"]
    row = {taxonomy.path(number): vectors.vectors[number] for number in range(len(taxonomy))}
    for path in unknown[:3]:
        assert np.allclose(row[path], row["animal"])
    both = row["sky > sun"] + row["sky > moon"]
    assert np.allclose(row["sky"], both / np.linalg.norm(both), atol=1e-6)


def test_where_nothing_is_known_it_is_one_sentence():
    assert refused(lambda: name_vectors(Taxonomy({"sky": ["xyz"]}), Letters())) == (
        "letters knows no word of any concept: describe them in the taxonomy"
    )


def test_a_tree_of_unknown_words_favours_nothing():
    taxonomy = Taxonomy({"animal": ["cat", "emu"], "sky": ["xyz", "zyx"]})
    vectors, unknown = name_vectors(taxonomy, Letters())
    assert unknown == ["sky", "sky > xyz", "sky > zyx"]
    rows = vectors.vectors[taxonomy.indices(unknown)]
    assert (rows == rows[0]).all()


def test_the_same_name_on_two_paths_has_the_same_vector():
    taxonomy = Taxonomy({"people": ["people", "baby"]})
    vectors, _ = name_vectors(taxonomy, Letters())
    one, other = taxonomy.indices(["people > people", "people"])
    assert np.array_equal(vectors.vectors[one], vectors.vectors[other])


def test_what_was_read_is_found_again_and_only_what_is_new_is_read(tmp_path):
    first, second = Letters(), Letters()
    before, _ = name_vectors(Taxonomy({"animal": ["cat"]}), first, folder=tmp_path / "names")
    again, _ = name_vectors(Taxonomy({"animal": ["cat", "dog"]}), second, folder=tmp_path / "names")
    assert second.asked == ["dog", "the dog"]
    assert np.array_equal(again.vectors[[0, 2]], before.vectors)
    (kept,) = (tmp_path / "names").iterdir()
    kept.write_bytes(kept.read_bytes()[:40])
    third = Letters()
    name_vectors(Taxonomy({"animal": ["cat"]}), third, folder=tmp_path / "names")
    assert third.asked == first.asked


def test_pictures_read_no_names():
    assert not PictureEmbedder().reads_names
    assert refused(lambda: name_vectors(Taxonomy({"animal": ["cat"]}), PictureEmbedder())) == "pictures reads no names"


def test_hashed_words_read_names_into_the_space_of_the_texts():
    by = TextEmbedder()
    by.fit(["the cat purrs", "a dog barks", "the dog sleeps", "a cat sleeps", "an animal"] * 3)
    vectors, unknown = name_vectors(Taxonomy({"animal": ["cat", "dog", "gnu"]}), by)
    items = by.rows(["one cat", "one dog"])[0]
    assert isinstance(vectors, NameVectors)
    assert (items @ vectors.vectors.T)[:, :2].argmax(axis=1).tolist() == [0, 1]
    assert unknown == ["animal > gnu"]


# -- templates in taxonomy files ---------------------------------------------------------------------------------------

CONCEPT = "; or, if templates is a concept here, list its finer ones as templates: {children: [...]}"


def test_templates_at_the_top_of_a_file_are_no_concept(tmp_path):
    path = Path(tmp_path, "taxonomy.yaml")
    path.write_text("templates: ['a photo of a {}', '{}']\nanimal: [cat]\n")
    assert Taxonomy.load(path) == Taxonomy({"animal": ["cat"]})
    path.write_text("templates: {children: [letter, invoice]}\nanimal: [cat]\n")
    taxonomy = Taxonomy.load(path)
    assert taxonomy.path("letter") == "templates > letter"
    taxonomy.save(path)
    assert Taxonomy.load(path) == taxonomy
    path.write_text("office: {templates: [letter, invoice]}\ntemplates:\n")
    assert Taxonomy.load(path).names == ("letter", "invoice", "templates", "office", "templates")
    assert take_templates({"templates": []}) == ({}, [])
    assert take_templates([]) == ([], None)


@pytest.mark.parametrize(
    ("templates", "sentence"),
    [
        ("[letter, invoice]", "the template 'letter' has no {} where the concept's name goes: add it"),
        ("['{}', 7]", "a template is text with {} where the concept's name goes, not a number"),
        ("[{letter: [bill]}]", "a template is text with {} where the concept's name goes, not a mapping"),
    ],
)
def test_templates_that_are_none_are_one_sentence(tmp_path, templates, sentence):
    path = Path(tmp_path, "taxonomy.yaml")
    path.write_text(f"templates: {templates}\nanimal: [cat]\n")
    assert refused(lambda: Taxonomy.load(path)) == f"{path}: {sentence}{CONCEPT}"
