"""Replies of models, kept by request: what was paid for once is not asked for again, and can be replayed without the model."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from rag.config.identity import digest
from rag.core.assessments import Spent
from rag.core.errors import ConfigError, ReplayError, UserError
from rag.core.records import Reply, Request
from rag.core.roles import BoundedCost, Embedder, Generator, PartialBatches, StoredReplies, fingerprint
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_vectors import StoredEmbedder, item_id
from rag.execution.store.serialisation import meta_of, reply_of
from rag.execution.store.store import Entry, Store

REPLIES = 16
"""Requests that are under way between two looks at the store."""

CHARACTERS = 4
"""Characters that a token is taken for where nobody counts."""

SAMPLE = 32
"""Stored replies that are looked at for the length of the next ones."""


def _space(generator: Any) -> str:
    return f"replies/{digest(fingerprint(generator))}"


def typical(store: Store, generator: Any) -> int | None:
    """Tokens of a stored reply of a model, the mean of some; None before there is one."""
    found = (store.read_meta(key) for key in store.keys(_space(generator))[:SAMPLE])
    counts = [meta["completion_tokens"] for meta in found if meta and meta["completion_tokens"]]
    return round(sum(counts) / len(counts)) if counts else None


class StoredGenerator:
    """A costly generator whose replies are kept by request: what was paid for once is not asked for again.

    A request is known by what is sent, where the generator says so (`sent`), so that records outlive changes of code; else by
    `identity` and its messages. `ledger` holds what may be spent, and whether anything may be asked at all.
    """

    costly: ClassVar[bool] = True

    def __init__(self, generator: Generator, store: Store, identity: str, ledger: Ledger | None = None) -> None:
        self.generator, self.store = generator, store
        self.ledger = ledger or Ledger(store, Terms())
        self._sent: Callable[[Request], Mapping[str, Any]] | None
        self._sent = generator.sent if isinstance(generator, StoredReplies) else None
        self.space = _space(generator) if self._sent else f"replies/{identity}"

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """As the generator does, but each distinct request once; a killed run keeps what was answered.

        ReplayError where only stored replies may be used and one is missing, BudgetError where the next request does not fit.
        """
        keys = [self._key(request) for request in requests]
        known = {key: reply_of(entry.meta) for key in dict.fromkeys(keys) if (entry := self.store.read(key))}
        first = {key: number for number, key in reversed(list(enumerate(keys))) if key not in known}
        missing = sorted(first.values())
        self._check(requests, missing)
        while missing:
            expected = [self._expected(requests[number]) for number in missing[:REPLIES]]
            with self.ledger.entered(expected) as (count, settle):
                numbers, missing = missing[:count], missing[count:]
                replies = self._asked([requests[number] for number in numbers])
                told = [(number, reply) for number, reply in zip(numbers, replies, strict=True) if isinstance(reply, Reply)]
                settle(sum((_took(requests[number], reply) for number, reply in told), Spent()))
            for number, reply in told:
                known[keys[number]] = reply
                self.store.write(keys[number], Entry(meta=meta_of(reply)))
            if errors := [reply for reply in replies if not isinstance(reply, Reply)]:
                raise errors[0]
        return [known[key] for key in keys]

    def stream(self, request: Request) -> Iterator[str]:
        """The reply, which a person waits for, straight from the generator; the stored one where only those may be used."""
        if self.ledger.terms.replay == "only":
            return iter([reply.text for reply in self.generate([request])])
        return self.generator.stream(request)

    def _key(self, request: Request) -> str:
        again = (str(request.sample),) if request.sample else ()
        said = (json.dumps(self._sent(request), sort_keys=True),) if self._sent else tuple(_said(request))
        return f"{self.space}/{item_id(*said, *again).hex()}"

    def _check(self, requests: Sequence[Request], missing: Sequence[int]) -> None:
        if not missing or self.ledger.terms.replay != "only":
            return
        query = requests[missing[0]].query
        what = (
            f"allows stored replies alone, and of {len(requests)} requests to {fingerprint(self) or 'the model'} "
            f"{len(missing)} have none; the first: {query.query_id} {query.text[:80]!r}"
        )
        raise ReplayError("replay", what, "set replay=use to ask the model, or store=<the store that holds its replies>")

    def _expected(self, request: Request) -> Spent:
        expected = self.generator.expected if isinstance(self.generator, BoundedCost) else None
        return Spent(*expected(request)) if expected else Spent(sum(len(text) for text in _said(request)) // CHARACTERS)

    def _asked(self, requests: Sequence[Request]) -> Sequence[Reply | UserError]:
        generator = self.generator
        replies: Sequence[Reply | UserError]
        replies = generator.attempts(requests) if isinstance(generator, PartialBatches) else generator.generate(requests)
        if len(replies) != len(requests):
            found = f"gave {len(replies)} replies to {len(requests)} requests"
            raise ConfigError("generator", found, "return one reply per request, in order")
        return replies


def stored(store: Store, ledger: Ledger, component: Any, identity: str) -> Any:
    """A component as another one is given it: an embedder keeps its vectors, a costly generator its replies."""
    if isinstance(component, Embedder):
        return StoredEmbedder(component, store, identity)
    if isinstance(component, Generator) and getattr(component, "costly", False):
        return StoredGenerator(component, store, identity, ledger)
    return component


def _said(request: Request) -> Iterator[str]:
    for message in request.messages:
        yield from (message.role, message.content)


def _took(request: Request, reply: Reply) -> Spent:
    """What a reply took; where the server does not count tokens, one for every CHARACTERS characters."""
    counted = reply.prompt_tokens + reply.completion_tokens
    if reply.failure and not counted:
        return Spent()  # Nobody bills what was refused.
    return Spent(counted or (sum(map(len, _said(request))) + len(reply.text)) // CHARACTERS, reply.cost)
