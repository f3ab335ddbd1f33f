"""What people say in another tool is kept once, replaced when it is changed there, taken back when it is deleted."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.store.answers import Revised, Revision
from ramify.project.store.schema import events
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy({"animal": ["cat", "dog"]})
FIRST, SECOND, THIRD = (f"2026-11-18T19:38:0{second}.000000+00:00" for second in range(3))


@pytest.fixture
def made(address, tmp_path):
    with Store.create(tmp_path / "project", TAXONOMY, address=address) as store:
        store.add(["a", "b"], ["one", "two"], None, None, Labels(TAXONOMY, [[1], [1]]))
        yield store


def says(store, number, version, item=0, who="ann", **values):
    answers = [(item, int(store.id_of[TAXONOMY.index(name)]), word) for name, word in values.items()]
    return Revision(f"label-studio 1/{number} abcd", version, who, item, answers)


def standing(store):
    undone = {event.undoes for event in store.events()}
    taxonomy, number_of = store.taxonomy, store.number_of
    return {
        (event.annotator, event.item, taxonomy.names[number_of[event.concept]], event.answer)
        for event in store.events()
        if event.undoes is None and event.seq not in undone
    }


def test_later_states_replace_earlier_ones(made):
    revise = made.answers.revise
    assert revise([says(made, 5, FIRST, cat="yes", dog="no"), says(made, 6, FIRST, 1, "bob", dog="yes")]) == (3, 0, 0)
    assert revise([says(made, 5, FIRST, cat="yes", dog="no")]) == (0, 1, 0)  # delivered twice
    assert revise([says(made, 5, THIRD, cat="no")]) == Revised(saved=1, repeated=0, undone=2)
    assert revise([says(made, 5, SECOND, cat="yes")]) == (0, 1, 0)  # it was on its way for longer
    assert standing(made) == {("ann", 0, "cat", "no"), ("bob", 1, "dog", "yes")}
    assert made.answers.take_back(["label-studio 1/5 ", "label-studio 1/55 "]) == (0, 1, 1)
    assert revise([says(made, 5, FIRST, cat="yes"), says(made, 5, "2027", cat="yes")]) == (0, 2, 0)  # it was deleted
    assert made.answers.take_back(["label-studio 1/5 "]) == (0, 1, 0)
    assert standing(made) == {("bob", 1, "dog", "yes")}
    assert revise([says(made, 6, SECOND, 1, "bob")]) == (0, 0, 1)  # cancelled
    assert standing(made) == set()
    assert made.labels().states().tolist() == [[-1, -1], [-1, -1]]


def test_what_has_no_time_is_replaced_by_what_differs(made):
    revise = made.answers.revise
    for version, word, done in (("#a", "yes", (1, 0, 0)), ("#a", "yes", (0, 1, 0)), ("#b", "no", (1, 0, 1))):
        assert revise([says(made, 5, version, cat=word)]) == done
    assert revise([says(made, 5, "#a", cat="yes")]) == (1, 0, 1)  # back again
    assert standing(made) == {("ann", 0, "cat", "yes")}
    assert made.undo("key", "ann")  # here, by the page
    assert revise([says(made, 5, "#a", cat="yes")]) == (0, 1, 0)
    assert standing(made) == set()


def test_what_the_page_has_undone_is_not_undone_again(made):
    revise = made.answers.revise
    assert revise([says(made, 5, FIRST, cat="yes", dog="no")]) == (2, 0, 0)
    assert len(made.undo("page 1", "ann")) == 2
    assert revise([says(made, 5, SECOND, cat="no")]) == (1, 0, 0)
    assert standing(made) == {("ann", 0, "cat", "no")}
    assert len(made.undo("page 2", "ann")) == 1
    assert made.answers.take_back(["label-studio 1/5 "]) == (0, 1, 0)
    assert standing(made) == set()


def test_two_servers_that_number_alike(made):
    other = says(made, 5, FIRST, cat="no", who="bob")._replace(name="label-studio 1/5 ef01")
    assert made.answers.revise([says(made, 5, FIRST, cat="yes"), other]) == (2, 0, 0)
    with pytest.raises(RamifyError, match=r"^'label-studio 1/5' was said on two servers that number theirs alike"):
        made.answers.take_back(["label-studio 1/5 "])
    assert len(standing(made)) == 2


def test_all_or_nothing(made):
    wrong = says(made, 6, FIRST, 1, cat="yes")._replace(answers=[(7, 0, "yes")])
    with pytest.raises(RamifyError, match=r"^there is no item 7: items are numbered 0 to 1$"):
        made.answers.revise([says(made, 5, FIRST, cat="yes"), wrong])
    assert made.events() == []


def test_keys_of_revisions_are_refused_to_others_and_old_ones_do_no_harm(made):
    cat = int(made.id_of[TAXONOMY.index("cat")])
    refused = r"^the key 'label-studio 1/5 abcd' is kept for an annotation of Label Studio: leave it out"
    with pytest.raises(RamifyError, match=refused):
        made.record("label-studio 1/5 abcd", "eve", [(0, cat, "yes")])
    with pytest.raises(RamifyError, match=refused):
        made.undo("label-studio 1/5 abcd", "eve")
    old = {"key": "label-studio 1/5 abcd", "at": 0.0, "annotator": "eve", "item": 0, "concept": cat, "answer": "yes"}
    with made.database.write() as connection:
        connection.execute(events.insert().values(**old, settles=False))
    assert made.answers.revise([says(made, 5, FIRST, cat="no")]) == (1, 0, 1)


DELIVERIES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(0, 1)), max_size=12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deliveries=DELIVERIES)
def test_the_latest_state_stands_in_whatever_order_all_are_delivered(deliveries, tmp_path_factory):
    """A state is the same however often it comes: its version says what is chosen."""
    with Store.create(tmp_path_factory.mktemp("any") / "project", TAXONOMY) as store:
        store.add(["a", "b"], ["one", "two"], None, None, Labels(TAXONOMY, [[1], [1]]))
        latest: dict[int, int] = {}
        for number, version, _ in deliveries:
            word = "yes" if version % 2 else "no"
            store.answers.revise(
                [says(store, number, f"2026-11-18T19:38:{version:02}", number % 2, f"p{number}", cat=word)]
            )
            latest[number] = max(version, latest.get(number, 0))
        said = {(f"p{n}", n % 2, "cat", "yes" if version % 2 else "no") for n, version in latest.items()}
        assert standing(store) == said
