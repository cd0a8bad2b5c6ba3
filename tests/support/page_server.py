"""A real server with a scripted model, for the tests that open its page."""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, Request
from support import scripted_server
from support.scripted_server import Exchange, Script, Step
from support.servers import Server, running
from support.unmeasured_bundles import seal

from rag.execution.sweep.open_config import config_of

HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> [a](javascript:window.pwned=1) </td></div>'
TEXTS = {
    "staff/leave.md": (
        "# Leave\n\n🌴🌴 Everybody gets 25 days of leave a year.\n\n## Carrying over\n\n"
        "Up to five days may be carried over. They are taken by 31 March.\n\n"
        "| Years | Days |\n|---|---|\n| 0–4 | 25 |\n| 5–9 | 27 |\n\n"
        "## Asking\n\n- Ask your manager **two weeks** before.\n- Use form `F-12`.\n"
    ),
    "staff/expenses.md": "# Expenses\n\nA mile in your own car is worth 45 pence. Lunch is paid up to nine pounds.\n",
    "staff/hostile.md": f"# {HOSTILE}\n\nThe parking permit costs {HOSTILE} twenty pounds.\u202e\u200b Ask the porter.\n",
    "harbour/ferry.txt": "The ferry to Holm leaves at seven. A ticket costs nine crowns.\n\nDogs travel free of charge.\n",
    "harbour/bus.txt": "The bus to Holm leaves at eight. A ticket costs four crowns.\n",
}
LEAVE = "How many days of leave can I carry over?"
FERRY = "When does the ferry to Holm leave?"
PERMIT = "What does the parking permit cost?"


def say(text: str) -> Step:
    """A reply with its usage, streamed word by word if the request asks for a stream."""
    usage = {"prompt_tokens": 812, "completion_tokens": 45}
    end = (
        b"data: "
        + json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}).encode()
        + b"\n\ndata: [DONE]\n\n"
    )

    def step(exchange: Exchange) -> None:
        if exchange.streams:
            scripted_server.stream(*re.findall(r"\S+\s*|\s+", text), ending=end)(exchange)
        else:
            scripted_server.say(text, usage)(exchange)

    return step


@dataclass
class Gate:
    """A reply that halts in the middle until `open` is set."""

    begins: str
    ends: str
    reached: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)

    def __call__(self, exchange: Exchange) -> None:
        """Send the reply."""
        scripted_server.stream(self.begins, ending=b"")(exchange)
        exchange.wfile.flush()
        self.reached.set()
        self.open.wait(60)
        rest = json.dumps({"choices": [{"delta": {"content": self.ends}, "finish_reason": "stop"}]}).encode()
        with suppress(OSError):
            exchange.wfile.write(b"data: " + rest + b"\n\ndata: [DONE]\n\n")


def write_documents(folder: Path, texts: Mapping[str, str] = TEXTS) -> Path:
    """Write a golden set of documents, and return the folder."""
    for name, text in texts.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "questions.jsonl").write_text(json.dumps({"id": "q1", "text": FERRY, "kind": "factoid", "evidence": []}) + "\n")
    return folder


def sealed(folder: Path, model: str, *overrides: str, texts: Mapping[str, str] = TEXTS) -> Path:
    """A bundle of documents with the model at a URL as its generator."""
    golden = write_documents(folder / "golden", texts)
    fixed = ["dataset=native", f"dataset.path={golden}", f"store={folder / 'store'}", "loader.noise=none"]
    embedder = ["embedder=hashing", "embedder.dimensions=64"]
    generator = ["generator=vllm", f"generator.base_url={model}", "generator.runtime.retries=0"]
    seal(config_of([*fixed, *embedder, *generator, "chunker.size=200", "k=3", *overrides]), folder / "bundle")
    return folder / "bundle"


@dataclass(frozen=True)
class PageServer:
    """The URL of a page, the script of its model, and the server if it runs in this process."""

    url: str
    script: Script
    server: Server | None = None

    def plays(self, *steps: Step) -> None:
        """Answer with these steps from now on; the last one repeats."""
        self.script.asked.clear()
        self.script.steps = list(steps)


@contextmanager
def page_server(
    folder: Path,
    owners: Sequence[str] = (),
    second: Sequence[str] = (),
    overrides: Sequence[str] = (),
    texts: Mapping[str, str] = TEXTS,
) -> Iterator[PageServer]:
    """A server of a bundle, and of a second one with the overrides `second` if there are any."""
    with scripted_server.serving(say("Nothing yet.")) as script:
        bundles = [sealed(folder / "one", script.url, *overrides, texts=texts)]
        bundles += [sealed(folder / "two", script.url, *second)] if second else []
        with running(bundles, folder / "serve.db", owners) as server:
            yield PageServer(server.url, script, server)


@dataclass
class Opened:
    """The page in a browser context of its own, with its console errors and requests."""

    page: Page
    server: PageServer
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def handlers(self) -> dict[str, Any]:
        """The listeners of the tab by event."""
        return {"console": self._note_console, "pageerror": self._note_error, "request": self._note_request}

    def _note_console(self, line: ConsoleMessage) -> None:
        if line.type in ("error", "warning"):
            self.errors.append(line.text)

    def _note_error(self, error: Exception) -> None:
        self.errors.append(str(error))

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def ask(self, question: str, wait: bool = True) -> Locator:
        """Type a question and press Enter; return its turn, by default when it is done."""
        turn = self.page.locator(".turn").nth(self.page.locator(".turn").count())
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")
        turn.locator("h2", has_text=question).wait_for()
        if wait:
            self.done()
        return turn

    def done(self) -> None:
        """Wait until nothing is being answered."""
        self.page.locator("html:not(.busy)").wait_for(state="attached", timeout=60_000)
