"""A permanent refusal fails one request; other errors end the batch and keep its earlier replies."""

import pytest
from support.scripted_server import Script, Step, empty, error, say, send, serving, stream, too_long, wrong_key

from rag.components.generators.openai import OpenAiGenerator
from rag.components.generators.service import permanent_refusal
from rag.core.errors import RefusalError, ServiceError
from rag.core.types import Message, Query, Reply, Request

LLAMA = {"error": {"code": 400, "message": "request (4390 tokens) exceeds the available context size (4096 tokens)"}}
LLAMA["error"]["type"] = "exceed_context_size_error"


def request(text: str = "Who?", sample: int = 0) -> Request:
    return Request(Query("q", text), (), (Message("user", text),), sample=sample)


def generator(script: Script, **changes: object) -> OpenAiGenerator:
    return OpenAiGenerator(**{"model": "tiny", "base_url": script.url, "retries": 0, "concurrency": 1} | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refusal", "what", "remedy"),
    [
        (too_long(), "maximum context length is 8192", "context_tokens"),
        (send(400, LLAMA), "exceeds the available context size", "context_tokens"),
        (send(500, {"error": {"message": "Context size has been exceeded.", "type": "server_error"}}), "exceeded", "k"),
        (error(413, "Payload too large"), "413", "context_tokens"),
        (error(400, "The response was filtered", code="content_filter"), "filtered", "other words"),
        (empty(), "gave an empty answer", "other words"),
        (say(" \n"), "gave an empty answer", "other words"),
        (say(None), "gave an empty answer", "other words"),
        (empty("length"), "spent all of its tokens", "generator.max_tokens"),
        (empty("content_filter"), "filtered its answer out", "other words"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
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


@pytest.mark.parametrize("ending", [wrong_key(), error(404), error(400, "temperature is not supported"), error(500)])
def test_what_concerns_all_ends_the_batch_and_keeps_what_was_answered(ending: Step) -> None:
    with serving(say("Ada."), ending) as script:
        told = list(generator(script).attempts([request(str(number)) for number in range(9)]))
        assert len(script.asked) == 2
    assert isinstance(told[0], Reply)
    assert told[0].text == "Ada."
    assert all(isinstance(one, ServiceError) for one in told[1:])


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_stream_is_an_error(text: str) -> None:
    with serving(stream(text) if text else stream()) as script, pytest.raises(ServiceError, match="gave an empty answer"):
        list(generator(script).stream(request()))


def test_a_stream_that_is_too_long_says_what_would_do() -> None:
    with serving(too_long()) as script, pytest.raises(ServiceError, match="context_tokens"):
        list(generator(script).stream(request()))


def test_another_sample_has_another_seed() -> None:
    with serving(say("Ada.")) as script:
        made = generator(script, seed=7)
        made.generate([request(), request(sample=2)])
        assert [asked["seed"] for asked in script.asked] == [7, 9]
        assert made.sent(request()) != made.sent(request(sample=2))


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (400, {"code": "context_length_exceeded"}, True),
        (400, {"message": "Input is too long for requested model."}, True),
        (400, {"message": "unknown field context"}, False),
        (401, {"message": "context length"}, False),
        (429, {"message": "Request too large for model: too many tokens per minute"}, False),
        (400, None, False),
        (413, None, True),
    ],
)
def test_what_is_permanent_refusal(status: int, body: object, found: bool) -> None:
    assert bool(permanent_refusal(status, body, "")) == found
