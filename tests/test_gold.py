"""Gold questions: what somebody settled is asked again of others, on demand; how often they are right is told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from ramify.cli import app
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.live.service import Service
from ramify.project.store.agreement import Opinions, right_answers
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "pear"]})
CAT, DOG = 0, 1


@pytest.fixture
def folder(tmp_path):
    """Twenty animals; an expert has settled what six of them are."""
    with Store.create(tmp_path / "project", TAXONOMY) as store:
        store.add([f"i{n}" for n in range(20)], None, None, None, Labels(TAXONOMY, [[1, 0]] * 20))
        said = [
            (n, int(store.id_of[c]), "yes" if (n % 2 == 0) == (c == CAT) else "no")
            for n in range(6)
            for c in (CAT, DOG)
        ]
        store.record("gold", "expert", said, settles=True)
    return tmp_path / "project"


def answer(service, screen, who, said):
    """Answer a screen as ``said`` does, an item and a taxonomy number given."""
    answers = [(e.item, e.concept, said(e.item, service.store.number_of[e.concept])) for e in screen.entries]
    service.answer(f"{who} {screen.task}", who, answers)


def right(item, concept):
    return "yes" if (item % 2 == 0) == (concept == CAT) else "no"


def asked(screens):
    return {entry.item for screen in screens for entry in screen.entries}


@pytest.mark.parametrize("mode", ["group", "single", "grid"])
def test_only_on_demand_and_only_what_others_settled(folder, mode):
    with Service(folder, background=False) as service:
        assert not asked(service.next("ann", mode=mode, count=30)) & set(range(6))
    with Service(folder, background=False, gold=1.0) as service:
        first = service.next("bob", mode=mode, count=1)
        assert asked(first) <= set(range(6))
        assert service.next("bob", mode=mode, count=1)[0].task == first[0].task  # it is his until he answers
        assert not asked(service.next("expert", mode=mode, count=30)) & set(range(6))


def test_everybody_is_asked_and_it_is_told_how_often_they_are_right(folder):
    with Service(folder, background=False, gold=1.0) as service:
        for who, says in (("ann", right), ("bob", lambda *_: "no")):
            screens = [screen for screen in service.next(who, count=30) if asked([screen]) <= set(range(6))]
            assert asked(screens) == set(range(6))
            for screen in screens:
                answer(service, screen, who, says)
            assert not asked(service.next(who, count=30)) & set(range(6))  # nobody is asked twice
        counts = {person.name: (person.right, person.gold) for person in service.people()}
        assert counts == {"ann": (12, 12), "bob": (6, 12), "expert": (0, 0)}
        assert service.state.labels.states(0, "cat")[0, 0] == 1  # whatever bob says
        assert service.state.labels == service.store.labels()
        assert not service.review().disagreements
    shown = CliRunner().invoke(app, ["status", str(folder)]).stdout
    assert "right in 6 of 12 gold questions" in " ".join(shown.split())


def test_some_of_the_questions_are_mixed_in(folder):
    with Service(folder, background=False, gold=0.3) as service:
        known = [asked([screen]) <= set(range(6)) for screen in service.next("ann", count=14)]
        assert 0 < sum(known) < 6


def test_one_undo_asks_a_gold_question_again(folder):
    with Service(folder, background=False, gold=1.0) as service:
        (screen,) = service.next("ann")
        answer(service, screen, "ann", right)
        again = service.undo("back", "ann").task
        assert [(e.item, e.concept) for e in again.entries] == [(e.item, e.concept) for e in screen.entries]
        assert [person.gold for person in service.people() if person.name == "ann"] == [0]


def test_one_undo_asks_a_gold_question_with_others_below_it_again(tmp_path):
    deep = Taxonomy({"animal": {"bird": ["owl", "hen"], "fish": ["eel", "ray"]}})
    with Store.create(tmp_path / "project", deep) as store:
        store.add(["i0"], None, None, None, Labels(deep, [[1]]))
        bird = int(store.id_of[deep.index("bird")])
        store.record("gold", "expert", [(0, bird, "yes")], settles=True)
    with Service(tmp_path / "project", background=False, gold=1.0) as service:
        (screen,) = service.next("ann")
        assert [(entry.item, entry.concept) for entry in screen.entries] == [(0, bird)]
        service.answer("k", "ann", [(0, bird, "no")])
        again = service.undo("back", "ann").task
        assert [(entry.item, entry.concept) for entry in again.entries] == [(0, bird)]


def test_the_budget_holds_for_gold_questions_too(folder):
    with Service(folder, background=False, gold=1.0, budget=15) as service:
        screens = service.next("ann", count=30)
        assert sum(len(screen.entries) for screen in screens) == 3


def test_what_is_above_must_apply(folder):
    with Store(folder) as store:
        animal = int(store.id_of[TAXONOMY.index("animal")])
        store.record("wrong", "expert", [(0, animal, "no")], settles=True)
    with Service(folder, background=False, gold=1.0) as service:
        screens = service.next("ann", mode="single", count=40)
        entries = {(e.item, service.store.number_of[e.concept]) for screen in screens for e in screen.entries}
        assert (0, TAXONOMY.index("animal")) in entries
        assert not entries & {(0, CAT), (0, DOG)}


def test_a_share_that_is_none(folder):
    with pytest.raises(RamifyError) as refused:
        Service(folder, background=False, gold=1.5)
    assert str(refused.value) == "gold is a share of the questions from 0 to 1, not 1.5"


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 1), st.booleans()), max_size=25))
def test_right_answers_are_counted_as_one_by_one(rows):
    columns = [np.array(column, np.intp) for column in zip(*rows, strict=True)] or [np.empty(0, np.intp)] * 5
    found = right_answers(Opinions(*columns[:3], columns[3].astype(np.int8), columns[4].astype(np.bool_)))
    expected = {}
    for entry in {row[1:3] for row in rows}:
        about = [row for row in rows if row[1:3] == entry]
        places = [n for n, row in enumerate(about) if row[4]]
        if not places:
            continue
        settlers = {about[n][0] for n in places}
        for who in {row[0] for row in about} - settlers:
            last = max(n for n, row in enumerate(about) if row[0] == who)
            if last > places[0]:
                good, every = expected.get(who, (0, 0))
                expected[who] = good + (about[last][3] == about[places[-1]][3]), every + 1
    assert found == expected
