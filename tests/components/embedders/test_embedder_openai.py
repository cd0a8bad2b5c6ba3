"""The embeddings protocol with a server on this machine."""

import logging
import sys
from typing import Any

import numpy as np
import pytest
from support.scripted_server import SOON, Step, error, send

from rag.components.embedders.openai import OpenAiEmbedder
from rag.core.errors import ConfigError, MissingExtraError, ServiceError

SECRET = "sk-secret-word"


def made(endpoint: Any, **parameters: Any) -> OpenAiEmbedder:
    return OpenAiEmbedder("tiny", **{"base_url": endpoint.url, "retries": 2, "timeout": 5.0, **parameters})


def reply(*vectors: Any) -> Step:
    data = [{"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)]
    return send(200, {"object": "list", "data": data, "model": "tiny"})


def test_batches_keep_the_order_of_texts(endpoint: Any) -> None:
    texts = [f"text {number}" for number in range(5)]
    found = made(endpoint, batch_size=2).embed_documents(texts)
    assert [request["input"] for request in endpoint.asked] == [texts[:2], texts[2:4], texts[4:]]
    assert endpoint.keys == [f"Bearer {SECRET}"] * 3
    assert np.array_equal(found, made(endpoint, batch_size=5).embed_documents(texts))
    assert endpoint.asked[0] == {"model": "tiny", "input": texts[:2], "encoding_format": "float"}
    made(endpoint).embed_documents(["", "a"])
    assert endpoint.asked[-1]["input"] == [" ", "a"], "the protocol refuses empty texts"


def test_dimensions_are_asked_for_and_checked(endpoint: Any) -> None:
    assert made(endpoint, dimensions=4).embed_queries(["a"]).shape == (1, 4)
    assert endpoint.asked[0]["dimensions"] == 4
    endpoint.steps = [reply([1.0, 2.0])]
    with pytest.raises(ServiceError, match=r"vectors of shape \(2,\), not \(4,\)"):
        made(endpoint, dimensions=4).embed_queries(["a"])


def test_gives_up_after_its_retries(endpoint: Any) -> None:
    endpoint.steps = [error(429, "slow down", SOON)]
    with pytest.raises(ServiceError, match=r"RateLimitError: .*slow down.*\n.*raise retries"):
        made(endpoint).embed_documents(["a"])
    assert len(endpoint.asked) == 3


def test_a_wrong_key_is_named_but_never_shown(endpoint: Any, caplog: pytest.LogCaptureFixture) -> None:
    endpoint.steps = [error(401, f"no such key: {SECRET}")]
    embedder = made(endpoint)
    with caplog.at_level(logging.DEBUG), pytest.raises(ServiceError, match="check the key in OPENAI_API_KEY") as caught:
        embedder.embed_documents(["a"])
    assert "no such key: <key>" in str(caught.value)
    assert caught.value.__suppress_context__
    assert SECRET not in str(caught.value) + repr(embedder) + embedder.fingerprint() + caplog.text
    assert len(endpoint.asked) == 1


def test_a_missing_key_is_found_before_anything_is_sent(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    embedder = made(endpoint, base_url="https://models.invalid/v1")
    for ask in (embedder.check, lambda: embedder.embed_documents(["a"])):
        with pytest.raises(ServiceError, match="OPENAI_API_KEY is not set"):
            ask()
    monkeypatch.setenv("OTHER_KEY", "another")
    made(endpoint, api_key_env="OTHER_KEY").embed_documents(["a"])
    assert endpoint.keys == ["Bearer another"]
    made(endpoint).embed_documents(["a"])  # a server on this machine needs none
    assert endpoint.keys[1:] == ["Bearer none"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (reply([1.0, 2.0]), "1 vectors for 2 texts"),
        (reply([1.0], [2.0], [3.0]), "3 vectors for 2 texts"),
        (reply([1.0, 2.0], [3.0]), "not a list of vectors of one length"),
        (reply([], []), "vectors of shape"),
        (reply([1.0, float("nan")], [1.0, 2.0]), "NaN or infinity"),
        (reply([1e300], [1.0]), "NaN or infinity"),
        (reply([10**400], [1.0]), "not a list of vectors"),
        (reply("abc", "def"), "not a list of vectors"),
        (send(200, {"object": "list"}), "not a list of vectors"),
        (send(200, ["not", "the", "protocol"]), "not a list of vectors"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_replies_without_valid_vectors(endpoint: Any, answer: Any, problem: str) -> None:
    endpoint.steps = [answer]
    with pytest.raises(ServiceError, match=f"tiny answered .*{problem}"):
        made(endpoint).embed_documents(["a", "b"])


def test_numbers_dimensions_and_paths_of_another_protocol(endpoint: Any) -> None:
    page = send(200, b"<h1>hello</h1>", {"Content-Type": "text/html"})
    endpoint.steps = [page, reply([1.0, 2.0]), reply([1.0]), *endpoint.steps]
    with pytest.raises(ServiceError, match=r"JSONDecodeError.*\n.*check base_url"):
        made(endpoint).embed_queries(["a"])
    with pytest.raises(ServiceError, match=r"vectors of \[1, 2\] dimensions"):
        made(endpoint, batch_size=1).embed_documents(["a", "b"])
    with pytest.raises(ServiceError, match=r"no such path.*\n.*check model and base_url"):
        made(endpoint, base_url=endpoint.url + "/more").embed_documents(["a"])


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "localhost:9"])
def test_a_server_that_cannot_be_reached(endpoint: Any, url: str) -> None:
    with pytest.raises(ServiceError, match=r"APIConnectionError.*\n.*check base_url, and that the server runs"):
        made(endpoint, base_url=url, retries=0).embed_documents(["a"])


def test_the_address_comes_from_config_then_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:word@host:1234/v1/?token=word")
    assert OpenAiEmbedder("m").fingerprint() == "m@http://host:1234/v1"
    assert OpenAiEmbedder("m", base_url="http://here/v1").address == "http://here/v1"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert OpenAiEmbedder("m").address == "https://api.openai.com/v1"


def test_tokens_that_share_a_character_and_an_unknown_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    with pytest.raises(ConfigError, match="tiktoken has no tokenizer of 'nomic'"):
        OpenAiEmbedder("nomic").token_offsets("a")
    ranks = {bytes([number]): number for number in range(256)} | {b"da": 256}
    encoding = tiktoken.Encoding("x", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda name: encoding)
    assert OpenAiEmbedder("shared").token_offsets("aé") == [(0, 1), (1, 2), (1, 2)]
    assert OpenAiEmbedder("shared").token_offsets("") == []


def test_without_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingExtraError, match="'tiktoken'"):
        OpenAiEmbedder("never-seen").token_offsets("a")
