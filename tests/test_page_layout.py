"""How the page looks in a real browser: what must be in sight, on any screen, in light and dark, in any script."""

from pathlib import Path

import numpy as np
import pytest

from browsers import expect, needs_browser, saved
from ramify.labels import Labels
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy
from web_projects import LocalServer, text_project

pytestmark = needs_browser
MODES = ["Group", "Single", "Grid"]
SCREENS = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
CHILDREN = 40
LONG_TEXT = "The old fisherman looked at the sea and said nothing, because nothing had to be said. " * 40

# Whether an element lies inside the screen with nothing on top of it.
IN_SIGHT = """element => {
    const { top, bottom, left, right } = element.getBoundingClientRect();
    const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && element.contains(above);
}"""
# Texts in Hebrew or Arabic that are set from left to right.
ASTRAY = """() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const astray = [];
    while (texts.nextNode()) {
        const { data, parentElement } = texts.currentNode;
        if (!/[\\u0590-\\u06ff]/.test(data) || parentElement.closest("#live")) continue;
        if (getComputedStyle(parentElement).direction !== "rtl") astray.push(parentElement.outerHTML);
    }
    return astray;
}"""


@pytest.fixture
def server(tmp_path):
    started = LocalServer(text_project(tmp_path / "texts"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def long_server(tmp_path_factory):
    """Long texts, one of whose many children must apply; the first items are known, so that there are examples."""
    taxonomy = Taxonomy({"mood": {"exhaustive": True, "children": [f"mood number {n}" for n in range(CHILDREN)]}})
    states = np.full((60, CHILDREN + 1), -1, np.int8)
    states[:, CHILDREN] = 1
    states[:12, :CHILDREN] = np.eye(12, CHILDREN, dtype=np.int8)
    labels = Labels.from_matrix(taxonomy, states, np.arange(CHILDREN + 1))
    folder = tmp_path_factory.mktemp("page") / "long"
    with Store.create(folder, taxonomy) as store:
        ids = [f"story-{n}" for n in range(60)]
        store.add(ids, [f"{name}. {LONG_TEXT}" for name in ids], None, None, labels)
    started = LocalServer(folder)
    yield started
    started.stop()


def in_sight(page, selector):
    places = page.locator(selector)
    assert places.count() > 0
    return all(place.evaluate(IN_SIGHT) for place in places.all())


def choose_mode(page, mode):
    page.get_by_role("button", name=mode, exact=True).click()
    expect(page.locator(f".question.{mode.lower()} .crumbs")).to_be_visible()
    saved(page)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("screen", SCREENS)
def test_save_is_always_in_sight(visit, long_server, screen, mode):
    page = visit(long_server, f"{screen} {mode}", **SCREENS[screen])
    choose_mode(page, mode)
    expect(page.locator(".examples, .example-strip").first).to_be_attached()  # what once pushed it away
    assert in_sight(page, ".main-actions button")
    assert in_sight(page, ".side-actions button")
    for last in (".choice", ".tile"):
        if page.locator(last).count():
            page.locator(last).last.scroll_into_view_if_needed()
            assert in_sight(page, ".main-actions button")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_doubt_about_a_coarse_label_is_in_sight(visit, long_server, screen):
    page = visit(long_server, f"{screen} doubt", **SCREENS[screen])
    while page.locator(".choice").count() < CHILDREN:  # others hold some: then one of the rest need not apply
        before = page.locator(".item-id").text_content()
        page.keyboard.press("Space")
        expect(page.locator(".item-id")).not_to_have_text(before)
    page.keyboard.press("Enter")
    expect(page.locator(".doubt")).to_contain_text("Is the label “mood” wrong here?")
    assert in_sight(page, ".doubt")
    assert in_sight(page, ".doubt button")
    page.locator(".choice").last.scroll_into_view_if_needed()
    assert in_sight(page, ".doubt button")


def test_a_choice_that_gets_the_focus_is_not_hidden_by_the_foot(visit, long_server):
    page = visit(long_server, "Fay", **SCREENS["phone"])
    for choice in page.locator(".choice").all():
        choice.focus()
        assert choice.evaluate(IN_SIGHT)


@pytest.mark.parametrize("mode", ["Group", "Single", "Grid"])
def test_phone_width(visit, server, mode):
    page = visit(server, "Pia", viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    page.get_by_role("button", name=mode, exact=True).tap()
    expect(page.locator(".question .crumbs")).to_be_visible()
    saved(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    small = page.evaluate(
        """() => [...document.querySelectorAll("button")].filter((it) => it.offsetParent)
            .filter((it) => it.offsetHeight < 44 || it.offsetWidth < 44).map((it) => it.outerHTML)"""
    )
    assert small == []
    for name, content in (("Browse", ".found"), ("Review", ".review-list")):
        page.get_by_role("button", name=name).tap()
        expect(page.locator(content).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(visit, server, scheme):
    page = visit(server, "Dee", color_scheme=scheme)
    page.keyboard.press("1")
    contrasts = page.evaluate(Path(__file__).with_name("contrasts.js").read_text())
    assert len(contrasts) > 30
    assert [text for text in contrasts if text["contrast"] < 4.5] == []
    assert (page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 18)") == (scheme == "dark")


def test_names_and_texts_that_run_from_right_to_left(visit, tmp_path):
    taxonomy = Taxonomy(
        {
            "חיה": {"description": "משהו חי", "exhaustive": True, "children": ["חתול", "כלב"]},
            "طقس": {"exhaustive": True, "children": ["مطر", "ثلج"]},
        }
    )
    with Store.create(tmp_path / "מילים", taxonomy) as store:
        ids = [f"טקסט-{n}" for n in range(20)]
        store.add(ids, [f"הכלב נבח כל היום. {n}" for n in range(20)], None, None, Labels(taxonomy, [[1, 1]] * 20))
    server = LocalServer(tmp_path / "מילים")
    try:
        pages = [visit(server, name) for name in ("דנה", "سلمى")]
        for page in pages:
            for _ in range(2):
                page.keyboard.press("1")
                page.keyboard.press("Enter")
                saved(page)
            page.keyboard.press("b")
            page.locator("input[name=query]").fill("19")
            expect(page.locator(".found")).to_have_count(1)
            page.locator(".found-open").click()
            row = page.get_by_role("dialog").get_by_role("row", name="חיה > כלב")
            row.get_by_role("button", name="Yes" if page is pages[0] else "No", exact=True).click()
            saved(page)
            row.get_by_role("button", name="Why?").click()
            assert page.evaluate(ASTRAY) == []
            page.keyboard.press("Escape")
        page = pages[1]
        page.locator("select[name=concept]").select_option(label="\u2003כלב")
        expect(page.locator(".found .state")).to_be_visible()
        assert page.evaluate(ASTRAY) == []
        page.keyboard.press("r")
        expect(page.locator(".review-list")).to_have_count(4)
        expect(page.locator(".review-list li")).to_contain_text("דנה: yes")
        assert page.evaluate(ASTRAY) == []
        page.keyboard.press("a")
        expect(page.locator(".people")).to_contain_text("דנה")
        expect(page.locator(".past")).to_have_count(3)
        page.keyboard.press("u")  # the correction, then a question
        page.keyboard.press("u")
        expect(page.locator(".taken-back")).to_be_visible()
        assert page.evaluate(ASTRAY) == []
        page.keyboard.press("1")
        page.keyboard.press("Enter")  # nothing is chosen now
        expect(page.locator(".doubt")).to_be_visible()
        assert page.evaluate(ASTRAY) == []
        for mode in MODES:
            choose_mode(page, mode)
            assert page.evaluate(ASTRAY) == []
            assert page.locator(".media.text").first.evaluate("quote => getComputedStyle(quote).direction") == "rtl"
    finally:
        server.stop()
