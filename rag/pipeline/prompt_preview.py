"""A question → its exact messages, their tokens, and the passages that were found and left out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from rag.core.numbers import finite
from rag.core.roles import CostEstimate
from rag.core.text.tokens import count
from rag.core.types import Message, Query, Turn
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.prompt.context_packing import Passage, passages
from rag.pipeline.prompt.edited_prompt import changed
from rag.pipeline.prompt.prompt_assembly import Prepared


def after(query: Query, turns: Sequence[str]) -> Query:
    """A question after earlier turns, alternately of the person and the model, the person first."""
    return replace(query, history=tuple(Turn("assistant" if number % 2 else "user", text) for number, text in enumerate(turns)))


def prompted(pipeline: Pipeline, query: Query, trace: Trace | None = None, edited: Sequence[Message] = ()) -> dict[str, Any]:
    """The messages with their tokens, the passages in them, and those that were found and left out, each with the reason.

    There are no messages where a screen keeps the model from being asked. Tokens are those of `rag.core.text.tokens`.
    `most_usd` is the price with the longest reply, None if unknown. `edited` messages replace those of the prompt.
    """
    trace = trace or pipeline.trace(query)
    prepared, generator = changed(pipeline.prepare(query, trace), edited, pipeline.off), pipeline.generator
    sent = prepared.request.messages if prepared.request else ()
    messages = [{**asdict(message), "tokens": count(message.content)} for message in sent]
    preview: dict[str, Any] = {"question": query.text, "searched": list(trace.sought.texts), "messages": messages}
    preview["tokens"] = total = sum(message["tokens"] for message in messages)
    preview["most_usd"] = finite(generator.spending(1, total)[1]) if isinstance(generator, CostEstimate) and messages else 0.0
    preview["context_tokens"] = pipeline.reading.context_tokens
    found = passages(trace.selected.first(pipeline.k), 0, pipeline.corpus)
    preview |= {"contexts": list(_contexts(pipeline, prepared, found)), "left_out": list(_left_out(pipeline, prepared, found))}
    return preview | {"findings": [asdict(finding) for finding in prepared.screened.findings]}


def _contexts(pipeline: Pipeline, prepared: Prepared, found: Sequence[Passage]) -> Iterator[dict[str, Any]]:
    """The passages as they are shown; `of` are the tokens of one before it was cut."""
    whole = {position: passage for passage in found for position in passage.positions}
    for number, ((position, _), chunk) in enumerate(zip(prepared.read, prepared.chunks, strict=True), 1):
        passage = {"number": number, "rank": whole[position].rank, "chunk": chunk.chunk_id, "section": chunk.section}
        yield passage | {"tokens": count(chunk.text), "of": count(whole[position].chunk(pipeline.corpus).text)}


def _left_out(pipeline: Pipeline, prepared: Prepared, found: Sequence[Passage]) -> Iterator[dict[str, Any]]:
    """The passages of the first k hits of which nothing is shown, in their order."""
    without_room = {position for position, _ in prepared.left_out}
    quarantined: dict[str, list[str]] = {}
    for finding in prepared.screened.findings:
        if finding.action == "quarantine":
            quarantined.setdefault(finding.passage, []).append(f"{finding.source}: {finding.what}")
    for one in found:
        chunk = one.chunk(pipeline.corpus)
        if chunk.chunk_id in quarantined or min(one.positions) in without_room:
            why = (
                "quarantined by " + "; ".join(dict.fromkeys(quarantined[chunk.chunk_id]))
                if chunk.chunk_id in quarantined
                else "no room"
            )
            passage = {"rank": one.rank, "chunk": chunk.chunk_id, "section": chunk.section, "tokens": count(chunk.text)}
            yield passage | {"why": why}
