"""A real browser for the tests of the page, and what one looks for in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ramify.project.store.store import Store

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
expect.set_options(timeout=30_000)  # much longer than it takes: the machine may be busy

# The same browser without the windows around a page, which a third of its time goes into.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="no Chromium: apt-get install chromium-headless-shell"
)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The page takes no answer to a question that nobody can have read yet. Tests read at once: a second passes with each
# look at the clock. By hand, time stands still until the test moves it.
HURRYING = "let passed = 0; performance.now = () => (passed += 1000);"
BY_HAND = "window.passed = 1000; performance.now = () => window.passed;"
# How a request ends whose server is killed depends on when it is.
GONE = ("net::ERR_CONNECTION", "net::ERR_EMPTY_RESPONSE", "net::ERR_SOCKET_NOT_CONNECTED")


@contextmanager
def started_browser() -> Iterator[Any]:
    """Chromium, without a window."""
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield opened
        opened.close()


class Visits:
    """Opens the page as somebody; at the end, nothing may have gone wrong in the browser."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.contexts: list[Any] = []
        self.troubles: list[str] = []

    def __enter__(self) -> "Visits":
        return self

    def __exit__(self, *failure: object) -> None:
        for context in self.contexts:
            for page in context.pages:
                page.unroute_all(behavior="ignoreErrors")  # of what is still on its way nobody wants to know
            context.close()
        if failure == (None, None, None):
            troubles = [text for text in self.troubles if not any(kind in text for kind in GONE)]
            assert troubles == [], troubles

    def __call__(self, server: Any, name: str, *, clock: str = HURRYING, routes: Any = (), **options: Any) -> Any:
        """The page after the name was given; ``routes`` are addresses and what handles them instead of the server."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(60_000)
        context.add_init_script(clock)
        self.contexts.append(context)
        page = context.new_page()
        for address, handler in dict(routes).items():
            page.route(address, handler)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._heard)
        page.goto(server.link)
        page.get_by_label("Your name is kept").fill(name)
        page.keyboard.press("Enter")
        expect(page.locator(".question .crumbs")).to_be_visible()
        return page

    def _heard(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self.troubles.append(said.text)


def shown(page: Any) -> str:
    """The id of the item that is asked about."""
    return str(page.locator(".item-id").inner_text())


def saved(page: Any) -> None:
    """Waits until nothing is on its way."""
    expect(page.locator("#saved")).to_have_text("Saved")


def next_question(page: Any, before: str) -> None:
    """Waits until another item is asked about, and everything is saved."""
    expect(page.locator(".item-id")).not_to_have_text(before)
    saved(page)


def recorded(server: Any, name: str) -> list[tuple[str, str, str]]:
    """What the database holds of an annotator: item id, concept and answer of each event, in order."""
    with Store(server.folder) as store:
        return [
            (store.items([event.item])[0].id, store.taxonomy.names[store.number_of[event.concept]], event.answer)
            for event in store.events(annotator=name)
        ]
