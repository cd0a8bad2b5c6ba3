"""What a server writes: one line of JSON a request, and never what was asked, answered, or sent as a key."""

import asyncio
import gc
import io
import json
import logging
import logging.config
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request, Response
from support.small_server import ALICE, BOB, QUESTION, TWO_KEYS, ask, bearer, guarded, small_app, small_bundle, stream_of

from rag.serve.logs import LOGGING

CANARY = "Canary-Wombat-4711"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What is logged, every logger of the process included, as the server sets logging up."""
    stream = io.StringIO()
    config: dict[str, Any] = deepcopy(dict(LOGGING))
    config["handlers"]["lines"]["stream"] = stream
    config["root"] = {"handlers": ["lines"], "level": "INFO"}
    # The client of these tests logs what it asks.
    config["loggers"]["httpx"] = {"level": "WARNING"}
    names = ("rag.serve", "uvicorn", "uvicorn.access", "httpx")
    before = {name: (logging.getLogger(name).handlers[:], logging.getLogger(name).propagate) for name in names}
    root, level = logging.getLogger().handlers[:], logging.getLogger().level
    logging.config.dictConfig(config)
    yield stream
    for name, (handlers, propagate) in before.items():
        logging.getLogger(name).handlers[:], logging.getLogger(name).propagate = handlers, propagate
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.getLogger().handlers[:] = root
    logging.getLogger().setLevel(level)


def lines(written: io.StringIO, log: str = "rag.serve.requests") -> list[dict[str, Any]]:
    """The lines of one log; every line must be JSON."""
    found = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in found if line["log"] == log]


def everywhere(word: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Requests that carry a word wherever a client can put one."""
    asked = {"question": f"{QUESTION} {word}"}
    messages = [{"role": "user", "content": word}]
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
        (
            "POST",
            "/ask",
            {"json": asked, "headers": {"X-Request-Id": word, "User-Agent": word, "Cookie": word, "Referer": word}},
        ),
        ("POST", "/v1/chat/completions", {"json": {"model": "default", "messages": messages}}),
        ("POST", "/v1/chat/completions", {"json": {"model": word, "messages": messages, "stream": True}}),
        ("POST", "/feedback", {"json": {"answer": word, "rating": 1, "comment": word}}),
        ("GET", f"/{word}?{word}={word}", {}),
        ("GET", f"/documents/{word}?{word}", {}),
        ("GET", f"/sessions/{word}", {}),
        (word.upper(), "/ask", {}),
    ]


def test_nothing_that_was_asked_or_answered_is_logged(bundle: Path, tmp_path: Path, written: io.StringIO) -> None:
    app = small_app(bundle, tmp_path / "serve.db", keys=TWO_KEYS, rate=0)
    for method, path, sent in everywhere(CANARY):
        headers = sent.pop("headers", {}) | bearer(ALICE)
        assert ask(app, path, method, headers=headers, **sent).status_code < 500
    ask(app, json={"question": QUESTION}, headers=bearer("sk-assay-" + CANARY))
    text = written.getvalue()
    assert len(lines(written)) == len(everywhere("")) + 1
    assert CANARY.lower() not in text.lower()
    assert "ferry" not in text.lower()


def test_keys_and_their_hashes_are_never_logged(bundle: Path, tmp_path: Path, written: io.StringIO) -> None:
    app = small_app(bundle, tmp_path / "serve.db", keys=TWO_KEYS, log_texts=True)
    for key in (ALICE, BOB):
        assert ask(app, json={"question": f"Is it {key}?"}, headers=bearer(key)).status_code == 200
    assert len(lines(written)) == 2
    for _, known in TWO_KEYS.entries:
        assert known not in written.getvalue()
    assert ALICE[9:] not in written.getvalue()
    assert BOB[9:] not in written.getvalue()


def test_addresses_lose_their_passwords_and_lines_stay_json(written: io.StringIO) -> None:
    told = {"first": "see ://a", "second": ['postgresql://me:hunter2@db/x, "://', "@b"], "third": Path("c")}
    logging.getLogger("rag.serve").warning("told", extra={"values": told})
    (line,) = lines(written, "rag.serve")
    assert "hunter2" not in str(line)
    assert line["second"] == ['postgresql://***@db/x, "://', "@b"]
    assert (line["first"], line["third"]) == ("see ://a", "c")


def test_a_line_says_who_asked_what_kind_of_thing_and_how_it_went(bundle: Path, tmp_path: Path, written: io.StringIO) -> None:
    app = small_app(bundle, tmp_path / "serve.db", keys=TWO_KEYS)
    told = ask(app, json={"question": QUESTION}, headers=bearer(BOB))
    (line,) = lines(written)
    assert line["request"] == told.headers["x-request-id"]
    known = {"level": "info", "method": "POST", "route": "/ask", "status": 200, "owner": "bob", "id": told.json()["id"]}
    assert {name: line[name] for name in known} == known
    assert line["bundle"] == told.headers["x-assay-bundle"]
    assert line["tokens"] == {"prompt": 0, "completion": 0}
    assert "question" not in line


def test_texts_are_logged_where_that_is_asked_for(bundle: Path, tmp_path: Path, written: io.StringIO) -> None:
    app = small_app(bundle, tmp_path / "serve.db", log_texts=True)
    told = ask(app, json={"question": f"{QUESTION}\n{CANARY}"}).json()
    (line,) = lines(written)
    assert (line["question"], line["answer"]) == (f"{QUESTION}\n{CANARY}", told["answer"])


def test_a_route_is_logged_by_its_name_and_an_unknown_path_not_at_all(
    bundle: Path, tmp_path: Path, written: io.StringIO
) -> None:
    app = small_app(bundle, tmp_path / "serve.db")
    for path in ("/documents/ferry.md", "/sessions/none", "/nowhere", "/page/nothing.js", "/documents/a%0a%7bforged%7d"):
        ask(app, path, "GET")
    documents, session, nowhere, page, forged = (line["route"] for line in lines(written))
    assert documents.startswith("/documents/{")
    assert session.startswith("/sessions/{")
    assert (nowhere, page, forged) == ("-", "/page/{name}", "-")


async def failing(request: Request) -> Response:
    raise ValueError(f"cannot read {CANARY}")


def test_a_failure_says_where_and_not_what(written: io.StringIO) -> None:
    found = ask(guarded(failing))
    assert found.status_code == 500
    (line,) = lines(written, "rag.serve.failures")
    assert (line["error"], line["route"], line["request"]) == ("ValueError", "/ask", found.headers["x-request-id"])
    assert line["calls"][-1].endswith("failing")
    assert lines(written)[0]["status"] == 500
    assert CANARY not in written.getvalue()


def test_a_failure_says_what_where_texts_are_asked_for(written: io.StringIO) -> None:
    ask(guarded(failing, log_texts=True))
    (line,) = lines(written, "rag.serve.failures")
    assert line["message"] == f"cannot read {CANARY}"


def test_a_stream_that_breaks_off_is_logged_as_failed(written: io.StringIO) -> None:
    async def pieces():  # noqa: ANN202
        yield b"event: piece\ndata: {}\n\n"
        raise ValueError(CANARY)

    ask(guarded(stream_of(pieces)))
    assert [line["failed"] for line in lines(written)] == ["ValueError"]
    assert CANARY not in written.getvalue()


def test_a_traceback_of_anybody_becomes_one_line_without_words(written: io.StringIO) -> None:
    try:
        raise ValueError(f"{CANARY}\nforged line")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    (line,) = lines(written, "uvicorn.error")
    assert line["message"] == "Exception in ASGI application"
    assert line["error"] == "ValueError"
    assert line["calls"][0].endswith("test_a_traceback_of_anybody_becomes_one_line_without_words")
    assert CANARY not in written.getvalue()


def test_a_task_that_nobody_waited_for_says_where_and_not_what(written: io.StringIO) -> None:
    async def lonely() -> None:
        raise ValueError(CANARY)

    async def work() -> None:
        task = asyncio.create_task(lonely())
        await asyncio.sleep(0)
        del task
        gc.collect()

    asyncio.run(work())
    (line,) = lines(written, "asyncio")
    assert (line["message"], line["error"]) == ("Task exception was never retrieved", "ValueError")
    assert CANARY not in written.getvalue()


def test_health_is_logged_only_where_everything_is(written: io.StringIO) -> None:
    app = guarded(failing)
    ask(app, "/healthz", "GET")
    assert lines(written) == []
    logging.getLogger("rag.serve").setLevel(logging.DEBUG)
    ask(app, "/healthz", "GET")
    assert [line["route"] for line in lines(written)] == ["/healthz"]
