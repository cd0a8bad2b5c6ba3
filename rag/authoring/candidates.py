"""Proposed golden questions, and their lines in the native format with the provenance of each."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.core.types import Document, Span, Turn
from rag.documents.anchors.rendered import occurrences

Row = dict[str, Any]
"""A golden question as in a line of questions.jsonl."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that a rule, a model or a file of another tool proposes.

    `evidence` are groups of spans of the documents' texts, all of them needed; the spans of a group are alternatives. `expects`
    is the value as in the native format. `near` are the passages that an unanswerable question comes close to. `method` is how
    it was made, for example `rule:definition`, and `author` the model or the file that it comes from.
    """

    text: str
    kind: str
    method: str
    author: str = ""
    evidence: tuple[tuple[Span, ...], ...] = ()
    answers: tuple[str, ...] = ()
    expects: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Turn, ...] = ()
    near: tuple[Span, ...] = ()
    unanswerable: bool = False
    cluster: str = ""

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents of its evidence, or those that it comes close to, each once."""
        spans = [span for group in self.evidence for span in group] or self.near
        return tuple(dict.fromkeys(span.doc_id for span in spans))

    @property
    def conversation(self) -> str:
        """The earlier turns and the question as one text."""
        return " ".join([*(turn.text for turn in self.history), self.text])


def row_of(candidate: Candidate, query_id: str, documents: Mapping[str, Document], at: str) -> Row:
    """The line of a candidate in the native format; `at` is the day of its making in ISO 8601."""
    row: Row = {"id": query_id, "text": candidate.text, "kind": candidate.kind, "cluster": candidate.cluster or query_id}
    row["history"] = [turn.said for turn in candidate.history]
    row |= {"answers": list(candidate.answers)} | ({"expects": dict(candidate.expects)} if candidate.expects else {})
    row |= {"unanswerable": True} if candidate.unanswerable and candidate.answers else {}
    row["evidence"] = [{"any": [place_row(documents[span.doc_id], span) for span in group]} for group in candidate.evidence]
    row["provenance"] = {
        "method": candidate.method,
        "author": candidate.author,
        "at": at,
        "documents": digests(candidate.documents, documents),
    }
    return row


def place_row(document: Document, span: Span) -> Row:
    """A span as an alternative of the native format: document and quote, with offsets where the quote occurs repeatedly."""
    quote = document.text[span.start : span.end]
    several = len(occurrences(document.text, quote, 2)) > 1
    return {"doc": span.doc_id, "quote": quote} | ({"start": span.start, "end": span.end} if several else {})


def touches(first: Span, second: Span) -> bool:
    """True if two spans share characters."""
    return first.doc_id == second.doc_id and first.start < second.end and second.start < first.end


def digests(names: Sequence[str], documents: Mapping[str, Document]) -> dict[str, str]:
    """The first 16 hexadecimal digits of the SHA-256 of each document's text: a changed document shows by it."""
    return {name: hashlib.sha256(documents[name].text.encode("utf-8")).hexdigest()[:16] for name in names}
