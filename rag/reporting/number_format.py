"""Measured figures with their units."""

import math

from rag.core.figures import DASH, figure
from rag.execution.sweep.leaderboard import Row
from rag.pipeline.search.unread_text import COLUMNS, percent

LATENCY, BYTES, COST, JUDGING = "latency_p95_ms", "index_bytes", "cost_usd", "judge_cost_usd"
MEASURED = {
    LATENCY: "p95 ms",
    BYTES: "index",
    COST: "per 1,000",
    "tokens": "tokens per question",
    JUDGING: "judging per 1,000",
    "judge_tokens": "judge tokens per question",
    "judge_failures": "not judged",
    "failed_questions": "questions without an answer",
    "cut_replies": "replies that are not complete",
    "passage_failures": "passages without a reply",
    "enrich_tokens": "tokens for records",
    "enrich_failures": "fields that could not be filled",
    "unusable": "unusable replies of helpers",
    "unjudged": "not judged by the gold",
    "chars_read": "characters read per question",
    "unread": "not read by the embedder",
    "reranker_unread": "not read by the reranker",
}
"""Values that are measured by trial and not by question, with their headings in a leaderboard."""


def size(count: float) -> str:
    """Bytes as `18.4 MB`."""
    for name, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {name}"
    return f"{count:.0f} bytes"


def seconds(value: float) -> str:
    """A duration as `41 s`, `12 min` or `3.4 h`."""
    if value < 120:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def money(dollars: float) -> str:
    """US dollars: cents from one dollar on, two significant digits below."""
    return f"${dollars:,.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.2g}"


def measured(name: str, value: float | None, questions: int) -> str:
    """One measurement of a trial, with its unit."""
    if value is None or math.isnan(value):
        return DASH
    if name == BYTES:
        return size(value)
    if name in (*COLUMNS.values(), "unjudged"):
        return percent(value)
    each = value / max(questions, 1)
    if name in (COST, JUDGING):
        return money(1000 * each)
    if name.endswith(("failures", "questions", "replies", "unusable", "enrich_tokens")):
        return f"{value:,.0f}"
    return f"{each:,.0f}" if name.endswith("tokens") else figure(value, 1)


def costs(row: Row, questions: int) -> list[str]:
    """Latency, index size and money per thousand questions of a trial, as phrases; those that were not measured are missing."""
    phrases = []
    if LATENCY in row.measured:
        phrases.append(f"{figure(row.measured[LATENCY], 1)} ms per question (95 % are faster)")
    if row.measured.get(BYTES):
        phrases.append(f"an index of {size(row.measured[BYTES])}")
    if row.measured.get(COST) and questions:
        phrases.append(f"{money(1000 * row.measured[COST] / questions)} per 1,000 questions")
    return phrases
