"""Replies and errors of LiteLLM: of the package where it is installed, and of OpenAI's client in its place."""

import importlib.machinery
import importlib.util
import socket
import sys
import types
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from support.scripted_server import Script, Step, error, say, send, serving

from rag.config.servers import Trust
from rag.core.errors import ConfigError, ServiceError
from rag.core.types import Message, Query, Request
from rag.pipeline.prompt.postprocess import streamed
from rag.plugins.litellm.generators.litellm import LiteLlmGenerator

ABSENT = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="litellm is not installed: it has 60 to 170 MB")
SECRET = "sk-USERSECRETKEY0001"
REQUEST = Request(Query("q", "Who?"), (), (Message("user", "Who?"),))


def completion(model: str, timeout: float, max_retries: int, stream: bool = False, **settings: Any) -> Any:
    """As LiteLLM's, which gives the headers of an error apart."""
    assert [settings.pop(name) for name in ("num_retries", "drop_params", "caching")] == [0, False, False]
    client = openai.OpenAI(timeout=timeout, max_retries=max_retries)
    try:
        return client.chat.completions.create(model=model.removeprefix("openai/"), stream=stream, **settings)
    except openai.APIStatusError as error:
        error.litellm_response_headers, error.response.headers = dict(error.response.headers), {}
        raise


@pytest.fixture(params=["stands in", pytest.param("litellm", marks=ABSENT)])
def script(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """A server at which LiteLLM finds OpenAI; a connection to another machine is an error."""
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> Any:
        assert self.family == socket.AF_UNIX or str(address[0]).startswith("127."), f"connected to {address}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    if request.param == "stands in":
        module = types.ModuleType("litellm")
        module.__dict__.update(completion=completion, __spec__=importlib.machinery.ModuleSpec("litellm", None))
        monkeypatch.setitem(sys.modules, "litellm", module)
    with serving(say("Yes.")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def made(**changes: Any) -> LiteLlmGenerator:
    return LiteLlmGenerator(**({"model": "tiny", "base_url": "litellm://openai", "retries": 1, "seed": None} | changes))


def test_replies_have_their_parts_and_counts_whole_and_streamed(script: Script) -> None:
    script.steps = [say("Ada [1].", reasoning_content="Is it?", finish="length")]
    (reply,) = made().generate([REQUEST])
    assert (reply.text, reply.thoughts, reply.finish, set(reply.notes)) == ("Ada [1].", "Is it?", "length", {"length"})
    assert (reply.prompt_tokens, reply.completion_tokens) == (30, 4)
    assert streamed(made().stream(REQUEST), lambda piece: None) == reply
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "Who?"}], "temperature": 0, "max_tokens": 512}
    assert script.asked[0] | asked | {"stream": False} == asked | {"stream": False}
    assert script.keys == [f"Bearer {SECRET}"] * 2


REFUSED = send(400, {"error": {"message": "'temperature' is not supported with this model", "param": "temperature"}})
PASSING: list[list[Step]] = [[error(429, headers={"Retry-After": "0.1"}), say("Yes.")], [REFUSED, say("Yes.")]]
LASTING: list[tuple[Step, int, str, float | None]] = [
    (error(503, headers={"Retry-After": "0.1"}), 2, "answered 503", 0.1),
    (error(429, "Slow down", {"Retry-After": "90"}), 1, "answered 429", 90),
    (error(429, "Spent", {}, "insufficient_quota"), 1, "add credit", None),
    (error(401, f"Incorrect API key provided: {SECRET}"), 1, "variables of openai", None),
]


@pytest.mark.parametrize("steps", PASSING)
def test_what_passes_is_tried_again(script: Script, steps: list[Step]) -> None:
    script.steps = list(steps)
    assert (made().generate([REQUEST])[0].text, len(script.asked)) == ("Yes.", 2)


@pytest.mark.parametrize(("step", "asked", "what", "wait"), LASTING)
def test_what_lasts_is_explained(script: Script, step: Step, asked: int, what: str, wait: float | None, capfd: Any) -> None:
    script.steps = [step]
    with pytest.raises(ServiceError) as caught:
        made().generate([REQUEST])
    assert (len(script.asked), caught.value.wait, what in str(caught.value)) == (asked, wait, True)
    assert SECRET not in str(caught.value) + "".join(capfd.readouterr())


@pytest.mark.parametrize("words", ["maximum context length is 10 tokens", "content_filter"])
def test_a_request_that_is_refused_alone_is_a_failure(script: Script, words: str) -> None:
    script.steps = [error(400, words)]
    assert words in made().generate([REQUEST])[0].failure


@pytest.mark.parametrize(
    "changes",
    [{"base_url": url} for url in ("https://a.example/v1", "litellm://localhost", "litellm://openai:80", "litellm://a/x", "")]
    + [{"model": "https://a.example"}, {"extra": {"api_base": "a.example"}}, {"extra": {"vertex_location": "a.example/#"}}],
)
def test_a_config_names_no_server_and_its_provider_is_named_by_the_user(changes: dict[str, Any], monkeypatch: Any) -> None:
    with pytest.raises(ConfigError):
        made(**changes)
    with pytest.raises(ConfigError, match="export RAG_TRUST_HOST=vertex_ai"):
        Trust.of_user().check("generator", "litellm://vertex_ai", None)
    monkeypatch.setenv("LITELLM_BASE_URL", "litellm://vertex_ai")
    Trust.of_user().check("generator", "litellm://vertex_ai", None)
    monkeypatch.setenv("AZURE_API_BASE", "https://mine.openai.azure.com")
    assert made(base_url="litellm://azure").fingerprint() == "tiny@azure@https://mine.openai.azure.com"
