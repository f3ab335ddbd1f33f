"""A day's work on the page in a real browser: many at once, flags, tabs, the address, and what used to go wrong."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from browsers import expect, needs_browser, next_question, recorded, saved, shown
from ramify.labels import Labels
from ramify.project.store.store import Store
from ramify.taxonomy import Taxonomy
from web_projects import LocalServer, scene_project, text_project

pytestmark = needs_browser
AXE = Path(__file__).resolve().parents[1] / "node_modules/axe-core/axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
VIOLATIONS = """async (rules) => {
    const { violations } = await axe.run(document, { runOnly: { type: "tag", values: rules },
        rules: { "label-content-name-mismatch": { enabled: true } } });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""
SIZES = {
    "large": {"viewport": {"width": 1440, "height": 900}},
    "small": {"viewport": {"width": 1024, "height": 768}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "zoomed to 200 %": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
}
# Buttons of a question's foot that do not lie inside the screen, or have something on top of them.
OUT_OF_SIGHT = """() => [...document.querySelectorAll(".foot button")].filter((it) => {
    const { top, bottom, left, right } = it.getBoundingClientRect();
    const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const inside = top >= 0 && left >= 0 && bottom <= innerHeight + 1 && right <= innerWidth + 1;
    return !(inside && it.contains(above) && it.scrollWidth <= it.clientWidth + 1);
}).map((it) => it.textContent)"""
# Guesses and names of which some part lies under something else, and choices that hold more than there is room for.
DRAWN_OVER = """() => [...document.querySelectorAll(".guess > *, .choice bdi, .choice")].filter((it) => {
    it.scrollIntoView({ block: "center", behavior: "instant" });
    const { top, bottom, left, right } = it.getBoundingClientRect();
    const at = (x) => document.elementFromPoint(x, (top + bottom) / 2);
    const larger = it.matches(".choice") && (it.scrollHeight > it.offsetHeight || it.scrollWidth > it.offsetWidth);
    return larger || ![left + 2, right - 2].every((x) => it.contains(at(x)));
}).map((it) => it.closest("button").textContent)"""
# Answers so many questions, each as soon as it is there.
ANSWER_MANY = """async (count) => {
    const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (let done = 0; done < count; ) {
        const before = document.querySelector(".item-id")?.textContent;
        if (before) { press("1"); press("Enter"); done += 1; }
        while (!document.querySelector(".item-id") || document.querySelector(".item-id").textContent === before)
            await new Promise((resolve) => setTimeout(resolve, 5));
    }
}"""
DEEP = {
    "leisure": {
        "exhaustive": True,
        "children": {"sport": {f"sport number {n}": None for n in range(40)}, "music": ["piano", "guitar"]},
    },
    "work": ["office", "field"],
}


@pytest.fixture
def server(tmp_path):
    started = LocalServer(text_project(tmp_path / "texts", 60))
    yield started
    started.stop()


def deep_project(folder):
    """Long texts under a deep taxonomy with forty children; some items are known, so that there are examples."""
    taxonomy = Taxonomy(DEEP)
    states = np.full((80, len(taxonomy)), -1, np.int8)
    states[:, taxonomy.indices(["leisure"])] = 1
    states[:, taxonomy.indices(["work"])] = 0
    states[40:, taxonomy.indices(["sport", "music"])] = 1, 0
    states[:4, taxonomy.indices(["sport"])] = 1
    sports = taxonomy.indices([f"sport number {n}" for n in range(40)])
    states[:4, sports] = np.eye(4, 40, dtype=np.int8)
    with Store.create(folder, taxonomy) as store:
        ids = [f"story-{n}" for n in range(80)]
        labels = Labels.from_matrix(taxonomy, states, np.arange(len(taxonomy)))
        store.add(ids, [f"{name}. " + "Nothing had to be said of the sea. " * 60 for name in ids], None, None, labels)
    (folder / "guidelines.md").write_text(
        "# Free time, and what people do with it all day long\n\nWe want to know what people do\nwhen they rest.\n\n"
        "- **Sport** counts, <b>always</b>\n"
    )
    return folder


@pytest.fixture(scope="module")
def deep_server(tmp_path_factory):
    started = LocalServer(deep_project(tmp_path_factory.mktemp("page") / "deep"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def picture_server(tmp_path_factory):
    started = LocalServer(scene_project(tmp_path_factory.mktemp("page") / "scenes", 40))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def crowded_server(tmp_path_factory):
    started = LocalServer(scene_project(tmp_path_factory.mktemp("page") / "crowded", 40, crowded=True))
    yield started
    started.stop()


def violations(page):
    page.evaluate(f"{AXE.read_text()}; 0")
    return page.evaluate(VIOLATIONS, LEVELS)


needs_axe = pytest.mark.skipif(
    not AXE.is_file() and not os.environ.get("CI"), reason="axe-core is not there: npm install --no-package-lock"
)


# -- what is in sight --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_actions_are_in_sight_at_every_size_and_zoom_in_every_mode(visit, deep_server, picture_server, size):
    for name, server in (("text", deep_server), ("picture", picture_server)):
        page = visit(server, f"{name} {size}", **SIZES[size])
        for mode in ("Group", "Single", "Grid"):
            page.get_by_role("button", name=mode, exact=True).click()
            expect(page.get_by_role("button", name=mode, pressed=True)).to_be_visible()
            expect(page.locator(".question .crumbs")).to_be_visible()
            saved(page)
            assert page.evaluate(OUT_OF_SIGHT) == [], (name, mode)
            page.evaluate("scrollTo(0, 0)")
            assert page.evaluate(OUT_OF_SIGHT) == [], (name, mode)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, mode)


@needs_axe
@pytest.mark.parametrize("project", ["text", "picture"])
def test_axe_finds_nothing_on_any_view(visit, deep_server, picture_server, project):
    server = deep_server if project == "text" else picture_server
    page = visit(server, f"Axel {project}")
    for mode in ("Group", "Single", "Grid"):
        page.get_by_role("button", name=mode, exact=True).click()
        expect(page.get_by_role("button", name=mode, pressed=True)).to_be_visible()
        expect(page.locator(".question .crumbs")).to_be_visible()
        saved(page)
        page.keyboard.press("g")
        assert violations(page) == []
        if mode == "Group":
            if project == "text":
                while page.locator(".choice").count() != 2:  # of sports none need apply
                    before = shown(page)
                    page.keyboard.press("Space")
                    next_question(page, before)
                page.keyboard.press("Enter")
                expect(page.locator(".doubt")).to_be_visible()
            else:
                page.locator(".zoom").click()
                expect(page.get_by_role("dialog").locator("img.whole")).to_be_visible()
            assert violations(page) == []
            page.keyboard.press("Escape")
            page.keyboard.press("f")
            assert violations(page) == []
            page.get_by_role("button", name="Cannot tell").click()
            saved(page)
    expect(page.locator(".tile").first).to_be_visible()
    page.keyboard.press("Enter")
    saved(page)
    expect(page.locator(".past").first).to_contain_text(re.compile(r"0 of \d+"))
    page.locator(".past").first.click()
    expect(page.get_by_role("dialog", name="Which one?")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    saved(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.locator("select[name=concept]").select_option(index=3)
    expect(page.locator(".choose").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert violations(page) == []
    page.locator(".found-open").first.click()
    expect(page.get_by_role("dialog").locator("tbody tr").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator(".review-list")).to_have_count(4)
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_role("button", name="Ask again")).to_have_count(0)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_role("dialog", name="Who is answering?")).to_be_visible()
    assert violations(page) == []
    page.goto(f"{server.link}docs")
    assert violations(page) == []


# -- the first minute, and deep taxonomies -----------------------------------------------------------------------------


@pytest.fixture
def untouched_server(tmp_path):
    started = LocalServer(deep_project(tmp_path / "deep"))
    yield started
    started.stop()


def test_what_is_asked_in_a_deep_taxonomy_and_what_the_project_is_for(visit, untouched_server):
    page = visit(untouched_server, "Deb")
    assert page.title() == "Free time, and what people do with it all day long · Ramify"
    expect(page.locator("#title")).to_have_attribute("title", "We want to know what people do when they rest.")
    words = page.locator("#progress .left")
    expect(words).to_contain_text(re.compile(r"Fine labels: \d+ % settled"))
    expect(words).to_contain_text(re.compile(r"About \d+ questions are open now"))
    page.evaluate("localStorage.clear()")
    page.reload()
    first = page.get_by_role("dialog", name="Who is answering?")
    expect(first.locator("h1")).to_have_text("Free time, and what people do with it all day long")
    expect(first).to_contain_text("We want to know what people do when they rest.")
    expect(first).to_contain_text("all choices for one item, one yes or no at a time, or twelve items at once")
    expect(first.locator("summary")).to_have_text("Guidelines")
    page.get_by_label("Your name is kept").fill("Deb")
    page.keyboard.press("Enter")
    expect(page.locator(".question .crumbs")).to_be_visible()
    page.keyboard.press("?")
    guidelines = page.locator("dialog .guidelines")
    expect(guidelines.locator("strong")).to_have_text("Sport")
    expect(guidelines.locator("li")).to_have_text("Sport counts, <b>always</b>")  # no markup but our own
    page.get_by_label("Single keys are commands").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("b")  # no command any more
    expect(page.locator("#browse")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("#help").click()
    page.get_by_label("Single keys are commands").check()
    page.keyboard.press("Escape")

    groups = {}
    while not {2, 40} <= set(groups):  # both levels are asked
        names = page.locator(".choice").count()
        if names == 40:
            groups[names] = page.locator(".level").inner_text()
            columns = page.locator(".choice").evaluate_all("all => new Set(all.map((it) => it.offsetLeft)).size")
            assert columns > 1
            page.locator(".examples summary").click()
            expect(page.locator(".examples[open]")).to_have_count(0)
            page.reload()
            expect(page.locator(".examples summary")).to_be_visible()
            expect(page.locator(".examples[open]")).to_have_count(0)  # remembered
        else:
            groups[names] = page.locator(".choice .name small").all_inner_texts()
        before = shown(page)
        page.keyboard.press("Space")
        next_question(page, before)
    assert groups[40] == "Known so far: leisure (imported), sport (imported)."
    assert groups[2] == ["then: sport number 0, sport number 1, sport number 2 and 37 more", "then: piano, guitar"]
    page.get_by_role("button", name="Single", exact=True).click()
    expect(page.locator(".question.single .crumbs")).to_be_visible()
    while "music?" not in page.locator(".crumbs").inner_text():
        before = page.evaluate("document.querySelector('.question').innerText")
        page.keyboard.press("Space")
        page.wait_for_function("before => document.querySelector('.question')?.innerText !== before", arg=before)
        saved(page)
    expect(page.locator(".level")).to_have_text("Yes leads to piano, guitar; no says no to all of them.")


def test_pictures_can_be_looked_at_closer(visit, picture_server):
    page = visit(picture_server, "Zoe")
    page.locator(".zoom").click()
    picture = page.get_by_role("dialog").locator("img.whole")
    expect(picture).to_be_visible()
    page.get_by_role("button", name="Actual size").click()
    assert picture.evaluate("it => it.clientWidth === it.naturalWidth")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Grid", exact=True).click()
    page.locator(".tile-place").first.hover()
    page.get_by_role("button", name="Look closer at").first.click()
    expect(picture).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".tile[aria-pressed=true]")).to_have_count(0)  # looked at, not chosen


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_drawn_over_a_guess(visit, picture_server, crowded_server, size):
    for server, modes in ((picture_server, ("Group", "Grid")), (crowded_server, ("Group",))):
        page = visit(server, f"Guess {size}", **SIZES[size])
        for mode in modes:
            page.get_by_role("button", name=mode, exact=True).click()
            expect(page.get_by_role("button", name=mode, pressed=True)).to_be_visible()
            expect(page.locator(".question .crumbs")).to_be_visible()
            page.locator(".side-actions button", has_text="Guess").click()
            expect(page.locator(".guess").first).to_be_attached()
            assert page.evaluate(DRAWN_OVER) == [], mode
    long = page.locator(".choice bdi", has_text="something with a name of its own")
    assert long.evaluate("it => it.scrollHeight > it.clientHeight")  # folded


# -- browsing ----------------------------------------------------------------------------------------------------------


def test_many_at_once_with_one_undo_and_the_way_back(visit, server):
    page = visit(server, "Bea")
    keys = page.keyboard
    keys.press("b")
    count = page.locator("#browse .count")
    expect(count).to_have_text("1 to 24 of 60 items")
    assert page.locator("select[name=state] option[value=yes]").is_disabled()  # a state is that of one concept
    expect(page.locator(".bulk")).to_be_hidden()
    page.locator("select[name=concept]").select_option(label="\u2003dog")
    page.locator("select[name=state]").select_option("unknown")
    expect(page).to_have_url(re.compile(r"#browse\?.*state=unknown"))
    expect(page.locator(".choose").first).to_be_visible()
    for key in ("j", "x", "j", "j", "x", "k"):
        keys.press(key)
    expect(page.locator(".chosen-count")).to_have_text("2 chosen")
    assert page.locator(".choose input").evaluate_all("all => all.slice(0, 4).map((it) => it.checked)") == [
        True,
        False,
        True,
        False,
    ]
    keys.press("y")
    expect(count).to_have_text("1 to 24 of 58 items")
    assert recorded(server, "Bea") == [("text-0", "dog", "yes"), ("text-2", "dog", "yes")]
    page.get_by_role("button", name="Choose this page").click()
    page.get_by_role("button", name="No to 24").click()
    expect(count).to_have_text("1 to 24 of 34 items")
    page.get_by_role("button", name="Choose all 34").click()
    page.get_by_role("button", name="No to 34").click()
    expect(count).to_have_text("No item fits these filters.")
    keys.press("u")
    expect(count).to_have_text("1 to 24 of 34 items")
    saved(page)

    page.go_back()  # before the state was chosen
    expect(page.locator("select[name=state]")).to_have_value("")
    expect(count).to_have_text("1 to 24 of 60 items")
    page.go_back()
    expect(page.locator("select[name=concept]")).to_have_value("")
    page.go_back()
    expect(page.locator(".question .crumbs")).to_be_visible()
    page.go_forward()
    page.go_forward()
    page.go_forward()
    expect(count).to_have_text("1 to 24 of 34 items")
    page.reload()  # a link to these filters leads to them
    expect(count).to_have_text("1 to 24 of 34 items")
    page.locator("input[name=low]").fill("60")
    page.locator("input[name=high]").fill("40")
    expect(count).to_have_text("“from” is above “to”: no item can lie between them.")


# -- flags and Review --------------------------------------------------------------------------------------------------


def test_flags_leave_the_queue_and_are_listed(visit, server):
    page = visit(server, "Flo")
    first = shown(page)
    page.keyboard.press("f")
    page.get_by_label("A note, if you like").fill("too dark")
    page.get_by_role("button", name="Cannot tell").click()
    next_question(page, first)
    second = shown(page)
    page.get_by_role("button", name="Flag f").click()
    page.get_by_role("button", name="Broken").click()
    next_question(page, second)
    assert [answer for *_, answer in recorded(server, "Flo")] == ["skip"] * 6
    page.keyboard.press("r")
    listed = page.locator(".review-list", has_text="Flags").locator("li")
    expect(listed).to_have_count(2)
    expect(listed.first).to_contain_text("cannot tell")
    expect(listed.first).to_contain_text("too dark")
    listed.first.get_by_role("button", name="Ask again").focus()
    page.keyboard.press("Enter")
    expect(listed).to_have_count(1)
    expect(page.locator("#review :focus")).to_have_count(1)  # not lost to the page
    page.keyboard.press("a")
    page.keyboard.press("u")  # the flag falls with what it belongs to
    expect(page.locator(".item-id")).to_have_text(second)
    saved(page)
    page.keyboard.press("r")
    expect(page.locator(".review-list", has_text="Flags")).to_contain_text("Nothing here.")


def test_a_contradiction_is_resolved_in_place_and_the_focus_stays(visit, server):
    page = visit(server, "Con")
    with Store(server.folder) as store:
        rain = int(store.id_of[store.taxonomy.index("weather > rain")])
    for number in (7, 8):
        server.service.answer(f"contradiction-{number}", "Eve", [(number, rain, "yes")])
    server.service.count()
    page.keyboard.press("r")
    listed = page.locator(".review-list", has_text="Contradictions").locator("li")
    expect(listed).to_have_count(2)
    line = listed.first.locator(".settle-line", has_text="weather > rain")
    line.get_by_role("button", name="No").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".settle-line")).to_have_count(2)
    expect(page.locator("#review :focus")).to_have_count(1)


# -- what used to go wrong ---------------------------------------------------------------------------------------------


def test_tabs_modes_times_and_names(visit, server):
    page = visit(server, "Tia")
    other = page.context.new_page()
    other.goto(server.link)
    expect(other.locator(".question .crumbs")).to_be_visible()
    assert shown(other) != shown(page)  # two tabs of one name
    expect(page.locator("#question")).to_have_attribute("data-ready", "2")
    expect(other.locator("#question")).to_have_attribute("data-ready", "2")
    out = server.service.leases.out()
    page.reload()
    expect(page.locator("#question")).to_have_attribute("data-ready", "2")
    assert server.service.leases.out() == out  # the same tab: nothing new is handed out
    first = shown(page)

    page.keyboard.press("2")
    page.keyboard.press("m")  # what was chosen is not dropped
    expect(page.get_by_role("button", name="Single", pressed=True)).to_be_visible()
    expect(page.locator(".choice[aria-pressed=true]")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".question.single .crumbs")).to_be_visible()
    saved(page)
    assert recorded(server, "Tia")[1] == (first, "dog", "yes")
    with Store(server.folder) as store:
        (about,) = store.answers.requests().values()
    assert about[0] > 0

    page.locator("#annotator").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    names = page.evaluate(
        """() => [...document.querySelectorAll("button[aria-label]")].filter((it) => !it.getAttribute("aria-label")
            .includes([...it.querySelectorAll(":scope > :not([aria-hidden])")].map((part) => part.innerText).join(" ")))
            .map((it) => it.outerHTML)"""
    )
    assert names == []
    assert page.evaluate("[...document.querySelectorAll('th')].filter((it) => !it.textContent.trim()).length") == 0


def test_which_one_of_a_grid_and_a_server_that_is_away(visit, server):
    page = visit(server, "Gil")
    page.get_by_role("button", name="Grid", exact=True).click()
    expect(page.locator(".tile")).to_have_count(12)
    asked = page.locator(".tile .media").all_inner_texts()
    page.keyboard.press("2")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    saved(page)
    page.locator(".past").first.click()
    choices = page.get_by_role("dialog", name="Which one?").get_by_role("button").filter(has_not_text="Close")
    assert choices.locator(".clip").all_inner_texts() == asked
    assert [bool(choice.locator(".mark").count()) for choice in choices.all()] == [n in (1, 4) for n in range(12)]
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.locator("select[name=concept]").select_option(label="\u2003bird")
    expect(page.locator(".found .state").first).to_be_visible()
    assert "unknown · unknown" not in page.locator("#browse").inner_text()
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    page.keyboard.press("r")
    expect(page.locator("#saved")).to_have_text("No connection · retrying")
    page.unroute_all(behavior="ignoreErrors")
    page.keyboard.press("b")
    saved(page)


def test_the_end_of_a_budget_says_so_and_is_not_overrun(visit, tmp_path):
    server = LocalServer(text_project(tmp_path / "texts"), budget=5)
    try:
        page = visit(server, "Bud")
        for key in ("1", "2"):
            page.keyboard.press(key)
            page.keyboard.press("Enter")
        empty = page.locator(".question.empty")  # all of it: nothing strays in
        expect(empty).to_have_text("Well done.The budget of 5 answers is used up.Look againUndo u")
        saved(page)
        assert len(recorded(server, "Bud")) == 5
        expect(page.locator("#progress")).to_contain_text("5 of 5")
    finally:
        server.stop()


def test_the_end_of_all_questions_says_so(visit, tmp_path):
    server = LocalServer(text_project(tmp_path / "texts", 2))
    try:
        page = visit(server, "Eda")
        first = shown(page)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        next_question(page, first)
        page.keyboard.press("f")
        page.get_by_role("button", name="Broken").click()
        empty = page.locator(".question.empty")
        review = "What waits under Review is not asked until somebody settles it there."
        nothing = "There is nothing left to ask you in this mode."
        expect(empty).to_have_text(f"All done for now.{nothing}{review}Look againUndo u")
        page.keyboard.press("r")
        page.get_by_role("button", name="Ask again").click()
        page.keyboard.press("a")
        page.get_by_role("button", name="Look again").click()
        expect(page.locator(".item-id")).to_be_visible()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        expect(empty).to_have_text(
            "All done for now.Everything is known: there is nothing left to ask anybody.Look againUndo u"
        )
    finally:
        server.stop()


def test_what_is_answered_while_questions_are_fetched_is_not_asked_again(visit, tmp_path):
    server = LocalServer(text_project(tmp_path / "texts"))
    held = []
    try:
        page = visit(server, "Quick")
        shown = page.locator("#question .item-id")
        expect(shown).to_be_visible()
        page.route("**/api/next", lambda route: route.continue_() if held else held.append((route, route.fetch())))
        answered = []
        for _ in range(3):
            answered.append(shown.inner_text())
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            expect(shown).not_to_have_text(answered[-1]) if len(answered) < 3 else expect(shown).to_have_count(0)
            saved(page)
        assert len(set(answered)) == 3
        assert held
        again = {task["item"]["id"] for task in held[0][1].json()}
        assert again & set(answered)  # else this test shows nothing
        held[0][0].fulfill(response=held[0][1])
        expect(shown).to_be_visible()
        assert shown.inner_text() not in answered
    finally:
        server.stop()


@pytest.mark.slow
def test_a_thousand_answers_in_one_tab_do_not_fill_it(visit, tmp_path):
    server = LocalServer(text_project(tmp_path / "texts", 1100))
    try:
        page = visit(server, "Max")
        browser = page.context.new_cdp_session(page)
        browser.send("Performance.enable")

        def measured():
            browser.send("HeapProfiler.collectGarbage")
            metrics = {m["name"]: m["value"] for m in browser.send("Performance.getMetrics")["metrics"]}
            return metrics["JSHeapUsedSize"] / 2**20, metrics["Nodes"]

        sizes = []
        for _ in range(10):
            page.evaluate(ANSWER_MANY, 100)
            saved(page)
            sizes.append(measured())
        print(sizes)
        (first, nodes), (last, nodes_at_last) = sizes[0], sizes[-1]
        assert len({item for item, *_ in recorded(server, "Max")}) == 1000
        assert last < 1.15 * first + 0.5, sizes  # MiB
        assert nodes_at_last < 1.15 * nodes + 200, sizes
    finally:
        server.stop()
