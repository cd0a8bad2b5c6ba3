"""The figures of a report: as in the terminal, and with units."""

import math

from rag.pipeline.search.unread_text import COLUMNS, percent
from rag.reporting.html.view_model import Mean, TrialRow
from rag.reporting.terminal.output import amount, brackets, number

__all__ = ["amount", "costs", "difference", "interval", "mean", "measured", "money", "number", "seconds", "signed", "size"]

LATENCY, BYTES, COST, JUDGING = "latency_p95_ms", "index_bytes", "cost_usd", "judge_cost_usd"
MEASURED = {
    LATENCY: "p95 ms",
    BYTES: "index",
    COST: "per 1,000",
    "tokens": "tokens per question",
    JUDGING: "judging per 1,000",
    "judge_tokens": "judge tokens per question",
    "judge_failures": "not judged",
    "passage_failures": "passages without a reply",
    "enrich_failures": "fields that could not be filled",
    "unread": "not read by the embedder",
    "reranker_unread": "not read by the reranker",
}
"""Values that are measured by trial and not by question, with their headings in a leaderboard."""


def mean(found: Mean | None, digits: int = 3, uneven: bool = False) -> str:
    """`.712`, or a dash; `.712 (n=30)` where numbers of questions differ."""
    return number(None if found is None else found.mean, digits) + (f" (n={found.n})" if found and uneven else "")


def interval(found: Mean | None, digits: int = 3) -> str:
    """`.712 [.680, .744]`; without brackets if the interval is unknown."""
    return f"{mean(found, digits)} {brackets(found.low, found.high, digits) if found else ''}".rstrip()


def signed(value: float, digits: int = 3) -> str:
    """A difference: `+.041`, `−.030`."""
    if math.isnan(value):
        return "–"
    text = number(abs(value), digits)
    return text if value == 0 else f"{'+' if value > 0 else '−'}{text}"


def difference(found: Mean) -> str:
    """`+.041 [+.028, +.055]`."""
    if math.isnan(found.low) or math.isnan(found.high):
        return signed(found.mean)
    return f"{signed(found.mean)} [{signed(found.low)}, {signed(found.high)}]"


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
        return "–"
    if name == BYTES:
        return size(value)
    if name in COLUMNS.values():
        return percent(value)
    each = value / max(questions, 1)
    if name in (COST, JUDGING):
        return money(1000 * each)
    return f"{each:,.0f}" if name.endswith("tokens") else f"{value:,.0f}" if name.endswith("failures") else number(value, 1)


def costs(row: TrialRow, questions: int) -> list[str]:
    """Latency, index size and money per thousand questions of a trial, as phrases; those that were not measured are missing."""
    phrases = []
    if LATENCY in row.measured:
        phrases.append(f"{number(row.measured[LATENCY], 1)} ms per question (95 % are faster)")
    if row.measured.get(BYTES):
        phrases.append(f"an index of {size(row.measured[BYTES])}")
    if row.measured.get(COST) and questions:
        phrases.append(f"{money(1000 * row.measured[COST] / questions)} per 1,000 questions")
    return phrases
