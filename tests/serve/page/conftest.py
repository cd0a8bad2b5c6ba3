"""A browser, servers with scripted models, and the page opened in one from the other."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.page_server import Opened, Served, page_server

LEFT_OUT = ("the server responded with a status of", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_")
"""What Chromium itself writes about answers that are no success, and servers that are gone; tests provoke these."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without keys, with two pipelines: the second searches by words only, and reads one passage."""
    beside = ("index=[bm25s]", "fusion=single", "k=1")
    with page_server(tmp_path_factory.mktemp("page"), beside=beside) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, server: Served) -> Iterator[Callable[..., Opened]]:
    """Open the page of a server; what goes wrong in its scripts fails the test."""
    contexts, pages = [], []

    def open_page(at: Served = server, wait: bool = True, **options: object) -> Opened:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        found = Opened(context.new_page(), at)
        pages.append(found)
        found.page.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.set_default_timeout(60_000)
        found.page.goto(at.url)
        if wait:
            found.page.wait_for_selector("html[data-ready]", state="attached")
        return found

    yield open_page
    for context in contexts:
        context.close()
    for found in pages:
        assert [error for error in found.errors if not any(known in error for known in LEFT_OUT)] == []
        assert [url for url in found.requests if not url.startswith((found.server.url, "data:"))] == []


@pytest.fixture
def page(opened: Callable[..., Opened]) -> Opened:
    """The page, opened."""
    return opened()


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Served]:
    """A server that wants a key."""
    with page_server(tmp_path, owners=("ada",)) as found:
        yield found
