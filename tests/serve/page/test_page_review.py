"""The review page: its key, hosts and origins; hostile texts; decisions by keyboard; contrast; pages of a long list."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import resources
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient
from support.chromium import CONTRAST
from support.page_server import HOSTILE
from support.servers import address_of
from support.waiting_questions import file_of, rows_of, write_rows, write_waiting

from rag.authoring.review.review_loop import Review
from rag.serve.keys import Keys, hashed
from rag.serve.review import create_app
from rag.serve.settings import Settings

KEY = "sk-assay-test"
SHIPPED = {item.name: item.read_text("utf-8") for item in resources.files("rag.serve.review").iterdir() if "." in item.name[1:]}


def write_hostile(folder: Path) -> Path:
    """A set of 60 waiting questions; the first, and its document, are hostile."""
    golden = write_waiting(folder / "waiting", times=20)
    (golden / "documents" / "hostile.md").write_text(f"# {HOSTILE}\n\nA permit costs {HOSTILE} two crowns.", "utf-8")
    rows = rows_of(golden)
    evidence = [{"any": [{"doc": "hostile.md", "quote": "A permit costs"}]}]
    rows[0] |= {"id": HOSTILE, "text": HOSTILE, "answers": [HOSTILE], "evidence": evidence}
    rows[0]["provenance"] = {"method": HOSTILE, "author": HOSTILE, "documents": {}}
    write_rows(golden, rows)
    return golden


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    return write_hostile(tmp_path)


@pytest.fixture
def client(golden: Path) -> TestClient:
    app = create_app(Review(file_of(golden), by="Ann"), "set", Settings(keys=Keys((("reviewer", hashed(KEY)),))))
    return TestClient(app, base_url="http://127.0.0.1:8000", headers={"Authorization": f"Bearer {KEY}"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer sk-assay-other"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
    ],
)
def test_every_request_needs_the_key_a_local_host_and_its_own_origin(
    client: TestClient, golden: Path, headers: dict[str, str], status: int
) -> None:
    before = (golden / "questions.jsonl").read_bytes()
    assert client.get("/items", headers=headers).status_code == status
    assert client.post("/decide", headers=headers, json={"name": "q2", "drop": True}).status_code == status
    assert ((golden / "questions.jsonl").read_bytes() == before) == (status != 200)


def test_the_page_holds_nothing_inline_and_no_data(client: TestClient) -> None:
    found = client.get("/", headers={"Authorization": ""})
    assert found.status_code == 200
    assert "default-src 'self'" in found.headers["content-security-policy"]
    assert not re.search(r"<style|\son\w+=|\sstyle=|<script(?![^>]* src=)", found.text)
    for name in re.findall(r'(?:href|src)="(page/[^"#]+)', found.text):
        assert client.get(f"/{name}", headers={"Authorization": ""}).status_code == 200, name
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|https?:", SHIPPED["review.js"])


def test_wrong_decisions_are_problems_and_change_nothing(client: TestClient, golden: Path) -> None:
    before = (golden / "questions.jsonl").read_bytes()
    row = rows_of(golden)[1] | {"evidence": [{"any": [{"doc": "bus.md", "quote": "nine"}]}]}
    said = client.post("/decide", json={"name": "q2", "row": row})
    assert (said.status_code, "is not in 'bus.md'" in said.json()["detail"]) == (422, True)
    for field in ({"text": "\0"}, {"answers": ["a\0"]}):
        said = client.post("/decide", json={"name": "q2", "row": rows_of(golden)[1] | field})
        assert (said.status_code, "NUL" in said.json()["detail"]) == (422, True)
    for wrong in ({"name": "none"}, {"name": "q2", "drop": "now"}, {"name": "q2", "row": 3}, {}):
        assert client.post("/decide", json=wrong).status_code == 422
    assert client.post("/undo").status_code == 422
    assert client.get("/item", params={"name": "none"}).status_code == 422
    assert (golden / "questions.jsonl").read_bytes() == before
    row = rows_of(golden)[1] | {"answers": [r"of \u0000"]}
    assert client.post("/decide", json={"name": "q2", "row": row}).status_code == 200


def test_the_list_comes_in_parts_and_is_filtered(client: TestClient) -> None:
    first = client.get("/items").json()
    assert (first["waiting"], first["found"], len(first["items"])) == (120, 120, 100)
    assert len(client.get("/items", params={"start": 100}).json()["items"]) == 20
    assert client.get("/items", params={"find": "BUS ticket"}).json()["found"] == 20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address that the verb prints, and the set; the process must end in order."""
    golden = write_hostile(tmp_path_factory.mktemp("served"))
    command = [sys.executable, "-m", "rag", "dataset", "review", "native", f"dataset.path={golden}", "--page", "--by", "Ann"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    yield process.stdout.readline().split()[-1], golden
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "waiting" in out or not out


HEADS = ["GET / HTTP/1.1\r\nHost: {}\r\n", "GET / HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"]


def test_a_head_and_trailers_without_end_are_refused(served: tuple[str, Path]) -> None:
    address, _ = served
    for head in HEADS:
        sent = head.format(httpx.URL(address).netloc.decode()).encode() + b"X: y\r\n" * 500_000
        with closing(socket.create_connection(address_of(address), timeout=20)) as one, suppress(ConnectionError):
            one.sendall(sent)
            while one.recv(65_536):
                pass


@pytest.mark.system
def test_a_person_decides_by_keyboard_and_hostile_texts_stay_texts(browser: Browser, served: tuple[str, Path]) -> None:
    (address, golden), page, wrong = served, browser.new_page(), list[str]()
    assert httpx.get(address.partition("#")[0] + "items").status_code == 401
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None)
    page.on("request", lambda one: None if one.url.startswith(address.partition("#")[0]) else wrong.append(one.url))
    page.goto(address)
    expect(page.locator("main h2")).to_have_text(HOSTILE)
    expect(page.locator("mark")).to_have_text("A permit costs")
    expect(page.locator(".excerpt")).to_contain_text(HOSTILE)
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("window.pwned") is None
    assert "key" not in page.url
    page.keyboard.press("d")
    expect(page.locator("main h2")).to_have_text("What does a bus ticket cost?")
    expect(page.locator("#counts")).to_have_text("119 waiting · 0 accepted · 1 dropped")
    page.keyboard.press("a")
    expect(page.locator("main h2")).to_have_text("Do dogs and small children pay?")
    page.keyboard.press("u")
    expect(page.locator("main h2")).to_have_text("What does a bus ticket cost?")
    page.keyboard.press("e")
    page.fill("[name=answers]", "4 crowns\nfour crowns")
    page.fill("[name=evidence]", "[")
    page.click("text=Save and accept")
    expect(page.locator("#refused")).to_contain_text("The evidence is not valid JSON")
    page.fill("[name=evidence]", '[{"any": [{"doc": "bus.md", "quote": "four crowns"}]}]')
    page.click("text=Save and accept")
    expect(page.locator("#counts")).to_have_text("118 waiting · 1 accepted · 1 dropped")
    expect(page.locator("main h2")).to_have_text("Do dogs and small children pay?")
    page.keyboard.press("j")
    expect(page.locator("#list li:nth-child(2) [aria-current]")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.close()
    assert wrong == []
    first = rows_of(golden)[0]
    assert (first["id"], first["answers"]) == ("q2", ["4 crowns", "four crowns"])
    assert first["provenance"]["accepted"]["by"] == "Ann"
    file_of(golden).golden()
