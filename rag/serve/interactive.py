"""A pipeline for interactive use: few retries, slow rewriters run before the search, and generation can be cancelled."""

import threading
from collections.abc import Generator as Pieces
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any

from rag.core.roles import Generator, Rewriter
from rag.core.types import Chunk, Message, Query, Reply, Request, Sought
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.prompt_preview import size

RETRIES = 1
"""Retries of a call to a model's endpoint: a person waits, and can ask again."""


class KnownQueries:
    """A rewriter that returns rewritten questions which are known before the search.

    Questions are searched for one batch at a time; a model that rewrites one slowly would delay the others.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        self._known: dict[str, Sought] = {}

    @contextmanager
    def expecting(self, query: Query, sought: Sought) -> Iterator[None]:
        """Know a question, by its id, inside the block."""
        self._known[query.query_id] = sought
        try:
            yield
        finally:
            del self._known[query.query_id]

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """The known rewritten questions; an unknown one is searched for as typed."""
        return [self._known.get(query.query_id) or Sought(query.text, (query.text,)) for query in queries]


def interactive(pipeline: Pipeline) -> Pipeline:
    """A pipeline with few retries and without slow rewriting in the search; its answers are the same."""
    queries = with_few_retries(pipeline.queries)
    return replace(
        pipeline,
        queries=KnownQueries(queries) if getattr(queries, "costly", False) else queries,
        embedder=with_few_retries(pipeline.embedder),
        reranker=with_few_retries(pipeline.reranker),
        generator=with_few_retries(pipeline.generator),
        reading=replace(pipeline.reading, memory=with_few_retries(pipeline.reading.memory)),
        inspections={name: with_few_retries(each) for name, each in pipeline.inspections.items()},
    )


def with_few_retries(component: Any) -> Any:
    """A component that retries at most RETRIES times, and so do all components in it."""
    if not is_dataclass(component) or isinstance(component, type):
        return component
    changes = dict(_changes(component))
    return replace(component, **changes) if changes else component


def _changes(component: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(component):
        value = getattr(component, field.name)
        if field.name == "retries" and isinstance(value, int) and value > RETRIES:
            yield field.name, RETRIES
        elif field.init and (changed := with_few_retries(value)) is not value:
            yield field.name, changed


class GoneError(Exception):
    """The client has disconnected."""


class Stoppable:
    """A generator that raises GoneError before it begins, or between two pieces, once `stop` was called.

    `sent` holds the messages of the first attempt (a second attempt adds the first reply), `read` the passages in them. With
    `unasked` replies are empty, with the tokens of the prompt and the price with the longest reply.
    """

    def __init__(self, generator: Generator, unasked: bool = False) -> None:
        self._generator, self._unasked = generator, unasked
        self._stopped = threading.Event()
        self.sent: tuple[Message, ...] = ()
        self.read: tuple[Chunk, ...] = ()

    def __getattr__(self, name: str) -> Any:
        # Optional attributes of a generator, such as `costly`, apply to this one too.
        return getattr(self._generator, name)

    def stop(self) -> None:
        """Cancel generation."""
        self._stopped.set()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Generate the replies to requests."""
        self._note(requests[-1])
        if self._unasked:
            sizes = (size(self._generator, request.messages) for request in requests)
            return [Reply("", prompt_tokens=tokens, cost=usd) for tokens, usd in sizes]
        return self._generator.generate(requests)

    def stream(self, request: Request) -> Pieces[str, None, Reply | None]:
        """Generate a reply in pieces, and return it at the end if the generator does."""
        self._note(request)
        if self._unasked:
            return self.generate([request])[0]
        pieces = self._generator.stream(request)
        try:
            while True:
                piece = next(pieces)
                self._note(request)
                yield piece
        except StopIteration as end:
            return end.value if isinstance(end.value, Reply) else None
        finally:
            if isinstance(pieces, Pieces):
                pieces.close()

    def _note(self, request: Request) -> None:
        """Remember the first request; GoneError after `stop`."""
        if not self.sent:
            self.read, self.sent = request.contexts, request.messages
        if self._stopped.is_set():
            raise GoneError
