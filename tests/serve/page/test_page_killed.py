import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from support import scripted_server
from support.page_server import FERRY, LEAVE, Gate, Opened, Served, say, sealed
from support.ports import free_port
from support.running_server import Running
from support.scripted_server import Script


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_server.serving(Gate("Up to five days ", "more.")) as found:
        yield found


@pytest.fixture
def process(tmp_path: Path, script: Script) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`rag serve` in a process of its own, and its address."""
    bundle, port = sealed(tmp_path / "one", script.url), free_port()
    command = [sys.executable, "-m", "rag", "serve", str(bundle), "--port", str(port)]
    environment = os.environ | {"RAG_SESSIONS": f"sqlite:///{tmp_path / 'serve.db'}"}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            with httpx.Client(transport=httpx.HTTPTransport(retries=12), timeout=60) as client:
                assert client.get(f"{url}/healthz").status_code == 200
            yield server, url
        finally:
            server.kill()
            server.wait(60)


def test_a_server_that_is_killed_leaves_what_it_said(
    process: tuple[subprocess.Popen[str], str], script: Script, opened: Callable[..., Opened]
) -> None:
    server, url = process
    page = opened(Served(Running(url, None, None), script))  # type: ignore[arg-type]
    turn = page.ask(LEAVE, wait=False)
    expect(turn.locator(".body")).to_contain_text("Up to five days", timeout=60_000)
    server.send_signal(signal.SIGKILL)
    alert = turn.get_by_role("alert")
    expect(alert).to_contain_text("The connection broke off.", timeout=60_000)
    page.done()
    assert "no check has looked at it" in alert.inner_text()
    assert re.match("Up to five days", turn.locator(".body").inner_text())
    assert turn.locator(".sources li").count() == 3
    alert.get_by_role("button", name="Ask again").click()
    expect(alert).to_contain_text("The server cannot be reached.", timeout=60_000)
    turn.locator(".sources .open")
    page.page.locator("#documents-list .open").first.click()
    expect(page.page.locator("#panel .problem")).to_contain_text("The server cannot be reached.")
    assert page.page.locator("#question").is_enabled()
    script.steps[0].open.set()  # type: ignore[attr-defined]


def test_a_server_that_changes_over_takes_the_page_along(
    process: tuple[subprocess.Popen[str], str], script: Script, tmp_path: Path, opened: Callable[..., Opened]
) -> None:
    server, url = process
    script.steps = [say("At seven [1].")]
    page = opened(Served(Running(url, None, None), script))  # type: ignore[arg-type]
    before = page.page.input_value("#first")
    assert page.ask(FERRY).locator(".cite").count() == 1
    fresh = sealed(tmp_path / "two", script.url, texts={"new.md": "# Ferry\n\nThe ferry to Holm leaves at nine."})
    (tmp_path / "one" / "bundle").rename(tmp_path / "one" / "before")
    fresh.rename(tmp_path / "one" / "bundle")
    server.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 60
    while httpx.get(f"{url}/v1/models", timeout=60).json()["data"][0]["id"] == before:
        assert time.monotonic() < deadline
    turn = page.ask("And in winter?")
    after = httpx.get(f"{url}/v1/models", timeout=60).json()["data"][0]["id"]
    assert (
        turn.locator(".hint").inner_text()
        == "Another bundle of recursive-200 · bm25s+dense · Qwen2.5-7B-Instruct has taken its place."
    )
    expect(page.page.locator("#documents-list .path")).to_have_text(["new.md"])
    assert page.page.input_value("#first") == after
    page.ask("And at night?")
    assert FERRY in str(script.asked[-1]["messages"]), "the conversation goes on"
