"""The search for one question, step by step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rag.core.looks import Look
from rag.core.rankings import Rankings
from rag.core.records import Sought
from rag.pipeline.search.retrieval_memory import Reuse, merged


@dataclass(frozen=True)
class Trace:
    """The search texts of one question, and its rankings after every step; `look` is None for one look at passages."""

    sought: Sought
    indexes: Mapping[str, Rankings]
    fused: Rankings
    reranked: Rankings
    selected: Rankings
    look: Look | None = None


def traced(
    sought: Sought, row: int, searched: Mapping[str, Rankings], fused: Rankings, reranked: Rankings, selected: Rankings
) -> Trace:
    """The trace of the question in one row of the rankings of many."""
    indexes = {name: rankings.only(row) for name, rankings in searched.items()}
    first = fused.only(row)
    second = first if reranked is fused else reranked.only(row)
    return Trace(sought, indexes, first, second, second if selected is reranked else selected.only(row))


def with_reuse(sought: Sought, reuse: Reuse, fresh: Trace | None, k: int) -> Trace:
    """The trace of a question with what is used again; `fresh` is None if all of it is."""
    if fresh is None:
        return Trace(sought, {}, reuse.ranking, reuse.ranking, reuse.ranking, Look(steps=(reuse.step,)))
    look = fresh.look or Look()
    if look.result:  # Records answered it.
        return fresh
    selected, steps = merged(fresh.selected, reuse.ranking, k), (*look.steps, reuse.step)
    return replace(fresh, selected=selected, look=replace(look, steps=steps))
