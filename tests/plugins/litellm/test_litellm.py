"""Replies and errors of LiteLLM: of the package where it is installed, and of OpenAI's client in its place."""

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
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Who?"}], "temperature": 0, "max_tokens": 512}


def completion(model: str, timeout: float, max_retries: int, **settings: Any) -> Any:
    """As LiteLLM's, which gives the headers of an error apart."""
    assert [settings.pop(name) for name in ("num_retries", "drop_params", "caching")] == [0, False, False]
    client = openai.OpenAI(timeout=timeout, max_retries=max_retries)
    try:
        return client.chat.completions.create(model=model.removeprefix("openai/"), **settings)
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
        monkeypatch.setitem(sys.modules, "litellm", types.SimpleNamespace(completion=completion))
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
    assert (script.asked[0], script.keys) == (BODY, [f"Bearer {SECRET}"] * 2)
    for words in ("maximum context length is 10 tokens", "content_filter"):
        script.steps = [error(400, words)]
        assert words in made().generate([REQUEST])[0].failure


REFUSED = send(400, {"error": {"message": "'temperature' is not supported with this model", "param": "temperature"}})
ERRORS: list[tuple[Step, int, str, float | None]] = [
    (error(429, headers={"Retry-After": "0.1"}), 2, "", None),
    (REFUSED, 2, "", None),
    (error(503, headers={"Retry-After": "25"}), 1, "answered 503", 25),
    (error(429, "Spent", {}, "insufficient_quota"), 1, "add credit", None),
    (error(401, f"Incorrect API key provided: {SECRET}"), 1, "variables of openai", None),
]


@pytest.mark.parametrize(("step", "asked", "what", "wait"), ERRORS)
def test_what_passes_is_tried_again_and_what_lasts_explained(
    script: Script, step: Step, asked: int, what: str, wait: float | None, capfd: Any
) -> None:
    script.steps, said = [step, say("Yes.")], ServiceError("", "", "")
    try:
        assert made().generate([REQUEST])[0].text == "Yes."
    except ServiceError as found:
        said = found
    assert (len(script.asked), said.wait, what in str(said), said.what != "") == (asked, wait, True, what != "")
    assert SECRET not in str(said) + "".join(capfd.readouterr())


BAD = [{"base_url": url} for url in ("https://a.example/v1", "litellm://localhost", "litellm://a:80", "litellm://a/x", "")]
BAD += [{"model": "https://a.example"}, {"extra": {"api_base": "a.example"}}, {"api_key_env": "GITHUB_TOKEN"}]


def test_a_config_names_no_server_and_its_provider_is_named_by_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for changes in BAD:
        with pytest.raises(ConfigError):
            made(**changes)
    with pytest.raises(ConfigError, match="export RAG_TRUST_HOST=vertex_ai"):
        Trust.of_user().check("generator", "litellm://vertex_ai", None)
    monkeypatch.setenv("LITELLM_BASE_URL", "litellm://vertex_ai")
    Trust.of_user().check("generator", "litellm://vertex_ai", None)
    monkeypatch.setenv("AZURE_API_BASE", "https://mine.openai.azure.com")
    assert made(base_url="litellm://azure").fingerprint() == "tiny@azure@https://mine.openai.azure.com"
