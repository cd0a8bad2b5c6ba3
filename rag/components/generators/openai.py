"""Answers by a chat model behind OpenAI's HTTP interface: OpenAI itself, vLLM, llama.cpp, Ollama, a gateway."""

import ipaddress
import math
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from rag.components.generators.prices import listed
from rag.components.generators.service import SoFar, completion, explained, nothing_said, one_line
from rag.core.errors import ConfigError, RefusalError, ServiceError
from rag.core.records import Reply, Request
from rag.core.text.citations import cited

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk

OFFICIAL = "https://api.openai.com/v1"
LONGEST_REPLY = 4096
"""Tokens of the longest reply of a server that is set no limit."""
BYTES = 4
"""Bytes that a token of a prompt is taken for before the server has counted: writings with long characters take more."""
OWN_FIELDS = frozenset({"model", "messages", "stream"})


@dataclass(frozen=True)
class OpenAiGenerator:
    """Asks `model` for one chat completion per request, `concurrency` at once.

    The client waits and tries again up to `retries` times after a time-out, a broken connection, 408, 409, 429 or 5xx: as long
    as `Retry-After` says (up to 2 minutes), else 0.5 s doubling to 8 s, with jitter. A request that is refused for good, for
    being too long or filtered, and an empty answer have a `failure`; anything else is a ServiceError, also a redirect: what is
    asked goes to this host alone. `price` maps `prompt` and `completion` to US dollars per million tokens; without it
    conf/prices.yaml is asked, the cost is NaN where that knows nothing, and 0 on this machine. The key is read from the
    environment when it is needed and shown nowhere.
    """

    costly: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("timeout", "retries", "concurrency", "price")

    model: str
    base_url: str | None = None
    api_key_env: str | None = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    max_tokens: int | None = 512
    seed: int | None = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 60.0
    retries: int = 5
    concurrency: int = 4
    price: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name, what, remedy in self._problems():
            raise ConfigError(f"generator.{name}", what, remedy)

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """Tokens and US dollars of requests with so many tokens in a prompt and a reply, the longest where it is None.

        NaN dollars without a price.
        """
        longest = self.max_tokens or LONGEST_REPLY
        prompts, replies = requests * prompt, requests * min(longest if reply is None else reply, longest)
        return prompts + replies, self._cost(prompts, replies)

    def expected(self, request: Request) -> tuple[int, float]:
        """Tokens and US dollars that a request may take: its bytes, and the longest reply."""
        prompt = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages) // BYTES
        return self.spending(1, prompt)

    def sent(self, request: Request) -> Mapping[str, Any]:
        """Everything that a reply depends on: the address and the body that goes there. A key is no part of it."""
        asked = self._asked(request)
        return {"url": self.url, "model": asked["model"], "messages": asked["messages"], **asked["extra_body"]}

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        address = urlsplit(self.url)
        if not self.model:
            yield "model", "names no model", "set generator.model=<name> or the environment variable OPENAI_MODEL"
        if address.username or address.password:
            yield "base_url", "holds a user name or a password", "keep keys in the environment"
        if address.scheme not in ("http", "https") or not address.hostname:
            yield "base_url", f"is {self.base_url!r}, which is no address", "write it like http://127.0.0.1:8081/v1"
        if self.api_key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            yield "api_key_env", "is no name of an environment variable", "name the variable; never write the key itself"
        if taken := OWN_FIELDS & set(self.extra):
            yield "extra", f"holds {', '.join(sorted(taken))}", "leave out what the request sets itself"
        if self.max_tokens is not None and self.max_tokens < 1:
            yield "max_tokens", f"is {self.max_tokens}", "allow 1 token or more, or null"
        if self.timeout <= 0 or self.retries < 0 or self.concurrency < 1:
            yield "runtime", "holds a number that is too small", "timeout > 0 s, retries >= 0, concurrency >= 1"
        if self.price is not None and (set(self.price) != {"prompt", "completion"} or min(self.price.values()) < 0):
            yield "runtime.price", f"is {dict(self.price)}", "write {prompt: 0.4, completion: 1.6} or null"

    @property
    def url(self) -> str:
        """The address that `/chat/completions` is added to."""
        return self.base_url or OFFICIAL

    def fingerprint(self) -> str:
        """`model@host:port`."""
        return f"{self.model}@{urlsplit(self.url).netloc}"

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request; the first ServiceError ends the batch."""
        told = self.attempts(requests)
        for reply in told:
            if not isinstance(reply, Reply):
                raise reply
        return [reply for reply in told if isinstance(reply, Reply)]

    def attempts(self, requests: Sequence[Request]) -> list[Reply | ServiceError]:
        """As `generate`, but what was answered before an error ended the batch is given too."""
        ended: list[ServiceError] = []

        def attempt(request: Request) -> Reply | ServiceError:
            if ended:
                return ended[0]
            try:
                return self._reply(request)
            except ServiceError as error:
                ended.append(error)
                return error

        if len(requests) < 2:
            return [attempt(request) for request in requests]  # a thread could not be interrupted
        with ThreadPoolExecutor(min(self.concurrency, len(requests))) as pool:
            return list(pool.map(attempt, requests))

    def stream(self, request: Request) -> Generator[str, None, Reply]:
        """The reply as the server sends it; ServiceError if it is empty, or breaks off, however much has come by then."""
        import httpx2
        import openai

        so_far = SoFar()
        try:
            with self._opened(request) as chunks:
                for chunk in chunks:
                    yield from filter(None, so_far.pieces(chunk))
        except (openai.OpenAIError, httpx2.HTTPError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise self._explained(error) from error
        if not so_far.begun:
            raise self._failure("sent no stream", "check that this is a chat completions server, and that it streams")
        if not so_far.finish:
            raise self._failure("the stream ended before the reply did", "try again")
        if not so_far.text.strip():
            raise RefusalError.of(str(self._failure(*nothing_said(so_far.finish))))
        prompt, completion = so_far.counts
        return Reply(
            so_far.text, cited(so_far.text, len(request.contexts)), prompt or 0, completion or 0, self._cost(*so_far.counts)
        )

    def _opened(self, request: Request) -> "Stream[ChatCompletionChunk]":
        """A stream that ends with counts of tokens, or without them where the server does not know such a thing."""
        import openai

        asked = {"stream": True} | self._asked(request)
        create: Callable[..., Stream[ChatCompletionChunk]] = self._client.chat.completions.create
        try:
            return create(stream_options={"include_usage": True}, **asked)
        except openai.APIStatusError as error:
            if error.status_code not in (400, 422) or "stream_options" not in f"{error.body} {error.message}":
                raise
            return create(**asked)

    def _reply(self, request: Request) -> Reply:
        import openai

        try:
            answer = self._client.chat.completions.with_raw_response.create(**self._asked(request))
            text, finish, *counts = completion(answer.http_response.json())
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            told = self._explained(error)
            if isinstance(told, RefusalError):
                return Reply("", failure=str(told))
            raise told from error
        prompt, replied = counts
        spent = (prompt or 0, replied or 0, self._cost(prompt, replied))
        if not text.strip():
            return Reply("", (), *spent, str(self._failure(*nothing_said(finish))))
        return Reply(text, cited(text, len(request.contexts)), *spent)

    def _asked(self, request: Request) -> dict[str, Any]:
        # OpenAI's newer models refuse `max_tokens`; many other servers know nothing else.
        limit = "max_completion_tokens" if (urlsplit(self.url).hostname or "").endswith("openai.com") else "max_tokens"
        # Another sample of the same seed would be the same reply.
        seed = None if self.seed is None else self.seed + request.sample
        settings = {"temperature": self.temperature, limit: self.max_tokens, "seed": seed}
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "extra_body": {name: value for name, value in settings.items() if value is not None} | dict(self.extra),
        }

    def _cost(self, prompt: int | None, completion: int | None) -> float:
        if self.price is None and self._is_local:
            return 0.0
        price = listed(self.model, urlsplit(self.url).hostname or "") if self.price is None else self.price
        if price is None or prompt is None or completion is None:
            return math.nan
        return (prompt * price["prompt"] + completion * price["completion"]) / 1e6

    @cached_property
    def _client(self) -> "OpenAI":
        from rag.core.models.endpoint import connected

        return connected(self.url, self._key, self.timeout, self.retries)

    @property
    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        if not key and self.api_key_env and not self._is_local:
            raise self._failure(f"needs a key, and {self.api_key_env} is not set", f"export {self.api_key_env}=<key>")
        if not (key.isascii() and key.isprintable()):
            raise self._failure(f"the key in {self.api_key_env} cannot be sent", "copy it again, without quotes or line breaks")
        return key or "none"

    @property
    def _is_local(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def _explained(self, error: Exception) -> ServiceError:
        """Say what a failed call means to the person who configured it."""
        what, remedy, alone = explained(error, self.timeout)
        told = self._failure(what, remedy)
        return RefusalError(told.where, told.what, told.remedy) if alone else told

    def _failure(self, what: str, remedy: str) -> ServiceError:
        key = os.environ.get(self.api_key_env or "", "").strip()
        shown = what.replace(key, "***") if key else what  # some servers repeat a wrong key in full
        return ServiceError(f"{self.url} ({self.model})", one_line(shown)[:500], remedy)
