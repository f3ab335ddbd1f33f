"""Taxonomy: the same forest from every form, without loss, and one clear error for what is not a forest."""

import json

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.concepts import Concept
from ramify.errors import RamifyError
from ramify.taxonomy import Taxonomy
from strategies import taxonomies

DEEP = Taxonomy({"animal": {"dog": ["poodle", "beagle"], "cat": None}, "sky": None, "food": ["apple"]})


def test_fine_concepts_come_first_and_siblings_keep_their_order():
    assert DEEP.names == ("poodle", "beagle", "cat", "sky", "apple", "animal", "dog", "food")
    assert DEEP.leaves.tolist() == [0, 1, 2, 3, 4]
    assert [DEEP.names[root] for root in DEEP.roots] == ["animal", "sky", "food"]
    assert [DEEP.names[child] for child in DEEP.children("animal")] == ["dog", "cat"]
    assert str(DEEP) == (
        "animal\n├── dog\n│   ├── poodle\n│   └── beagle\n└── cat\nsky\nfood\n└── apple"
    )  # fmt: skip


def test_ways_up_and_down():
    assert DEEP.path("poodle") == "animal > dog > poodle"
    assert [DEEP.names[n] for n in DEEP.ancestors("poodle")] == ["animal", "dog"]
    assert [DEEP.names[n] for n in DEEP.descendants("animal")] == ["dog", "poodle", "beagle", "cat"]
    assert DEEP.parent("dog") == DEEP.index("animal")
    assert DEEP.parent("sky") == -1
    assert DEEP.children("sky").size == 0


@given(taxonomies(8))
def test_arrays_agree_with_the_parents(taxonomy):
    parents = taxonomy.parents.tolist()
    assert sorted(taxonomy.preorder.tolist()) == list(range(len(taxonomy)))
    for number in range(len(taxonomy)):
        assert sorted(taxonomy.children(number).tolist()) == [n for n, p in enumerate(parents) if p == number]
        below = {n for n in range(len(taxonomy)) if number in taxonomy.ancestors(n)}
        assert set(taxonomy.descendants(number).tolist()) == below
        assert taxonomy.index(taxonomy.path(number)) == number
        assert (number in taxonomy.leaves) == (not below)
        assert (number in taxonomy.roots) == (parents[number] < 0)


@settings(max_examples=100, deadline=None)
@given(taxonomies(8), st.sampled_from(["yaml", "yml", "json"]))
def test_files_lose_nothing(tmp_path_factory, taxonomy, ending):
    path = tmp_path_factory.mktemp("taxonomy") / f"t.{ending}"
    taxonomy.save(path)
    assert Taxonomy.load(path) == taxonomy
    assert Taxonomy(taxonomy.to_dict()) == taxonomy


def test_every_form_gives_the_same_forest(tmp_path):
    expected = Taxonomy({"animal": ["cat", "dog"], "food": ["apple"]})
    pairs = [("cat", "animal"), ("dog", "animal"), ("apple", "food")]
    assert Taxonomy.from_pairs(pairs) == Taxonomy.from_pairs(dict(pairs)) == expected
    assert Taxonomy.from_arrays(["cat", "dog", "apple", "animal", "food"], np.array([3, 3, 4, -1, -1])) == expected
    (tmp_path / "t.yaml").write_text("animal:\n  cat:\n  dog:\nfood: [apple]\n")
    (tmp_path / "t.json").write_text(json.dumps({"animal": {"children": ["cat", {"dog": None}]}, "food": ["apple"]}))
    assert Taxonomy.load(tmp_path / "t.yaml") == Taxonomy.load(tmp_path / "t.json") == expected


def test_a_concept_states_description_aliases_and_exhaustive(tmp_path):
    (tmp_path / "t.yaml").write_text(
        "animal:\n  exhaustive: true\n  description: anything that lives and moves\n"
        "  cat: {aliases: [kitty, tomcat]}\n  children: {description: }\n"
    )
    taxonomy = Taxonomy.load(tmp_path / "t.yaml")
    assert taxonomy.concepts[taxonomy.index("animal")].description == "anything that lives and moves"
    assert taxonomy.exhaustive.tolist() == [name == "animal" for name in taxonomy.names]
    assert taxonomy.index("tomcat") == taxonomy.index("animal > cat") == taxonomy.index(("animal", "cat"))
    assert taxonomy.path("description") == "animal > description"
    taxonomy.save(tmp_path / "again.yaml")
    assert Taxonomy.load(tmp_path / "again.yaml") == taxonomy


def test_interleaved_columns_survive_a_file(tmp_path):
    """MIRFLICKR's fine concepts are not grouped by parent, and share names with coarse ones."""
    taxonomy = Taxonomy.from_arrays(["animals", "baby", "dog", "people", "people", "animals"], [5, 4, 5, 4, -1, -1])
    assert taxonomy.names == ("animals", "baby", "dog", "people", "people", "animals")
    taxonomy.save(tmp_path / "t.yaml")
    assert Taxonomy.load(tmp_path / "t.yaml") == taxonomy
    assert taxonomy.index("people") == 4
    assert taxonomy.index("people > people") == 3


def test_split_keeps_what_was_there():
    finer, moved = DEEP.split("cat", ["siamese", "persian"], exhaustive=True)
    assert [finer.names[n] for n in moved] == list(DEEP.names)
    assert [finer.path(n) for n in moved] == [DEEP.path(n) for n in range(len(DEEP))]
    assert [finer.names[n] for n in finer.children("animal")] == ["dog", "cat"]
    assert finer.exhaustive[finer.index("cat")]


def test_merge_joins_children_too():
    merged, moved = Taxonomy({"animal": {"dog": ["poodle"], "cat": ["siamese"], "fish": None}}).merge(
        ["dog", "cat"], "pet"
    )
    assert str(merged) == "animal\n├── pet\n│   ├── poodle\n│   └── siamese\n└── fish"
    assert [merged.names[n] for n in moved] == ["poodle", "siamese", "fish", "animal", "pet", "pet"]


def test_what_loses_a_child_is_exhaustive_no_more():
    taxonomy = Taxonomy({"animal": {"exhaustive": True, "cat": None, "dog": None}, "food": ["apple"]})
    for changed, _ in (taxonomy.remove("dog"), taxonomy.move("dog", "food"), taxonomy.move("dog", None)):
        assert not changed.exhaustive.any()
    for changed, _ in (
        taxonomy.rename("dog", "hound"),
        taxonomy.add(["owl"], "animal"),
        taxonomy.split("dog", ["pug"]),
    ):
        assert changed.exhaustive[changed.index("animal")]


def test_a_concept_moves_and_goes_with_all_below_it():
    moved, numbers = DEEP.move("dog", "food")
    assert str(moved) == "animal\n└── cat\nsky\nfood\n├── apple\n└── dog\n    ├── poodle\n    └── beagle"
    assert [moved.names[n] for n in numbers] == list(DEEP.names)
    left, numbers = DEEP.remove("dog")
    assert str(left) == "animal\n└── cat\nsky\nfood\n└── apple"
    assert [left.names[n] if n >= 0 else None for n in numbers] == [
        None if name in ("dog", "poodle", "beagle") else name for name in DEEP.names
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Taxonomy({}), "the taxonomy is empty: give at least one concept"),
        (lambda: Taxonomy(["cat"]), "a taxonomy is a mapping of concept names to finer concepts, not a list"),
        (lambda: Taxonomy({"animal": ["cat", ""]}), "concept number 2 has an empty name: give every concept a name"),
        (
            lambda: Taxonomy({"animal": ["cat", "cat"]}),
            "the concept 'cat' stands twice under 'animal': remove or rename one",
        ),
        (
            lambda: Taxonomy.from_arrays(["a", "a"], [-1, -1]),
            "the concept 'a' stands twice among the roots: remove or rename one",
        ),
        (
            lambda: Taxonomy.from_pairs([("cat", "animal"), ("cat", "pet")]),
            "the concept 'cat' has two parents, 'animal' and 'pet': keep one pair",
        ),
        (
            lambda: Taxonomy.from_pairs({"a": "b", "b": "c", "c": "a"}),
            "the taxonomy goes round in a circle, b > a > c > b: remove one of these parents",
        ),
        (
            lambda: Taxonomy.from_arrays(["cat", "dog"], [2, -1]),
            "the concept 'cat' has the unknown parent 2: parents are -1 (none) or 0 to 1",
        ),
        (
            lambda: Taxonomy.from_arrays(["cat", "dog"], [-1]),
            "2 names but 1 parents: give one parent (or -1) for each name",
        ),
        (
            lambda: Taxonomy({"a > b": None}),
            "the name 'a > b' contains '>', which separates the names of a path: rename it",
        ),
        (
            lambda: Taxonomy({"animal": {"aliases": ["food"]}, "food": None}),
            "the alias 'food' of 'animal' is the name of 'food' too: aliases must be unique",
        ),
        (
            lambda: Taxonomy({"animal": {2020: None}}),
            "the concept name 2020 under 'animal' is not text: put it in quotes",
        ),
        (
            lambda: Taxonomy({"animal": "cat"}),
            "the finer concepts of 'animal' must be a list or a mapping, not text",
        ),
        (
            lambda: Taxonomy({"animal": {"exhaustive": "yes"}}),
            "'exhaustive' of 'animal' must be true or false, not text "
            "(a finer concept called 'exhaustive' goes under 'children')",
        ),
        (
            lambda: Taxonomy({"animal": {"aliases": [1]}}),
            "'aliases' of 'animal' must be a list of names: put every alias in quotes",
        ),
        (
            lambda: Taxonomy({"animal": {"index": 0}, "food": {"index": 0}}),
            "every concept needs its own index from 0 to 1, or none may state one",
        ),
        (
            lambda: Taxonomy({"a": ["other"], "b": ["other"]}).index("other"),
            "2 concepts are called 'other': write its path, 'a > other' or 'b > other'",
        ),
        (lambda: DEEP.index(9), "there is no concept number 9: this taxonomy numbers 0 to 7"),
        (lambda: DEEP.split("dog", ["pug"]), "'animal > dog' is split already: split one of its finer concepts"),
        (lambda: DEEP.split("cat", []), "splitting 'animal > cat' needs at least one finer concept"),
        (lambda: DEEP.merge(["cat"], "pet"), "merging needs at least two different concepts"),
        (
            lambda: DEEP.merge(["cat", "apple"], "thing"),
            "only concepts with the same parent can be merged, not 'animal > cat', 'food > apple'",
        ),
        (
            lambda: DEEP.merge(["animal", "cat"], "animal"),
            "only concepts with the same parent can be merged, not 'animal', 'animal > cat'",
        ),
        (
            lambda: DEEP.merge(["dog", "cat"], "poodle").__getitem__(0).merge(["animal", "sky"], "food"),
            "there is a concept 'food' among the roots already: give another name, or merge them",
        ),
        (lambda: DEEP.rename("dgo", "hound"), "there is no concept 'dgo' in the taxonomy: did you mean 'dog'?"),
        (lambda: DEEP.rename("dog", "dog"), "'animal > dog' is called 'dog' already"),
        (
            lambda: DEEP.rename("dog", "cat"),
            "there is a concept 'cat' below 'animal' already: give another name, or merge them",
        ),
        (lambda: DEEP.rename("dog", " "), "an empty name is no name: give the concept one that can be seen"),
        (
            lambda: DEEP.add(["Big_Cat", "big cat"], "animal"),
            "'big cat' and 'Big_Cat' below 'animal' are read as one name, since letters' case, spaces, '_' and '-' do "
            "not count: give another name, or merge them",
        ),
        (
            lambda: DEEP.move("animal", "poodle"),
            "'animal' cannot be moved below 'animal > dog > poodle', which is itself or lies below it",
        ),
        (
            lambda: DEEP.move("dog", "dog"),
            "'animal > dog' cannot be moved below 'animal > dog', which is itself or lies below it",
        ),
        (lambda: DEEP.move("dog", "animal"), "'animal > dog' is directly below 'animal' already"),
        (lambda: DEEP.move("sky", None), "'sky' is a root already"),
        (lambda: DEEP.add([], "sky"), "adding needs at least one concept"),
        (
            lambda: DEEP.add(["cloud", "cloud"], "sky"),
            "there is a concept 'cloud' below 'sky' already: give another name, or merge them",
        ),
        (
            lambda: Taxonomy({"animal": ["cat"]}).remove("animal"),
            "'animal' is the last coarse concept: a taxonomy needs at least one",
        ),
        (
            lambda: DEEP.describe("cat"),
            "nothing new is said of 'animal > cat': give a description, aliases or exhaustive",
        ),
        (
            lambda: DEEP.describe("cat", exhaustive=True),
            "'animal > cat' has no finer concepts, of which one would always apply",
        ),
        (
            lambda: DEEP.describe("cat", aliases=["dog"]),
            "the alias 'dog' of 'cat' is the name of 'dog' too: aliases must be unique",
        ),
    ],
)
def test_what_is_not_a_forest_is_refused_in_one_sentence(build, message):
    with pytest.raises(RamifyError) as error:
        build()
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.yaml", "- cat\n- dog\n", "a taxonomy is a mapping of concept names to finer concepts, not a list"),
        ("t.yaml", "", "a taxonomy is a mapping of concept names to finer concepts, not nothing"),
        ("t.yaml", "animal: [cat\nfood: [", "line 2: this is not valid YAML"),
        ("t.yaml", "animal: [cat]\nanimal: [dog]\n", "line 2: 'animal' stands twice"),
        ("t.yaml", "animal: {no: , yes: }\n", "the concept name False under 'animal' is not text: put it in quotes"),
        (
            "t.yaml",
            "food: [apple]\nanimal: !!python/object:os.system {}\n",
            "line 2: the tag '!!python/object:os.system' has no meaning in a taxonomy: remove it",
        ),
        ("t.yaml", "animal: !cat [tom]\n", "line 1: the tag '!cat' has no meaning in a taxonomy: remove it"),
        ("t.yaml", "? !!timestamp now\n", "line 1: the tag '!!timestamp' has no meaning in a taxonomy: remove it"),
        (
            "t.yaml",
            "animal:\n  cat:\n\tdog:\n",
            "line 3: it is indented by a tab, which YAML forbids: use spaces",
        ),
        (
            "t.yaml",
            "animal: &all\n  cat:\n  dog: *all\n",
            "line 3: '*all' stands within '&all', so its concepts would never end: write out what is meant",
        ),
        ("t.yaml", "animal: [*cats]\n", "line 1: this is not valid YAML"),
        ("t.yaml", "animal:\n  - cat\n  - \x07\n", "line 3: this is not valid YAML"),
        ("t.yaml", "animal:\n  ? [cat]\n", "line 2: this is not valid YAML"),
        ("t.yaml", '"\\ud83d": [cat]\n', "the name '\\ud83d' holds half of a character (\\ud...): mend it"),
        ("t.json", '{"\\ud83d": ["cat"]}', "the name '\\ud83d' holds half of a character (\\ud...): mend it"),
        (
            "t.json",
            '{"animal": {"description": "\\ud83d"}}',
            "the description of 'animal' holds half of a character (\\ud...): mend it",
        ),
        ("t.json", '{"animal": ["cat"],}', "line 1: this is not valid JSON"),
        ("t.json", '{"animal": ["cat"], "animal": []}', "'animal' stands twice in one mapping"),
        ("t.txt", "animal: [cat]", "a taxonomy file ends in .yaml, .yml, .json or .xml"),
        (
            "t.xml",
            "<!DOCTYPE v [<!ENTITY e 'x'>]><View/>",
            "it declares a document type (<!DOCTYPE ...>), which no labelling config needs: remove it",
        ),
        ("t.xml", "<View>", "line 1: this is not valid XML: the labelling config may be cut off"),
        ("t.xml", "<View/>", "it has no <Taxonomy> or <Choices> with a <Choice> in it: nothing names concepts"),
    ],
)
def test_a_file_that_is_not_a_taxonomy_is_refused_by_name(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(RamifyError) as error:
        Taxonomy.load(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {message}"


def test_ten_lines_of_aliases_do_not_become_ten_billion_concepts(tmp_path):
    lines = ["a0: &a0 [cat]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
    (tmp_path / "t.yaml").write_text("\n".join(lines))
    with pytest.raises(RamifyError) as error:
        Taxonomy.load(tmp_path / "t.yaml")
    assert str(error.value) == (
        f"{tmp_path / 't.yaml'}: line 6: with its aliases ('*') this stands for more than 100000 concepts: "
        "write out what is meant"
    )


def test_an_alias_repeats_what_it_stands_for(tmp_path):
    (tmp_path / "t.yaml").write_text("shirt: &sizes [small, large]\ncoat: *sizes\n")
    assert Taxonomy.load(tmp_path / "t.yaml") == Taxonomy({"shirt": ["small", "large"], "coat": ["small", "large"]})


YAML_PIECES = [
    "animal", "cat", ": ", "\n", "\n  ", "\n\t", "- ", "[", "]", "{", "}", ", ", "&a ", "*a", "!!timestamp ", "!!bool ",
    '"\\ud800"', "? ", "| ", "> ", "\n---\n", "<<: *a", "2020-13-45", "1:99", ".inf", "~", "true", "exhaustive: ",
    "aliases: ", "children: ", "index: ", "description: ", '"', "'", "#", "@", "\u2028", "\x85", "[a]: b", "\x00",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(YAML_PIECES), max_size=14).map("".join), st.sampled_from(["yaml", "json"]))
def test_any_text_is_a_taxonomy_or_refused_in_one_sentence(tmp_path_factory, text, ending):
    path = tmp_path_factory.mktemp("taxonomy") / f"t.{ending}"
    path.write_text(text, encoding="utf-8")
    try:
        taxonomy = Taxonomy.load(path)
    except RamifyError as error:
        str(error).encode()  # or no terminal could show it
        return
    taxonomy.save(path)
    assert Taxonomy.load(path) == taxonomy
    assert len(str(taxonomy).splitlines()) == len(taxonomy)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (" x ", "begins or ends with a space, which tables are read without: remove it"),
        ("x\u3000", "begins or ends with a space, which tables are read without: remove it"),
        ("x;y", "contains ';', which separates the names of a list: rename it"),
        ("x>y", "contains '>', which separates the names of a path: rename it"),
        ("x\ny", "holds a line break or another control character: rename it"),
        ("x\u2028y", "holds a line break or another control character: rename it"),
        ("x\x00", "holds a line break or another control character: rename it"),
        ("x\udc00", "holds half of a character (\\ud...): mend it"),
    ],
)
def test_a_concept_that_could_never_be_named_is_refused(name, said):
    for build in (
        lambda: Taxonomy({"animal": [name]}),
        lambda: Taxonomy.from_pairs({name: "animal"}),
        lambda: Taxonomy.from_arrays([name], [-1]),
        lambda: DEEP.split("cat", ["siamese", name]),
        lambda: DEEP.merge(["dog", "cat"], name),
    ):
        with pytest.raises(RamifyError) as error:
            build()
        assert str(error.value) == f"the name {name!r} {said}"
    with pytest.raises(RamifyError) as error:
        Taxonomy({"animal": {"aliases": ["beast", name]}})
    assert str(error.value) == f"the alias {name!r} of 'animal' {said}"


def test_a_missing_file_and_a_binary_one(tmp_path):
    with pytest.raises(RamifyError, match=r"none\.yaml: there is no such file$"):
        Taxonomy.load(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(RamifyError, match=r"b\.yaml: cannot be read as text"):
        Taxonomy.load(tmp_path / "b.yaml")


@pytest.mark.parametrize("depth", [101, 900, 20_000])
def test_deep_nesting_is_refused_not_a_crash(tmp_path, depth):
    too_deep = "the taxonomy is more than 100 levels deep: make it flatter"
    (tmp_path / "t.json").write_text('{"a":' * depth + "null" + "}" * depth)
    (tmp_path / "t.yaml").write_text("{a: " * depth + "null" + "}" * depth)
    for name in ("t.json", "t.yaml"):
        with pytest.raises(RamifyError) as error:
            Taxonomy.load(tmp_path / name)
        assert str(error.value) == f"{tmp_path / name}: {too_deep}"
    with pytest.raises(RamifyError) as error:
        Taxonomy.from_arrays([f"c{n}" for n in range(depth)], range(-1, depth - 1))
    assert str(error.value) == too_deep


def test_equal_only_when_all_is_equal():
    assert Taxonomy.of([Concept(c.name, c.parent, exhaustive=True) for c in DEEP.concepts]) != DEEP
    assert hash(DEEP) == hash(Taxonomy(yaml.safe_load(yaml.safe_dump(DEEP.to_dict(), sort_keys=False))))
