"""What of documents and questions enters the digests of a golden set."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

from rag.core.types import Anchor, Document, Example, Query


def document_fields(document: Document) -> tuple[object, ...]:
    """The fields of a document that enter the digest of a corpus."""
    fields = (document.doc_id, document.text, dict(document.metadata))
    if not (document.blocks or document.redactions):
        return fields  # so that corpora from before these fields keep their digests
    return (*fields, document.blocks, document.redactions)


def question_fields(example: Example) -> dict[str, object]:
    """The fields of a question that enter its digests."""
    judged = sorted(each if isinstance(each, str) else str(each) for each in example.judged)
    fields = {**_shallow(example), "query": query_fields(example.query), "judged": judged}
    for name in ("searches", "by_rules"):
        del fields[name]  # Where a question and its gold come from changes no score.
    if not example.unanswerable:
        del fields["unanswerable"]  # so that sets from before these fields keep their digests
    if not example.expects:
        del fields["expects"]
    elif not example.expects.table:
        fields["expects"] = {name: value for name, value in _shallow(example.expects).items() if name != "table"}
    for name in ("route", "input"):
        if not fields[name]:
            del fields[name]
    return fields


def query_fields(query: Query) -> dict[str, object]:
    """The fields of a query that a golden set has: what a conversation found is a result of a pipeline."""
    history = [{"role": turn.role, "text": turn.text} for turn in query.history]
    return {name: value for name, value in _shallow(query).items() if name != "earlier"} | {"history": history}


def asked_fields(example: Example) -> dict[str, object]:
    """The fields of a question with quotes as they are asked: two trials with equal fields asked the same."""
    groups = (
        replace(group, alternatives=tuple(place.asked if isinstance(place, Anchor) else place for place in group.alternatives))
        for group in example.evidence
    )
    judged = frozenset(place.asked if isinstance(place, Anchor) else place for place in example.judged)
    return question_fields(replace(example, evidence=tuple(groups), judged=judged))


def digest(values: Iterable[object]) -> str:
    """SHA-256 over values as JSON, in their order; a dataclass is the object of its fields."""
    total = hashlib.sha256()
    for value in values:
        total.update(json.dumps(value, sort_keys=True, separators=(",", ":"), default=_shallow).encode("ascii") + b"\n")
    return total.hexdigest()


def _shallow(value: Any) -> dict[str, object]:
    """The fields of a dataclass. `asdict` would copy what they hold, which takes most of the time of a digest."""
    return {field.name: getattr(value, field.name) for field in fields_of(value)}
