"""Answers and passages as JSON values, in the form that the API promises."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rag.core.rankings import Rankings
from rag.core.records import Answer, Chunk, Document, Message, Ranking
from rag.core.text.citations import citations
from rag.pipeline.pipeline import Pipeline, Trace

Documents = Mapping[str, Document]
Places = Mapping[str, Mapping[int, tuple[int, float]]]
"""By step the rank, from 1, and the score of every position that it knew."""


def sought(trace: Trace) -> dict[str, Any]:
    """What was searched for."""
    return {"question": trace.sought.question, "texts": list(trace.sought.texts), "note": trace.sought.note}


def passage(number: int, chunk: Chunk, score: float, documents: Documents) -> dict[str, Any]:
    """A passage as it was read or found."""
    where = {"number": number, "chunk": chunk.chunk_id, "doc_id": chunk.span.doc_id, "start": chunk.span.start}
    said = {"end": chunk.span.end, "section": chunk.section, "text": chunk.text, "score": score}
    return where | said | {"metadata": dict(documents[chunk.span.doc_id].metadata)}


def contexts(ranking: Ranking, documents: Documents) -> list[dict[str, Any]]:
    """What was read, numbered from 1."""
    return [passage(number, hit.chunk, hit.score, documents) for number, hit in enumerate(ranking, 1)]


def passage_payloads(pipeline: Pipeline, trace: Trace, k: int, documents: Documents) -> list[dict[str, Any]]:
    """The passages of the first `k` hits of a search, each with its rank and score after every step that knew it."""
    known = places(trace)
    rows = enumerate(trace.selected.first(k).row(0), 1)
    shown = ((number, position, pipeline.corpus.chunk(position), score) for number, (position, score) in rows)
    return [passage(number, chunk, score, documents) | {"steps": steps(known, place)} for number, place, chunk, score in shown]


def places(trace: Trace) -> dict[str, dict[int, tuple[int, float]]]:
    """Ranks and scores by step, steps that changed nothing left out."""
    rankings: dict[str, Rankings] = dict(trace.indexes) | {"fused": trace.fused}
    if trace.reranked is not trace.fused:
        rankings["reranked"] = trace.reranked
    if trace.selected is not trace.reranked:
        rankings["selected"] = trace.selected
    return {name: ranking.placed(0) for name, ranking in rankings.items()}


def steps(known: Places, position: int) -> dict[str, Any]:
    """Where one passage stood after each step."""
    return {
        name: {"rank": ranks[position][0], "score": ranks[position][1]} for name, ranks in known.items() if position in ranks
    }


def cited(answer: Answer, documents: Documents) -> list[dict[str, Any]]:
    """What each marker of an answer stands for: the passage, and the words in it that its sentence rests on."""
    told = []
    for one in citations(answer.reply.text, answer.contexts):
        place = {"number": one.number, "start": one.start, "end": one.end, "doc_id": one.span.doc_id}
        words = documents[one.span.doc_id].text[one.quote.start : one.quote.end]
        said = {"span": {"start": one.quote.start, "end": one.quote.end}, "quote": words, "section": one.section}
        told.append(place | said | {"metadata": dict(documents[one.span.doc_id].metadata)})
    return told


def answered(answer: Answer, trace: Trace, documents: Documents) -> dict[str, Any]:
    """An answer with its sources and what it took; the cost, that of rewriting included, is None where it is not known."""
    cost = answer.reply.cost + trace.sought.cost
    return {
        "question": answer.query.text,
        "answer": answer.reply.text,
        "abstained": answer.abstained,
        "sought": sought(trace),
        "citations": cited(answer, documents),
        "contexts": contexts(answer.contexts, documents),
        "findings": [asdict(finding) for finding in answer.findings],
        "tokens": {"prompt": answer.reply.prompt_tokens, "completion": answer.reply.completion_tokens},
        "cost_usd": cost if math.isfinite(cost) else None,
    }


def messages(said: Iterable[Message]) -> list[dict[str, str]]:
    """The exact messages that a model was sent."""
    return [{"role": message.role, "content": message.content} for message in said]
