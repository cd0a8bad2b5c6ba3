"""The JSON object in the reply of a model, and what it asks for. Every problem is a ValueError that says what is wrong."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from rag.core.record_queries import Condition, RecordQuery

FENCE = re.compile(r"^\s*`{3,}\w*\s*$", re.MULTILINE)
SHORTEST = 3
"""Characters of the shortest text that is searched for."""
NESTED = 3
"""Queries of records within each other."""


def json_object(text: str) -> Mapping[str, Any]:
    """The only JSON object of a reply; text around it is ignored."""
    text = FENCE.sub("", text)
    start = text.find("{")
    if start < 0:
        raise ValueError("holds no JSON object")
    try:
        found, end = DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not valid JSON: {error}") from error
    if "{" in text[end:]:
        raise ValueError("holds more than one JSON object")
    return dict(found)


def _refused(constant: str) -> Any:
    raise ValueError(f"holds {constant}")


DECODER = json.JSONDecoder(parse_constant=_refused)


def known(values: Mapping[str, Any], names: Sequence[str]) -> None:
    """ValueError for a name that is not in `names`."""
    if unknown := sorted(set(values) - set(names)):
        raise ValueError(f"has {', '.join(map(repr, unknown))}; there is: {', '.join(names)}")


def search_text(value: Any, longest: int) -> str:
    """A text to search for, on one line."""
    if not isinstance(value, str):
        raise ValueError(f"has {value!r:.80}, which is not a text to search for")
    text = " ".join(value.split())
    if not SHORTEST <= len(text) <= longest:
        raise ValueError(f"has a text of {len(text)} characters to search for, and {SHORTEST} to {longest} are allowed")
    return text


def search_texts(reply: str, longest: int) -> list[str]:
    """The texts of `{"queries": ["…"]}`."""
    found = json_object(reply)
    known(found, ["queries"])
    queries = found.get("queries")
    if not isinstance(queries, list):
        raise ValueError("has no list of queries")
    return [search_text(query, longest) for query in queries]


def record_query(value: Any, nested: int = NESTED) -> RecordQuery:
    """A query of records; whether it fits the records is not checked here."""
    from pydantic import TypeAdapter, ValidationError

    if not isinstance(value, Mapping):
        raise ValueError("has no query of records, which is a JSON object")
    known(value, [field.name for field in fields(RecordQuery)])
    tests, other = value.get("where") or [], value.get("other")
    if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
        raise ValueError("has conditions in `where` that are no list of JSON objects")
    for test in tests:
        known(test, [field.name for field in fields(Condition)])
    if other is not None and nested <= 1:
        raise ValueError("has queries within queries that are nested too deeply")
    inner = None if other is None else record_query(other, nested - 1)
    try:
        return TypeAdapter(RecordQuery).validate_python({**value, "where": tests, "other": inner})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"has a wrong {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
