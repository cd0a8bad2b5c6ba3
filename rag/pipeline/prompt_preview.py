"""A question → its exact messages, their tokens, and the passages that were found and left out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rag.core.numbers import finite
from rag.core.roles import CostEstimate, Generator
from rag.core.text.tokens import count
from rag.core.types import Message, Query
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.prompt.context_packing import Passage, passages
from rag.pipeline.prompt.edited_prompt import exchanged
from rag.pipeline.prompt.prompt_assembly import Prepared


def prompted(pipeline: Pipeline, query: Query, trace: Trace | None = None, edited: Sequence[Message] = ()) -> dict[str, Any]:
    """The messages with their tokens, the passages in them, and those that were found and left out, each with the reason.

    There are no messages where a screen keeps the model from being asked. Tokens are those of `rag.core.text.tokens`.
    `most_usd` is as in `size`, None if unknown. `edited` messages replace those of the prompt.
    """
    trace = trace or pipeline.trace(query)
    prepared = exchanged(pipeline.prepare(query, trace), edited)
    sent = prepared.request.messages if prepared.request else ()
    messages = [{**asdict(message), "tokens": count(message.content)} for message in sent]
    preview: dict[str, Any] = {"question": query.text, "searched": list(trace.sought.texts), "messages": messages}
    tokens, usd = size(pipeline.generator, sent)
    preview |= {"tokens": tokens, "most_usd": finite(usd), "context_tokens": pipeline.reading.context_tokens}
    found = passages(trace.selected.first(pipeline.k), 0, pipeline.corpus)
    preview |= {"contexts": list(_contexts(pipeline, prepared, found)), "left_out": list(_left_out(pipeline, prepared, found))}
    return preview | {"findings": [asdict(finding) for finding in prepared.screened.findings]}


def size(generator: Generator, messages: Sequence[Message]) -> tuple[int, float]:
    """The tokens of messages, and the price in US dollars with the longest reply: NaN if unknown, 0 where no model is asked."""
    tokens = sum(count(message.content) for message in messages)
    return tokens, generator.spending(1, tokens)[1] if isinstance(generator, CostEstimate) and messages else 0.0


def _contexts(pipeline: Pipeline, prepared: Prepared, found: Sequence[Passage]) -> Iterator[dict[str, Any]]:
    """The passages as they are shown; `of` are the tokens of one before it was cut."""
    whole = {position: passage for passage in found for position in passage.positions}
    for number, ((position, _), chunk) in enumerate(zip(prepared.read, prepared.chunks, strict=True), 1):
        passage = {"number": number, "rank": whole[position].rank, "chunk": chunk.chunk_id, "section": chunk.section}
        yield passage | {"tokens": count(chunk.text), "of": count(whole[position].chunk(pipeline.corpus).text)}


def _left_out(pipeline: Pipeline, prepared: Prepared, found: Sequence[Passage]) -> Iterator[dict[str, Any]]:
    """The passages of the first k hits of which nothing is shown, in their order."""
    taken = {one.passage: f"{one.source}: {one.what}" for one in prepared.screened.findings if one.action == "quarantine"}
    without_room = {position for position, _ in prepared.left_out}
    for one in found:
        chunk = one.chunk(pipeline.corpus)
        if chunk.chunk_id in taken or min(one.positions) in without_room:
            why = f"quarantined by {taken[chunk.chunk_id]}" if chunk.chunk_id in taken else "no room"
            passage = {"rank": one.rank, "chunk": chunk.chunk_id, "section": chunk.section, "tokens": count(chunk.text)}
            yield passage | {"why": why}
