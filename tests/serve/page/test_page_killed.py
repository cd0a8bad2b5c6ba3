"""The page and a server process whose bundle is replaced, and which is then killed."""

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from support import scripted_server
from support.page_server import FERRY, LEAVE, Gate, Opened, PageServer, say, sealed
from support.scripted_server import Script
from support.servers import ServerProcess, serving_process, until

from rag.serve.keys import Keys

TITLE = "recursive-200 · bm25s+dense · Qwen2.5-7B-Instruct"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[ServerProcess, Script]]:
    """`rag serve` without keys as a process, and its model."""
    with scripted_server.serving(say("At seven [1].")) as script:
        bundle, sessions = sealed(tmp_path / "one", script.url), f"sqlite:///{tmp_path / 'serve.db'}"
        with serving_process(bundle, tmp_path, keys=Keys(), RAG_SESSIONS=sessions) as process:
            yield process, script


def test_a_page_survives_a_replaced_bundle_and_a_killed_server(
    running: tuple[ServerProcess, Script], tmp_path: Path, opened: Callable[..., Opened]
) -> None:
    process, script = running
    page = opened(PageServer(process.url, script))
    before = process.bundle()
    name = page.page.input_value("#first")
    assert page.ask(FERRY).locator(".cite").count() == 1
    fresh = sealed(tmp_path / "two", script.url, texts={"new.md": "# Ferry\n\nThe ferry to Holm leaves at nine."})
    (tmp_path / "one" / "bundle").rename(tmp_path / "one" / "before")
    fresh.rename(tmp_path / "one" / "bundle")
    process.process.send_signal(signal.SIGHUP)
    until(lambda: process.bundle() != before)
    turn = page.ask("And in winter?")
    assert turn.locator(".hint").inner_text() == f"Another bundle of {TITLE} has taken its place."
    expect(page.page.locator("#documents-list .path")).to_have_text(["new.md"])
    assert page.page.input_value("#first") != name
    page.ask("And at night?")
    assert FERRY in str(script.asked[-1]["messages"]), "the conversation continues"
    gate = Gate("At nine ", "more.")
    script.steps = [gate]
    turn = page.ask(LEAVE, wait=False)
    expect(turn.locator(".body")).to_contain_text("At nine", timeout=60_000)
    process.process.send_signal(signal.SIGKILL)
    broken_off(page, turn)
    gate.open.set()


def broken_off(page: Opened, turn: Locator) -> None:
    """An answer that broke off says so, and asking again says that the server cannot be reached."""
    alert = turn.get_by_role("alert")
    expect(alert).to_contain_text("The connection broke off.", timeout=60_000)
    page.done()
    assert "no check has looked at it" in alert.inner_text()
    assert re.match("At nine", turn.locator(".body").inner_text())
    assert turn.locator(".sources li").count() == 1
    alert.get_by_role("button", name="Ask again").click()
    expect(alert).to_contain_text("The server cannot be reached.", timeout=60_000)
    page.page.locator("#documents-list .open").first.click()
    expect(page.page.locator("#panel .problem")).to_contain_text("The server cannot be reached.")
    assert page.page.locator("#question").is_enabled()
