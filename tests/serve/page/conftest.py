"""A browser, servers with scripted models, and their page."""

import asyncio
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page
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
    """A server without keys, with two pipelines: the second searches by words only, reads one passage, and shapes questions."""
    second = ("index=[bm25s]", "fusion=single", "k=1", "shape=rules")
    with page_server(tmp_path_factory.mktemp("page"), second=second) as found:
        yield found


@pytest.fixture(scope="module")
def shared_page(browser: Browser) -> Iterator[Page]:
    """A tab that the tests of a file share: a new one takes a second of processor time."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(browser: Browser, shared_page: Page, server: PageServer) -> Iterator[Callable[..., Opened]]:
    """Open the page of a server; an error of its scripts, or a request to another host, fails the test.

    The first page without options is in the shared tab, with empty storage. All others have a context of their own.
    """
    contexts, pages = [], list[Opened]()

    def open_page(at: PageServer = server, wait: bool = True, **options: object) -> Opened:
        if options or pages:
            contexts.append(browser.new_context(**options))  # type: ignore[arg-type]
            tab = contexts[-1].new_page()
        else:
            tab = shared_page
            tab.goto(f"{at.url}/healthz")
            tab.evaluate("sessionStorage.clear()")
        found = Opened(tab, at)
        pages.append(found)
        for event, handler in found.handlers().items():
            tab.on(event, handler)
        tab.set_default_timeout(60_000)
        tab.goto(at.url)
        if wait:
            tab.wait_for_selector("html[data-ready]", state="attached")
        return found

    yield open_page
    shared_page.unroute_all()
    for context in contexts:
        context.close()
    for found in pages:
        if found.page is shared_page:
            shared_page.goto("about:blank")
            for event, handler in found.handlers().items():
                shared_page.remove_listener(event, handler)
        assert [error for error in found.errors if not any(known in error for known in LEFT_OUT)] == []
        assert [url for url in found.requests if not url.startswith((found.server.url, "data:", "about:"))] == []


@pytest.fixture
def page(opened: Callable[..., Opened]) -> Opened:
    """The page, opened."""
    return opened()


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server that needs a key."""
    with page_server(tmp_path_factory.mktemp("keyed"), owners=("ada",)) as found:
        yield found
