"""The page in a real browser: what is taken as an answer, what undo brings back, and what is said in sentences."""

import re

import pytest

from browsers import BY_HAND, expect, needs_browser, next_question, recorded, saved, shown
from ramify.labels import Labels
from ramify.project.store import trainings
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy
from web_projects import LocalServer, text_project

pytestmark = needs_browser
UNREAD = 250  # milliseconds after which a question can have been read


@pytest.fixture
def server(tmp_path):
    started = LocalServer(text_project(tmp_path / "texts"))
    yield started
    started.stop()


def wait(page, milliseconds):
    page.evaluate("milliseconds => { passed += milliseconds; }", milliseconds)


def answers(server, name):
    return [answer for *_, answer in recorded(server, name)]


# -- what is taken as an answer ----------------------------------------------------------------------------------------


def test_the_second_of_two_quick_presses_answers_nothing(visit, server):
    page = visit(server, "Quinn", clock=BY_HAND)
    page.keyboard.press("Space")  # nobody can have read the first one either
    wait(page, UNREAD)
    first = shown(page)
    page.keyboard.press("1")
    for _ in range(2):
        page.keyboard.press("Enter")
    next_question(page, first)
    assert answers(server, "Quinn") == ["yes", "no", "no"]

    second = shown(page)
    wait(page, UNREAD - 1)
    page.keyboard.press("1")  # choosing is no saving
    for key in ("Enter", "Space", "w"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Save 1 yes, 2 no")).to_be_visible()
    assert shown(page) == second
    wait(page, 1)
    page.keyboard.press("Enter")
    next_question(page, second)
    assert answers(server, "Quinn")[3:] == ["yes", "no", "no"]


def test_the_second_of_two_quick_presses_answers_nothing_one_at_a_time(visit, server):
    page = visit(server, "Quinn", clock=BY_HAND)
    page.get_by_role("button", name="Single", exact=True).click()
    expect(page.locator(".question.single .crumbs")).to_be_visible()
    wait(page, UNREAD)
    for key in ("n", "y", "n", "Space", "w"):
        page.keyboard.press(key)
    saved(page)
    assert answers(server, "Quinn") == ["no"]


def test_a_double_click_answers_one_question(visit, server):
    page = visit(server, "Dora", clock=BY_HAND)
    wait(page, UNREAD)
    page.get_by_role("button", name="Skip").dblclick()
    saved(page)
    assert answers(server, "Dora") == ["skip"] * 3


# -- undo --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reloaded", [False, True])
def test_undo_brings_back_what_was_chosen(visit, server, reloaded):
    page = visit(server, "Una")
    first = shown(page)
    page.keyboard.press("1")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    next_question(page, first)
    second = shown(page)
    page.keyboard.press("Space")
    next_question(page, second)
    if reloaded:
        page.reload()
        expect(page.locator(".question .crumbs")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator(".item-id")).to_have_text(second)
    saved(page)
    expect(page.locator(".taken-back")).to_have_text("Your answer was: skipped")
    expect(page.get_by_role("button", name="Skip", pressed=True)).to_be_visible()
    expect(page.locator(".choice[aria-pressed=true]")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator(".item-id")).to_have_text(first)
    saved(page)
    expect(page.locator(".taken-back")).to_have_text("Your answer was: 2 yes, 1 no")
    assert page.locator(".choice[aria-pressed=true] .name").all_inner_texts() == ["cat\n<i>purrs</i>", "bird"]
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    next_question(page, first)
    expect(page.locator(".taken-back")).to_have_count(0)
    assert answers(server, "Una")[-3:] == ["yes", "no", "no"]


@pytest.mark.parametrize("reloaded", [False, True])
@pytest.mark.parametrize(("key", "word"), [("y", "Yes"), ("n", "No")])
def test_undo_brings_back_a_single_answer(visit, server, key, word, reloaded):
    page = visit(server, "Sid")
    page.get_by_role("button", name="Single", exact=True).click()
    expect(page.locator(".question.single .crumbs")).to_be_visible()
    saved(page)
    asked = page.locator(".crumbs").inner_text(), shown(page)
    page.keyboard.press(key)
    saved(page)
    if reloaded:
        page.reload()
        expect(page.locator(".question .crumbs")).to_be_visible()
    page.keyboard.press("u")
    saved(page)
    expect(page.locator(".taken-back")).to_have_text(f"Your answer was: {word.lower()}")
    assert (page.locator(".crumbs").inner_text(), shown(page)) == asked
    expect(page.get_by_role("button", name=f"{word} {key}", pressed=True)).to_be_visible()
    expect(page.locator(".main-actions button[aria-pressed]")).to_have_count(1)


def test_undo_of_a_grid_after_a_reload(visit, server):
    page = visit(server, "Gus")
    page.get_by_role("button", name="Grid", exact=True).click()
    expect(page.locator(".tile")).to_have_count(12)
    asked = page.locator(".tile .media").all_inner_texts()
    for key in ("2", "5"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(".tile[aria-pressed=true]")).to_have_count(0)
    saved(page)
    page.reload()
    expect(page.locator(".question .crumbs")).to_be_visible()
    page.keyboard.press("u")
    saved(page)
    expect(page.locator(".taken-back")).to_have_text("Your answer was: 2 yes, 10 no")
    assert page.locator(".tile .media").all_inner_texts() == asked
    expect(page.locator(".tile[aria-pressed=true]")).to_have_count(2)


def test_undo_of_a_coarse_label_called_wrong(visit, server):
    page = visit(server, "Wim")
    first = shown(page)
    page.keyboard.press("w")
    next_question(page, first)
    page.reload()
    expect(page.locator(".question .crumbs")).to_be_visible()
    assert shown(page) != first  # it is not asked again
    page.keyboard.press("u")
    expect(page.locator(".item-id")).to_have_text(first)
    saved(page)
    expect(page.locator(".taken-back")).to_have_text("Your answer was: “animal” is wrong here")


def test_undo_shows_what_the_server_took_back_unless_somebody_has_begun_anew(visit, server):
    anew = False

    def undo(route):
        """The server says something else than this page remembers; meanwhile somebody may go on."""
        reply = route.fetch().json()
        for entry in reply["undone"]:
            entry["answer"] = "yes"
        if anew:
            expect(chosen).to_have_count(1)
            page.keyboard.press("2")
            expect(chosen).to_have_count(2)
        route.fulfill(json=reply)

    page = visit(server, "Ugo", routes={"**/api/undo": undo})
    chosen = page.locator(".choice[aria-pressed=true]")
    first = shown(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    next_question(page, first)
    page.keyboard.press("u")
    expect(chosen).to_have_count(3)
    saved(page)
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    next_question(page, first)
    anew = True
    page.keyboard.press("u")
    expect(page.locator(".item-id")).to_have_text(first)
    saved(page)
    expect(chosen).to_have_count(2)


# -- what the model says -----------------------------------------------------------------------------------------------


def test_the_filter_by_probability_is_there_only_where_it_works(visit, server):
    page = visit(server, "Fil")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/api/browse" in request.url else None)
    page.keyboard.press("b")
    low, note = page.locator("input[name=low]"), page.locator(".filter-note")
    concept = page.locator("select[name=concept]")
    expect(low).to_be_disabled()
    expect(note).to_have_text("Choose a fine concept to filter and sort by its state and by what the model says of it.")
    concept.select_option(label="\u2003dog")
    expect(low).to_be_enabled()
    expect(note).to_be_hidden()
    low.fill("50")
    low.press("Enter")
    expect(page.locator("#browse .count")).to_have_text("No item fits these filters.")  # there is no model
    assert "low=0.5" in asked[-1]
    concept.select_option(label="animal")
    expect(low).to_be_disabled()
    expect(note).to_have_text(
        "“animal” has finer concepts, and the model speaks of fine ones only: "
        "choose one of them to filter by what it says."
    )
    expect(page.locator("#browse .count")).to_have_text("1 to 24 of 30 items")
    assert "low" not in asked[-1]
    page.get_by_role("button", name="Clear").click()
    expect(note).to_have_text("Choose a fine concept to filter and sort by its state and by what the model says of it.")
    expect(low).to_have_value("0")


# -- sentences ---------------------------------------------------------------------------------------------------------


def test_reasons_in_sentences(visit, server):
    page = visit(server, "Rea")
    page.keyboard.press("b")
    page.locator("input[name=query]").fill("(7)")
    expect(page.locator(".found")).to_have_count(1)
    page.locator(".found-open").click()
    rows = page.get_by_role("dialog").get_by_role("row")

    def why(path):
        """Opens the reasons of a concept and closes them again."""
        button = rows.filter(has_text=re.compile(f"^{path}(yes|no|unknown)")).get_by_role("button", name="Why?")
        button.click()
        expect(page.locator(".reasons li, .why-row p").first).to_be_visible()
        sentences = page.locator(".reasons li, .why-row p").all_inner_texts()
        button.click()
        return sentences

    assert why("animal") == ["it was imported as yes"]
    assert why("animal > dog") == ["Nobody has said anything about it, and nothing follows."]
    assert why("weather > rain") == ["it is no, because weather, above it, is no"]
    rows.filter(has_text=re.compile("^animal > dog")).get_by_role("button", name="Yes", exact=True).click()
    saved(page)
    (sentence,) = why("animal > dog")
    assert re.fullmatch(r"Rea said yes on \d{4}-\d\d-\d\d \d\d:\d\d", sentence)


def test_contradictions_in_sentences(visit, server):
    page = visit(server, "Con")
    page.keyboard.press("b")
    page.locator("input[name=query]").fill("(7)")
    expect(page.locator(".found")).to_have_count(1)
    page.locator(".found-open").click()
    row = page.get_by_role("dialog").get_by_role("row").filter(has_text=re.compile("^weather > rain"))
    row.get_by_role("button", name="Why?").click()
    expect(page.locator(".reasons li")).to_have_count(1)
    row.get_by_role("button", name="Yes", exact=True).click()
    saved(page)  # then the dialog is drawn anew: reasons that are open stay so, and are those of now
    expect(page.locator(".reasons li").last).to_have_text(
        "it is set aside, because these cannot all be true: weather > rain: yes (annotated), weather: no (imported)"
    )
    page.keyboard.press("Escape")
    expect(page.locator("#to-review")).to_have_text("1")
    page.keyboard.press("r")
    entry = page.locator(".review-list li")
    expect(entry).to_contain_text("text-7")
    expect(entry).to_contain_text("weather > rain: yes (annotated), weather: no (imported)")
    entry.get_by_role("button", name="Open text-7").click()
    top = page.get_by_role("dialog").locator("tbody th").first
    expect(top).to_have_text("weather > rain")  # what contradicts stands first
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.locator(".found-open").click()
    rows = page.get_by_role("dialog").locator("tbody th")
    assert rows.all_inner_texts() == ["weather", "weather > rain"]  # wherever it is opened, the rest folded
    expect(page.get_by_role("dialog").locator(".source").first).to_have_text("contradicts others")
    page.get_by_role("button", name="Show the other 5").click()
    expect(rows).to_have_count(7)
    weather = page.get_by_role("dialog").get_by_role("row").filter(has=page.get_by_text("weather", exact=True))
    row.get_by_role("button", name="No", exact=True).click()
    expect(row).to_contain_text("noannotated")
    row.get_by_role("button", name="Yes", exact=True).click()  # who has settled it may think again
    expect(row).to_contain_text("contradicts others")
    weather.get_by_role("button", name="Yes", exact=True).click()
    expect(row).to_contain_text("yesannotated")
    saved(page)
    page.keyboard.press("Escape")
    page.locator("select[name=concept]").select_option(label="\u2003rain")
    page.locator("input[name=query]").fill("(7)")
    card = page.locator(".found")
    expect(card.get_by_role("button", name="Yes", pressed=True)).to_be_visible()
    card.get_by_role("button", name="No", exact=True).click()
    expect(card.get_by_role("button", name="No", pressed=True)).to_be_visible()
    saved(page)
    page.keyboard.press("j")
    page.keyboard.press("y")  # the one that j has reached
    expect(card.get_by_role("button", name="Yes", pressed=True)).to_be_visible()
    saved(page)


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_problems_of_the_server_are_in_sight_until_they_are_mended(visit, server, size):
    problems = [{"what": "The model could not learn from the last answers.", "at": 1.0}]
    counts = {"yes": 1, "no": 2, "skip": 3, "undone": 0, "agreement": None, "gold": 0, "right": 0}
    people = [{"name": f"person {n}", **counts} for n in range(23)]
    advice = {"kind": "early", "said": "too early to say: 3 of at least 30 audit answers", "gain": None, "minutes": 30}

    def status(route):
        more = {"problems": problems, "annotators": people, "advice": advice}
        route.fulfill(json={**route.fetch().json(), **more})

    viewport = dict(zip(("width", "height"), size, strict=True))
    page = visit(server, "Pam", routes={"**/api/status": status}, viewport=viewport)
    expect(page.locator("#problems")).to_have_text("The model could not learn from the last answers.")
    expect(page.locator("#progress .problem-list")).to_contain_text("The model could not learn from the last answers.")
    expect(page.locator("#progress .left")).to_contain_text("Too early to say: 3 of at least 30 audit answers.")
    expect(page.locator("#progress .people tbody tr")).to_have_count(20)
    page.get_by_role("button", name="Show 3 more").click()
    expect(page.locator("#progress .people tbody tr")).to_have_count(23)
    page.keyboard.press("b")
    expect(page.locator("#problems")).to_be_in_viewport(ratio=1)
    page.keyboard.press("a")
    for mended in (False, True):
        if mended:
            problems.clear()
        before = page.locator(".item-id").text_content()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        next_question(page, before)
        if not mended:
            expect(page.locator("#problems")).to_be_in_viewport(ratio=1)  # wherever the new question scrolled it
    expect(page.locator("#problems")).to_be_hidden()
    expect(page.locator("#progress .problem-list")).to_have_count(0)


def test_a_training_shows_how_far_it_is(visit, server, monkeypatch):
    monkeypatch.setattr(trainings, "NOTE_EVERY", 0.0)
    with Store(server.folder) as store, store.trainings.begin() as note:
        note("coarse stage", 30, 120)
        page = visit(server, "Tom")
        training = page.locator("#progress .training")
        expect(training).to_contain_text("coarse stage, 25 % done")
        expect(training.get_by_role("progressbar")).to_have_attribute("value", "0.25")
        note("coarse stage", 60, 120)
        expect(training).to_contain_text("coarse stage, 50 % done, about")
        note("all items", 0, 60)
        expect(training).to_contain_text("all items, 0 % done")
        expect(page.get_by_role("button", name="Train")).to_be_disabled()
    expect(training).to_have_count(0)
    expect(page.get_by_role("button", name="Train")).to_be_enabled()


def test_a_question_about_the_topmost_concepts(visit, tmp_path):
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "weather": ["rain", "snow"]})
    with Store.create(tmp_path / "unlabelled", taxonomy) as store:
        ids = [f"text-{n}" for n in range(9)]
        store.add(ids, ids, None, None, Labels(taxonomy, [[-1, -1]] * 9))
    server = LocalServer(tmp_path / "unlabelled")
    try:
        page = visit(server, "Top")
        expect(page.locator(".crumbs")).to_have_text("Which of these?")
        assert page.locator(".choice .name bdi").all_inner_texts() == ["animal", "weather"]
        expect(page.get_by_role("button", name="Not “")).to_have_count(0)
        first = shown(page)
        page.keyboard.press("w")  # nothing stands above them that could be wrong
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        next_question(page, first)
        assert recorded(server, "Top") == [(first, "animal", "no"), (first, "weather", "yes")]
        question = page.locator(".question")
        while not page.get_by_role("button", name="Not “weather”").count():  # what is skipped does not come at once
            before = question.inner_text()
            page.keyboard.press("Space")
            expect(question).not_to_have_text(before, use_inner_text=True)
            saved(page)
        wrong = page.get_by_role("button", name="Not “weather”")
        expect(wrong).to_have_attribute("title", "“weather” does not apply here")  # nothing was imported
    finally:
        server.stop()
