"""Anthropic's Messages API against a real HTTP server that speaks it."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.scripted_server import Script, claude, send, serving

from rag.components.generators.anthropic import AnthropicGenerator
from rag.core.errors import ConfigError, RefusalError, ServiceError
from rag.core.types import Chunk, Message, Query, Reply, Request, Span
from rag.pipeline.prompt import postprocess

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-4711")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another-provider")
    with serving(claude("Ada [2], and [1, 7].")) as server:
        yield server


def request(*messages: tuple[str, str]) -> Request:
    said = messages or (("system", "Be brief."), ("user", "Who?"))
    chunks = (Chunk(Span("a", 0, 1), "x"), Chunk(Span("b", 0, 1), "x"))
    return Request(Query("q", "Who?"), chunks, tuple(Message(*each) for each in said))


def generator(script: Script, **changes: Any) -> AnthropicGenerator:
    return AnthropicGenerator(**({"model": "claude-sonnet-4-6", "base_url": script.url, "retries": 2} | changes))


def streamed(made: AnthropicGenerator) -> tuple[list[str], Reply]:
    pieces: list[str] = []
    reply = postprocess.streamed(made.stream(request()), pieces.append)
    return list(filter(None, pieces)), reply


def failure(made: AnthropicGenerator) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        made.generate([request()])
    return caught.value


def test_what_is_sent_and_what_comes_back(script: Script) -> None:
    made = generator(script, temperature=0.0, price={"prompt": 3, "completion": 15})
    (reply,) = made.generate([request()])
    assert (reply.text, reply.citations) == ("Ada [2], and [1, 7].", (2, 1))
    assert (reply.prompt_tokens, reply.completion_tokens) == (30, 4)
    assert (reply.thoughts, reply.finish) == ("Hm.", "stop")
    assert reply.cost == pytest.approx((30 * 3 + 4 * 15) / 1e6)
    (sent,) = script.asked
    user = {"role": "user", "content": "Who?"}
    body = {"model": "claude-sonnet-4-6", "messages": [user], "system": "Be brief.", "max_tokens": 512, "temperature": 0.0}
    assert sent == body
    assert made.sent(request()) == {"url": script.url, **body}
    headers = {name.lower(): value for name, value in script.headers[0].items()}
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-ant-4711", "2023-06-01")
    assert not {"authorization", "openai-organization", "openai-project"} & set(headers)


def test_a_stream_is_the_same_reply_in_pieces(script: Script) -> None:
    (whole,) = generator(script).generate([request()])
    assert streamed(generator(script)) == (["Ada ", "[2], ", "and ", "[1, ", "7]."], whole)
    assert script.asked[1] == {**script.asked[0], "stream": True}


def test_a_conversation_begins_with_the_user(script: Script) -> None:
    talk = (
        ("assistant", "Hello!"),
        ("system", "One."),
        ("user", "Hi."),
        ("assistant", " "),
        ("system", "Two."),
        ("user", "Who?"),
    )
    generator(script).generate([request(*talk)])
    assert script.asked[0]["messages"] == [{"role": "user", "content": text} for text in ("Hi.", "Who?")]
    assert script.asked[0]["system"] == "One.\n\nTwo."


def test_a_schema_is_sent_and_null_leaves_the_temperature_out(script: Script) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    generator(script, reply_schema=schema, temperature=None, max_tokens=None, extra={"top_k": 1}).generate([request()])
    generator(script, reply_schema={}).generate([request()])
    assert script.asked[0]["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert (script.asked[0]["max_tokens"], script.asked[0]["top_k"], "temperature" in script.asked[0]) == (4096, 1, False)
    assert "output_config" not in script.asked[1]


def test_tokens_in_a_cache_are_tokens_of_the_prompt(script: Script) -> None:
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11, "output_tokens": 2}
    script.steps = [claude("Yes.", usage)]
    assert generator(script).generate([request()])[0].prompt_tokens == 23
    assert streamed(generator(script))[1].prompt_tokens == 23


def test_one_request_that_is_too_long_or_refused_fails_alone(script: Script) -> None:
    too_long = {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}
    script.steps = [send(400, {"type": "error", "error": too_long}), claude("I", stop="refusal"), claude("", stop="max_tokens")]
    long, refused, short = generator(script, concurrency=1).generate([request()] * 3)
    assert "lower k" in long.failure
    assert (refused.text, "filtered" in refused.failure) == ("", True)
    assert "raise generator.max_tokens" in short.failure
    script.steps = [claude("I can", stop="refusal")]
    with pytest.raises(RefusalError, match="filtered"):
        streamed(generator(script))


def test_a_stream_that_ends_early_is_no_reply(script: Script) -> None:
    script.steps = [claude("Half of", **OVERLOADED)]
    with pytest.raises(ServiceError, match="broke its reply off: Overloaded"):
        streamed(generator(script))
    script.steps = [claude("Half of", type="message_stop")]
    with pytest.raises(ServiceError, match="ended before the reply did"):
        streamed(generator(script))
    five = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}}
    untyped = send(200, b"data: {}\n\n", {"Content-Type": "text/event-stream"})
    for odd in (claude("Half of", type="message_delta"), claude("Half of", **five), untyped):
        script.steps = [odd]
        with pytest.raises(ServiceError, match="cannot be read"):
            streamed(generator(script))


def test_what_cannot_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert "ANTHROPIC_API_KEY is not set" in str(failure(AnthropicGenerator("claude-sonnet-4-6")))
    with pytest.raises(ConfigError, match="extra"):
        AnthropicGenerator("claude-sonnet-4-6", extra={"max_tokens": 5})
    assert AnthropicGenerator("claude-sonnet-4-6").fingerprint() == "claude-sonnet-4-6@api.anthropic.com"
    tokens, dollars = AnthropicGenerator("claude-sonnet-4-6", max_tokens=100).spending(2, 1000)
    assert (tokens, dollars) == (2200, pytest.approx((2000 * 3 + 200 * 15) / 1e6))
