"""The page in a real browser, on a real project: by keyboard and by mouse, with the server dying in between."""

import json
import re
import shlex
from collections import Counter

import pytest

from browsers import expect, needs_browser, next_question, recorded, saved, shown
from web_projects import HOSTILE, LocalServer, Server, text_project, wide_project

pytestmark = needs_browser
ITEMS = 60
SHOWN = "() => document.querySelector('.item-id').innerText + document.querySelector('.crumbs').innerText"


@pytest.fixture
def server(tmp_path):
    started = LocalServer(text_project(tmp_path / "texts", ITEMS))
    yield started
    started.stop()


def test_the_whole_flow_by_keyboard(visit, server):
    page = visit(server, "Kay")
    keys = page.keyboard
    expect(page.locator(".crumbs")).to_have_text("animal›which of these?")
    assert page.locator(".choice kbd").all_inner_texts() == ["1", "2", "3"]
    first = shown(page)
    keys.press("2")
    expect(page.get_by_role("button", name="dog", pressed=True)).to_be_visible()
    keys.press("1")
    keys.press("1")
    keys.press("Enter")
    next_question(page, first)
    assert recorded(server, "Kay") == [(first, "cat", "no"), (first, "dog", "yes"), (first, "bird", "no")]

    second = shown(page)
    keys.press("Space")
    next_question(page, second)
    assert recorded(server, "Kay")[3:] == [(second, name, "skip") for name in ("cat", "dog", "bird")]

    third = shown(page)
    keys.press("Enter")  # none of them, though every animal is one of these
    expect(page.locator(".doubt")).to_contain_text("Is the label “animal” wrong here?")
    keys.press("Escape")
    expect(page.locator(".doubt")).to_have_count(0)
    keys.press("w")
    next_question(page, third)
    assert recorded(server, "Kay")[6:] == [(third, "animal", "no")]

    keys.press("u")
    expect(page.locator(".item-id")).to_have_text(third)
    keys.press("Backspace")
    expect(page.locator(".item-id")).to_have_text(second)
    keys.press("u")
    expect(page.locator(".item-id")).to_have_text(first)
    expect(page.get_by_role("button", name="dog", pressed=True)).to_be_visible()
    saved(page)
    assert Counter(answer for *_, answer in recorded(server, "Kay"))["undo"] == 7

    keys.press("m")
    expect(page.locator(".question.single .crumbs")).to_be_visible()
    saved(page)
    for key, answer in (("y", "yes"), ("n", "no")):
        entry = shown(page), page.locator(".crumb").last.inner_text().rstrip("?")
        before = page.evaluate(SHOWN)
        keys.press(key)
        page.wait_for_function(f"before => ({SHOWN})() !== before", arg=before)
        saved(page)
        assert recorded(server, "Kay")[-1] == (*entry, answer)

    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    keys.press("y")  # goes nowhere while the help is open
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keys.press("g")
    expect(page.locator(".question .guess")).to_have_text("no guess yet")
    assert len([one for one in recorded(server, "Kay") if one[2] != "undo"]) == 9
    keys.press("b")
    expect(page.locator("#browse .found").first).to_be_visible()
    keys.press("a")
    expect(page.locator(".question")).to_be_focused()


def test_every_control_can_be_reached_and_pressed_by_tab(visit, server):
    page = visit(server, "Tabitha")
    first = shown(page)
    page.locator(".question").focus()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_contain_text("Words")
    for name in ("cat", "dog"):
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_contain_text(name)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Space")
        expect(page.locator(":focus")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_contain_text("Save 2 yes, 1 no")
    page.keyboard.press("Enter")
    next_question(page, first)
    assert [answer for *_, answer in recorded(server, "Tabitha")] == ["yes", "yes", "no"]


def test_the_whole_flow_by_mouse(visit, server):
    page = visit(server, "Max")
    first = shown(page)
    page.locator(".question").get_by_role("button", name="bird").click()
    page.keyboard.press("Enter")  # a click does not take the keys away
    next_question(page, first)
    assert recorded(server, "Max") == [(first, "cat", "no"), (first, "dog", "no"), (first, "bird", "yes")]
    second = shown(page)
    page.get_by_role("button", name="Skip").click()
    next_question(page, second)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".item-id")).to_have_text(second)
    saved(page)
    page.get_by_role("button", name="Single", exact=True).click()
    expect(page.locator(".question.single")).to_be_visible()
    page.get_by_role("button", name="Yes y").click()
    saved(page)
    assert recorded(server, "Max")[-1][2] == "yes"

    # The strip: the newest first; click one and change it.
    expect(page.locator(".past")).to_have_count(3)
    page.locator(".past").last.click()
    box = page.get_by_role("dialog")
    row = box.get_by_role("row", name=re.compile("animal > dog"))
    row.get_by_role("button", name="Yes", exact=True).click()
    expect(row.get_by_role("button", name="Yes", pressed=True)).to_be_visible()
    assert recorded(server, "Max")[-1] == (first, "dog", "yes")
    page.keyboard.press("Escape")
    expect(page.locator(".past")).to_have_count(4)


def test_undo_after_a_reload(visit, server):
    page = visit(server, "Uma")
    seen = []
    for _ in range(3):
        seen.append(shown(page))
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        next_question(page, seen[-1])
    page.reload()
    expect(page.locator(".question .crumbs")).to_be_visible()
    for before in reversed(seen):
        page.keyboard.press("u")
        expect(page.locator(".item-id")).to_have_text(before)
        saved(page)
    page.keyboard.press("u")
    expect(page.locator("#live")).to_have_text("There is nothing left to undo.")
    events = Counter(answer for *_, answer in recorded(server, "Uma"))
    assert events == {"yes": 3, "no": 6, "undo": 9}


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_the_server_is_killed(visit, tmp_path):
    server = Server(text_project(tmp_path / "texts"))
    server.start()
    try:
        page = visit(server, "Kim")
        seen = []

        def answer():
            seen.append(shown(page))
            page.keyboard.press("3")
            page.keyboard.press("Enter")

        answer()
        next_question(page, seen[-1])
        expect(page.locator("#question")).to_have_attribute("data-ready", "2")
        server.kill()
        for _ in range(2):  # the questions at hand are answered all the same
            answer()
            expect(page.locator(".item-id")).not_to_have_text(seen[-1])
        expect(page.locator("#saved")).to_have_text("Retrying · 2 kept here")
        server.start()
        saved(page)
        answer()
        next_question(page, seen[-1])
        server.kill()
        answer()
        expect(page.locator("#saved")).to_have_text("Retrying · 1 kept here")
        server.start()
        page.reload()  # what waits survives the page as well
        saved(page)
        expect(page.locator(".item-id")).not_to_have_text(seen[-1])
        page.keyboard.press("u")
        expect(page.locator(".item-id")).to_have_text(seen[-1])
        saved(page)
        answers = [(item, concept, said) for item, concept, said in recorded(server, "Kim") if said != "undo"]
        expected = [
            (item, concept, "yes" if concept == "bird" else "no") for item in seen for concept in ("cat", "dog", "bird")
        ]
        assert sorted(answers) == sorted(expected)
        assert len(recorded(server, "Kim")) == len(expected) + 3
    finally:
        server.kill()


def test_two_annotators_at_once(visit, server):
    pages = {name: visit(server, name) for name in ("Ann", "Ben")}
    for _ in range(4):
        for page in pages.values():
            before = shown(page)
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            expect(page.locator(".item-id")).not_to_have_text(before)
    for page in pages.values():
        saved(page)
    items = {name: {item for item, *_ in recorded(server, name)} for name in pages}
    assert [len(found) for found in items.values()] == [4, 4]
    assert not items["Ann"] & items["Ben"]


def test_the_grid(visit, server):
    page = visit(server, "Gil")
    page.get_by_role("button", name="Grid").click()
    tiles = page.locator(".tile")
    expect(tiles).to_have_count(12)
    assert page.locator(".tile kbd").all_inner_texts() == [*"1234567890", "c", "d"]
    concept = page.locator(".crumb").last.inner_text().rstrip("?")
    page.keyboard.press("2")
    page.keyboard.press("d")
    tiles.nth(5).click()
    expect(page.locator(".tile[aria-pressed=true]")).to_have_count(3)
    page.keyboard.press("Enter")
    expect(page.locator(".tile[aria-pressed=true]")).to_have_count(0)
    saved(page)
    answers = recorded(server, "Gil")
    assert [answer for *_, answer in answers] == ["yes" if place in (1, 5, 11) else "no" for place in range(12)]
    assert {name for _, name, _ in answers} == {concept}
    page.keyboard.press("u")
    expect(page.locator(".tile[aria-pressed=true]")).to_have_count(3)
    saved(page)


def test_browsing_and_review(visit, server):
    page = visit(server, "Bo")
    page.get_by_role("button", name="Browse").click()
    page.locator("select[name=concept]").select_option(label="\u2003dog")
    page.locator("input[name=query]").fill("(43)")
    expect(page.locator(".found")).to_have_count(1)
    card = page.locator(".found")
    expect(card).to_contain_text("unknown")
    card.get_by_role("button", name="Yes").click()
    expect(card.get_by_role("button", name="Yes", pressed=True)).to_be_visible()
    expect(card).to_contain_text("annotated")
    card.get_by_role("button", name="Why?").click()
    expect(card.locator(".reasons")).to_contain_text("Bo said yes")
    assert recorded(server, "Bo") == [("text-43", "dog", "yes")]
    page.get_by_label("State").select_option("no")
    expect(page.locator("#browse .count")).to_have_text("No item fits these filters.")

    other = visit(server, "Cy")
    other.keyboard.press("b")
    other.locator("input[name=query]").fill("(43)")
    expect(other.locator(".found")).to_have_count(1)
    other.locator(".found-open").click()
    row = other.get_by_role("dialog").get_by_role("row", name=re.compile("animal > dog"))
    row.get_by_role("button", name="No", exact=True).click()
    saved(other)
    other.keyboard.press("Escape")
    expect(other.locator("#to-review")).to_be_visible()
    settled_in_the_browse_view(page)
    other.get_by_role("button", name="Review").click()
    entry = other.locator(".review-list li", has_text="animal > dog?")
    expect(entry).to_contain_text("Bo: yes")
    expect(entry).to_contain_text("Cy: no")
    entry.get_by_role("button", name="Yes").click()
    expect(entry).to_have_count(0)
    other.keyboard.press("b")
    other.locator("select[name=concept]").select_option(label="\u2003dog")
    expect(other.locator(".found")).to_contain_text("yes")
    other.locator("input[name=low]").fill("50")  # there is no model that could say so
    other.keyboard.press("Enter")
    expect(other.locator("#browse .count")).to_have_text("No item fits these filters.")


def test_results_are_not_drawn_anew_under_the_pressed_mouse(visit, server):
    """Pressing the button on a result takes the focus from the field with the text: that changes no filter."""
    page = visit(server, "Pia")
    page.keyboard.press("b")
    page.locator("input[name=query]").fill("(43)")
    expect(page.locator(".found")).to_have_count(1)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/api/browse" in request.url else None)
    page.locator(".found-open").hover()
    page.mouse.down()
    page.evaluate("fetch('/api/status')")
    assert asked == []
    page.mouse.up()
    expect(page.get_by_role("dialog").get_by_role("row", name=re.compile("animal > dog"))).to_be_visible()


def settled_in_the_browse_view(page):
    """What people disagree about is flagged and listed there too; one click settles it, and undo brings it back."""
    page.get_by_label("State").select_option("disputed")
    card = page.locator(".found")
    expect(card).to_contain_text("people disagree")
    card.get_by_role("button", name="No", exact=True).click()
    expect(page.locator("#browse .count")).to_have_text("No item fits these filters.")
    page.get_by_label("State").select_option("no")
    expect(card).to_contain_text("annotated")
    page.get_by_role("button", name="Ask").click()
    page.keyboard.press("u")
    saved(page)


def test_texts_are_never_markup(visit, server):
    page = visit(server, "Eve <b>l</b>")
    expect(page.locator("#annotator .clip")).to_have_text("Eve <b>l</b>")
    expect(page.locator(".choice small").first).to_have_text("<i>purrs</i>")
    page.keyboard.press("b")
    page.locator("input[name=query]").fill("onerror")
    expect(page.locator(".found")).to_have_count(1)
    assert page.locator(".found blockquote").inner_text() == HOSTILE
    assert page.title() == "texts · Ramify"


def test_more_children_than_keys_and_a_token(visit, tmp_path):
    server = Server(wide_project(tmp_path / "wide"), token="a-token-of-some-length")
    assert server.start().endswith("/?token=a-token-of-some-length")
    try:
        page = visit(server, "Wes")
        assert "token" not in page.url
        assert "".join(page.locator(".choice kbd").all_inner_texts()) == "1234567890cdeijkloqstvxz"
        page.keyboard.press("z")
        page.keyboard.press("/")
        page.keyboard.type("number 39")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expect(page.locator(".choice[aria-pressed=true]")).to_have_count(2)
        page.keyboard.press("Enter")
        saved(page)
        yes = [name for _, name, answer in recorded(server, "Wes") if answer == "yes"]
        assert yes == ["colour number 23", "colour number 39"]
        page.goto(server.link.split("?")[0])  # the cookie is enough from now on
        expect(page.locator(".question .crumbs")).to_be_visible()
        page.keyboard.press("f")
        page.get_by_role("button", name="Broken").click()
        empty = page.locator(".question.empty")
        expect(empty).to_contain_text("What waits under Review is not asked until somebody settles it there.")
        expect(empty).not_to_contain_text("come back if they do not")  # nobody is asked anything now
    finally:
        server.kill()


def test_the_docs_explain_and_their_examples_run(visit, server):
    page = visit(server, "Doc")
    page.goto(f"{server.link}docs")
    assert page.locator("script").count() == 0
    examples = page.locator("pre").all_inner_texts()
    assert len(examples) == 4
    for example in examples:
        command, address, *more = shlex.split(example)
        assert command == "curl"
        sent = json.loads(more[more.index("-d") + 1]) if more else None
        link = server.link + address.removeprefix("127.0.0.1:8000/")
        reply = page.request.get(link) if sent is None else page.request.post(link, data=sent)
        assert reply.ok, example
    described = page.get_by_role("link", name="openapi.json").get_attribute("href")
    specification = page.request.get(server.link + described.removeprefix("/")).json()
    assert set(specification["paths"]) >= {"/api/next", "/api/answers", "/api/undo", "/api/status"}
