"""The chat completions client against a real HTTP server whose every answer is scripted."""

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.scripted_server import SOON, Exchange, Script, Step, cut, error, hang_up, say, send, serving, slow, stream

from rag.components.generators.openai import OpenAiGenerator
from rag.core.errors import ConfigError, ServiceError
from rag.core.types import Chunk, Message, Query, Reply, Request, Span
from rag.pipeline.prompt.postprocess import streamed


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(say("Yes.")) as server:
        yield server


def request(question: str = "Who?", contexts: int = 2) -> Request:
    chunks = tuple(Chunk(Span(f"d{number}", 0, 1), "x") for number in range(contexts))
    return Request(Query("q", question), chunks, (Message("system", "Be brief."), Message("user", question)))


def generator(script: Script, **changes: Any) -> OpenAiGenerator:
    return OpenAiGenerator(**({"model": "tiny", "base_url": script.url, "retries": 2} | changes))


def failure(made: OpenAiGenerator) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        made.generate([request()])
    return caught.value


def test_what_is_asked_and_what_comes_back(script: Script) -> None:
    script.steps = [say("Ada [2], and [1, 7] too [2].")]
    made = generator(script, extra={"top_p": 0.5})
    (reply,) = made.generate([request()])
    assert (reply.text, reply.citations) == ("Ada [2], and [1, 7] too [2].", (2, 1))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (30, 4, 0.0)
    assert script.asked == [
        {
            "model": "tiny",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}],
            "temperature": 0.0,
            "max_tokens": 512,
            "seed": 0,
            "top_p": 0.5,
        }
    ]
    assert made.sent(request()) == script.asked[0] | {"url": script.url}
    assert set(generator(script, temperature=None, max_tokens=None, seed=None).sent(request())) == {"url", "model", "messages"}
    assert generator(script, seed=7).sent(replace(request(), sample=2))["seed"] == 9


def test_what_follows_from_the_address() -> None:
    hosts = {"api.openai.com": True, "eu.openai.azure.com": True, "a.services.ai.azure.com": True, "notopenai.com": False}
    limits = {host: "max_completion_tokens" in OpenAiGenerator("a", f"https://{host}/v1").sent(request()) for host in hosts}
    assert limits == hosts
    assert OpenAiGenerator("a").fingerprint() == "a@api.openai.com"
    assert OpenAiGenerator("a", "http://127.0.0.1:8081/v1").fingerprint() == "a@127.0.0.1:8081"


def test_replies_come_in_order_with_four_requests_under_way(script: Script) -> None:
    def repeat(exchange: Any) -> None:
        if int(exchange.question) < 4:
            together.wait()
        time.sleep(0.05 if int(exchange.question) % 2 else 0.02)
        say(exchange.question)(exchange)

    together = threading.Barrier(4, timeout=60)
    script.steps = [repeat]
    replies = generator(script, concurrency=4).generate([request(str(number)) for number in range(20)])
    assert [reply.text for reply in replies] == [str(number) for number in range(20)]
    assert script.most_at_once == 4


ODD = [None, {"prompt_tokens": math.nan, "completion_tokens": -3}, {"prompt_tokens": "many"}, {"prompt_tokens": 10**400}, []]


@pytest.mark.parametrize("usage", ODD)
def test_usage_that_is_no_number_counts_nothing(script: Script, usage: object) -> None:
    script.steps = [say("Yes.", usage)]
    (reply,) = generator(script).generate([request()])
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("Yes.", 0, 0)


@pytest.mark.parametrize("trouble", [error(429, headers=SOON), error(503, headers=SOON), hang_up])
def test_trouble_that_passes_is_tried_again(script: Script, trouble: Step) -> None:
    script.steps = [trouble, say("Yes.")]
    assert generator(script).generate([request()])[0].text == "Yes."
    assert len(script.asked) == 2


BODIES = (b'{"choices": [{"mess', b"", {"choices": []}, {"choices": None}, [])
FAILURES: list[tuple[Step, dict[str, Any], int, str, str]] = [
    *[
        (error(status, "the server's own words"), {}, 1, f"answered {status}: the server's own words", remedy)
        for status, remedy in ((400, "null"), (401, "valid key"), (403, "key"), (404, "generator.model"), (422, "field"))
    ],
    (error(429, headers=SOON), {"retries": 1}, 2, "answered 429", "concurrency"),
    (slow(0.4), {"timeout": 0.1, "retries": 0}, 1, "no answer within 0.1 s", "timeout"),
    (cut(), {"retries": 1}, 2, "cannot be reached", "base_url"),
    *[(send(200, body), {}, 1, "sent a reply that cannot be read", "chat completions server") for body in BODIES],
]


@pytest.mark.parametrize(("step", "changes", "asked", "what", "remedy"), FAILURES)
def test_a_failure_names_the_server_the_reason_and_the_remedy(
    script: Script, step: Step, changes: dict[str, Any], asked: int, what: str, remedy: str
) -> None:
    script.steps = [step]
    error = failure(generator(script, **changes))
    assert len(script.asked) == asked, "only what may pass is tried again"
    assert error.where == f"{script.url} (tiny)"
    assert error.what.startswith(what)
    assert remedy in error.remedy


def test_half_a_surrogate_pair_becomes_a_question_mark(script: Script) -> None:
    script.steps = [say("so \ud800 it is"), stream("so \ud83d", " it is")]
    assert generator(script).generate([request()])[0].text == "so ? it is"
    assert "".join(generator(script).stream(request())) == "so ? it is"


def test_a_piece_arrives_before_the_next_is_written(script: Script) -> None:
    gate = threading.Event()

    def halting(exchange: Exchange) -> None:
        stream("first", ending=b"")(exchange)
        exchange.wfile.flush()
        assert gate.wait(60)
        exchange.wfile.write(b'data: {"choices":[{"delta":{"content":"last"},"finish_reason":"stop"}]}\n\n')

    script.steps = [halting]
    pieces = generator(script).stream(request())
    assert next(pieces) == "first"
    gate.set()
    assert list(pieces) == ["last"]


def test_the_key_goes_to_the_server_and_nowhere_else(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", " sk-secret-1\n")
    script.steps = [error(401, "Incorrect API key provided: sk-secret-1")]
    made = generator(script, api_key_env="TINY_KEY")
    said = failure(made)
    assert script.keys == ["Bearer sk-secret-1"]
    assert "sk-secret" not in str(said) + repr(made) + made.fingerprint()
    assert "***" in said.what


def test_a_key_that_no_header_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", "“sk-secret”")
    said = failure(OpenAiGenerator("tiny", api_key_env="TINY_KEY"))
    assert "TINY_KEY" in said.what
    assert "secret" not in str(said)


@pytest.mark.parametrize("changes", [{"base_url": "https://me:pass@host/v1"}, {"api_key_env": "sk-a-real-key"}])
def test_what_may_be_a_secret_is_not_repeated(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"generator\.{next(iter(changes))}") as caught:
        OpenAiGenerator("tiny", **changes)
    assert "pass" not in str(caught.value).replace("password", "")
    assert "sk-" not in str(caught.value)


COUNTED = (
    b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: {"choices": [], "usage": %s}\n\ndata: [DONE]\n\n'
)


def test_a_stream_ends_with_what_it_took(script: Script) -> None:
    script.steps = [stream("Ada ", "[2].", ending=COUNTED % b'{"prompt_tokens": 30, "completion_tokens": 4}')]
    made = generator(script, price={"prompt": 1, "completion": 10})
    assert streamed(made.stream(request()), str) == Reply("Ada [2].", (2,), 30, 4, 70e-6, finish="stop")
    assert script.asked[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("usage", [b"null", b"{}"])
def test_a_stream_without_counts_has_an_unknown_cost(script: Script, usage: bytes) -> None:
    script.steps = [stream("Ada.", ending=COUNTED % usage)]
    reply = streamed(generator(script, price={"prompt": 1, "completion": 10}).stream(request()), str)
    assert (reply.prompt_tokens, math.isnan(reply.cost)) == (0, True)


def test_a_server_that_does_not_count_is_asked_without(script: Script) -> None:
    script.steps = [error(422, "stream_options: extra fields not permitted"), stream("Ada.")]
    assert streamed(generator(script).stream(request()), str).text == "Ada."
    assert ["stream_options" in body for body in script.asked] == [True, False]
