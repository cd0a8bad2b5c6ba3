"""What of documents and questions enters the digests of a golden set."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, replace

from rag.core.types import Anchor, Document, Example


def document_fields(document: Document) -> tuple[object, ...]:
    """The fields of a document that enter the digest of a corpus."""
    fields = (document.doc_id, document.text, dict(document.metadata))
    if not (document.blocks or document.redactions):
        return fields  # so that corpora from before these fields keep their digests
    return (*fields, [asdict(block) for block in document.blocks], [asdict(each) for each in document.redactions])


def question_fields(example: Example) -> dict[str, object]:
    """The fields of a question that enter its digests."""
    fields = {**asdict(example), "judged": sorted(each if isinstance(each, str) else str(each) for each in example.judged)}
    del fields["searches"]  # Where gold comes from changes no score.
    asked_query(fields["query"])
    if not example.unanswerable:
        del fields["unanswerable"]  # so that sets from before these fields keep their digests
    if not example.expects:
        del fields["expects"]
    elif not example.expects.table:
        fields["expects"] = {name: value for name, value in asdict(example.expects).items() if name != "table"}
    for name in ("route", "input"):
        if not fields[name]:
            del fields[name]
    return fields


def asked_query(query: dict[str, object]) -> dict[str, object]:
    """The fields of a query that a golden set has: what a conversation found is a result of a pipeline."""
    del query["earlier"]
    return query


def asked_fields(example: Example) -> dict[str, object]:
    """The fields of a question with quotes as they are asked: two trials with equal fields asked the same."""
    groups = (
        replace(group, alternatives=tuple(place.asked if isinstance(place, Anchor) else place for place in group.alternatives))
        for group in example.evidence
    )
    return question_fields(replace(example, evidence=tuple(groups)))


def digest(values: Iterable[object]) -> str:
    """SHA-256 over values as JSON, in their order."""
    total = hashlib.sha256()
    for value in values:
        total.update(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n")
    return total.hexdigest()
