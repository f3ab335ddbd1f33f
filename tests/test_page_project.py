"""The project on the page, in a real browser: files, settings, people, training, the history, and words that matter."""

import re
import shutil

import pytest

from browsers import expect, needs_browser, next_question, recorded, saved, shown
from ramify.project.store.store import Store
from test_page_work import OUT_OF_SIGHT, SIZES, needs_axe, violations
from web_projects import LocalServer, pets_project, text_project

pytestmark = needs_browser


@pytest.fixture(scope="module")
def pets_server(tmp_path_factory):
    started = LocalServer(pets_project(tmp_path_factory.mktemp("page") / "pets", 120))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def plain_server(tmp_path_factory):
    """Without features, and so without a model."""
    started = LocalServer(text_project(tmp_path_factory.mktemp("page") / "texts", 200))
    yield started
    started.stop()


# Whether all cards show what the model says, in ascending order of something; shares are rounded to whole per cent.
IN_ORDER = """() => {
  const shares = [...document.querySelectorAll(".found .chance")].map((it) => Number.parseInt(it.innerText, 10));
  const worth = shares.map((p) => WORTH);
  return shares.length === 24 && worth.every((it, place) => place === 0 || it >= worth[place - 1] - 1);
}"""


def open_project(page):
    page.keyboard.press("p")
    expect(page.locator(".settings")).to_be_visible()
    expect(page).to_have_url(re.compile("#project$"))


def part(page, name):
    return page.locator(f".part-{name}")


# -- files -------------------------------------------------------------------------------------------------------------


def test_downloads(visit, pets_server, tmp_path):
    page = visit(pets_server, "Dan")
    open_project(page)
    page.get_by_label("Format").select_option("jsonl")
    expect(page.get_by_label("Safe for spreadsheets")).to_be_disabled()
    for what in ("known labels", "answers", "predictions"):
        part(page, "export").get_by_label("What").select_option(label=what)
        with page.expect_download() as begun:
            page.get_by_role("button", name="Download", exact=True).click()
        name = f"pets-{what.split()[0]}.jsonl"
        assert begun.value.suggested_filename == name
        begun.value.save_as(tmp_path / name)
        expect(part(page, "export").locator(".said")).to_have_text(f"{name} is in your downloads.")
        written = pets_server.service.export(what.split()[0], "jsonl")
        assert (tmp_path / name).read_bytes() == written.read_bytes()
        shutil.rmtree(written.parent)


def test_a_download_that_is_not_possible_says_why(visit, plain_server):
    page = visit(plain_server, "Dot")
    visit.troubles.clear()
    open_project(page)
    part(page, "export").get_by_label("What").select_option(label="predictions")
    page.get_by_role("button", name="Download", exact=True).click()
    said = part(page, "export").locator(".said")
    expect(said).to_contain_text("has no model yet: run `ramify train")
    visit.troubles.clear()  # the browser notes what was refused


def test_uploads_are_taken_in_or_refused_in_a_sentence(visit, pets_server, tmp_path):
    page = visit(pets_server, "Uma")
    open_project(page)
    upload = page.get_by_role("button", name="Upload", exact=True)
    said = part(page, "import").locator(".said")
    upload.click()
    expect(said).to_have_text("Choose a file first.")

    def send(what, name, content):
        (tmp_path / name).write_text(content)
        part(page, "import").get_by_label("What").select_option(label=what)
        part(page, "import").locator("input[type=file]").set_input_files(tmp_path / name)
        upload.click()

    send("answers", "said.csv", "id,concept,answer,annotator\npet-20,cat,perhaps,Table\n")
    expect(said).to_have_text(
        "Nothing was changed: said.csv, row 2, column 'answer': 'perhaps' is neither yes, no nor skip (nor empty)"
    )
    assert recorded(pets_server, "Table") == []
    visit.troubles.clear()  # the browser notes what was refused
    send("answers", "said.csv", "id,concept,answer,annotator\npet-20,cat,no,Table\n")
    expect(said).to_have_text("Saved 1 answers.")
    assert recorded(pets_server, "Table") == [("pet-20", "cat", "no")]

    items = pets_server.service.status().items
    send("new items", "more.csv", "id,text,labels\nnew pet,the new cat purrs,animal\n")
    expect(said).to_contain_text(f"Added 1 items: the project has {items + 1}, with features by text.")
    page.keyboard.press("b")
    page.locator("input[name=query]").fill("new pet")
    expect(page.locator(".found")).to_have_count(1)


# -- settings, training, people ----------------------------------------------------------------------------------------


def test_settings_are_kept(visit, pets_server):
    page = visit(pets_server, "Sam")
    open_project(page)
    page.get_by_label("Strategy").select_option("random")
    page.get_by_label("Audit, in %").fill("20")
    page.get_by_label("Budget").fill("500")
    page.get_by_label("Guidelines, in Markdown").fill("# All about pets\n\nWhich pet is it?\n")
    page.get_by_role("button", name="Save settings").click()
    expect(part(page, "settings").locator(".said")).to_have_text("Saved: it holds from the next question on.")
    now = pets_server.service.settings()
    assert (now.strategy, now.audit, now.budget, now.overlap) == ("random", 0.2, 500, 1)
    page.reload()
    expect(page.get_by_label("Budget")).to_have_value("500")  # the address leads here again
    expect(page.locator("#title")).to_have_text("All about pets")
    page.get_by_label("Audit, in %").fill("120")
    page.get_by_role("button", name="Save settings").click()
    assert page.get_by_label("Audit, in %").evaluate("it => !it.validity.valid")  # the browser says so
    page.get_by_label("Audit, in %").fill("10")
    page.get_by_label("Budget").fill("")
    page.get_by_role("button", name="Save settings").click()
    expect(part(page, "settings").locator(".said")).to_have_text("Saved: it holds from the next question on.")
    assert pets_server.service.settings().budget is None
    page.keyboard.press("Tab")
    page.go_back()
    expect(page.locator(".question .crumbs")).to_be_visible()


def test_a_training_is_started_and_followed(visit, pets_server):
    page = visit(pets_server, "Tom")
    service = pets_server.service
    if service._process is not None:  # an import may have started one
        service._process.wait()
    before = service.store.model_facts()["version"]
    open_project(page)
    expect(part(page, "training").get_by_role("button", name="Train")).to_be_enabled()
    part(page, "training").get_by_role("button", name="Train").click()
    expect(part(page, "training").locator(".training")).to_contain_text(re.compile(r"Training for .*; go on answering"))
    expect(part(page, "training")).to_contain_text(re.compile(rf"Version {before + 1}\b"), timeout=300_000)
    expect(part(page, "training").locator(".training")).to_have_count(0)


def test_people_with_speed_and_skips(visit, plain_server):
    page = visit(plain_server, "Pam")
    first = shown(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    next_question(page, first)
    second = shown(page)
    page.keyboard.press("Space")
    next_question(page, second)
    open_project(page)
    row = part(page, "people").get_by_role("row", name=re.compile("^Pam"))
    cells = row.locator("td").all_inner_texts()
    yes, no, skips, undone, seconds, screens = cells[:6]
    assert (yes, no, skips, undone, screens) == ("1", "2", "3 (50 %)", "0", "2")
    assert float(seconds) > 0
    assert cells[-1] == "just now"


def test_the_history_has_pages(visit, plain_server):
    page = visit(plain_server, "His")
    asked = []
    for _ in range(12):
        asked.append(shown(page))
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        next_question(page, asked[-1])
    history = page.locator("#history")
    expect(history.locator(".past")).to_have_count(10)
    older, newer = history.get_by_role("button", name="Older"), history.get_by_role("button", name="Newer")
    expect(newer).to_be_disabled()
    older.focus()
    page.keyboard.press("Enter")
    expect(history.locator("h2")).to_contain_text("Your answers, page 2")
    expect(history.locator(".past")).to_have_count(2)
    expect(older).to_be_disabled()
    expect(newer).to_be_focused()
    history.locator(".past").last.click()  # the very first answer is changed
    expect(page.get_by_role("dialog").locator("h2")).to_have_text(asked[0])
    page.keyboard.press("Escape")
    newer.click()
    expect(history.locator(".past")).to_have_count(10)
    expect(history.locator("h2")).to_contain_text("Your last answers")


# -- words -------------------------------------------------------------------------------------------------------------


def speaking(server, name, concept):
    """What the model says of a concept of an item, in per cent, and the words without which it would say less."""
    with Store(server.folder) as store:
        item = next(n for n, one in enumerate(store.all_ids().tolist()) if one == name)
        stable = int(store.id_of[store.taxonomy.index(concept)])
    said = server.service.words(item, [stable])
    words = {piece.word: piece.text for piece in said.pieces if piece.word is not None}
    p = said.concepts[0].probability
    odds = lambda share: (share + 5e-5) / (1 - share + 5e-5)  # noqa: E731
    marked = {words[n] for n, q in enumerate(said.concepts[0].without) if p - q >= 0.01 and odds(p) / odds(q) >= 1.25}
    return round(100 * p), marked


def test_items_are_sorted_by_what_the_model_says_and_by_disagreement(visit, pets_server):
    page = visit(pets_server, "Sor")
    page.keyboard.press("b")
    order, concept = page.get_by_label("Sorted"), page.locator("select[name=concept]")
    model = ["likeliest first", "least likely first", "most unsure first"]
    for name in model:
        expect(order.locator("option", has_text=re.compile(f"^{name}$"))).to_be_disabled()
    leaf = next(c for c in pets_server.service.taxonomy() if c.fine)
    for number, (who, says) in enumerate([("Ann", "yes"), ("Bob", "no")]):
        pets_server.service.answer(f"apart {number}", who, [(77, leaf.concept, says)])
    order.select_option(label="most disagreement first")
    last = pets_server.service.browse(limit=1, offset=77).items[0].item.id
    expect(page.locator(".found-id").first).to_have_text(last)
    concept.select_option(value=str(leaf.concept))
    expect(page.locator(".found .source").first).to_have_text("people disagree")
    expect(page.locator(".found-id").first).to_have_text(last)
    for name, worth in zip(model, ("-p", "p", "Math.abs(p - 50)"), strict=True):
        order.select_option(label=name)
        page.wait_for_function(IN_ORDER.replace("WORTH", worth))
    concept.select_option(label="any concept")
    expect(order).to_have_value("")  # nothing that could not be
    pets_server.service.undo("apart back", "Bob")


def test_words_that_speak_for_a_choice_are_marked_on_demand(visit, pets_server):
    page = visit(pets_server, "Wes")
    expect(page.locator("mark")).to_have_count(0)
    text = page.locator(".media.text").inner_text()
    keys = dict(
        zip(page.locator(".choice bdi").all_inner_texts(), page.locator(".choice kbd").all_inner_texts(), strict=True)
    )
    page.keyboard.press("g")
    shares = [int(guess.split()[1]) for guess in page.locator(".choice .guess").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)  # the likeliest first; each keeps its key
    for choice in page.locator(".choice").all():
        assert choice.locator("kbd").inner_text() == keys[choice.locator("bdi").inner_text()]
    page.keyboard.press("g")
    page.keyboard.press("h")
    legend = page.locator(".speaking")
    expect(legend).to_contain_text(re.compile("Marked is what speaks for|No single word speaks for"))
    assert page.locator(".media.text").inner_text() == text  # marked, and else as it was
    for name in ("cat", "dog"):
        page.locator(".speaking-for").get_by_role("button", name=name).click()
        probability, marked = speaking(pets_server, shown(page), name)
        expect(legend).to_contain_text(f"“{name}” ({probability} %)")
        assert set(page.locator("mark").all_inner_texts()) == marked
    page.keyboard.press("h")
    expect(page.locator("mark, .speaking")).to_have_count(0)
    page.keyboard.press("h")
    expect(legend).to_be_visible()
    before = shown(page)
    page.keyboard.press("Space")
    next_question(page, before)
    expect(legend).to_have_count(0)  # of the next question nobody asked

    page.keyboard.press("b")
    page.locator("input[name=query]").fill("my cat purred")
    page.locator("select[name=concept]").select_option(label="\u2003cat")
    expect(page.locator(".choose").first).to_be_visible()
    page.locator(".found-open").first.click()
    expect(page.get_by_role("dialog").locator("tbody th")).to_have_text("animal > cat")  # what was looked for
    row = page.get_by_role("dialog").get_by_role("row", name="animal > cat")
    row.get_by_role("button", name="Words").click()
    legend = page.get_by_role("dialog").locator(".speaking")
    probability, marked = speaking(pets_server, page.get_by_role("dialog").locator("h2").inner_text(), "cat")
    expect(legend).to_contain_text(f"“animal > cat” ({probability} %)")
    assert set(page.get_by_role("dialog").locator("mark").all_inner_texts()) == marked


def test_where_features_came_from_elsewhere_it_says_so(visit, plain_server):
    page = visit(plain_server, "Eli")
    page.get_by_role("button", name="Words h").click()
    expect(page.locator(".speaking")).to_have_text(
        "The features of this project came from files, so what a single word adds cannot be told."
    )
    page.get_by_role("button", name="Grid", exact=True).click()
    expect(page.locator(".tile").first).to_be_visible()
    expect(page.get_by_role("button", name="Words")).to_have_count(0)


# -- how it looks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_out_of_sight(visit, pets_server, size):
    page = visit(pets_server, f"Size {size}", **SIZES[size])
    page.get_by_role("button", name="Words").click()
    expect(page.locator(".speaking")).to_be_visible()
    assert page.evaluate(OUT_OF_SIGHT) == []
    page.get_by_role("button", name="Project").click()
    expect(page.locator(".people-table")).to_be_visible()
    expect(page.locator(".settings")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, pets_server, scheme):
    page = visit(pets_server, f"Axe {scheme}", color_scheme=scheme)
    page.keyboard.press("h")
    expect(page.locator(".speaking")).to_be_visible()
    saved(page)
    assert violations(page) == []
    open_project(page)
    expect(page.locator(".people-table")).to_be_visible()
    assert violations(page) == []
    what = page.get_by_label("What to do")
    for option in what.locator("option").all_inner_texts():
        what.select_option(label=option)
        assert violations(page) == [], option
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.locator(".found-open").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Words").first.click()
    expect(page.locator(".speaking").last).to_be_visible()
    assert violations(page) == []
