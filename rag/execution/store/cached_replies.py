"""Replies of models, stored by request: a request is paid for once, and its reply can be replayed without the model."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, ClassVar

from rag.config.build import Components
from rag.config.catalog import plugins
from rag.config.identity import digest
from rag.core.assessments import Spent
from rag.core.errors import ConfigError, ReplayError, UserError
from rag.core.models.chat import CHARACTERS
from rag.core.progress import blocks
from rag.core.roles import (
    Batched,
    BoundedCost,
    Embedder,
    Generator,
    Parser,
    PartialBatches,
    Redactor,
    StoredReplies,
    fingerprint,
)
from rag.core.types import Reply, Request
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_vectors import StoredEmbedder, item_id
from rag.execution.store.store import Entry, Store
from rag.execution.store.stored_parses import StoredParser, StoredRedactor
from rag.execution.store.stored_system import AskedSystem, StoredSystem

REPLIES = 16
"""Requests whose expected spending is reserved at once."""

FEW = 4
"""Requests that are not worth the hours of a job; with the one before them, those of the smoke of a sweep."""

SAMPLE = 32
"""Stored replies whose lengths are averaged for the estimate of the next."""


def _space(generator: Any) -> str:
    return f"replies/{digest(fingerprint(generator))}"


def typical(store: Store, generator: Any) -> int | None:
    """The mean tokens of some stored replies of a model; None where there is none."""
    found = (store.read_meta(key) for key in store.keys(_space(generator))[:SAMPLE])
    counts = [meta["completion_tokens"] for meta in found if meta and meta["completion_tokens"]]
    return round(sum(counts) / len(counts)) if counts else None


class StoredGenerator:
    """A costly generator whose replies are stored by request: no request is paid for twice.

    The key of a reply is what the generator sends (`sent`), so that replies outlive changes of code, or else `identity` and the
    messages. `ledger` has the budget, and whether requests are allowed at all. Refused fields are stored, too.
    """

    costly: ClassVar[bool] = True

    def __init__(self, generator: Generator, store: Store, identity: str, ledger: Ledger | None = None) -> None:
        self.generator, self.store = generator, store
        self.ledger = ledger or Ledger(store, Terms())
        self._sent: Callable[[Request], Mapping[str, Any]] | None
        self._sent = generator.sent if isinstance(generator, StoredReplies) else None
        self.space = _space(generator) if self._sent else f"replies/{identity}"
        self._refused, self._jobs = (f"{kind}/{item_id(self.space).hex()}" for kind in ("refused", "jobs"))

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """The replies of the generator; each distinct request is sent once, and replies are stored as they come.

        ReplayError where only stored replies may be used and one is missing, BudgetError where the next request does not fit.
        """
        refused: dict[str, str] = getattr(self.generator, "refused", {})
        refused |= self.store.read_meta(self._refused) or {}
        before, keys = dict(refused), [self._key(request) for request in requests]
        known = {key: _reply(entry.meta) for key in dict.fromkeys(keys) if (entry := self.store.read(key))}
        first = {key: number for number, key in reversed(list(enumerate(keys))) if key not in known}
        missing = sorted(first.values())
        self._check(requests, missing)
        for wanted in blocks(missing, "replies", REPLIES):
            while wanted:
                with self.ledger.entered([self._expected(requests[number]) for number in wanted]) as (count, settle):
                    numbers, wanted = wanted[:count], wanted[count:]
                    spent, errors = Spent(), list[UserError]()
                    try:
                        for number, reply in zip(numbers, self._asked([requests[number] for number in numbers]), strict=True):
                            if not isinstance(reply, Reply):
                                errors.append(reply)
                                continue
                            spent += _took(requests[number], reply)
                            known[keys[number]] = reply
                            self._keep(self._key(requests[number]), reply)
                    finally:
                        settle(spent)
                        if refused != before:
                            self.store.write(self._refused, Entry(meta=refused))
                if errors:
                    raise errors[0]
        return [known[key] for key in keys]

    def at_once(self, requests: Sequence[Request]) -> list[Reply]:
        """As `generate`, for all requests of a stage: a Batched generator gets those that have no reply as jobs of its server.

        A job is stored while it runs, so that another run waits for the same one. The first request is sent alone: a wrong key
        and a refused field show at once. A few, and those without a reply at the end of their job, are sent alone too.
        """
        if isinstance(self.generator, Batched) and self.ledger.terms.replay != "only":
            self.generate(requests[:1])
            missing = {key.rpartition("/")[2]: request for request in requests if not self.store.has(key := self._key(request))}
            for job in self.store.keys(self._jobs):
                self._finish(self.generator, missing, job)
            while len(missing) > FEW:
                self._finish(self.generator, missing)
        return self.generate(requests)

    def _finish(self, generator: Batched, missing: dict[str, Request], job: str = "") -> None:
        """Store the replies of a job that was started, or of a new one, and take its requests out of what is missing."""
        names: Sequence[str] = (self.store.read_meta(job) or {"names": ()})["names"] if job else list(missing)
        asked = {name: missing[name] for name in names if name in missing}
        if not asked:
            return
        expected = [self._expected(request) for request in asked.values()]
        with self.ledger.entered([replace(each, cost=each.cost * generator.share) for each in expected]) as (count, settle):
            spent = Spent()
            try:
                if not job:
                    started, names = generator.start(dict(list(asked.items())[:count]))
                    job = f"{self._jobs}/{started}"
                    self.store.write(job, Entry(meta={"names": list(names)}))
                sent = {name: missing.pop(name) for name in names if name in missing}
                for name, reply in generator.replies(job.rpartition("/")[2], sent):
                    spent += _took(sent[name], reply)
                    self._keep(f"{self.space}/{name}", reply)
            finally:
                settle(spent)
        self.store.remove(job)

    def stream(self, request: Request) -> Iterator[str]:
        """The reply in pieces, straight from the generator; the stored reply where only stored ones are allowed."""
        if self.ledger.terms.replay == "only":
            return iter([reply.text for reply in self.generate([request])])
        return self.generator.stream(request)

    def _key(self, request: Request) -> str:
        again = (str(request.sample),) if request.sample else ()
        texts = (json.dumps(self._sent(request), sort_keys=True),) if self._sent else tuple(_texts(request))
        return f"{self.space}/{item_id(*texts, *again).hex()}"

    def _check(self, requests: Sequence[Request], missing: Sequence[int]) -> None:
        if not missing or self.ledger.terms.replay != "only":
            return
        query = requests[missing[0]].query
        what = (
            f"allows stored replies only, and of {len(requests)} requests to {fingerprint(self) or 'the model'} "
            f"{len(missing)} have none; the first: {query.query_id} {query.text[:80]!r}"
        )
        raise ReplayError("replay", what, "set replay=use to ask the model, or store=<the store that holds its replies>")

    def _expected(self, request: Request) -> Spent:
        expected = self.generator.expected if isinstance(self.generator, BoundedCost) else None
        return Spent(*expected(request)) if expected else Spent(sum(len(text) for text in _texts(request)) // CHARACTERS)

    def _keep(self, key: str, reply: Reply) -> None:
        self.store.write(key, Entry(meta={**asdict(reply), "cost": None if math.isnan(reply.cost) else reply.cost}))

    def _asked(self, requests: Sequence[Request]) -> Iterable[Reply | UserError]:
        if isinstance(self.generator, PartialBatches):
            return self.generator.attempts(requests)
        replies = self.generator.generate(requests)
        if len(replies) != len(requests):
            what = f"gave {len(replies)} replies to {len(requests)} requests"
            raise ConfigError("generator", what, "return one reply per request, in order")
        return replies


def components_for(store: Store, ledger: Ledger | None = None) -> Components:
    """A builder that trusts installed plugins.

    It stores the vectors of embedders inside other components, the contents of parsers, and all replies of costly generators,
    within the budget of `ledger`.
    """
    return Components(plugins(), partial(stored, store, ledger or Ledger(store, Terms())))


def stored(store: Store, ledger: Ledger, component: Any, identity: Callable[[], str]) -> Any:
    """The component in a wrapper that stores vectors of an embedder, contents of a parser, or replies of a costly generator.

    Parsers and redactors need their identity for the first file that they get: most folders have files of few formats. Text
    that needs no process is not stored, because reading and redacting it again is nearly as fast.
    """
    if isinstance(component, Embedder):
        return StoredEmbedder(component, store, identity())
    if isinstance(component, Parser) and not component.in_process:
        return StoredParser(component, store, identity)
    if isinstance(component, Redactor):
        return StoredRedactor(component, identity)
    if isinstance(component, AskedSystem):
        return StoredSystem(component, store, identity(), ledger.terms.replay)
    if isinstance(component, Generator) and getattr(component, "costly", False):
        return StoredGenerator(component, store, identity(), ledger)
    return component


def _reply(meta: Mapping[str, Any]) -> Reply:
    cost = math.nan if meta["cost"] is None else meta["cost"]
    return Reply(**{**meta, "citations": tuple(meta["citations"]), "cost": cost})


def _texts(request: Request) -> Iterator[str]:
    for message in request.messages:
        yield from (message.role, message.content)


def _took(request: Request, reply: Reply) -> Spent:
    """Tokens and cost of a reply; where the server does not count tokens, one for every CHARACTERS characters."""
    counted = reply.prompt_tokens + reply.completion_tokens
    if reply.failure and not counted:
        return Spent()  # Refused requests are not billed.
    return Spent(counted or (sum(map(len, _texts(request))) + len(reply.text)) // CHARACTERS, reply.cost)
