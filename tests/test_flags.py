"""Flags and times: what is said of a screen as a whole, in both databases, and what follows for the questions."""

import csv

import pytest

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.project.live.service import Service
from ramify.project.store.store import Store
from ramify.project.transfer.exporting import export_events
from ramify.taxonomy import Taxonomy

TAXONOMY = Taxonomy({"animal": {"exhaustive": True, "children": ["cat", "dog"]}})


@pytest.fixture
def folder(tmp_path, address):
    with Store.create(tmp_path / "project", TAXONOMY, address=address) as store:
        ids = [f"item-{n}" for n in range(6)]
        store.add(ids, ids, None, None, Labels(TAXONOMY, [[1]] * 6))
    return tmp_path / "project"


def skips(screen):
    return [(entry.item, entry.concept, "skip") for entry in screen.entries]


def test_what_is_flagged_leaves_the_queue_until_the_flag_is_lifted(folder, tmp_path):
    with Service(folder, background=False) as service:
        (torn,) = service.next("ann", mode="group")
        service.answer("key-torn", "ann", skips(torn), flag="cannot tell", note=" too dark ", seconds=4.5)
        (broken,) = service.next("ann", mode="group")
        service.answer("key-broken", "ann", skips(broken), flag="broken")
        service.answer("key-broken", "ann", skips(broken), flag="broken")  # sent again, it changes nothing
        listed = service.review().flags
        assert [(flag.item.item, flag.flag, flag.note) for flag in listed] == [
            (torn.item.item, "cannot tell", "too dark"),
            (broken.item.item, "broken", ""),
        ]
        assert service.status().flagged == 2
        assert service.status().pace == 4.5
        asked = {(e.item, e.concept) for s in service.next("bob", mode="group", count=50) for e in s.entries}
        assert {item for item, _ in asked} == set(range(6)) - {torn.item.item, broken.item.item}
        assert service.next("ann", mode="group", count=50) == []  # not even as what was skipped

        export_events(service.store, tmp_path / "events.csv")
        with (tmp_path / "events.csv").open() as file:
            rows = [(row["seconds"], row["flag"], row["note"]) for row in csv.DictReader(file)]
        assert rows == [("4.5", "cannot tell", "too dark")] * 2 + [("", "broken", "")] * 2

        assert service.lift("key-torn").lifted
        assert not service.lift("key-torn").lifted
        (again,) = service.next("ann", mode="group", count=50)
        assert again.entries == torn.entries
        service.undo("key-undo", "ann")  # the flag falls with the skip that it belongs to
        assert service.review().flags == []
        assert broken.item.item in {screen.item.item for screen in service.next("ann", mode="group", count=50)}


def test_a_flag_that_makes_no_sense_is_refused(folder):
    with Store(folder) as store:
        for about, said in (
            ({"flag": "boring"}, "a flag is cannot tell or broken"),
            ({"note": "hm"}, "a note goes with a flag"),
            ({"flag": "broken", "note": "x" * 501}, "up to 500 characters"),
            ({"flag": "broken"}, "what is flagged is skipped"),
        ):
            with pytest.raises(RamifyError, match=said):
                store.record("key", "ann", [(0, 1, "yes")], **about)
        assert store.events() == []


def test_what_lies_ready_counts_for_the_budget(folder):
    with Service(folder, background=False, budget=5) as service:
        first = service.next("ann", mode="group", count=3)
        assert [len(screen.entries) for screen in first] == [2, 2, 1]  # the last one is cut
        assert [screen.exhaustive for screen in first] == [True, True, False]  # the other child may be it
        assert service.next("bob", mode="single") == []
        for number, screen in enumerate(first):
            service.answer(f"key-{number}", "ann", [(e.item, e.concept, "no") for e in screen.entries])
        assert service.status().answers == 5
        assert service.next("ann", mode="group") == []


def test_two_tabs_of_one_name_get_questions_of_their_own(folder):
    with Service(folder, background=False) as service:
        (one,), (other,) = (service.next("ann", tab=tab) for tab in ("tab-1", "tab-2"))
        assert one.entries != other.entries
        assert service.next("ann", tab="tab-1")[0].entries == one.entries
    with Service(folder, background=False) as service:  # a server that is started again knows it too
        assert service.next("ann", tab="tab-2")[0].entries == other.entries


def test_one_has_to_apply_only_while_no_other_does(folder):
    with Service(folder, background=False) as service:
        (screen,) = service.next("ann")
        assert screen.exhaustive
        assert [(step.name, step.state, step.source) for step in screen.above] == [("animal", "yes", "imported")]
        cat = screen.entries[0]
        service.answer("key-cat", "bob", [(cat.item, cat.concept, "yes")])
        (held,) = service.next("ann")
        left = [entry for entry in held.entries if entry != cat]
        assert service.screens.screen("group", [(e.item, e.concept) for e in left], 0.0).exhaustive is False
