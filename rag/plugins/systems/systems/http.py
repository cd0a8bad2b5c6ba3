"""A system behind HTTP: one POST for each question, with a body and paths in its reply that the config names."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError, DataError, ServiceError
from rag.core.models.server_keys import check_address, key_for
from rag.core.systems import SystemReply
from rag.core.text.templates import fill
from rag.core.types import Query
from rag.plugins.systems.result_rows import reply_of

if TYPE_CHECKING:
    from openai import OpenAI

USUAL = {"question": "{question}"}
LOST = 3
"""Failures at the beginning, without a reply, after which the others are not asked."""


@dataclass(frozen=True)
class HttpSystem:
    """Sends `body` to `base_url` + `path`, with {question} filled in, and the turns before it in the place of "{history}".

    `passages_at` and `answer_at` are paths in the reply, such as `hits.hits`; `text_at` and `document_at` are paths in a
    passage. Empty paths: the usual names, as in files of results. `version` is part of the identity: raise it when the system
    changes. The key is that of `api_key_env`, sent as a bearer token. Lost connections, 408, 409, 429 and 5xx are tried again
    up to `retries` times. An error of one question is the failure of that question.
    """

    base_url: str
    path: str = ""
    body: Mapping[str, Any] | None = None
    passages_at: str = ""
    text_at: str = ""
    document_at: str = ""
    answer_at: str = ""
    version: str = ""
    api_key_env: str | None = None
    timeout: float = 60.0
    retries: int = 2
    concurrency: int = 2
    costly: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("timeout", "retries", "concurrency")

    def __post_init__(self) -> None:
        check_number("system.runtime.timeout", self.timeout, 0.001)
        check_whole("system.runtime.retries", self.retries, 0)
        check_whole("system.runtime.concurrency", self.concurrency, 1)
        check_address("system.base_url", self.base_url)
        if "{question}" not in json.dumps(dict(self.body or USUAL)):
            raise ConfigError("system.body", "has no {question}", 'for example {question: "{question}"}')

    def fingerprint(self) -> str:
        """`version@host:port`."""
        return f"{self.version}@{urlsplit(self.base_url).netloc}"

    def answer_of(self, query: Query) -> SystemReply:
        """The reply to one question; `failure` for a request that fails, and for a reply in another form."""
        began = time.perf_counter()
        try:
            reply = reply_of(self._row(self._sent(query)), f"question {query.query_id}")
        except (ServiceError, DataError) as error:
            return SystemReply(failure=str(error).splitlines()[0])
        return replace(reply, seconds=time.perf_counter() - began)

    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        """One per question; where the first LOST fail, ServiceError."""
        return list(self.attempts(queries))

    def attempts(self, queries: Sequence[Query]) -> Iterator[SystemReply]:
        """As `answer`, one by one as they come."""
        first = list[SystemReply]()
        for query in queries[:LOST]:
            first.append(self.answer_of(query))
            yield first[-1]
        if len(first) == LOST and all(each.failure for each in first):
            raise ServiceError(self.base_url, f"answers none of {LOST} questions: {first[0].failure}", "try one with curl")
        with ThreadPoolExecutor(self.concurrency) as pool:
            yield from pool.map(self.answer_of, queries[LOST:])

    def _row(self, given: Any) -> Mapping[str, Any]:
        """A reply with the usual names."""
        if not (self.passages_at or self.answer_at) and isinstance(given, Mapping):
            return given
        listed = _at(given, self.passages_at) if self.passages_at else []
        if not isinstance(listed, list):
            raise DataError(
                "its reply", f"has no list at {self.passages_at!r}", "set system.passages_at to the path of the passages"
            )
        paths = {name: path for name, path in (("text", self.text_at), ("document", self.document_at)) if path}
        shaped = [{name: _at(each, path) for name, path in paths.items()} if paths else each for each in listed]
        return {"passages": shaped} | ({"answer": _at(given, self.answer_at)} if self.answer_at else {})

    def _sent(self, query: Query) -> Any:
        from rag.core.models.endpoint import json_of

        return json_of(self._client, self.base_url, self.path or "/", _filled(self.body or USUAL, query), {})

    @cached_property
    def _client(self) -> "OpenAI":
        from rag.core.models.endpoint import connected

        return connected(self.base_url, key_for(self.base_url, self.api_key_env), self.timeout, self.retries)


def _filled(value: Any, query: Query) -> Any:
    if value == "{history}":
        return [{"role": turn.role, "content": turn.text} for turn in query.history]
    if isinstance(value, Mapping):
        return {key: _filled(part, query) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(part, query) for part in value]
    return fill(value, {"question": query.text}) if isinstance(value, str) else value


def _at(value: Any, path: str) -> Any:
    """The value at a path such as `hits.hits` or `choices.0.message`; None without one."""
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if name.isdigit() and int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value
