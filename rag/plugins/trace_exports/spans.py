"""The spans of a trace → one row: what was asked, the passages that the system read, its answer, and how it was rated."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from math import inf, isfinite, nan
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.exchange.cells import parsed_cell
from rag.authoring.exchange.tables import Rows
from rag.core.errors import DataError
from rag.documents.anchors.system_passages import CHUNK

HOLDS = ("traces", "runs", "resourceSpans", "scopeSpans", "data", "trace", "spans", "observations", "child_runs")
"""Keys under which an object has spans, perhaps one within another."""
INNER = ("messages", "choices", "parts", "content", "text", "message", "kwargs", "args")
ASKED = ("question", "query", "user_input", "user_query", "input", "inputs", "prompt", *INNER)
SAID = ("answer", "response", "output", "outputs", "result", "completion", "generation", *INNER)
LISTED = ("documents", "retrieved_contexts", "contexts", "context", "docs", "passages", "sources", "results", "output")
"""Keys of what was asked and said, and of lists of passages: the most specific first."""
ITEM = re.compile(r"([\w.]+?)\.(\d{1,6})\.(.+)")
"""The name of an attribute in a list of objects, such as `retrieval.documents.0.document.content`."""
READS = {"retriever", "reranker", "retrieval"}
WRITES = {"llm", "generation", "chat", "chat_model", "text_completion", "generate_content"}
"""Kinds of spans, in lower case, that find passages, and that ask a model."""
FAILED = {"2", "error", "status_code_error"}
OPINION = re.compile(r"(?i)thumb|feedback|rating|user|helpful")
"""Scores with such a name are opinions of users."""
DOWN = {"no", "bad", "down", "negative", "incorrect", "thumbs_down", "thumbs-down", "dislike", "false", "👎"}
DEPTH = 8
"""The most objects within one another that are searched."""


def by_trace(paths: Mapping[str, Sequence[str]], rows: Rows) -> Rows:
    """A row for each trace of an export; DataError for spans of another form, and where nothing was asked in any trace.

    The passages are those of the span that ended last among those that find or rank some. A trace without such a span, and one
    whose first span failed, has an `error`. A trace in which nothing was asked is left out.
    """
    wanted = (f"{name}: {' or '.join(paths[name])}" for name in ("trace", "kind", "asked", "passages"))
    remedy = f"expected in a span of such an export: {'; '.join(wanted)}"
    traces, where = dict[str, tuple[str, list[Row]]](), ""
    try:
        for where, fields in rows:
            if isinstance(fields, DataError):
                yield where, fields
            for name, span in _spans(paths, fields) if isinstance(fields, Mapping) else ():
                traces.setdefault(name, (where, []))[1].append(span)
        made = [(where, row) for name, (where, spans) in traces.items() if (row := _row(name, spans))]
    except (AttributeError, TypeError, LookupError) as error:
        raise DataError(where, f"has spans of another form ({error})", remedy) from error
    if not made:
        raise DataError(where, "has no trace with a question", remedy)
    yield from made


def _spans(paths: Mapping[str, Sequence[str]], fields: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """The spans in a row by field, each with its trace; those within a trace belong to it."""
    waiting: list[tuple[Any, str]] = [(fields, "")]
    while waiting:
        value, trace = waiting.pop()
        if isinstance(value, list):
            waiting += [(part, trace) for part in value]
        elif isinstance(value, dict):
            flat = dict(_flat(value))
            found = (next((flat[at] for at in listed if flat.get(at) not in (None, "", {})), None) for listed in paths.values())
            span = dict(zip(paths, found, strict=True))
            trace = trace or str(span["trace"] or value.get("id") or "")
            waiting += [(value[name], trace) for name in HOLDS if isinstance(value.get(name), list | dict)]
            if trace:
                yield trace, span | {"kind": str(span["kind"] or "").strip('"').lower()}


def _flat(record: Mapping[str, Any], lead: str = "", depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """The values of an object with their paths; lists whose places are in names as lists."""
    lists: dict[str, dict[int, Row]] = {}
    for key, value in record.items():
        if key == "attributes" and isinstance(value, list):
            value = _value({"kvlistValue": {"values": value}})
        name = f"{lead}{key}".removeprefix("attributes.")
        if match := ITEM.fullmatch(name):
            lists.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = value
        yield name, value
        if isinstance(value, dict) and depth:
            yield from _flat(value, f"{name}.", depth - 1)
    yield from ((name, [items[place] for place in sorted(items)]) for name, items in lists.items())


def _value(value: Any, depth: int = DEPTH) -> Any:
    """A value of OTLP: text, number, list or object."""
    kind, inner = next(iter(value.items()))
    listed = inner.get("values", ()) if kind in ("kvlistValue", "arrayValue") and depth else ()
    if kind == "kvlistValue":
        return {each["key"]: _value(each["value"], depth - 1) for each in listed if each.get("value")}
    return [_value(each, depth - 1) for each in listed] if kind == "arrayValue" else inner


def _row(name: str, spans: Sequence[Row]) -> Row | None:
    """The row of a trace; None if nothing was asked."""
    spans = sorted(spans, key=lambda span: (bool(span["parent"]), _number(span["began"], inf)))
    asked = ((span, text) for span in spans if (text := _text(span["asked"], ASKED, ("user", "human"))))
    first, question = next(asked, ({}, ""))
    if not question:
        return None
    lists = [(span["kind"] in READS, _number(span["ended"]), each) for span in spans if (each := _listed(span)) is not None]
    models = sorted((span for span in spans if span["kind"] in WRITES), key=lambda span: -_number(span["ended"], inf))
    said = (_text(span["said"], SAID, ("assistant", "ai")) for span in ([] if first["kind"] in READS else [first]) + models)
    failed = str(first["status"]).lower() in FAILED or (first["failure"] and not first["status"])
    failure = str(first["failure"] or "the status of its span") if failed else "its trace has no span that finds passages"
    row: Row = {"id": name, "question": question, "response": next(filter(None, said), None)}
    row |= {"error": failure} if failed or not lists else {}
    row |= {"retrieved_contexts": [*map(_passage, max(lists, key=lambda each: each[:2])[2])]} if lists else {}
    seconds = _number(first["ended"], nan) - _number(first["began"], nan)
    row |= {"seconds": round(seconds, 6)} if seconds >= 0 else {}
    for count, paid in (("prompt_tokens", "read"), ("completion_tokens", "written"), ("cost", "cost")):
        row |= {count: sum(_number(span[paid]) for span in models)} if any(span[paid] for span in models) else {}
    ratings = [good for span in spans for good in _ratings(span["rated"])]
    return {name: value for name, value in row.items() if value is not None} | {
        "rating": min(ratings) * 2 - 1 if ratings else 0
    }


def _listed(span: Row) -> list[Any] | None:
    """The passages that a span found; None for a span that finds none."""
    said, listed = parsed_cell(span["said"]), parsed_cell(span["passages"])
    if isinstance(said, dict) and not isinstance(listed, list):
        listed = next((each for name in LISTED if isinstance(each := parsed_cell(said.get(name)), list)), None)
    found = listed if isinstance(listed, list) else said if isinstance(said, list) and span["kind"] in READS else None
    return [] if found is None and span["kind"] in READS else found


def _passage(part: Any) -> Any:
    """A passage with the values of its metadata as its own."""
    if not isinstance(part, dict):
        return str(part)
    names = ((name.removeprefix("document.").removeprefix("metadata."), value) for name, value in part.items())
    own = {name: value for name, value in names if value is not None}
    own |= own.pop("document") if isinstance(own.get("document"), dict) else {}
    meta = parsed_cell(own.pop("metadata", None))
    chunk = {"chunk_id": own["id"]} if CHUNK.fullmatch(str(own.get("id", ""))) else {}
    return {**(meta if isinstance(meta, dict) else {}), **own, **chunk}


def _text(value: Any, names: Sequence[str], roles: Sequence[str]) -> str:
    """The text in what was asked or said: of messages the last one of a role, of an object the first of its names."""
    for _ in range(DEPTH):
        value = parsed_cell(value)
        if isinstance(value, list):
            plain = [{k.removeprefix("message."): v for k, v in each.items()} for each in value if isinstance(each, dict)]
            said = [each for each in plain if each.get("role", each.get("type")) in roles]
            value = (said or plain or value or [""])[-1]
        elif isinstance(value, dict):
            texts = [each for each in value.values() if isinstance(each, str)]
            value = next((value[name] for name in names if value.get(name)), texts[0] if len(texts) == 1 else "")
    if not isinstance(value, str):
        return ""
    with suppress(ValueError):  # MLflow writes texts as JSON
        value = str(json.loads(value)) if value[:1] + value[-1:] == '""' else value
    return str(value).strip()


def _ratings(value: Any) -> Iterator[bool]:
    """True for each good opinion of a person on an answer, False for each bad one."""
    for each in [{"name": name, **each} for name, each in value.items()] if isinstance(value, dict) else value or ():
        flat = dict(_flat(each))
        is_person = "HUMAN" in (flat.get("source.source_type"), flat.get("annotator_kind"))
        scores = (flat.get(at) for at in ("feedback.value", "value", "result.score", "result.label", "avg"))
        score = next((each for each in scores if isinstance(each, bool | int | float | str)), None)
        if score is not None and (is_person or OPINION.search(str(flat.get("name") or flat.get("assessment_name")))):
            yield score.strip().lower() not in DOWN if isinstance(score, str) else score > 0


def _number(value: Any, default: float = 0.0) -> float:
    """A number, or a time in seconds: ns since 1970, or ISO 8601; `default` for anything else."""
    for read in float, lambda text: datetime.fromisoformat(text).timestamp():
        with suppress(TypeError, ValueError, OverflowError):
            number = read(value)
            return number / 1e9 if number > 1e15 else number if isfinite(number) else default
    return default
