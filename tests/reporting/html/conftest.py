"""A headless browser, and pages to open in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from support import synthetic_reports

from rag.reporting.html import page
from rag.reporting.html.view_model import Material


@dataclass
class Opened:
    """An open page, with its errors and its requests."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of three trials."""
    return written(synthetic_reports.material(3, 20), tmp_path_factory.mktemp("three"))


def written(material: Material, folder: Path) -> Path:
    """A report on disk."""
    path = folder / "index.html"
    path.write_text(page.render(material), "utf-8")
    return path


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """Open a file in a new browser context that records errors and requests."""
    contexts = []

    def open_page(path: Path, wait: bool = True, **options: object) -> Opened:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(path.as_uri())
        if wait:
            found.page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
        return found

    yield open_page
    for context in contexts:
        context.close()
