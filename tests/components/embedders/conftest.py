"""A tiny model folder, an endpoint that speaks the embeddings protocol, and a small distilled model."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.scripted_server import Exchange, Script, error, send, serving
from support.tiny_model import write_tiny

from rag.components.embedders import static


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer and 16 dimensions with mean pooling, saved the way the library saves models."""
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny")


ALL_BUT_SHORT = r"(?!(\[PAD\]|\[UNK\]|days|leave|(##)?[a-z]{1,2})$).*"
"""Leaves out all word pieces but some hundred."""


@pytest.fixture(scope="session")
def small_static_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with a real distillation of some hundred word pieces, which takes two seconds instead of thirty."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "NEVER_TEXT", re.compile(ALL_BUT_SHORT))
        static.StaticEmbedder(cache=str(cache)).embed_documents(["days"])
    return cache


@pytest.fixture
def small_distillation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distillations of a test take a second."""
    monkeypatch.setattr(static, "NEVER_TEXT", re.compile(r"(?!(\[PAD\]|\[UNK\]|days|[a-z])$).*"))


def vectors(exchange: Exchange) -> None:
    """The reply to `POST /v1/embeddings`, last text first."""
    if exchange.path != "/v1/embeddings":
        return error(404, "no such path")(exchange)
    size = exchange.asked.get("dimensions", 8)
    data = [{"index": number, "embedding": vector_of(text, size)} for number, text in enumerate(exchange.asked["input"])]
    send(200, {"object": "list", "data": data[::-1], "model": exchange.asked["model"]})(exchange)


def vector_of(text: str, dimensions: int) -> list[float]:
    seed = list(hashlib.sha256(text.encode()).digest())
    return np.random.default_rng(seed).normal(size=dimensions).tolist()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """A server on this machine and a key for it in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-word")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serving(vectors) as server:
        yield server
