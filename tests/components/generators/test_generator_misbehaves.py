"""Servers that redirect, send invalid replies, or do not end, for whole replies and for streams."""

import json
import math
import time
from collections.abc import Callable
from email.utils import formatdate

import pytest
from support.scripted_server import Exchange, Step, cut, error, say, send, serving, stream

from rag.components.generators.openai import OpenAiGenerator
from rag.core.errors import RefusalError, ServiceError
from rag.core.models import endpoint
from rag.core.types import Message, Query, Request

KEY = "sk-very-secret-0123456789"
ASKED = Request(Query("q", "Who?"), (), (Message("user", "Who wrote the notes?"),))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def whole(made: OpenAiGenerator) -> str:
    return made.generate([ASKED])[0].text


def streamed(made: OpenAiGenerator) -> str:
    return "".join(made.stream(ASKED))


both = pytest.mark.parametrize("ask", [whole, streamed])


def failure(ask: Callable[[OpenAiGenerator], str], *steps: Step, asked: int = 1, timeout: float = 60.0) -> ServiceError:
    """What is raised, which holds no key and stands on one line, after so many requests."""
    with serving(*steps) as script, pytest.raises(ServiceError) as caught:
        ask(OpenAiGenerator("tiny", script.url, retries=1, timeout=timeout))
    assert len(script.asked) == asked
    assert KEY not in str(caught.value)
    assert "\n" not in caught.value.what
    return caught.value


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_neither_the_key_nor_the_question_goes_where_a_server_sends(ask: Callable[[OpenAiGenerator], str], status: int) -> None:
    with serving(say("Stolen.")) as elsewhere:
        said = failure(ask, send(status, b"", {"Location": f"{elsewhere.url}/chat/completions"}))
    assert elsewhere.asked == []
    assert f"{status}" in said.what
    assert elsewhere.url in said.what
    assert "generator.base_url" in said.remedy


@both
def test_a_long_wait_is_reported_and_not_waited_for(ask: Callable[[OpenAiGenerator], str]) -> None:
    said = failure(ask, error(429, "Rate limit reached", {"Retry-After": "3600"}), say("Ada."))
    assert said.what == "answered 429: Rate limit reached (Retry-After: 3600)"
    assert "quota" in said.remedy


@pytest.mark.parametrize("as_date", [False, True])
def test_a_wait_in_seconds_or_until_a_date_is_respected(as_date: bool) -> None:
    until = math.ceil(time.time()) + 1 if as_date else time.time() + 1
    wait = formatdate(until, usegmt=True) if as_date else "1"
    with serving(error(429, headers={"Retry-After": wait}), say("Ada.")) as script:
        assert whole(OpenAiGenerator("tiny", script.url, retries=1)) == "Ada."
    assert time.time() >= until


@both
@pytest.mark.parametrize("wait", ["nan", "1e999", "-5", "soon", "Sun, 06 Nov 1994 08:49:37 GMT"])
def test_a_wait_that_is_none_is_not_believed(ask: Callable[[OpenAiGenerator], str], wait: str) -> None:
    with serving(error(429, headers={"Retry-After": wait}), say("Ada.")) as script:
        assert ask(OpenAiGenerator("tiny", script.url, retries=1)) == "Ada."


CONTENTS = [5, math.nan, ["Ada."], {"text": "Ada."}, True]


@pytest.mark.parametrize("content", CONTENTS, ids=str)
def test_what_is_no_text_is_no_answer(content: object) -> None:
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    said = failure(whole, send(200, {"choices": [choice]}))
    assert "cannot be read" in said.what
    event = {"choices": [{"delta": {"content": content}, "finish_reason": "stop"}]}
    said = failure(streamed, stream("Ada", ending=b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(event).encode()))
    assert "cannot be read" in said.what


DEEP = b"[" * 200_000


def test_json_that_is_too_deep_is_an_error() -> None:
    for ask, step in ((whole, send(200, DEEP)), (streamed, stream("Ada", ending=b"data: %s\n\n" % DEEP))):
        assert "cannot be read" in failure(ask, step).what


@both
def test_a_reply_that_does_not_end_is_ended(ask: Callable[[OpenAiGenerator], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "LONGEST", 30_000)
    said = failure(ask, say("word " * 8_000))
    assert said.what == "sent more than 30,000 bytes and did not end"
    assert "generator.max_tokens" in said.remedy
    with serving(say("word " * 100)) as script:
        assert ask(OpenAiGenerator("tiny", script.url)) == "word " * 100


@pytest.mark.parametrize(
    ("step", "what", "remedy"),
    [
        (send(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}), "sent no stream", "that it streams"),
        (stream("Ada", ending=b'data: {"choices": [{"de'), "", ""),
        (stream("Ada", ending=b""), "the stream ended before the reply did", "try again"),
        (cut(), "broke its reply off", "try again later"),
        (
            stream(ending=b'data: {"error": {"message": "overloaded"}}\n\n'),
            "broke its reply off: overloaded",
            "try again later",
        ),
        (
            stream("A", ending=b'data: {"error": {"message": "no: %s"}}\n\n' % KEY.encode()),
            "broke its reply off: no: ***",
            "try",
        ),
    ],
)
def test_reasons_of_broken_streams_are_distinguished(step: Step, what: str, remedy: str) -> None:
    said = failure(streamed, step)
    assert said.what.startswith(what)
    assert remedy in said.remedy


def test_a_stream_that_stops_midway_is_a_time_out() -> None:
    def halting(exchange: Exchange) -> None:
        stream("Ada", ending=b"")(exchange)
        exchange.wfile.flush()
        exchange.rfile.read(1)  # Until the client has gone.

    said = failure(streamed, halting, timeout=0.2)
    assert said.what == "no answer within 0.2 s"
    assert "generator.runtime.timeout" in said.remedy


def test_a_stream_may_find_that_its_request_is_too_long() -> None:
    event = {"error": {"message": "context length exceeded", "code": "context_length_exceeded"}}
    said = failure(streamed, stream(ending=b"data: %s\n\n" % json.dumps(event).encode()))
    assert isinstance(said, RefusalError)
    assert "context_tokens" in said.remedy


@both
def test_words_of_a_server_become_one_plain_line(ask: Callable[[OpenAiGenerator], str]) -> None:
    body = "<html>\n  <b>no</b>\x1b[2J\u202e\n</html>".encode()
    said = failure(ask, send(400, body, {"Content-Type": "text/html; charset=utf-8"}))
    assert said.what == "answered 400: <html> <b>no</b> [2J </html>"
