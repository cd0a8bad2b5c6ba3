"""A browser, servers with scripted models, and their page."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.chromium import chromium
from support.page_server import Opened, PageServer, page_server

LEFT_OUT = ("the server responded with a status of", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_")
"""Messages of Chromium about responses that are not 2xx, and about servers that are gone; tests provoke these."""


@pytest.fixture(scope="session")
def session_browser() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One browser for all files of this folder, and the event loop of Playwright."""
    with chromium() as browser:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="module")
def browser(session_browser: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser. Playwright's event loop counts as running only for the tests of a file: other tests run their own."""
    browser, loop = session_browser
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server without keys, with two pipelines: the second searches by words only, and reads one passage."""
    second = ("index=[bm25s]", "fusion=single", "k=1")
    with page_server(tmp_path_factory.mktemp("page"), second=second) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, server: PageServer) -> Iterator[Callable[..., Opened]]:
    """Open the page of a server; an error of its scripts, or a request to another host, fails the test."""
    contexts, pages = [], []

    def open_page(at: PageServer = server, wait: bool = True, **options: object) -> Opened:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        found = Opened(context.new_page(), at)
        pages.append(found)
        found.page.on("console", lambda line: found.errors.append(line.text) if line.type in ("error", "warning") else None)
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
def keyed(tmp_path: Path) -> Iterator[PageServer]:
    """A server that needs a key."""
    with page_server(tmp_path, owners=("ada",)) as found:
        yield found
