"""A pipeline for interactive use: few retries, and slow rewriters run before the search."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any

from rag.core.roles import Rewriter
from rag.core.types import Query, Sought
from rag.pipeline.pipeline import Pipeline

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
