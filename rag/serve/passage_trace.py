"""What became of every passage that had a chance: read, or dropped, where and why."""

from collections.abc import Iterator, Sequence
from typing import Any

from rag.core.records import Answer, Finding
from rag.pipeline.pipeline import Pipeline, Trace
from rag.serve.payloads import Places, places, steps

CHANCE = 20
"""A passage among so many first ones of any step had a chance; all that is behind is of no interest to a reader."""


def fates(pipeline: Pipeline, trace: Trace, answer: Answer) -> list[dict[str, Any]]:
    """Passages in the order in which the last step that knew them left them, those that were read first."""
    known = places(trace)
    numbers = {hit.chunk.span.doc_id + f":{hit.chunk.span.start}": number for number, hit in enumerate(answer.contexts, 1)}
    told = [_told(pipeline, known, answer, numbers, position) for position in _looked_at(known, pipeline.k)]
    return sorted(told, key=lambda one: (one["number"] is None, one["number"] or 0))


def _looked_at(known: Places, k: int) -> list[int]:
    """Positions among the first of any step, the latest step first."""
    most = max(k, CHANCE)
    seen = (position for name in reversed(list(known)) for position, (rank, _) in known[name].items() if rank <= most)
    return list(dict.fromkeys(seen))


def _told(pipeline: Pipeline, known: Places, answer: Answer, numbers: dict[str, int], position: int) -> dict[str, Any]:
    chunk = pipeline.corpus.chunk(position)
    number = numbers.get(f"{chunk.span.doc_id}:{chunk.span.start}")
    where = {"chunk": chunk.chunk_id, "doc_id": chunk.span.doc_id, "start": chunk.span.start, "end": chunk.span.end}
    why = f"read as source {number}" if number else _why(pipeline, known, position, chunk.chunk_id, answer.findings)
    said = {"section": chunk.section, "text": chunk.text, "number": number, "kept": number is not None, "why": why}
    return where | said | {"steps": steps(known, position)}


def _why(pipeline: Pipeline, known: Places, position: int, chunk_id: str, findings: Sequence[Finding]) -> str:
    names = list(known)
    last = known[names[-1]]
    if position not in last:
        return _dropped(known, position, pipeline.rerank_depth)
    rank, k = last[position][0], pipeline.k
    if rank > k:
        return f"{_after(names[-1])} it is passage {rank}, and the first {k} are read"
    if quarantined := list(dict.fromkeys(_quarantined(findings, chunk_id))):
        return "quarantined by " + "; ".join(quarantined)
    return f"no room within {pipeline.reading.context_tokens} tokens" if pipeline.reading.context_tokens else "not shown"


def _quarantined(findings: Sequence[Finding], chunk_id: str) -> Iterator[str]:
    for finding in findings:
        if finding.action == "quarantine" and finding.passage == chunk_id:
            yield f"{finding.source}: {finding.what}"


def _dropped(known: Places, position: int, depth: int) -> str:
    """Which step let go of it."""
    names = list(known)
    latest = max(number for number, name in enumerate(names) if position in known[name])
    following = next(name for name in ("fused", "reranked", "selected") if name in names[latest + 1 :])
    rank = known[names[latest]][position][0]
    lost = {"fused": "fusion", "reranked": "the reranker", "selected": "the selector"}[following]
    return f"dropped by {lost}: {_after(names[latest])} it was passage {rank}"


def _after(step: str) -> str:
    return {"fused": "after fusion", "reranked": "after reranking", "selected": "after selection"}.get(step, f"in {step}")
