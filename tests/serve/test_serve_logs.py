"""The log of a server: one line of JSON a request, without questions, answers and keys."""

import io
import json
import logging
import logging.config
from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from support.small_server import (
    ALICE,
    BOB,
    CANARY,
    QUESTION,
    TWO_KEYS,
    ask,
    bearer,
    chat_request,
    guarded,
    small_app,
    stream_of,
)

from rag.serve.logs import LOGGING

LOGGERS = ("rag.serve", "uvicorn", "uvicorn.access", "httpx", "")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """The log of all loggers of the process, configured as in the server."""
    stream = io.StringIO()
    config: dict[str, Any] = deepcopy(dict(LOGGING))
    config["handlers"]["lines"]["stream"] = stream
    config["root"] = {"handlers": ["lines"], "level": "INFO"}
    # The client of these tests logs its requests.
    config["loggers"]["httpx"] = {"level": "WARNING"}
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    logging.config.dictConfig(config)
    yield stream
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture(scope="module")
def app(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The whole application with keys."""
    return small_app(bundle, tmp_path_factory.mktemp("logs") / "serve.db", keys=TWO_KEYS, rate=0)


def lines(written: io.StringIO, log: str = "rag.serve.requests") -> list[dict[str, Any]]:
    """The lines of one logger; all lines must be JSON."""
    found = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in found if line["log"] == log]


def everywhere(word: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Requests with a word in every place that a client can fill."""
    asked = {"question": f"{QUESTION} {word}"}
    return [
        ("POST", "/ask", {"json": asked}),
        ("POST", "/ask", {"json": asked | {"stream": True, "show": ["trace", "prompt"]}}),
        ("POST", "/search", {"json": asked}),
        ("POST", "/chat", {"json": asked}),
        ("POST", "/chat", {"json": asked | {"session": word}}),
        ("POST", "/ask", {"json": asked | {"model": word}}),
        ("POST", "/ask", {"json": asked | {"within": {"documents": [word]}}}),
        ("POST", "/ask", {"json": asked | {word: 1}}),
        ("POST", "/ask", {"content": word}),
        ("POST", "/ask", {"json": asked, "headers": dict.fromkeys(("X-Request-Id", "User-Agent", "Cookie", "Referer"), word)}),
        ("POST", "/v1/chat/completions", {"json": chat_request(word)}),
        ("POST", "/v1/chat/completions", {"json": chat_request(word, stream=True) | {"model": word}}),
        ("POST", "/feedback", {"json": {"answer": word, "rating": 1, "comment": word}}),
        ("GET", f"/{word}?{word}={word}", {}),
        ("GET", f"/documents/{word}?{word}", {}),
        ("GET", f"/sessions/{word}", {}),
        (word.upper(), "/ask", {}),
    ]


def test_questions_and_answers_are_not_logged(app: FastAPI, written: io.StringIO) -> None:
    for method, path, sent in everywhere(CANARY):
        headers = sent.pop("headers", {}) | bearer(ALICE)
        assert ask(app, path, method, headers=headers, **sent).status_code < 500
    ask(app, json={"question": QUESTION}, headers=bearer("sk-assay-" + CANARY))
    text = written.getvalue()
    assert len(lines(written)) == len(everywhere("")) + 1
    assert CANARY.lower() not in text.lower()
    assert "ferry" not in text.lower()


def test_urls_lose_their_passwords_and_lines_stay_json(written: io.StringIO) -> None:
    values = {"first": "see ://a", "second": ['postgresql://me:hunter2@db/x, "://', "@b"], "third": Path("c")}
    logging.getLogger("rag.serve").warning("values", extra={"values": values})
    (line,) = lines(written, "rag.serve")
    assert "hunter2" not in str(line)
    assert line["second"] == ['postgresql://me:[redacted: url-password]@db/x, "://', "@b"]
    assert (line["first"], line["third"]) == ("see ://a", "c")


def test_a_line_has_owner_route_status_and_answer(app: FastAPI, written: io.StringIO) -> None:
    answer = ask(app, json={"question": QUESTION}, headers=bearer(BOB))
    (line,) = lines(written)
    assert line["request"] == answer.headers["x-request-id"]
    known = {"level": "info", "method": "POST", "route": "/ask", "status": 200, "owner": "bob", "id": answer.json()["id"]}
    assert known.items() <= line.items()
    assert line["bundle"] == answer.headers["x-assay-bundle"]
    assert line["tokens"] == {"prompt": 0, "completion": 0}
    assert "question" not in line


def test_texts_are_logged_with_log_texts(bundle: Path, tmp_path: Path, written: io.StringIO) -> None:
    app = small_app(bundle, tmp_path / "serve.db", keys=TWO_KEYS, log_texts=True)
    answer = ask(app, json={"question": f"{QUESTION}\n{CANARY}"}, headers=bearer(BOB)).json()
    (line,) = lines(written)
    assert (line["question"], line["answer"]) == (f"{QUESTION}\n{CANARY}", answer["answer"])


def test_a_route_is_logged_by_its_pattern_and_an_unknown_path_is_not(app: FastAPI, written: io.StringIO) -> None:
    for path in ("/documents/ferry.md", "/sessions/none", "/nowhere", "/page/nothing.js", "/documents/a%0a%7bforged%7d"):
        ask(app, path, "GET", headers=bearer(BOB))
    documents, session, nowhere, page, forged = (line["route"] for line in lines(written))
    assert documents.startswith("/documents/{")
    assert session.startswith("/sessions/{")
    assert (nowhere, page, forged) == ("-", "/page/{name}", "-")


async def failing(request: Request) -> Response:
    raise ValueError(f"cannot read {CANARY}")


@pytest.mark.parametrize("texts", [False, True])
def test_a_failure_is_logged_with_its_calls_and_with_its_message_only_with_log_texts(written: io.StringIO, texts: bool) -> None:
    found = ask(guarded(failing, log_texts=texts))
    assert found.status_code == 500
    (line,) = lines(written, "rag.serve.failures")
    assert (line["error"], line["route"], line["request"]) == ("ValueError", "/ask", found.headers["x-request-id"])
    assert line["calls"][-1].endswith("failing")
    assert lines(written)[0]["status"] == 500
    assert line.get("message") == (f"cannot read {CANARY}" if texts else None)
    assert (CANARY in written.getvalue()) == texts


def test_a_broken_stream_ends_with_an_event_and_is_logged_and_counted(written: io.StringIO) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"event: piece\ndata: {}\n\n"
        raise ValueError(CANARY)

    app = guarded(stream_of(pieces))
    ended = b'event: piece\ndata: {}\n\nevent: error\ndata: {"type":"urn:assay:internal-server-error"'
    assert ask(app).content.startswith(ended)
    assert 'assay_broken_streams_total{error="ValueError"} 1.0' in ask(app, "/metrics", "GET").text
    assert [line["failed"] for line in lines(written) if line["route"] == "/ask"] == ["ValueError"]
    assert CANARY not in written.getvalue()


def test_a_traceback_of_a_library_becomes_one_line_without_its_message(written: io.StringIO) -> None:
    try:
        raise ValueError(f"{CANARY}\nforged line")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    (line,) = lines(written, "uvicorn.error")
    assert line["message"] == "Exception in ASGI application"
    assert line["error"] == "ValueError"
    assert line["calls"][0].endswith("test_a_traceback_of_a_library_becomes_one_line_without_its_message")
    assert CANARY not in written.getvalue()
