"""The JSON of a model → a route and its query of records. Every problem is a ValueError that says what is wrong."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from rag.core.adapters import records_from
from rag.core.records.checks import DEPTH
from rag.core.records.queries import ROUTES, Condition, RecordQuery


def json_object(reply: str) -> Mapping[str, Any]:
    """The only JSON object of a reply; a code fence or text around it is ignored."""
    start = reply.find("{")
    if start < 0:
        raise ValueError("holds no JSON object")
    try:
        found, end = DECODER.raw_decode(reply, start)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not valid JSON: {error}") from error
    if "{" in reply[end:]:
        raise ValueError("holds more than one JSON object")
    return dict(found)


def routed(reply: str) -> tuple[str, RecordQuery | None]:
    """The route and the query of a reply."""
    found = json_object(reply)
    known(found, ("route", "query"))
    if found.get("route") not in ROUTES:
        raise ValueError(f"has the route {found.get('route')!r}; there is: {', '.join(ROUTES)}")
    asked = found["route"] != "semantic"
    return found["route"], query_of(found.get("query")) if asked else None


def query_of(value: Any, depth: int = DEPTH) -> RecordQuery:
    """A query of records; whether it fits the records is not checked here."""
    from pydantic import ValidationError

    if not isinstance(value, Mapping) or depth < 1:
        raise ValueError("has a query that is no JSON object, or queries too deep within each other")
    known(value, [field.name for field in fields(RecordQuery)])
    tests, other = value.get("where") or [], value.get("other")
    if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
        raise ValueError("has conditions in `where` that are no list of JSON objects")
    for test in tests:
        known(test, [field.name for field in fields(Condition)])
    inner = None if other is None else query_of(other, depth - 1)
    try:
        return records_from(RecordQuery, {**value, "where": tests, "other": inner})  # type: ignore[no-any-return]
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"has a wrong {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def known(values: Mapping[str, Any], names: Sequence[str]) -> None:
    """ValueError for a name that is not in `names`."""
    if unknown := sorted(set(values) - set(names)):
        raise ValueError(f"has {', '.join(map(repr, unknown))}; there is: {', '.join(names)}")


def _refused(constant: str) -> Any:
    raise ValueError(f"holds {constant}")


DECODER = json.JSONDecoder(parse_constant=_refused)
