"""What all generators with a model server share: the key, retries, parallel requests, streams, costs, errors."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from rag.components.generators.prices import LONGEST_REPLY, cost_of, is_price, price_of
from rag.components.generators.received import LONGEST_TEXT, Received
from rag.components.generators.service import OPTIONAL, explain, refused_field
from rag.core.errors import ConfigError, RefusalError, ServiceError
from rag.core.look_checks import one_line
from rag.core.models.chat import CHARACTERS
from rag.core.models.server_keys import asked_wait, key_for
from rag.core.text.citations import cited
from rag.core.types import Reply, Request

if TYPE_CHECKING:
    from openai import OpenAI

MALFORMED = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What a reply of an unexpected form raises."""


@dataclass(frozen=True)
class ModelServer(ABC):
    """Asks `model` for one reply per request, `concurrency` at once; a subclass knows the interface of the server.

    The client tries again up to `retries` times after a time-out, a broken connection, 408, 409, 429 or 5xx, but not after a
    spent quota. It waits as `Retry-After` says (up to 24 s for each try), else 0.5 s doubling to 8 s, with jitter. No answer,
    and a request refused for good because it is too long or filtered, are a `failure`. Every other error is a ServiceError,
    also a redirect: requests go to this host alone. A field that the server refuses is left out. `price` is as `priced`, by
    default of conf/prices.yaml. The cost is NaN without a price, and 0 on this machine. The key is read from the environment
    when it is needed and shown nowhere. The server makes every reply fit `reply_schema`, a JSON schema; {} is any JSON object.
    """

    costly: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("timeout", "retries", "concurrency", "price")
    own_fields: ClassVar[frozenset[str]] = frozenset({"model", "messages", "stream"})
    path: ClassVar[str]
    streaming: ClassVar[Mapping[str, Any]] = {"stream": True}

    model: str
    base_url: str | None = None
    api_key_env: str | None = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    max_tokens: int | None = 512
    seed: int | None = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    reply_schema: Mapping[str, Any] | None = None
    timeout: float = 60.0
    retries: int = 5
    concurrency: int = 4
    price: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name, what, remedy in self._problems():
            raise ConfigError(f"generator.{name}", what, remedy)

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """Tokens and US dollars (NaN: no price) of requests of `prompt` tokens with replies of `reply` (None: the longest)."""
        longest = self.max_tokens or LONGEST_REPLY
        prompts, replies = requests * prompt, requests * min(longest if reply is None else reply, longest)
        return prompts + replies, cost_of(self.priced, prompts, replies)

    def expected(self, request: Request) -> tuple[int, float]:
        """The most tokens and US dollars that a request may need, by its bytes and the longest reply."""
        prompt = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages) // CHARACTERS
        return self.spending(1, prompt)

    def sent(self, request: Request) -> Mapping[str, Any]:
        """Everything that a reply depends on: the address and the body. The key is left out."""
        return {"url": self.url, **self._fitting(self._body(request))}

    @cached_property
    def refused(self) -> dict[str, str]:
        """The fields that the server refused so far → the field that is sent in place of each, empty for none."""
        return {}

    def _fitting(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {sent: value for name, value in body.items() if (sent := self.refused.get(name, name))}

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        address = urlsplit(self.url)
        if not self.model:
            yield "model", "is empty", "set generator.model=<name> or its variable, such as OPENAI_MODEL"
        if address.username or address.password:
            yield "base_url", "holds a user name or a password", "keep keys in the environment"
        if address.scheme not in ("http", "https") or not address.hostname:
            yield "base_url", f"is {self.base_url!r}, which is not a valid address", "write it like http://127.0.0.1:8081/v1"
        if self.api_key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            yield "api_key_env", "is not a valid variable name", "name an environment variable; never write the key itself"
        if taken := self.own_fields & set(self.extra):
            yield "extra", f"holds {', '.join(sorted(taken))}", "remove the fields that the request sets itself"
        if self.max_tokens is not None and self.max_tokens < 1:
            yield "max_tokens", f"is {self.max_tokens}", "allow 1 token or more, or null"
        if self.timeout <= 0 or self.retries < 0 or self.concurrency < 1:
            yield "runtime", "holds a number that is too small", "timeout > 0 s, retries >= 0, concurrency >= 1"
        if self.price is not None and not is_price(self.price):
            yield "runtime.price", f"is {dict(self.price)}", "write {prompt: 0.4, completion: 1.6} or null"

    @property
    def url(self) -> str:
        """The address of the server, without the path of the interface."""
        return self.base_url or ""

    @property
    def priced(self) -> Mapping[str, float]:
        """US dollars per million tokens of `prompt` and `completion`, and the tokens of the `window`; empty if not known."""
        return price_of(self.price, self.model, self.url)

    @property
    def varies(self) -> bool:
        """False with a temperature of 0 and a seed."""
        return self.temperature != 0 or self.seed is None

    def fingerprint(self) -> str:
        """`model@host:port`."""
        return f"{self.model}@{urlsplit(self.url).netloc}"

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request; the first ServiceError ends the batch."""
        replies = []
        for reply in self.attempts(requests):
            if not isinstance(reply, Reply):
                raise reply
            replies.append(reply)
        return replies

    def attempts(self, requests: Sequence[Request]) -> Iterator[Reply | ServiceError]:
        """As `generate`, one by one as they come; an error takes the place of a reply, so that earlier replies are kept."""
        ended: list[ServiceError] = []

        def attempt(request: Request) -> Reply | ServiceError:
            if ended:
                return ended[0]
            try:
                return self._reply(request)
            except ServiceError as error:
                ended.append(error)
                return error

        if min(self.concurrency, len(requests)) < 2:
            yield from map(attempt, requests)  # a thread could not be interrupted
            return
        with ThreadPoolExecutor(min(self.concurrency, len(requests))) as pool:
            yield from pool.map(attempt, requests)

    def stream(self, request: Request) -> Generator[str, None, Reply]:
        """The pieces of the reply as they arrive; ServiceError if it is empty or incomplete."""
        received = Received()
        yield from self._read(request, received, streamed=True)
        if received.last is None:
            raise self._failure("sent no stream", "check that this is a chat completions server, and that it streams")
        if not received.finish:
            raise self._failure("the stream ended before the reply did", "try again")
        if rest := received.end():
            yield rest
        reply = self._finished(request, received)
        if reply.failure:
            raise RefusalError.of(reply.failure)
        return reply

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """The body of a request."""

    @abstractmethod
    def _take(self, part: Any, received: Received, streamed: bool) -> Iterator[str]:
        """Yield the texts of a whole reply or of an event of a stream; an error of MALFORMED where it has another form."""

    def _headers(self) -> dict[str, Any]:
        return {}

    def _read(self, request: Request, received: Received, streamed: bool) -> Iterator[str]:
        """Yield the texts of a reply. A field that the server refuses is left out, of this request and of all later ones."""
        import httpx2
        import openai

        while True:
            body = self._fitting({**self._body(request), **(self.streaming if streamed else {})})
            try:
                with closing(self._parts(body, streamed)) as parts:
                    for part in parts:
                        received.last = part
                        yield from self._take(part, received, streamed)
                return
            except (openai.OpenAIError, httpx2.HTTPError, *MALFORMED) as error:
                name = refused_field(error, body)
                if received.last or not name or name in self.refused.values():
                    odd = received.last and isinstance(error, MALFORMED)
                    raise self._explained(ValueError(f"no reply in {str(received.last)[:200]!r}") if odd else error) from error
                self.refused[name] = OPTIONAL[name]

    def _parts(self, body: Mapping[str, Any], streamed: bool) -> Generator[Any, None, None]:
        """The whole reply to a body, or the events of its stream."""
        import httpx2
        import openai

        post: Callable[..., Any] = self._client.post
        form = {"stream": True, "stream_cls": openai.Stream[object]} if streamed else {}
        cast = object if streamed else httpx2.Response
        with closing(post(self.path, cast_to=cast, body=body, options={"headers": self._headers()}, **form)) as reply:
            yield from reply if streamed else [reply.json()]

    def _reply(self, request: Request) -> Reply:
        received = Received()
        try:
            list(self._read(request, received, streamed=False))
        except RefusalError as error:
            return Reply("", failure=str(error))
        received.end()
        return self._finished(request, received)

    def _finished(self, request: Request, received: Received) -> Reply:
        """The reply with its citations, tokens and cost; with a failure if the text is empty or too long."""
        text, counts, most = received.text, received.counts, max(LONGEST_TEXT, 8 * (self.max_tokens or 0))
        said = Reply(
            "", (), counts[0] or 0, counts[1] or 0, cost_of(self.priced, *counts), "", received.finish, received.thoughts[:most]
        )
        if fault := received.fault(most):
            return replace(said, failure=str(self._failure(*fault)))
        left_out = ", ".join(name for name in self.refused if name in self._body(request))
        notes = dict(received.notes(request, left_out, self.__dict__.setdefault("author", received.model)))
        return replace(said, text=text, citations=cited(text, len(request.contexts)), notes=notes)

    @cached_property
    def _client(self) -> "OpenAI":
        from rag.core.models.endpoint import connected

        return connected(self.url, key_for(self.url, self.api_key_env), self.timeout, self.retries)

    def _explained(self, error: Exception) -> ServiceError:
        """The error for a failed call, with its remedy."""
        what, remedy, alone = explain(error, self.timeout)
        failure = self._failure(what, remedy)
        failure.wait = asked_wait(error.response.headers) if hasattr(error, "response") else None
        return RefusalError(failure.where, failure.what, failure.remedy) if alone else failure

    def _failure(self, what: str, remedy: str) -> ServiceError:
        key = os.environ.get(self.api_key_env or "", "").strip()
        without_key = what.replace(key, "***") if key else what  # some servers repeat a wrong key in full
        return ServiceError(f"{self.url} ({self.model})", one_line(without_key, 500), remedy)
