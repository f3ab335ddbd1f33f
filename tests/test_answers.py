"""Answers in the store: kept once, taken back, and what follows from them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify import Labels, RamifyError, Taxonomy
from ramify.project.store import answers
from ramify.project.store.consensus import apply_answers
from ramify.project.store.store import Event
from store_checks import coarse, filled, ids


@pytest.fixture
def store(tmp_path, address):
    with filled(tmp_path / "project", address=address) as store:
        yield store


# -- answers -----------------------------------------------------------------------------------------------------------


def test_answers_are_kept_once_for_each_key(store):
    cat, dog = ids(store, "cat", "dog")
    said = [(0, cat, "yes"), (0, dog, "no"), (1, cat, "skip")]
    first = store.record("k", "ann", said, model=4)
    assert [(e.item, e.concept, e.answer) for e in first] == said
    assert first[0] == Event(1, "k", first[0].at, "ann", 0, cat, "yes", None, 4, False)
    assert store.record("k", "ann", said[::-1], model=5) == first
    assert store.events() == first
    for other in (("ann", said[:2], False), ("ann", [*said[:2], (1, cat, "no")], False), ("bob", said, False)):
        with pytest.raises(RamifyError, match="the key 'k' was used for another request"):
            store.record("k", *other[:2], settles=other[2])
    with pytest.raises(RamifyError, match="the key 'k' was used for another request"):
        store.record("k", "ann", said, settles=True)
    with pytest.raises(RamifyError, match="the key 'k' was used for another request"):
        store.undo("k", "ann")
    assert store.record("empty", "ann", []) == []
    assert store.last_event() == 3
    assert store.events_about(0, dog) == first[1:2]


@pytest.mark.parametrize(
    ("key", "annotator", "said", "sentence"),
    [
        ("", "ann", [], "the key of a request is printable text of 1 to 200 characters, not ''"),
        ("k", " ", [], "an annotator's name is printable text"),
        ("k", "a\0", [], "an annotator's name is printable text"),
        ("k", "\ud800", [], "an annotator's name is printable text"),
        ("k" * 201, "ann", [], "the key of a request is printable text"),
        ("k", "a" * 101, [], "an annotator's name is printable text of 1 to 100 characters"),
        ("k", "ann", [(0, 1, "yes"), (3, 1, "yes")], "there is no item 3: items are numbered 0 to 2"),
        ("k", "ann", [(-1, 1, "yes")], "there is no item -1"),
        ("k", "ann", [(2**70, 1, "yes")], "there is no item 1180591620717411303424"),
        ("k", "ann", [(0, 7, "yes")], "there is no concept with the id 7 in the project"),
        ("k", "ann", [(0, 1, "maybe")], "item 0, concept 1: an answer is yes, no or skip, not 'maybe'"),
        ("k", "ann", [(0, 1, "undo")], "an answer is yes, no or skip, not 'undo'"),
        ("k", "ann", [(0, 1, "no"), (0, 2, "no"), (0, 1, "no")], "item 0, concept 1 is answered twice"),
    ],
)
def test_answers_that_cannot_be_are_refused_and_none_is_kept(store, key, annotator, said, sentence):
    with pytest.raises(RamifyError, match=sentence):
        store.record(key, annotator, said)
    assert store.events() == []


def test_undo_goes_back_without_limit_and_restores_what_was_said_before(store):
    cat, dog = ids(store, "cat", "dog")
    store.record("1", "ann", [(0, cat, "yes"), (0, dog, "no")])
    store.record("2", "bob", [(1, cat, "yes")])
    store.record("3", "ann", [(0, cat, "no"), (1, dog, "skip")])
    assert store.values([0, 0, 1], [cat, dog, cat]).tolist() == [0, 0, 1]
    undone = store.undo("u1", "ann")
    assert [(e.answer, e.undoes, e.item, e.concept) for e in undone] == [("undo", 4, 0, cat), ("undo", 5, 1, dog)]
    assert store.values([0, 0, 1], [cat, dog, cat]).tolist() == [1, 0, 1]
    assert store.undo("u1", "ann") == undone
    with pytest.raises(RamifyError, match="the key 'u1' was used for another request"):
        store.undo("u1", "bob")
    assert [e.undoes for e in store.undo("u2", "ann")] == [1, 2]
    assert store.undo("u3", "ann") == []
    assert store.values([0, 0, 1], [cat, dog, cat]).tolist() == [-1, -1, 1]
    store.record("4", "ann", [(0, dog, "yes")])
    assert [e.undoes for e in store.undo("u4", "ann")] == [store.last_event() - 1]
    counts = store.annotators()
    assert counts[0] == {
        "name": "ann",
        "yes": 0,
        "no": 0,
        "skip": 0,
        "undone": 5,
        "agreement": None,
        "right": 0,
        "gold": 0,
    }
    assert counts[1] == {
        "name": "bob",
        "yes": 1,
        "no": 0,
        "skip": 0,
        "undone": 0,
        "agreement": None,
        "right": 0,
        "gold": 0,
    }


def test_events_come_in_pages(store, monkeypatch):
    monkeypatch.setattr(answers, "PAGE", 3)
    (cat,) = ids(store, "cat")
    for number in range(8):
        store.record(f"k{number}", "ab"[number % 2], [(0, cat, "yes")])
    assert [e.seq for e in store.events()] == list(range(1, 9))
    assert [e.seq for e in store.events(after=5)] == [6, 7, 8]
    assert [e.seq for e in store.events(annotator="a")] == [1, 3, 5, 7]
    assert [e.seq for e in store.events(annotator="a", last=2)] == [5, 7]
    assert [e.seq for e in store.events(after=6, last=5)] == [7, 8]


def test_people_disagree_until_somebody_settles(store):
    cat, dog = ids(store, "cat", "dog")
    store.record("1", "ann", [(0, cat, "yes"), (1, cat, "yes"), (2, dog, "no")])
    store.record("2", "bob", [(0, cat, "no"), (1, cat, "yes")])
    assert store.values([0, 1, 2], [cat, cat, dog]).tolist() == [-1, 1, 0]
    assert store.disagreements() == [(0, cat, {"ann": 1, "bob": 0})]
    assert [row["agreement"] for row in store.annotators()] == [0.5, 0.5]
    store.record("3", "cid", [(0, cat, "no")], settles=True)
    store.record("4", "ann", [(0, cat, "yes")])
    assert store.values(0, cat) == 0
    assert store.disagreements() == []
    assert [row["agreement"] for row in store.annotators()] == [0.5, 0.5, None]
    store.undo("5", "cid")
    assert store.disagreements() == [(0, cat, {"ann": 1, "bob": 0})]


def test_an_answer_outranks_what_was_imported(store):
    cat, dog, animal = ids(store, "cat", "dog", "animal")
    store.record("1", "ann", [(0, animal, "no"), (1, animal, "yes")])
    labels = store.labels()
    assert labels.states(concepts=["animal", "cat"]).tolist() == [[0, 0], [1, -1], [1, -1]]
    assert labels.contradictions() == []
    assert store.refused_coarse() == [(0, animal, "ann")]
    store.record("confirmed", "bob", [(0, animal, "no")], settles=True)
    assert store.refused_coarse() == []
    store.undo("not confirmed", "bob")
    assert store.refused_coarse() == [(0, animal, "ann")]
    assert store.answered_items().tolist() == [0, 1]
    assert store.count_answers() == 2
    store.undo("2", "ann")
    assert store.labels() == coarse(3)
    assert store.count_answers() == 0
    assert cat != dog


REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cid"]),
        st.one_of(
            st.just("undo"),
            st.dictionaries(
                st.tuples(st.integers(0, 2), st.integers(0, 5)), st.sampled_from(["yes", "no", "skip"]), min_size=1
            ),
        ),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=25,
)


def recomputed(events):
    """What the events mean, plainly: entry -> value, entry -> annotator -> value for those that are torn."""
    undone = {event.undoes for event in events}
    standing = [event for event in events if event.answer in ("yes", "no") and event.seq not in undone]
    values, torn = {}, {}
    for entry in {(event.item, event.concept) for event in standing}:
        about = [event for event in standing if (event.item, event.concept) == entry]
        settling = [event for event in about if event.settles]
        said = {event.annotator: int(event.answer == "yes") for event in about}
        if settling:
            values[entry] = int(settling[-1].answer == "yes")
        elif len(set(said.values())) == 1:
            values[entry] = next(iter(said.values()))
        else:
            torn[entry] = said
    return values, torn, len(standing)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    with filled(tmp_path_factory.mktemp("shared") / "project", count=600) as store:
        yield store, iter(range(10**9))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(REQUESTS)
def test_what_stands_is_what_the_events_say(shared_store, requests):
    """Each example has three items and annotators of its own in one large project."""
    store, numbers = shared_store
    example = next(numbers)
    first = 3 * example % 600
    for annotator, said, settles in requests:
        name, key = f"{annotator} {example}", f"{next(numbers)}"
        if said == "undo":
            store.undo(key, name)
        else:
            entries = [(first + item, int(store.id_of[n]), answer) for (item, n), answer in said.items()]
            store.record(key, name, entries, settles=settles)
    events = store.events()
    values, torn, count = recomputed(events)
    every = [(item, int(concept)) for item in range(first, first + 3) for concept in store.id_of]
    stored = store.values(*np.array(every).T)
    assert stored.tolist() == [values.get(entry, -1) for entry in every]
    assert {(item, concept): said for item, concept, said in store.disagreements()} == torn
    assert store.count_answers() == count
    expected = coarse(600)
    for (item, concept), value in values.items():
        number = store.number_of[concept]
        if number in expected.taxonomy.roots and value == 0:
            expected.retract(item, number, "imported")
        expected.record(item, number, value, "annotated")
    assert store.labels() == expected


# -- an answer outranks the import -------------------------------------------------------------------------------------

DEEP = Taxonomy({"animal": {"pet": ["cat", "dog"], "wild": ["fox"]}, "food": ["apple", "banana"]})
ENTRIES = st.tuples(st.integers(0, 2), st.integers(0, len(DEEP) - 1))
IMPORTS = st.dictionaries(ENTRIES, st.integers(0, 1), max_size=10)
STEPS = st.lists(st.dictionaries(ENTRIES, st.integers(-1, 1), min_size=1, max_size=5), max_size=8)


def with_imports(imports):
    labels = Labels(DEEP, np.full((3, 2), -1, np.int8))
    for (item, concept), value in imports.items():
        labels.record(item, concept, value, "imported")
    return labels


def apply(labels, imported, values):
    items, concepts = np.array(list(values), np.intp).reshape(-1, 2).T
    apply_answers(labels, imported, items, concepts, np.array(list(values.values()), np.int8))


@settings(max_examples=200, deadline=None)
@given(IMPORTS, STEPS)
def test_answers_applied_as_they_come_are_answers_loaded_at_once(imports, steps):
    """Whatever was answered, changed and taken back before, labels follow from the imports and the last values."""
    imported, labels, values = with_imports(imports), with_imports(imports), {}
    for step in steps:
        apply(labels, imported, step)
        values.update(step)
    known = {entry: value for entry, value in values.items() if value >= 0}
    loaded = with_imports(imports)
    apply(loaded, loaded, known)
    assert labels == loaded
    expected = with_imports({entry: value for entry, value in imports.items() if known.get(entry, value) == value})
    for (item, concept), value in known.items():
        expected.record(item, concept, value, "annotated")
    assert labels == expected
    assert imported == with_imports(imports)
