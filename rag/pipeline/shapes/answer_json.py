"""Answers and passages as JSON values, in the shapes of `rag.pipeline.shapes.json_shapes`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from rag.core import pages
from rag.core.assessments import OVERALL, PASSES
from rag.core.corpus import Corpus
from rag.core.looks import KINDS, Look, LookStep
from rag.core.numbers import finite, jsonable
from rag.core.rankings import Rankings
from rag.core.records.queries import described
from rag.core.text.citations import citations
from rag.core.types import Answer, Block, Chunk, Document, Sought
from rag.pipeline.pipeline import Trace
from rag.pipeline.prompt.context_packing import Passage as Joined
from rag.pipeline.prompt.context_packing import passages
from rag.pipeline.shapes.json_shapes import (
    AnswerLook,
    ChunkText,
    Citation,
    Finish,
    FoundPassage,
    Input,
    Notice,
    PageBox,
    Pages,
    Passage,
    PipelineAnswer,
    Place,
    RecordPlace,
    Step,
)

Places = Mapping[str, Mapping[int, tuple[int, float]]]
"""By step: the rank, from 1, and the score of every position in its ranking."""


def answer_json(answer: Answer, sought: Sought, corpus: Corpus) -> PipelineAnswer:
    """An answer with its sources, tokens and cost; the cost includes that of rewriting the question and of looking for it."""
    reply, look = answer.reply, answer.look
    cost = reply.cost + sought.cost + (look.cost if look else 0.0)
    shown: PipelineAnswer = {
        "question": answer.query.text,
        "answer": reply.text,
        "abstained": answer.abstained,
        "input": cast(Input, answer.input),
        "finish": cast(Finish, reply.finish or "stop"),
        "sought": {"question": sought.question, "texts": list(sought.texts), "note": sought.note},
        "citations": _citations(answer, corpus),
        "contexts": [_passage(number, hit.chunk, hit.score, corpus) for number, hit in enumerate(answer.contexts, 1)],
        "findings": [cast(Notice, asdict(finding)) for finding in answer.findings],
        "tokens": {"prompt": reply.prompt_tokens, "completion": reply.completion_tokens},
        "cost_usd": finite(cost),
    }
    if look:
        shown["look"] = look_json(look)
    if judged := next((finding.what for finding in answer.findings if finding.source == OVERALL), ""):
        shown["overall_pass"] = judged.startswith(PASSES)
    return shown


def look_json(look: Look) -> AnswerLook:
    """The route of a question, the query of records with its result, all steps, the shape and the condensed context."""
    shown = {
        "route": look.routed.mechanism,
        "why": look.routed.why,
        "note": look.note,
        "query": look.routed.query and described(look.routed.query),
        "result": look.result and asdict(look.result) | {"sources": list(map(_place, look.result.sources))},
        "steps": [_step(step) for step in look.steps],
        "shape": look.shape and asdict(look.shape) | {"headers": dict(look.shape.headers)},
        "condensed": look.condensed and {kind: [asdict(item) for item in getattr(look.condensed, kind)] for kind in KINDS},
        "tokens": look.tokens,
        "cost_usd": look.cost,
    }
    return cast(AnswerLook, jsonable(shown))


def _step(step: LookStep) -> dict[str, Any]:
    return {"cost_usd" if name == "cost" else name: value for name, value in asdict(step).items()}


def _place(source: tuple[str, int, int]) -> RecordPlace:
    doc_id, start, end = source
    return RecordPlace(doc_id=doc_id, start=start, end=end)


def _indexed(corpus: Corpus, positions: Sequence[int]) -> str | None:
    """What the index read of these chunks; None if it read the quotes."""
    texts = [corpus.index_text(position) for position in sorted(positions)]
    return None if texts == [corpus.text(position) for position in sorted(positions)] else "\n".join(texts)


def found_passages(corpus: Corpus, trace: Trace, k: int) -> list[FoundPassage]:
    """The first `k` hits of a search with what selectors added, each with its rank and score after every step that ranked it.

    A neighbour that a selector added has the rank and score of its hit. A passage of several chunks has those of the best one.
    """
    places = places_by_step(trace)
    found = {str(one.positions): one for one in passages(trace.selected.first(k), 0, corpus)}

    def said(one: Joined) -> FoundPassage:
        return {**_passage(0, one.chunk(corpus), 0.0, corpus), "steps": {}, "indexed": _indexed(corpus, one.positions)}

    shown: list[FoundPassage] = corpus.shown(list(found), lambda new: [said(found[each]) for each in new])
    return [
        {**known, "number": number, "score": one.score, "steps": steps_of(places, *one.positions)}
        for number, (known, one) in enumerate(zip(shown, found.values(), strict=True), 1)
    ]


def holder(found: Sequence[ChunkText], shown: ChunkText) -> int | None:
    """The number, from 0, of the passage that `shown` is or is a part of; None if there is none."""
    whole = [
        (one["start"], -one["end"], number)
        for number, one in enumerate(found)
        if one["doc_id"] == shown["doc_id"] and one["start"] <= shown["start"] and shown["end"] <= one["end"]
    ]
    return max(whole)[2] if whole else None


def places_by_step(trace: Trace) -> Places:
    """Ranks and scores by step; steps that changed nothing are left out."""
    rankings: dict[str, Rankings] = dict(trace.indexes) | {"fused": trace.fused}
    if trace.reranked is not trace.fused:
        rankings["reranked"] = trace.reranked
    if trace.selected is not trace.reranked:
        rankings["selected"] = trace.selected
    return {name: ranking.placed(0) for name, ranking in rankings.items()}


def steps_of(places: Places, *positions: int) -> dict[str, Step]:
    """The best rank of some chunks, with its score, after each step that ranked one of them."""
    ranked = {name: [ranks[position] for position in positions if position in ranks] for name, ranks in places.items()}
    known = {name: min(each) for name, each in ranked.items() if each}
    return {name: {"rank": rank, "score": score} for name, (rank, score) in known.items()}


def chunk_text(chunk: Chunk) -> ChunkText:
    """A chunk with its place, section, pages and text."""
    name, start, end = chunk.span.doc_id, chunk.span.start, chunk.span.end
    said = {"section": chunk.section, "page": _pages(chunk.blocks, start, end), "text": chunk.text}
    return cast(ChunkText, {"doc_id": name, "start": start, "end": end, "chunk": chunk.chunk_id, **said})


def _pages(blocks: Sequence[Block], start: int, end: int) -> Pages | None:
    found = pages.pages_of(blocks, start, end)
    return Pages(first=found[0], last=found[1]) if found else None


def _passage(number: int, chunk: Chunk, score: float, corpus: Corpus) -> Passage:
    metadata = dict(_document(corpus, chunk.span.doc_id).metadata)
    return {**chunk_text(chunk), "number": number, "score": score, "metadata": metadata}


def _citations(answer: Answer, corpus: Corpus) -> list[Citation]:
    return [
        {
            "number": citation.number,
            "start": citation.start,
            "end": citation.end,
            "doc_id": citation.span.doc_id,
            "span": Place(start=citation.quote.start, end=citation.quote.end),
            "quote": document.text[citation.quote.start : citation.quote.end],
            "section": citation.section,
            "page": _pages(blocks, citation.quote.start, citation.quote.end),
            "boxes": [
                PageBox(page=block.page, kind=block.kind, box=box)
                for block, box in pages.boxes_of(blocks, citation.quote.start, citation.quote.end)
            ],
            "metadata": dict(document.metadata),
        }
        for citation in citations(answer.reply.text, answer.contexts)
        for document, blocks in [(_document(corpus, citation.span.doc_id), answer.contexts[citation.number - 1].chunk.blocks)]
    ]


def _document(corpus: Corpus, doc_id: str) -> Document:
    row = corpus.place(doc_id)
    if row is None:
        raise KeyError(doc_id)
    return corpus.documents[row]
