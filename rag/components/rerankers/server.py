"""Scores of a reranker behind HTTP: Hugging Face's text-embeddings-inference (TEI), vLLM, Jina, Cohere.

https://huggingface.github.io/text-embeddings-inference (`/rerank`, `/info`), https://api.jina.ai/redoc,
https://docs.cohere.com/reference/rerank, https://docs.vllm.ai/en/stable/serving/openai_compatible_server.html.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from rag.core.checks import check_choice, check_number, check_whole
from rag.core.errors import ConfigError, ServiceError
from rag.core.models.pinned import readable
from rag.core.models.server_keys import check_address, key_for

if TYPE_CHECKING:
    from openai import OpenAI

FORMS: Mapping[str, tuple[str, str]] = {"tei": ("texts", "score"), "jina": ("documents", "relevance_score")}
"""Form of the interface → the names of the passages in a request, and of the score in a result."""


@dataclass(frozen=True)
class ServerReranker:
    """The score that a server gives to question and passage; its model must score every passage on its own.

    `form` is `tei`, or `jina` for Jina, Cohere and vLLM; `base_url` is the address before `/rerank`. At most `batch_size`
    passages are sent at once, and `concurrency` requests. Lost connections, 408, 409, 429 and 5xx are tried again up to
    `retries` times, after the pause of Retry-After. A TEI server says what it serves: another model, or another `revision` if
    one is given, is an error. Elsewhere only `model` and address identify the model. `extra` are further fields of a request.
    The key is read from `api_key_env` when it is needed; this machine needs none. Costs are not counted.
    """

    model: str
    base_url: str
    form: str = "jina"
    revision: str | None = None
    api_key_env: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 32
    timeout: float = 60.0
    retries: int = 4
    concurrency: int = 4
    pairwise: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("batch_size", "timeout", "retries", "concurrency")

    def __post_init__(self) -> None:
        check_choice("reranker.form", self.form, FORMS)
        for name, lowest in (("batch_size", 1), ("retries", 0), ("concurrency", 1)):
            check_whole(f"reranker.runtime.{name}", getattr(self, name), lowest)
        check_number("reranker.runtime.timeout", self.timeout, 0.001)
        check_address("reranker.base_url", self.base_url)
        if taken := {"query", *FORMS[self.form], "model", "top_n"} & set(self.extra):
            raise ConfigError("reranker.extra", f"holds {', '.join(sorted(taken))}", "leave out what the request sets itself")

    def fingerprint(self) -> str:
        """`model@host:port`, with the revision if one is given."""
        return f"{self.model}@{urlsplit(self.base_url).netloc}{f'@{self.revision}' if self.revision else ''}"

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A score per pair; ServiceError if a request fails or a reply has not one finite number per passage."""
        if not any(passages):
            return [[] for _ in passages]
        size = self._batch_size
        starts = [(row, start) for row, texts in enumerate(passages) for start in range(0, len(texts), size)]
        found: list[list[float]] = [[] for _ in passages]
        with ThreadPoolExecutor(min(self.concurrency, len(starts))) as pool:
            batches = pool.map(lambda at: self._scores(queries[at[0]], passages[at[0]][at[1] : at[1] + size]), starts)
            for (row, _), values in zip(starts, batches, strict=True):
                found[row] += values
        return found

    @cached_property
    def _batch_size(self) -> int:
        """The passages of one request; a TEI server has a limit of its own. ServiceError if it serves another model."""
        if self.form != "tei":
            return self.batch_size
        info = reply if isinstance(reply := self._sent("/info"), dict) else {}
        for name, served in (("model", info.get("model_id")), ("revision", info.get("model_sha"))):
            if getattr(self, name) not in (None, served):
                what = f"serves {name} {served!r}, not {getattr(self, name)!r}"
                raise ServiceError(self.base_url, what, f"set reranker.{name}, or ask another server")
        limit = info.get("max_client_batch_size")
        return min(self.batch_size, limit) if isinstance(limit, int) and limit > 0 else self.batch_size

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        name, number = FORMS[self.form]
        sent = {"query": readable(query) or " ", name: [readable(text) or " " for text in texts], **self.extra}
        reply = self._sent("/rerank", sent | ({} if self.form == "tei" else {"model": self.model, "top_n": len(texts)}))
        try:
            rows = reply if self.form == "tei" else reply["results"]
            found = {row["index"]: float(row[number]) for row in rows}
            if len(rows) != len(texts) or set(found) != set(range(len(texts))) or not all(map(math.isfinite, found.values())):
                raise ValueError(f"not one finite score for each of {len(texts)} passages")
        except (KeyError, TypeError, ValueError) as error:
            what = f"{self.model} answered {str(reply)[:80]!r}: {error}"
            raise ServiceError(self.base_url, what, "check reranker.form, model and base_url") from error
        return [found[place] for place in range(len(texts))]

    def _sent(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON that the server answers, to a GET without a body."""
        from rag.core.models.endpoint import json_of

        limits = dict.fromkeys((413, 422), "lower reranker.runtime.batch_size, or choose smaller chunks")
        return json_of(self._client, self.base_url, path, body, limits)

    @cached_property
    def _client(self) -> "OpenAI":
        from rag.core.models.endpoint import connected

        return connected(self.base_url, key_for(self.base_url, self.api_key_env), self.timeout, self.retries)
