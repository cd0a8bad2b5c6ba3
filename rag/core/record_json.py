"""The JSON of a model → a route and its query of records. Every problem is a ValueError that says what is wrong."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rag.core.models.typed_reply import check_names, json_object, typed
from rag.core.records.checks import DEPTH
from rag.core.records.queries import ROUTES, Condition, RecordQuery


def routed(reply: str) -> tuple[str, RecordQuery | None]:
    """The route and the query of a reply."""
    found = json_object(reply)
    check_names(found, ("route", "query"))
    if found.get("route") not in ROUTES:
        raise ValueError(f"has the route {found.get('route')!r}; there is: {', '.join(ROUTES)}")
    return found["route"], None if found["route"] == "semantic" else query_of(found.get("query"))


def query_of(value: Any, depth: int = DEPTH) -> RecordQuery:
    """A query of records; whether it fits the records is not checked here."""
    if not isinstance(value, Mapping) or depth < 1:
        raise ValueError("has a query that is no JSON object, or queries too deep within each other")
    tests, other = value.get("where") or [], value.get("other")
    if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
        raise ValueError("has conditions in `where` that are no list of JSON objects")
    for test in tests:
        check_names(test, [field.name for field in fields(Condition)])
    return typed({**value, "where": tests, "other": None if other is None else query_of(other, depth - 1)}, RecordQuery)
