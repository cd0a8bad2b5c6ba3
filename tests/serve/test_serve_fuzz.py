"""Random and hostile requests: no failure of the server, and responses as described."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from support.fuzzed_requests import HOSTILE, fuzz
from support.servers import in_thread
from support.small_server import ALICE, QUESTION, TWO_KEYS, ask, bearer, small_app


@pytest.fixture(scope="module")
def app(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """A server without a rate limit."""
    return small_app(bundle, tmp_path_factory.mktemp("fuzz") / "serve.db", keys=TWO_KEYS, rate=0)


@pytest.mark.parametrize("path", ["/ask", "/search", "/chat", "/feedback", "/v1/chat/completions"])
def test_hostile_bodies_are_refused_or_answered(app: FastAPI, path: str) -> None:
    for name, body in HOSTILE.items():
        for stream in (b"", b'{"stream": true, ' + body[1:]):
            if stream and not (body.startswith(b'{"') and path != "/feedback"):
                continue
            headers = bearer(ALICE) | {"Content-Type": "application/json"}
            found = ask(app, path, content=stream or body, headers=headers)
            assert found.status_code < 500, (name, found.text)
            assert "text/event-stream" in found.headers["content-type"] or found.json() is not None
            assert "internal-server-error" not in found.text, name


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "application/x-www-form-urlencoded", ""]
)
def test_a_body_of_another_type_is_not_parsed_as_json(app: FastAPI, kind: str) -> None:
    body = b'{"question": "When does the ferry leave?"}'
    assert ask(app, content=body, headers=bearer(ALICE) | {"Content-Type": kind}).status_code == 422


def test_random_requests_are_answered_as_described(app: FastAPI) -> None:
    answer = ask(app, "/chat", json={"question": QUESTION}, headers=bearer(ALICE)).json()
    known = {"session": answer["session"], "answer": answer["id"], "doc_id": "ferry.md", "model": "default"}
    with in_thread(app) as (address, _):
        asked = fuzz(address, bearer(ALICE), known, 5, derandomize=True)
    assert sum(asked.values()) > 100
    reached = {label for (label, _, status) in asked if status < 300}
    assert reached >= {"POST /search", "POST /ask", "POST /chat", "GET /documents", "GET /documents/{doc_id}", "GET /metrics"}
    assert not [status for (_, _, status) in asked if status >= 500]
