"""From a sweep to a server over HTTP: sweep, export, verify, serve, ask by every endpoint, rate, switch bundles."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import openai
import pytest
from support.swept_trial import sweep, trials

from rag import cli

PATIENCE = 60.0
"""Seconds allowed to a process on a busy machine."""
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
QUESTION = "What does a bus ticket cost?"
RATED = "Where is lost property kept?"


def rag(*arguments: str, key: str = "", code: int = 0) -> str:
    """The output of `rag` in this process; fails unless it ends with the expected exit code."""
    said = io.StringIO()
    with (
        patch.object(sys, "argv", ["rag", *arguments]),
        patch.dict(os.environ, {"RAG_API_KEY": key}),
        redirect_stdout(said),
        redirect_stderr(said),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    assert (ended.value.code or 0) == code, said.getvalue()
    return said.getvalue()


@contextmanager
def serving(*arguments: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Start `rag serve` and stop it with SIGTERM; yields its address."""
    log = Path("serve.log")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    with log.open("wb") as file:
        command = [sys.executable, "-m", "rag", "serve", *arguments, "--port", "0"]
        process = subprocess.Popen(command, env={**kept, **environment}, stdout=file, stderr=file, start_new_session=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (found := ADDRESS.search(log.read_text("utf-8"))):
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.05)
        yield found[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, log.read_text("utf-8")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep in it, its best trial exported as a folder and as an archive, another one as a folder."""
    folder = sweep(tmp_path_factory.mktemp("story"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        first, other = (row["trial"] for row in trials(folder)[:2])
        rag("export", f"trial={first}", "--archive", "--to", "bundles/first")
        rag("export", f"trial={other}", "--to", "bundles/other")
        yield folder


@pytest.fixture
def there(story: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in that folder."""
    monkeypatch.chdir(story)
    return story


def digest(name: str) -> str:
    """The hash in the seal of a bundle."""
    return Path(f"bundles/{name}/manifest.sha256").read_text("utf-8").split()[0]


def curl(url: str, key: str, body: Any) -> Any:
    """Post JSON with curl; returns the reply."""
    told = ["-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json", "-d", json.dumps(body)]
    found = subprocess.run(["curl", "-sS", "--fail", url, *told], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def test_the_story_of_a_bundle(there: Path) -> None:
    assert "as measured" in rag("verify", "bundles/first")
    assert "as measured" in rag("verify", "bundles/first.tar.zst")
    made = json.loads(rag("key", "me", "--json"))
    key, known = made["key"], digest("first")
    environment = {"RAG_API_KEYS": made["entry"], "RAG_SESSIONS": f"sqlite:///{there}/serve.db"}
    with serving("bundles/first.tar.zst", "bundles/other", environment=environment) as url:
        client = httpx.Client(base_url=url, timeout=PATIENCE, headers={"Authorization": f"Bearer {key}"})
        _replayed(url, key)
        answer = _asked(url, key, known)
        _by_openai(f"{url}/v1", key, answer)
        _conversed(client)
        _side_by_side(client)
        assert "<html" in httpx.get(url, timeout=PATIENCE).text, "the page needs no key"
        rated = _rated(client)
        client.close()
    log = Path("serve.log").read_text("utf-8")
    assert not [text for text in (key, QUESTION, RATED) if text in log]
    _becomes_golden(rated, environment["RAG_SESSIONS"])


def _replayed(url: str, key: str) -> None:
    """The server answers as measured; a wrong key is an error."""
    rag("verify", "bundles/first", "--url", url, key=key)
    told = json.loads(rag("verify", "bundles/first", "--url", url, "--json", key=key))
    assert told["there"]["compared"]["passages"] > 0
    assert told["there"]["compared"]["answer"] > 0
    rag("verify", "bundles/first", "--url", url, key="sk-nobody", code=2)


def _asked(url: str, key: str, known: str) -> dict[str, Any]:
    found: dict[str, Any] = curl(f"{url}/ask", key, {"question": QUESTION, "show": ["trace", "prompt"]})
    assert "four crowns" in found["answer"]
    assert found["bundle"] == known
    assert found["citations"]
    assert found["trace"]["passages"]
    cited = found["citations"][0]
    document = httpx.get(f"{url}/documents/{cited['doc_id']}", headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE)
    assert document.json()["text"][cited["span"]["start"] : cited["span"]["end"]].strip()
    only = curl(f"{url}/search", key, {"question": QUESTION, "within": {"documents": ["rules.txt"]}})
    assert {passage["doc_id"] for passage in only["passages"]} == {"rules.txt"}
    assert httpx.post(f"{url}/ask", json={"question": QUESTION}, timeout=PATIENCE).status_code == 401
    return found


def _by_openai(url: str, key: str, answer: Mapping[str, Any]) -> None:
    with openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=PATIENCE) as client:
        asked: Any = {"model": client.models.list().data[0].id, "messages": [{"role": "user", "content": QUESTION}]}
        message = client.chat.completions.create(**asked).choices[0].message
        assert message.content == answer["answer"]
        assert message.annotations
        pieces = client.chat.completions.create(**asked, stream=True)
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == answer["answer"]


def _conversed(client: httpx.Client) -> None:
    first = client.post("/chat", json={"question": QUESTION}).json()
    again = client.post("/chat", json={"question": "And on the ferry?", "session": first["session"]}).json()
    assert (first["turn"], again["turn"], again["session"]) == (1, 2, first["session"])
    assert client.get(f"/sessions/{first['session']}").is_success


def _side_by_side(client: httpx.Client) -> None:
    """The same question to both bundles of the server."""
    models = [one["id"] for one in client.get("/v1/models").json()["data"]]
    found = [client.post("/ask", json={"question": QUESTION, "model": model}) for model in models]
    said = {reply.headers["X-Assay-Bundle"] for reply in found}
    assert {digest("first"), digest("other")} <= said


def _rated(client: httpx.Client) -> str:
    """The id of an answer that is rated good."""
    answer: str = client.post("/ask", json={"question": RATED}).json()["id"]
    assert client.post("/feedback", json={"answer": answer, "rating": 1, "comment": "just so"}).is_success
    return answer


def _becomes_golden(answer: str, sessions: str) -> None:
    """An accepted rating becomes a question of the golden set, which stays valid."""
    shutil.copytree("golden", "reviewed")
    asked = ("dataset", "review", "native", "dataset.path=reviewed", "--sessions", sessions)
    assert RATED in rag(*asked, "--json")
    rag(*asked, "--accept", answer)
    lines = [json.loads(line) for line in Path("reviewed/questions.jsonl").read_text("utf-8").splitlines()]
    assert RATED in [line["text"] for line in lines]
    assert RATED not in rag(*asked, "--json")
    rag("dataset", "check", "native", "dataset.path=reviewed")


def test_a_server_switches_to_another_bundle(there: Path) -> None:
    link = there / "bundles/current"
    link.symlink_to("first")
    with serving("bundles/current", "--watch", environment={"RAG_SESSIONS": f"sqlite:///{there}/watch.db"}) as url:
        rag("verify", "bundles/first", "--url", url)
        fresh = there / "bundles/next"
        fresh.symlink_to("other")
        fresh.replace(link)
        deadline, seen = time.monotonic() + PATIENCE, digest("first")
        while seen != digest("other") and time.monotonic() < deadline:
            seen = httpx.post(f"{url}/search", json={"question": QUESTION}, timeout=PATIENCE).json()["bundle"]
            time.sleep(0.05)
        assert seen == digest("other")
        rag("verify", "bundles/other", "--url", url)
        assert digest("other") in rag("verify", "bundles/first", "--url", url, code=1)


@pytest.mark.parametrize("name", ["documents.jsonl", "scores.json", "manifest.json"])
def test_a_changed_bundle_is_not_served(there: Path, name: str) -> None:
    changed = there / f"changed-{name}"
    shutil.copytree("bundles/first", changed)
    data = bytearray((changed / name).read_bytes())
    data[len(data) // 2] ^= 1
    (changed / name).write_bytes(data)
    for verb in ("verify", "serve"):
        assert name in rag(verb, str(changed), code=2)
