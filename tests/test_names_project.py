"""A project's names: read anew by each training, or given; what is said of them; and one sentence for a mistake."""

from pathlib import Path

import numpy as np
import pytest

import ramify
from ramify.embed.words import words_installed
from ramify.project.store.store import Store
from ramify.project.transfer.names import read_names
from ramify.taxonomy import Taxonomy
from test_cli_project import items, refused, run

QUICK = ("--set", "steps=5", "--set", "hidden=[4,4]")
PATHS = ["animal", "animal > cat", "dog", "food", "apple", "banana"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taxonomy.yaml").write_text("animal: [cat, dog]\nfood: [apple, banana]\n")
    table = items(Path("items.csv"), 24, 12)
    # Names stand in some texts: what a text encoder cannot know of made-up words.
    table.write_text(table.read_text() + "a,an animal cat cat,animal,1\nb,a dog and food,animal,1\nc,an apple,food,1\n")
    return tmp_path


def project(embed="text", *init: str) -> str:
    run("init", "pets", "--taxonomy", "taxonomy.yaml", *init)
    more = ["--embed", embed]
    if embed == "features":
        np.save("x.npy", np.random.default_rng(0).normal(size=(27, 4)))
        more = ["--features", "x.npy"]
    run("add", "pets", "items.csv", "--ignore", "page", *more)
    return "pets"


def vectors(width: int = 4, rows: int = 6) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(rows, width))


def give(concepts=PATHS, rows=None) -> str:
    np.savez("names.npz", concepts=concepts, vectors=vectors() if rows is None else rows)
    return "names.npz"


def names_line(printed: str) -> str:
    (line,) = [line for line in printed.splitlines() if line.startswith("Names: ")]
    return line


# -- read by the embedder ---------------------------------------------------------------------------------------------


def test_training_reads_the_names_and_says_so(here):
    printed = run("train", project(), *QUICK)
    line = "6 concepts read by text, in the items' own space; it knows no word of 1 ('food > banana')"
    assert names_line(printed) == f"Names: {line}."
    assert line in " ".join(run("status", "pets").split())
    status = ramify.Project("pets").status()
    assert status.model.names == line
    with Store("pets") as store:
        names = read_names(store).vectors
        assert names.shared
        assert names.vectors.shape == (6, store.features().shape[1])


def test_the_learner_gets_them(here, monkeypatch):
    given = []
    fit = ramify.Refine.fit

    def noting(self, *arguments, names=None, **more):
        given.append(names)
        return fit(self, *arguments, names=names, **more)

    monkeypatch.setattr(ramify.Refine, "fit", noting)
    run("train", project(), *QUICK)
    with Store("pets") as store:
        assert np.array_equal(given[0].vectors, read_names(store).vectors.vectors)


def test_a_split_makes_them_again(here):
    run("train", project(), *QUICK)
    with Store("pets") as store:
        before = read_names(store).vectors
        store.split("cat", ["tabby", "purrs"])
        after = read_names(store).vectors
        assert len(after.vectors) == len(store.taxonomy) == 8
        dog = store.taxonomy.index("dog")
        assert np.allclose(after.vectors[dog], before.vectors[1])
    assert names_line(run("train", "pets")).startswith(
        "Names: 8 concepts read by text, in the items' own space; it knows no word of 2"
    )


def test_with_coarse_labels_and_names_only_predictions_say_what_they_are_worth(here):
    Path("items.csv").write_text("id,text,labels\n" + "".join(f"{n},an animal no {n},animal\n" for n in range(9)))
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "items.csv")
    run("train", "pets", *QUICK)
    nothing_known = "No item is completely known yet: nothing says how good these probabilities are"
    assert nothing_known in run("predict", "pets", "--out", "out.csv")
    Path("answers.csv").write_text("id,concept,answer\n0,cat,yes\n0,dog,no\n")
    run("answer", "pets", "answers.csv")
    assert nothing_known not in run("predict", "pets", "--out", "again.csv")


def test_a_learner_that_does_not_use_them_says_so(here):
    printed = run("train", project(), "--learner", "coarse-prior", *QUICK)
    assert names_line(printed) == "Names: not used by coarse-prior."


def test_templates_of_the_file_of_init_and_of_train(here):
    Path("taxonomy.yaml").write_text("templates: ['a {}']\nanimal: [cat, dog]\nfood: [apple, banana]\n")
    project()
    with Store("pets") as store:
        assert store.setting("templates") == ["a {}"]
        one = read_names(store).vectors
    run("train", "pets", "--template", "the {} purrs", "--template", "{}", *QUICK)
    with Store("pets") as store:
        assert store.setting("templates") == ["the {} purrs", "{}"]
        assert not np.allclose(one.vectors, read_names(store).vectors.vectors)
    run("train", "pets", *QUICK)
    run("init", "other", "--taxonomy", "taxonomy.yaml", "--template", "one {}")
    for folder, kept in (("pets", ["the {} purrs", "{}"]), ("other", ["one {}"])):
        with Store(folder) as store:
            assert store.setting("templates") == kept


def test_a_template_has_one_place_for_the_name(here):
    Path("taxonomy.yaml").write_text("animal: [cat, dog]\n")
    assert refused("init", "pets", "--taxonomy", "taxonomy.yaml", "--template", "a {} or {}") == (
        "the template 'a {} or {}' has more than one {}: the concept's name goes in one place"
    )


def test_templates_of_a_training_that_failed_are_not_kept(here):
    project()
    with pytest.raises(ramify.RamifyError):
        ramify.Project("pets").train(templates=["a {}"], steps="many")
    with Store("pets") as store:
        assert store.setting("templates") is None


def test_a_template_without_its_place_is_one_sentence(here):
    sentence = "the template 'a photo' has no {} where the concept's name goes: add it"
    assert refused("init", "new", "--taxonomy", "taxonomy.yaml", "--template", "a photo") == sentence
    assert not Path("new").exists()
    assert refused("train", project(), "--template", "a photo") == sentence
    Path("taxonomy.yaml").write_text("templates: [a photo]\nanimal: [cat, dog]\n")
    assert refused("init", "new", "--taxonomy", "taxonomy.yaml") == (
        f"taxonomy.yaml: {sentence}; or, if templates is a concept here, list its finer ones as "
        "templates: {children: [...]}"
    )


def test_an_embedder_that_cannot_be_loaded_leaves_the_names_out(here):
    project()
    with Store("pets") as store:
        store.set_setting("embed", "sentence-transformers:nowhere")
        said = read_names(store).said
        assert said.startswith(
            (
                "left out, --embed sentence-transformers:nowhere needs the package sentence-transformers",
                "left out, the model 'nowhere' of sentence-transformers cannot be loaded",
            )
        )
    assert names_line(run("train", "pets", *QUICK)).startswith("Names: left out, ")


@pytest.mark.skipif(not words_installed(), reason="the extra words is not installed: pip install 'ramify[words]'")
def test_words_go_from_a_table_to_a_model(here):
    printed = run("train", project("words"), *QUICK)
    assert names_line(printed) == "Names: 6 concepts read by words, in the items' own space."
    assert run("predict", "pets", "--out", "out.csv").startswith("Wrote 27 rows of 27 items")


@pytest.mark.skipif(not words_installed(), reason="the extra words is not installed: pip install 'ramify[words]'")
def test_texts_are_embedded_by_words_where_they_are_installed(here, monkeypatch):
    monkeypatch.setattr("ramify.embed.words_installed", words_installed)
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    assert run("add", "pets", "items.csv", "--ignore", "page").endswith("with features by words.\n")
    run("init", "other", "--taxonomy", "taxonomy.yaml")
    printed = run("add", "other", "items.csv", "--ignore", "page", "--embed", "text")
    assert printed.endswith("with features by text.\n")


def test_in_a_notebook(here):
    pets = ramify.Project.create("pets", {"animal": ["cat", "dog"]}, templates=["a {}"])
    texts = ["a cat that purrs", "a dog that barks", "the dog barks", "one more cat", "an animal"]
    pets.add({"id": list("abcde"), "text": texts, "labels": ["animal"] * 5}, embed="text")
    pets.train(templates=["the {}"], steps=5, hidden=(4, 4))
    assert pets.status().model.names == "3 concepts read by text, in the items' own space"
    assert pets.names({"animal": [1, 0], "cat": [0, 1], "animal > dog": [1, 1]}) == 3
    pets.train()
    assert pets.status().model.names == "3 concepts as they were given, in another space than the items"
    with Store("pets") as store:
        assert store.setting("templates") == ["the {}"]
        assert np.allclose(read_names(store).vectors.vectors, [[0, 1], [0.5**0.5] * 2, [1, 0]])


# -- given ------------------------------------------------------------------------------------------------------------


def test_features_from_files_have_no_names_until_they_are_given(here):
    printed = run("train", project("features"), *QUICK)
    assert names_line(printed) == (
        "Names: none, since the features come from files: give vectors with `ramify names pets FILE`."
    )
    assert run("names", "pets", give()) == (
        "Names: 6 concepts as they were given, in the items' own space. Next: ramify train pets\n"
    )
    with Store("pets") as store:
        names, taxonomy = read_names(store).vectors, store.taxonomy
        unit = vectors() / np.linalg.norm(vectors(), axis=1, keepdims=True)
        assert np.allclose(names.vectors[taxonomy.indices(PATHS)], unit, atol=1e-6)
    assert names_line(run("train", "pets", *QUICK)) == (
        "Names: 6 concepts as they were given, in the items' own space."
    )
    run("names", "pets", give(), "--other-space")
    with Store("pets") as store:
        assert not read_names(store).vectors.shared
    assert "in another space than the items" in run("names", "pets", give(rows=vectors(7)))


def test_pictures_read_none(here):
    from PIL import Image

    Path("pictures/cat").mkdir(parents=True)
    for number in range(4):
        Image.new("RGB", (20, 20), (60 * number, 9, 9)).save(f"pictures/cat/{number}.png")
    run("init", "pets", "--taxonomy", "taxonomy.yaml")
    run("add", "pets", "pictures")
    assert names_line(run("train", "pets", *QUICK)) == (
        "Names: none, since pictures reads no texts: give vectors with `ramify names pets FILE`."
    )
    run("names", "pets", give())
    assert "in another space" in names_line(run("train", "pets", *QUICK))


def test_given_names_are_left_out_after_a_split_until_all_are_given_again(here):
    project("features")
    run("names", "pets", give())
    run("taxonomy", "split", "pets", "dog", "poodle", "beagle", "pug", "hound")
    assert names_line(run("train", "pets", *QUICK)) == (
        "Names: left out, 4 concepts have no vector ('animal > dog > poodle', 'animal > dog > beagle', "
        "'animal > dog > pug', ...): give all of them again with `ramify names pets FILE`."
    )
    finer = ["poodle", "beagle", "pug", "hound"]
    assert "10 concepts as they were given" in run("names", "pets", give([*PATHS, *finer], vectors(rows=10)))


def test_a_backup_holds_them(here):
    project("features")
    run("names", "pets", give())
    run("backup", "pets", "pets.zip")
    run("restore", "pets.zip", "again")
    with Store("pets") as store, Store("again") as restored:
        assert np.array_equal(read_names(store).vectors.vectors, read_names(restored).vectors.vectors)


@pytest.mark.parametrize(
    ("concepts", "rows", "sentence"),
    [
        ([*PATHS[:5], "gnu"], None, "there is no concept 'gnu' in the taxonomy: its roots are 'animal', 'food'"),
        ([*PATHS[:5], "cat"], None, "the concept 'animal > cat' has two vectors: give it one"),
        (
            PATHS[:4],
            vectors(rows=4),
            "2 concepts have no vector ('food > apple', 'food > banana'): give one for every concept, coarse ones too",
        ),
        (PATHS, vectors(rows=5), "vectors has the shape (5, 4) for 6 concepts: give one row for each"),
        (PATHS, np.ones(6), "vectors has the shape (6,) for 6 concepts: give one row for each"),
        (
            PATHS,
            np.where(np.arange(6)[:, None] == 1, np.nan, vectors()),
            "the name vector of 'animal > cat' holds nan: replace what is not a finite number",
        ),
        (
            PATHS,
            np.where(np.arange(6)[:, None] == 2, 0, vectors()),
            "the name vector of 'animal > dog' is zero: give it another one, or leave all of them out",
        ),
    ],
)
def test_mistakes_in_a_file_of_names_are_one_sentence(here, concepts, rows, sentence):
    project("features")
    assert refused("names", "pets", give(concepts, rows)) == f"names.npz: {sentence}"
    assert not Path("pets/names.npz").exists()


def test_other_files_are_one_sentence(here):
    project("features")
    np.savez("names.npz", vectors=vectors())
    assert refused("names", "pets", "names.npz") == ("names.npz: without concepts; the file needs concepts, vectors")
    assert refused("names", "pets", "none.npz") == "none.npz: there is no such file"
    with pytest.raises(ramify.RamifyError, match=r"^the mapping: the vectors have the shapes"):
        ramify.Project("pets").names({"animal": [1.0], "cat": [1.0, 2.0]})


def test_a_damaged_file_of_given_names_leaves_them_out(here):
    project("features")
    run("names", "pets", give())
    Path("pets/names.npz").write_bytes(b"PK")
    with Store("pets") as store:
        assert read_names(store).vectors is None
        assert read_names(store).said.startswith("left out, pets/names.npz: this is not a whole .npz file")


def test_the_order_of_concepts_does_not_matter(here):
    project("features")
    run("names", "pets", give())
    with Store("pets") as store:
        first = read_names(store).vectors.vectors
    run("names", "pets", give(PATHS[::-1], vectors()[::-1]))
    with Store("pets") as store:
        assert np.array_equal(read_names(store).vectors.vectors, first)
        assert store.taxonomy == Taxonomy.load("taxonomy.yaml")
