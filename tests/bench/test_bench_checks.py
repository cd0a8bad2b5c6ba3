"""Findings of the check of numbers: reference answers against their own gold, slightly changed, and against other gold."""

import re

import pytest
from bench.measuring import Report, golden_of

from rag.components.checks.numbers import NumbersCheck
from rag.core.types import Chunk, Document, Example, Reply, Request, Span

pytestmark = pytest.mark.bench

AROUND = 400
"""Characters that are read on either side of the gold."""


def contexts(example: Example, documents: dict[str, Document]) -> tuple[Chunk, ...]:
    found = []
    for gold in (group.alternatives[0] for group in example.evidence):
        text = documents[gold.doc_id if isinstance(gold, Span) else gold].text
        start, end = (max(gold.start - AROUND, 0), gold.end + AROUND) if isinstance(gold, Span) else (0, len(text))
        found.append(Chunk(Span("d", start, min(end, len(text))), text[start:end]))
    return tuple(found)


def test_numbers_that_were_not_read_are_found() -> None:
    golden = golden_of()
    documents = {document.doc_id: document for document in golden.documents}
    asked = [one for one in golden.examples if one.evidence and one.answers and re.search(r"\d", one.answers[0])]
    requests = [Request(example.query, contexts(example, documents), ()) for example in asked]
    right = [example.answers[0] for example in asked]
    changed = [re.sub(r"\d+", lambda found: str(int(found[0]) + 3), text, count=1) for text in right]
    elsewhere = [
        Request(one.query, other.contexts, ()) for one, other in zip(requests, requests[17:] + requests[:17], strict=True)
    ]
    report = Report(f"Reference answers with numbers ({len(asked)})", ("against", "share that is flagged"))
    shares = {}
    cases = (("their own gold", requests, right), ("it, changed by 3", requests, changed), ("other gold", elsewhere, right))
    for name, given, texts in cases:
        found = NumbersCheck().inspect(given, [Reply(text) for text in texts])
        shares[name] = sum(map(bool, found)) / len(found)
        report.row(name, shares[name])
    report.note("Flagged answers against their own gold are sums or differences of its numbers.")
    report.show()
    assert shares["their own gold"] < 0.1
    assert min(shares["it, changed by 3"], shares["other gold"]) > 0.75
