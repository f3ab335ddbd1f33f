"""The taxonomy changed on the page, in a real browser: previewed, done, taken back, and followed by who answers."""

import re

import pytest

from browsers import expect, needs_browser, next_question, recorded, shown
from ramify.project.store.changes import Change
from ramify.project.store.store import Store
from test_page_project import open_project, part
from test_page_work import SIZES, needs_axe, violations
from web_projects import LocalServer, text_project

pytestmark = needs_browser


@pytest.fixture
def server(tmp_path):
    started = LocalServer(text_project(tmp_path / "texts", 60))
    yield started
    started.stop()


def taxonomy(server):
    with Store(server.folder) as store:
        return str(store.taxonomy)


def choose(page, concept, what):
    page.locator("#concept-which").select_option(label=concept)
    page.locator("#concept-what").select_option(label=what)


def test_a_taxonomy_is_changed_on_the_page(visit, server):
    page = visit(server, "Tara")
    open_project(page)
    before, said = taxonomy(server), part(page, "concepts").locator("> .said")
    tree = part(page, "concepts").locator(".concept-tree")
    choose(page, "\u2003cat", "Split it into finer ones")
    page.get_by_label("Finer concepts, one a line").fill("tabby\nsiamese\n")
    page.get_by_role("button", name="Preview").click()
    expect(said).to_contain_text("'animal > cat' is split into 'tabby', 'siamese'.")
    expect(said.get_by_role("row", name=re.compile("tabby"))).to_contain_text("0 yes, 0 no, 60 unknown")
    assert taxonomy(server) == before  # only told
    page.get_by_role("button", name="Do it").click()
    expect(said).to_contain_text("Done. 'animal > cat' is split into 'tabby', 'siamese'. All")
    expect(tree.get_by_role("button")).to_have_text(
        ["animal", "cat", "tabby", "siamese", "dog", "bird", "weather", "rain", "snow"]
    )
    assert "│   ├── tabby" in taxonomy(server)

    # by keyboard alone
    tree.get_by_role("button", name="dog").focus()
    page.keyboard.press("Enter")
    expect(tree.get_by_role("button", name="dog")).to_have_attribute("aria-pressed", "true")
    expect(tree.get_by_role("button", name="dog")).to_be_focused()
    page.locator("#concept-what").select_option(label="Rename it")
    page.get_by_label("New name").fill("hound")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Do it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(tree.get_by_role("button", name="hound")).to_be_visible()
    choose(page, "\u2003hound", "Merge it with others beside it")
    page.get_by_label("Together with").select_option(label=["\u2003bird"])
    page.get_by_label("Name of all together").fill("pet")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Do it").click()
    expect(tree.get_by_role("button", name="pet")).to_be_visible()

    choose(page, "\u2003rain", "Move it")
    page.locator("#concept-below").select_option(label="\u2003pet")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Do it").click()
    expect(said).to_contain_text("Done. 'weather > rain' is moved below 'animal > pet'.")
    choose(page, "weather", "Describe it")
    page.get_by_label("What it means").fill("What falls from the sky.")
    page.get_by_label("Other names, one a line").fill("climate")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Do it").click()
    expect(tree).to_contain_text("What falls from the sky.")
    choose(page, "weather", "Remove it")
    page.get_by_role("button", name="Preview").click()
    expect(said).to_contain_text("60 imported labels no longer count (kept, and back with an undo).")
    page.get_by_role("button", name="Do it").click()
    expect(tree.get_by_role("button", name="weather")).to_have_count(0)
    choose(page, "\u2003cat", "Rename it")
    page.get_by_label("New name").fill("pet")
    page.get_by_role("button", name="Preview").click()
    expect(said).to_have_text(
        "Nothing was changed: there is a concept 'pet' below 'animal' already: give another name, or merge them"
    )
    visit.troubles.clear()  # the browser notes what was refused

    for _ in range(6):  # all the way back
        page.get_by_role("button", name="Take back the last change").click()
        page.get_by_role("button", name="Do it").click()
        expect(said).to_contain_text("Done. Taken back: ")
    expect(page.get_by_role("button", name="Take back the last change")).to_have_count(0)
    assert taxonomy(server) == before


def test_who_answers_follows_what_was_changed_elsewhere(visit, server):
    page = visit(server, "Fay")
    first = shown(page)
    expect(page.locator(".question")).to_contain_text("dog")
    page.keyboard.press("1")  # chosen, and not sent yet
    with Store(server.folder) as other:
        other.changes.change(Change("remove", ["cat"]))
        other.changes.change(Change("rename", ["dog"], ["hound"]))
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text(
        "'animal > cat' is no concept any more: somebody has changed the taxonomy; nothing was saved: take the next "
        "question"
    )
    assert recorded(server, "Fay") == []
    visit.troubles.clear()  # the browser notes what was refused
    expect(page.locator(".question")).to_contain_text("hound", timeout=30_000)
    now = shown(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    next_question(page, now)
    assert (now, "hound", "yes") in recorded(server, "Fay") or (now, "bird", "yes") in recorded(server, "Fay")
    assert first
    page.keyboard.press("b")
    expect(page.locator("select[name=concept] option")).to_have_text(
        ["any concept", "animal", "\u2003hound", "\u2003bird", "weather", "\u2003rain", "\u2003snow"]
    )


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, server, scheme):
    page = visit(server, f"Axe {scheme}", color_scheme=scheme, **SIZES["phone" if scheme == "dark" else "large"])
    page.get_by_role("button", name="Project").click()
    for what in ("Merge it with others beside it", "Describe it", "Move it", "Split it into finer ones"):
        choose(page, "\u2003dog", what)
        assert violations(page) == []
    page.get_by_label("Finer concepts, one a line").fill("pug")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("button", name="Do it")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
