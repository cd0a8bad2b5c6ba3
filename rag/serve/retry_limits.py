"""What a sweep may wait for and a person may not: endpoints that are asked again and again, models in everybody's way."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any

from rag.core.records import Query, Sought
from rag.core.roles import Rewriter
from rag.pipeline.pipeline import Pipeline

RETRIES = 1
"""How often a model's endpoint is asked again at most: a person waits, and may ask again too."""


class KnownQueries:
    """Says what a model said is searched for before a question came here.

    Questions are searched for one batch at a time, and a model that is slow to rewrite one would keep the others waiting.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        self._known: dict[str, Sought] = {}

    @contextmanager
    def expecting(self, query: Query, sought: Sought) -> Iterator[None]:
        """A question is searched for inside; it is known by its id."""
        self._known[query.query_id] = sought
        try:
            yield
        finally:
            del self._known[query.query_id]

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """What is known; a question that nobody announced is searched for as it was typed."""
        return [self._known.get(query.query_id) or Sought(query.text, (query.text,)) for query in queries]


def prompt(pipeline: Pipeline) -> Pipeline:
    """A pipeline that keeps nobody waiting for long; what it answers is the same."""
    queries = impatient(pipeline.queries)
    return replace(
        pipeline,
        queries=KnownQueries(queries) if getattr(queries, "costly", False) else queries,
        embedder=impatient(pipeline.embedder),
        reranker=impatient(pipeline.reranker),
        generator=impatient(pipeline.generator),
        reading=replace(pipeline.reading, memory=impatient(pipeline.reading.memory)),
        inspections={name: impatient(one) for name, one in pipeline.inspections.items()},
    )


def impatient(component: Any) -> Any:
    """A component that asks an endpoint again RETRIES times at most, wherever in it that is done."""
    if not is_dataclass(component) or isinstance(component, type):
        return component
    changes = dict(_changes(component))
    return replace(component, **changes) if changes else component


def _changes(component: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(component):
        value = getattr(component, field.name)
        if field.name == "retries" and isinstance(value, int) and value > RETRIES:
            yield field.name, RETRIES
        elif field.init and (other := impatient(value)) is not value:
            yield field.name, other
