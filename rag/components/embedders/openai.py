"""Vectors from a server with OpenAI's embeddings protocol: OpenAI, vLLM, Ollama, text-embeddings-inference."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import numpy as np

from rag.core.checks import check_whole
from rag.core.errors import ConfigError, MissingExtraError, ServiceError
from rag.core.memo import once
from rag.core.models.pinned import readable
from rag.core.models.server_keys import OFFICIAL, key_for
from rag.core.types import Vectors

if TYPE_CHECKING:
    from openai import OpenAI

LONGEST_VECTOR = 2**20
"""Bytes of the longest vector as JSON."""


@dataclass(frozen=True)
class OpenAiEmbedder:
    """Sends `batch_size` texts at a time, in order; `dimensions` shortens the vectors, if the model can do that.

    `base_url` is taken from the variable OPENAI_BASE_URL if it is None. The key is taken from the variable that `api_key_env`
    names, and is never stored, shown or logged; a server on this machine needs none. A request waits `timeout` seconds and is
    tried again up to `retries` times after a lost connection, 408, 409, 429 and 5xx, after the pause of Retry-After. Texts are
    not cut here: OpenAI refuses a text that is too long; another server may cut it without notice. A reply may take ten times
    `timeout` and a megabyte per text.
    """

    runtime: ClassVar[tuple[str, ...]] = ("api_key_env", "batch_size", "timeout", "retries")
    model: str
    base_url: str | None = None
    dimensions: int | None = None
    api_key_env: str = "OPENAI_API_KEY"
    batch_size: int = 64
    timeout: float = 60.0
    retries: int = 4

    def __post_init__(self) -> None:
        if self.dimensions is not None:
            check_whole("embedder.dimensions", self.dimensions, 1)
        check_whole("embedder.runtime.batch_size", self.batch_size, 1, 2048)
        check_whole("embedder.runtime.retries", self.retries, 0)
        if not self.timeout > 0:
            raise ConfigError("embedder.runtime.timeout", f"is {self.timeout!r}", "a number of seconds above 0")

    @property
    def address(self) -> str:
        """The address of the server without password and query."""
        parts = urlsplit(self._url())
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")

    def _url(self) -> str:
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL

    def fingerprint(self) -> str:
        """`model@address`: a server does not tell more about its model."""
        return f"{self.model}@{self.address}"

    def check(self) -> None:
        """Raise ServiceError if the key is missing; nothing is sent."""
        self._key()

    def _key(self) -> str:
        return key_for(self.address, self.api_key_env)

    def window(self) -> None:
        """None: OpenAI refuses a text that is too long, and the protocol does not tell if another server cuts it."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every token of tiktoken; a character that tokens share belongs to each of them."""
        encoding = _encoding(self.model)
        text = readable(text)
        # For each byte of the text the number of its character: bytes 10xxxxxx continue a character.
        characters = np.cumsum((np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80) - 1
        ends = np.cumsum([len(piece) for piece in encoding.decode_tokens_bytes(encoding.encode_ordinary(text))], dtype=int)
        starts = np.concatenate([[0], ends[:-1]]).astype(int)[: len(ends)]
        return list(zip(characters[starts].tolist(), (characters[ends - 1] + 1).tolist(), strict=True))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions of the model); ServiceError if the request fails.

        The protocol refuses empty texts, so a space is sent for them.
        """
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        parts = [self._request([readable(text) or " " for text in batch]) for batch in batches]
        widths = {vectors.shape[1] for vectors in parts}
        if len(widths) > 1:
            raise self._invalid(f"vectors of {sorted(widths)} dimensions")
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions or 0), np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed_documents`."""
        return self.embed_documents(texts)

    @cached_property
    def _client(self) -> "OpenAI":
        from rag.core.models.endpoint import connected

        return connected(self._url(), self._key(), self.timeout, self.retries, self.batch_size * LONGEST_VECTOR)

    def _request(self, texts: list[str]) -> Vectors:
        from rag.core.models.endpoint import json_of

        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        shorter = {"dimensions": self.dimensions} if self.dimensions else {}
        keys = dict.fromkeys((401, 403), f"check the key in {self.api_key_env}")
        return self._checked(json_of(self._client, self.address, "/embeddings", body | shorter, keys), len(texts))

    def _checked(self, reply: Any, expected: int) -> Vectors:
        try:
            rows = sorted(reply["data"], key=lambda row: row["index"])
            numbers = [row["index"] for row in rows]
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise self._invalid("something that is not a list of vectors of one length") from error
        if numbers != list(range(expected)):
            raise self._invalid(f"{len(numbers)} vectors for {expected} texts, or with other numbers")
        if vectors.ndim != 2 or vectors.shape[1] != (self.dimensions or vectors.shape[1]) or not vectors.size:
            raise self._invalid(f"vectors of shape {vectors.shape[1:]}, not ({self.dimensions or 'any'},)")
        if not np.isfinite(vectors).all():
            raise self._invalid("NaN or infinity in a vector")
        return vectors

    def _invalid(self, what: str) -> ServiceError:
        return ServiceError(self.address, f"{self.model} answered {what}", "check model, dimensions and base_url")


@once(kept=4)
def _encoding(model: str) -> Any:
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtraError("embedder", "tiktoken", "openai") from error
    try:
        return tiktoken.encoding_for_model(model)
    except KeyError as error:
        raise ConfigError("embedder.model", f"tiktoken has no tokenizer of {model!r}", "cut by words or characters") from error
    except OSError as error:
        raise ServiceError("tiktoken", f"the tokenizer of {model!r} cannot be fetched", "set TIKTOKEN_CACHE_DIR") from error
