"""The spans of a trace → one row: what was asked, the passages that the system read, its answer, and how it was rated."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.exchange.cells import parsed_cell
from rag.authoring.exchange.tables import Rows
from rag.core.errors import DataError
from rag.plugins.trace_exports.paths import HOLDS, SpanPaths

INNER = ("messages", "choices", "parts", "content", "text", "message", "kwargs", "args")
ASKED = ("question", "query", "user_input", "user_query", "input", "inputs", "prompt", *INNER)
SAID = ("answer", "response", "output", "outputs", "result", "completion", "generation", *INNER)
LISTED = ("documents", "retrieved_contexts", "contexts", "context", "docs", "passages", "sources", "results", "output")
TEXT = ("content", "page_content", "text")
PLACE = ("doc_id", "document_id", "doc_uri", "source", "file_name", "file_path", "filename", "id")
"""Keys of what was asked and said, and of lists of passages, their texts and their documents: the most specific first."""
CHUNK = re.compile(r".+:\d+-\d+", re.DOTALL)
READS = {"retriever", "reranker", "retrieval"}
WRITES = {"llm", "generation", "chat", "chat_model", "text_completion", "generate_content"}
"""Kinds of spans, in lower case, that find passages, and that ask a model."""
FAILED = {"2", "error", "status_code_error"}
OPINION = re.compile(r"(?i)thumb|feedback|rating|user|helpful|satisf")
"""Scores with such a name are opinions of users; others only where a person gave them."""
DOWN = {"no", "bad", "down", "negative", "incorrect", "thumbs_down", "thumbs-down", "thumbs down", "dislike", "false", "👎"}
DEPTH = 8
"""The most objects within one another in which a text is searched."""


@dataclass(slots=True)
class _Span:
    """What a trace needs of a span."""

    is_root: bool
    kind: str
    asked: str
    said: str
    passages: Sequence[Any] | None
    began: float
    ended: float
    failure: str
    counts: Mapping[str, float]


@dataclass(slots=True)
class _Trace:
    where: str
    question_id: str = ""
    ratings: list[bool] = field(default_factory=list)
    spans: list[_Span] = field(default_factory=list)


def by_trace(paths: SpanPaths, rows: Rows) -> Rows:
    """A row for each trace of an export; DataError where no row has the fields of its format.

    The passages are those of the span that ended last among those that find or rank some. A trace without such a span, and one
    whose first span failed, has an `error`. A trace in which nothing was asked is left out.
    """
    traces, where = dict[str, _Trace](), ""
    for where, fields in rows:
        if isinstance(fields, DataError):
            yield where, fields
            continue
        for name, record in _records(paths, fields):
            trace = traces.setdefault(name, _Trace(where))
            trace.question_id = trace.question_id or str(_first(record, paths.question_id) or "")
            trace.ratings += _ratings(_first(record, paths.rated))
            if span := _span(paths, record):
                trace.spans.append(span)
    made = [(trace.where, row) for name, trace in traces.items() if (row := _row(name, trace))]
    if not made:
        raise DataError(where, "has no span with a trace and a question", f"expected of such an export: {paths.expected()}")
    yield from made


def _records(paths: SpanPaths, fields: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects in a row that may be spans, each with its trace; those within a trace belong to it."""
    waiting: list[tuple[Any, str]] = [(fields, "")]
    while waiting:
        value, trace = waiting.pop()
        if isinstance(value, list):
            waiting += [(part, trace) for part in value]
        elif isinstance(value, dict):
            inner = [value[name] for name in HOLDS if isinstance(value.get(name), list | dict)]
            name = trace or str(_first(value, paths.trace) or value.get("id") or "")
            waiting += [(part, name) for part in inner]
            if name:
                attributes = value.get("attributes")
                yield name, value | {"attributes": _attributes(attributes)} if isinstance(attributes, list) else value


def _attributes(listed: Any, depth: int = DEPTH) -> dict[str, Any]:
    """Attributes of OTLP as an object."""
    pairs = (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else ()
    return {str(each.get("key")): _value(each.get("value"), depth) for each in pairs}


def _value(value: Any, depth: int) -> Any:
    kind, inner = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    if kind in ("arrayValue", "kvlistValue"):
        values = inner.get("values") if isinstance(inner, dict) and depth else None
        if kind == "kvlistValue":
            return _attributes(values, depth - 1)
        return [_value(each, depth - 1) for each in values] if isinstance(values, list) else []
    return inner


def _at(record: Any, path: str) -> Any:
    """The value at a path: of nested objects, of names with dots, and of lists whose places are in the names."""
    if not isinstance(record, Mapping):
        return None
    if path in record:
        return record[path]
    cuts = (cut for cut, letter in enumerate(path) if letter == "." and isinstance(record.get(path[:cut]), Mapping))
    if (
        found := next((each for cut in cuts if (each := _at(record[path[:cut]], path[cut + 1 :])) is not None), None)
    ) is not None:
        return found
    parts: dict[int, Any] = {}
    for name, value in record.items():
        number, _, rest = name.removeprefix(f"{path}.").partition(".") if name.startswith(f"{path}.") else ("", "", "")
        if number.isdecimal():
            parts.setdefault(int(number), {})[rest] = value
    return [parts[number] for number in sorted(parts)] or None


def _first(record: Any, paths: str) -> Any:
    """The value at the first path that has one."""
    return next((value for path in paths.split() if (value := _at(record, path)) not in (None, "", {})), None)


def _span(paths: SpanPaths, record: Mapping[str, Any]) -> _Span | None:
    """A span; None for an object in which nothing was asked and nothing found."""
    kind = str(_first(record, paths.kind) or "").strip('"').lower()
    asked, said = _first(record, paths.asked), parsed_cell(_first(record, paths.said))
    listed = parsed_cell(_first(record, paths.passages))
    if listed is None and isinstance(said, dict):
        listed = next((each for name in LISTED if isinstance(each := parsed_cell(said.get(name)), list)), None)
    listed = said if listed is None and kind in READS else listed
    if listed is None and kind in READS:
        listed = []
    if asked is None and listed is None:
        return None
    status, failure = str(_first(record, paths.status) or "").lower(), _first(record, paths.failure)
    failed = status in FAILED or (failure is not None and not status)
    began, ended = _time(_first(record, paths.began)), _time(_first(record, paths.ended))
    if math.isnan(ended - began):
        ended = began + _number(_first(record, paths.seconds))
    names = ("prompt_tokens", "completion_tokens", "cost") if kind in WRITES else ()
    counts = {name: number for name in names if (number := _number(_first(record, getattr(paths, name)))) >= 0}
    return _Span(
        is_root=not _first(record, paths.parent),
        kind=kind,
        asked=_text(asked, ASKED, ("user", "human")),
        said=_text(said, SAID, ("assistant", "ai")),
        passages=listed if isinstance(listed, list) else None,
        began=began,
        ended=ended,
        failure=str(failure or "its span has the status of an error") if failed else "",
        counts=counts,
    )


def _row(name: str, trace: _Trace) -> Row | None:
    """The row of a trace; None if nothing was asked."""
    spans = sorted(trace.spans, key=lambda span: (not span.is_root, span.began))
    first = next((span for span in spans if span.asked), None)
    if first is None:
        return None
    row: Row = {"id": name, "question": first.asked, "question_id": trace.question_id or None}
    found = [span for span in spans if span.passages is not None and span.kind in READS]
    found = found or [span for span in spans if span.passages is not None]
    if found:
        last = max(found, key=lambda span: (span.ended, span.kind == "reranker"))
        row["retrieved_contexts"] = [_passage(part) for part in last.passages or ()]
    written = [span.said for span in sorted(spans, key=lambda span: span.ended) if span.said and span.kind in WRITES]
    said = first.said if first.kind not in READS else ""
    row |= {"response": text} if (text := said or next(reversed(written), "")) else {}
    failure = first.failure or ("" if found else "its trace has no span that finds passages")
    row |= {"error": failure} if failure else {}
    row |= {"seconds": round(first.ended - first.began, 6)} if first.ended >= first.began else {}
    for count in {count for span in spans for count in span.counts}:
        row[count] = sum(span.counts.get(count, 0) for span in spans)
    return row | ({"rating": 1 if all(trace.ratings) else -1} if trace.ratings else {})


def _passage(part: Any) -> Row:
    """A passage with its text, its document and its score, as far as they are known."""
    if not isinstance(part, dict):
        return {"text": str(part)}
    own = {name.removeprefix("document."): value for name, value in part.items()}
    own |= own["document"] if isinstance(own.get("document"), dict) else {}
    meta = parsed_cell(own.get("metadata"))
    known = {**(meta if isinstance(meta, dict) else {}), **{name: value for name, value in own.items() if value is not None}}
    named = str(known.get("id") or "")
    document = named if CHUNK.fullmatch(named) else next((known[name] for name in PLACE if known.get(name)), None)
    text = next((known[name] for name in TEXT if isinstance(known.get(name), str)), None)
    row = {"text": text, "document": document if document is None else str(document), "score": known.get("score")}
    return {name: value for name, value in row.items() if value is not None}


def _text(value: Any, names: Sequence[str], roles: Sequence[str]) -> str:
    """The text in what was asked or said: of messages the last one of a role, of an object the first of its names."""
    for _ in range(DEPTH):
        value = parsed_cell(value)
        if isinstance(value, str):
            try:
                return str(json.loads(value) if value[:1] + value[-1:] == '""' else value).strip()
            except ValueError:
                return value.strip()
        if isinstance(value, list):
            plain = [{k.removeprefix("message."): v for k, v in each.items()} for each in value if isinstance(each, dict)]
            said = [each for each in plain if each.get("role", each.get("type")) in roles]
            value = (said or plain or value or [""])[-1]
        elif isinstance(value, dict):
            texts = [each for each in value.values() if isinstance(each, str)]
            value = next((value[name] for name in names if value.get(name)), texts[0] if len(texts) == 1 else "")
        else:
            break
    return ""


def _ratings(value: Any) -> Iterator[bool]:
    """True for each good opinion of a person on an answer, False for each bad one."""
    named = (
        [{"name": name, **each} for name, each in value.items() if isinstance(each, dict)] if isinstance(value, dict) else value
    )
    for each in (each for each in (named if isinstance(named, list) else ()) if isinstance(each, dict)):
        name = str(_first(each, "name assessment_name") or "")
        is_person = "HUMAN" in (_at(each, "source.source_type"), each.get("annotator_kind"))
        score = next((found for path in ("feedback.value", "value", "result.score", "result.label", "avg", "stringValue")
                      if (found := _at(each, path)) is not None), None)  # fmt: skip
        if (is_person or OPINION.search(name)) and isinstance(score, bool | int | float | str):
            yield score.strip().lower() not in DOWN if isinstance(score, str) else score > 0


def _time(value: Any) -> float:
    """A time in seconds: of ns since 1970, or ISO 8601; NaN for anything else."""
    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
        return int(value) / 1e9 if len(str(value)) < 25 else math.nan
    try:
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
