"""Leases: two people never get the same question unasked, and nothing is held for ever."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify import Labels, RamifyError, Taxonomy
from ramify.project.store import answers
from ramify.project.store.leases import end_leases
from ramify.project.store.store import Store

TAXONOMY = Taxonomy({"animal": ["cat", "dog"], "food": ["apple", "banana"]})
CAT, DOG, APPLE, BANANA = 1, 2, 3, 4


class Clock:
    def __init__(self):
        self.time = 1000.0

    def __call__(self):
        return self.time


@pytest.fixture
def store(tmp_path, address):
    with Store.create(tmp_path / "project", TAXONOMY, address=address) as store:
        store.add([f"i{n}" for n in range(300)], None, None, None, Labels(TAXONOMY, np.ones((300, 2), np.int8)))
        yield store


@pytest.fixture
def clock():
    return Clock()


def taken(leases):
    return sorted(zip(*(part.tolist() for part in leases.taken()), strict=True))


def test_a_group_is_leased_wholly_or_not(store, clock):
    leases = store.leases(now=clock)
    assert leases.lease("ann", [[(0, CAT), (0, DOG)], [(1, CAT)]]) == [True, True]
    assert leases.lease("bob", [[(0, DOG), (2, DOG)], [(2, DOG)], []]) == [False, True, False]
    assert leases.lease("ann", [[(0, CAT)]]) == [False]  # hers already
    assert leases.lease("cid", [[(3, CAT)], [(3, CAT), (3, DOG)], [(3, DOG), (3, DOG)]]) == [True, False, True]
    assert leases.own("ann")[0] == [(0, CAT, 1600.0), (0, DOG, 1600.0), (1, CAT, 1600.0)]
    assert taken(leases) == [(0, CAT), (0, DOG), (1, CAT), (2, DOG), (3, CAT), (3, DOG)]


def test_leases_survive_a_restart_and_end_by_themselves(store, clock):
    store.leases(now=clock).lease("ann", [[(0, CAT)]])
    with Store(store.folder) as again:
        leases = again.leases(now=clock)
        clock.time += 599
        assert leases.own("ann")[0] == [(0, CAT, 1600.0)]
        assert leases.lease("bob", [[(0, CAT)]]) == [False]
        clock.time += 1
        assert leases.own("ann")[0] == []
        assert taken(leases) == []
        assert leases.lease("bob", [[(0, CAT)]]) == [True]


def test_answering_and_releasing_end_a_lease(store):
    leases = store.leases()
    leases.lease("ann", [[(0, CAT), (0, DOG)], [(1, CAT)]])
    leases.lease("bob", [[(2, CAT)]])
    store.record("k", "ann", [(0, CAT, "yes"), (0, DOG, "skip"), (2, CAT, "no")])
    assert [entry[:2] for entry in leases.own("ann")[0]] == [(1, CAT)]
    assert [entry[:2] for entry in leases.own("bob")[0]] == [(2, CAT)]  # another's lease stays
    leases.release("ann", [(1, CAT), (7, CAT)])
    assert leases.own("ann")[0] == []
    # Answered is taken; skipped is open to all; released as well.
    assert leases.lease("bob", [[(0, CAT)], [(0, DOG)], [(1, CAT)]]) == [False, True, True]
    store.undo("u", "ann")
    assert leases.lease("ann", [[(0, CAT)]]) == [True]


def test_what_ends_is_looked_for_among_the_leases_that_there_are(tmp_path, monkeypatch):
    """Not among all that is below: thousands of coarse labels called wrong at once would take seconds and gigabytes."""
    ended = []

    def end(connection, annotator, entries):
        ended.extend(entries)
        end_leases(connection, annotator, entries)

    monkeypatch.setattr(answers, "end_leases", end)
    deep = Taxonomy({"animal": {f"family {n}": [f"{n} a", f"{n} b"] for n in range(50)}, "food": ["apple", "pear"]})
    with Store.create(tmp_path / "project", deep) as store:
        store.add([f"i{n}" for n in range(300)], None, None, None, Labels(deep, np.ones((300, 2), np.int8)))
        animal, family, low, apple = (int(store.id_of[deep.index(c)]) for c in ("animal", "family 3", "3 b", "apple"))
        leases = store.leases()
        assert all(leases.lease("ann", [[(0, family)], [(1, low)], [(2, apple)], [(3, family)]], tab="one"))
        assert all(leases.lease("bob", [[(4, low)]]))
        said = [(n, animal, "skip" if n == 3 else "no") for n in range(300)]
        store.record("k", "ann", [*said, (299, apple, "yes")])
        assert sorted(ended) == [(0, family), (1, low)]
        assert [entry[:2] for entry in leases.own("ann", "one")[0]] == [(2, apple), (3, family)]
        assert [entry[:2] for entry in leases.own("bob")[0]] == [(4, low)]


def test_skipped_questions_are_known_until_they_are_answered(store):
    leases = store.leases()
    store.record("1", "ann", [(0, CAT, "yes"), (0, DOG, "skip"), (1, DOG, "skip")])
    store.record("2", "bob", [(0, DOG, "yes"), (2, DOG, "skip")])
    assert leases.own("ann")[1] == {(0, DOG), (1, DOG)}
    store.record("3", "ann", [(1, DOG, "no")])
    assert leases.own("ann")[1] == {(0, DOG)}
    store.undo("4", "ann")
    assert leases.own("ann")[1] == {(0, DOG), (1, DOG)}
    store.undo("5", "ann")
    assert leases.own("ann")[1] == set()


def test_overlap_gives_each_question_to_so_many(store, clock):
    leases = store.leases(overlap=2, now=clock)
    store.record("1", "ann", [(0, CAT, "yes"), (1, CAT, "no"), (2, CAT, "yes"), (3, CAT, "skip")])
    assert leases.second_opinions("ann", 9) == []
    assert leases.second_opinions("bob", 9) == [(0, CAT), (1, CAT), (2, CAT)]
    assert leases.second_opinions("bob", 1) == [(0, CAT)]
    assert leases.lease("bob", [[(0, CAT)]]) == [True]
    assert leases.second_opinions("bob", 9) == leases.second_opinions("cid", 9) == [(1, CAT), (2, CAT)]
    assert leases.lease("cid", [[(0, CAT)], [(1, CAT)]]) == [False, True]
    assert taken(leases) == [(0, CAT), (1, CAT)]
    clock.time += 600
    assert leases.second_opinions("cid", 9) == [(0, CAT), (1, CAT), (2, CAT)]
    store.record("2", "bob", [(0, CAT, "no")])
    store.record("3", "dan", [(1, CAT, "yes")], settles=True)
    assert leases.second_opinions("cid", 9) == [(2, CAT)]
    assert taken(leases) == [(0, CAT), (1, CAT)]
    assert store.leases().second_opinions("cid", 9) == []


def test_what_is_settled_is_asked_no_more(store):
    leases = store.leases(overlap=3)
    store.record("1", "ann", [(0, CAT, "yes")], settles=True)
    assert leases.lease("bob", [[(0, CAT)]]) == [False]
    assert taken(leases) == [(0, CAT)]
    store.undo("2", "ann")
    assert leases.lease("bob", [[(0, CAT)]]) == [True]


def test_an_overlap_below_one_is_refused(store):
    with pytest.raises(RamifyError, match="from 1 on, not 0"):
        store.leases(overlap=0)


@pytest.mark.parametrize("overlap", [1, 2])
def test_many_threads_never_get_one_question_too_often(store, overlap):
    leases = store.leases(overlap=overlap)
    granted = []

    def work(name):
        for item in range(15):
            group = [(item, CAT), (item, DOG)]
            if leases.lease(name, [group])[0]:
                granted.extend((entry, name) for entry in group)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in "abcd":  # PostgreSQL passes over what others are about to lease
        work(name)
    assert len(granted) == len(set(granted)) == 15 * 2 * overlap
    assert len({entry for entry, _ in granted}) == 30


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.sampled_from("abc"), st.lists(st.integers(0, 3), max_size=3)),
        st.tuples(st.just("answer"), st.sampled_from("abc"), st.sampled_from(["yes", "no", "skip"])),
        st.tuples(st.just("undo"), st.sampled_from("abc"), st.none()),
        st.tuples(st.just("wait"), st.integers(1, 700), st.none()),
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(moves=MOVES, overlap=st.integers(1, 2))
def test_leases_follow_a_plain_model(tmp_path_factory, moves, overlap):
    """Who holds and who has answered what, kept in plain dicts beside the leases."""
    with Store.create(tmp_path_factory.mktemp("leases") / "project", TAXONOMY) as store:
        store.add(["a"], None, None, None, Labels(TAXONOMY, [[1, 1]]))
        clock = Clock()
        leases = store.leases(overlap=overlap, now=clock)
        held, said = {}, []  # (concept, name) -> until; requests of (name, {concept: answer})
        for number, (move, who, what) in enumerate(moves):
            held = {entry: until for entry, until in held.items() if until > clock.time}
            answered = {(c, name) for name, answers in said for c, answer in answers.items() if answer != "skip"}
            if move == "wait":
                clock.time += who
            elif move == "undo":
                assert bool(store.undo(f"{number}", who)) == any(name == who for name, _ in said)
                for place in range(len(said) - 1, -1, -1):
                    if said[place][0] == who:
                        del said[place]
                        break
            elif move == "answer":
                own = [concept for concept, name in held if name == who]
                store.record(f"{number}", who, [(0, concept, what) for concept in own])
                if own:
                    said.append((who, dict.fromkeys(own, what)))
                held = {entry: until for entry, until in held.items() if entry[1] != who}
            else:
                group = [1 + c for c in what]
                people = [{name for concept, name in [*held, *answered] if concept == c} for c in group]
                free = bool(group) and all(who not in names and len(names) < overlap for names in people)
                assert leases.lease(who, [[(0, concept) for concept in group]]) == [free]
                if free:
                    held.update(((concept, who), clock.time + 600) for concept in group)
        expected = sorted((0, c, until) for (c, name), until in held.items() if name == "a" and until > clock.time)
        assert sorted(leases.own("a")[0]) == expected
