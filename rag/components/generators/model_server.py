"""What all generators with a model server share: the key, retries, parallel requests, streams, costs, errors."""

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from rag.components.generators.prices import is_price, listed_price
from rag.components.generators.service import Completion, Counts, StreamState, empty_reply, explain, one_line
from rag.core.errors import ConfigError, RefusalError, ServiceError
from rag.core.models.server_keys import is_local, key_for
from rag.core.text.citations import cited
from rag.core.types import Reply, Request

if TYPE_CHECKING:
    from openai import OpenAI

LONGEST_REPLY = 4096
"""Tokens of the longest reply of a server without a limit."""
LONGEST_TEXT = 40_000
"""Characters of a reply that are read in any case, or 8 for each of `max_tokens`: checks take up to 2 s for so many."""
MALFORMED = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What a reply of an unexpected form raises."""
BYTES = 4
"""Bytes per token that are assumed for a prompt; scripts with multi-byte characters need more."""


@dataclass(frozen=True)
class ModelServer(ABC):
    """Asks `model` for one reply per request, `concurrency` at once; a subclass knows the interface of the server.

    The client tries again up to `retries` times after a time-out, a broken connection, 408, 409, 429 or 5xx. It waits as long
    as `Retry-After` says (up to 2 minutes), else 0.5 s doubling to 8 s, with jitter. An empty answer, and a request that is
    refused for good because it is too long or filtered, have a `failure`. Every other error is a ServiceError, also a redirect:
    requests go to this host alone. `price` maps `prompt` and `completion` to US dollars per million tokens; the default is the
    price in conf/prices.yaml. The cost is NaN without a price, and 0 on this machine. The key is read from the environment when
    it is needed and shown nowhere. The server makes every reply fit `reply_schema`, a JSON schema; {} is any JSON object.
    """

    costly: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("timeout", "retries", "concurrency", "price")
    own_fields: ClassVar[frozenset[str]] = frozenset({"model", "messages", "stream"})

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
        """Tokens and US dollars of `requests` requests of `prompt` tokens with replies of `reply` tokens (None: the longest).

        The dollars are NaN without a price.
        """
        longest = self.max_tokens or LONGEST_REPLY
        prompts, replies = requests * prompt, requests * min(longest if reply is None else reply, longest)
        return prompts + replies, self._cost(prompts, replies)

    def expected(self, request: Request) -> tuple[int, float]:
        """The most tokens and US dollars that a request may need, by its bytes and the longest reply."""
        prompt = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages) // BYTES
        return self.spending(1, prompt)

    def sent(self, request: Request) -> Mapping[str, Any]:
        """Everything that a reply depends on: the address and the body. The key is left out."""
        body = self._body(request)
        further = body.pop("extra_body", {})
        return {"url": self.url, **body, **further}

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
        import httpx2
        import openai

        so_far = StreamState()
        try:
            yield from filter(None, self._pieces(self._body(request), so_far))
        except (openai.OpenAIError, httpx2.HTTPError, *MALFORMED) as error:
            raise self._explained(error) from error
        if not so_far.begun:
            raise self._failure("sent no stream", "check that this is a chat completions server, and that it streams")
        if not so_far.finish:
            raise self._failure("the stream ended before the reply did", "try again")
        reply = self._finished(request, so_far.text, so_far.finish, so_far.counts)
        if reply.failure:
            raise RefusalError.of(reply.failure)
        return reply

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """The body of a request; `extra_body` in it holds further fields of the body."""

    @abstractmethod
    def _completion(self, body: Mapping[str, Any]) -> Completion:
        """A whole reply."""

    @abstractmethod
    def _pieces(self, body: Mapping[str, Any], so_far: StreamState) -> Iterator[str]:
        """Yield the texts of a streamed reply and update the state."""

    def _reply(self, request: Request) -> Reply:
        import openai

        try:
            text, finish, counts = self._completion(self._body(request))
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            explained = self._explained(error)
            if isinstance(explained, RefusalError):
                return Reply("", failure=str(explained))
            raise explained from error
        return self._finished(request, text, finish, counts)

    def _finished(self, request: Request, text: str, finish: str, counts: Counts) -> Reply:
        """The reply with its citations, tokens and cost; with a failure if the text is empty or too long."""
        spent = (counts[0] or 0, counts[1] or 0, self._cost(*counts))
        if not text.strip():
            return Reply("", (), *spent, str(self._failure(*empty_reply(finish))))
        if len(text) > (most := max(LONGEST_TEXT, 8 * (self.max_tokens or 0))):
            what, remedy = f"answered with {len(text):,} characters, more than {most:,}", "it may ignore generator.max_tokens"
            return Reply("", (), *spent, str(self._failure(what, remedy)))
        return Reply(text, cited(text, len(request.contexts)), *spent)

    def _cost(self, prompt: int | None, completion: int | None) -> float:
        if self.price is None and is_local(self.url):
            return 0.0
        price = listed_price(self.model, urlsplit(self.url).hostname or "") if self.price is None else self.price
        if price is None or prompt is None or completion is None:
            return math.nan
        return (prompt * price["prompt"] + completion * price["completion"]) / 1e6

    @cached_property
    def _client(self) -> "OpenAI":
        from rag.core.models.endpoint import connected

        return connected(self.url, self._key, self.timeout, self.retries)

    @property
    def _key(self) -> str:
        try:
            return key_for(self.url, self.api_key_env)
        except ServiceError as error:
            raise self._failure(error.what, error.remedy) from error

    def _explained(self, error: Exception) -> ServiceError:
        """The error for a failed call, with its remedy."""
        what, remedy, alone = explain(error, self.timeout)
        failure = self._failure(what, remedy)
        return RefusalError(failure.where, failure.what, failure.remedy) if alone else failure

    def _failure(self, what: str, remedy: str) -> ServiceError:
        key = os.environ.get(self.api_key_env or "", "").strip()
        without_key = what.replace(key, "***") if key else what  # some servers repeat a wrong key in full
        return ServiceError(f"{self.url} ({self.model})", one_line(without_key)[:500], remedy)
