"""Servers that redirect, refuse, send invalid replies, or do not end, for whole replies and for streams."""

import json
import math
from collections.abc import Callable

import pytest
from support.scripted_server import Exchange, Script, Step, cut, empty, error, say, send, serving, stream, too_long, wrong_key

from rag.components.generators.openai import OpenAiGenerator
from rag.components.generators.service import permanent_refusal
from rag.core.errors import RefusalError, ServiceError
from rag.core.models import endpoint
from rag.core.types import Message, Query, Reply, Request

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def request(text: str = "Who?") -> Request:
    return Request(Query("q", text), (), (Message("user", text),))


def whole(made: OpenAiGenerator) -> str:
    return made.generate([request()])[0].text


def streamed(made: OpenAiGenerator) -> str:
    return "".join(made.stream(request()))


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


NO = b'data: {"error": {"message": "no: %s"}}\n\n' % KEY.encode()


@pytest.mark.parametrize(
    ("step", "what", "remedy"),
    [
        (send(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}), "sent no stream", "that it streams"),
        (stream("Ada", ending=b'data: {"choices": [{"de'), "", ""),
        (stream("Ada", ending=b""), "the stream ended before the reply did", "try again"),
        (cut(), "broke its reply off", "try again later"),
        (stream("A", ending=NO), "broke its reply off: no: ***", "try again later"),
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


GEMINI = [{"error": {"message": "The input token count (317740) exceeds the maximum number of tokens allowed (9)."}}]


def generator(script: Script, **changes: object) -> OpenAiGenerator:
    return OpenAiGenerator(**{"model": "tiny", "base_url": script.url, "retries": 0, "concurrency": 1} | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refusal", "what", "remedy"),
    [
        (too_long(), "maximum context length is 8192", "context_tokens"),
        (error(400, "The response was filtered", code="content_filter"), "filtered", "other words"),
        *[(said, "gave an empty answer", "other words") for said in (empty(), say(" \n"), say(None))],
        (empty("length"), "spent all of its tokens", "generator.max_tokens"),
        (empty("content_filter"), "filtered its answer out", "other words"),
    ],
)
def test_what_concerns_one_request_fails_alone(refusal: Step, what: str, remedy: str) -> None:
    with serving(say("Ada."), refusal, say("Bob.")) as script:
        replies = generator(script).generate([request("a"), request("b"), request("c")])
    assert [reply.text for reply in replies] == ["Ada.", "", "Bob."]
    assert [bool(reply.failure) for reply in replies] == [False, True, False]
    told = RefusalError.of(replies[1].failure)
    assert told.where == f"{script.url} (tiny)"
    assert what in told.what
    assert remedy in told.remedy


@pytest.mark.parametrize("ending", [wrong_key(), error(404), error(400, "temperature must be at most 2"), error(500)])
def test_what_concerns_all_ends_the_batch_and_keeps_what_was_answered(ending: Step) -> None:
    with serving(say("Ada."), ending) as script:
        told = list(generator(script).attempts([request(str(number)) for number in range(9)]))
        assert len(script.asked) == 2
    assert isinstance(told[0], Reply)
    assert told[0].text == "Ada."
    assert all(isinstance(one, ServiceError) for one in told[1:])


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (400, {"code": "context_length_exceeded"}, True),
        (400, {"message": "request (4390 tokens) exceeds the available context size (4096 tokens)"}, True),
        (500, {"message": "Context size has been exceeded.", "type": "server_error"}, True),
        (400, {"message": "Input is too long for requested model."}, True),
        (400, {"message": "unknown field context"}, False),
        (401, {"message": "context length"}, False),
        (429, {"message": "Request too large for model: too many tokens per minute"}, False),
        (400, None, False),
        (413, None, True),
        (400, GEMINI, True),
        (400, {"message": "litellm.ContextWindowExceededError: BadRequestError: OpenAIException"}, True),
        (400, {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096."}, True),
        (400, {"message": "`inputs` tokens + `max_new_tokens` must be <= 4096"}, True),
        (400, {"message": "input length and `max_tokens` exceed context limit: 199847 + 8192 > 200000"}, True),
    ],
)
def test_what_is_permanent_refusal(status: int, body: object, found: bool) -> None:
    assert bool(permanent_refusal(status, body, "")) == found
