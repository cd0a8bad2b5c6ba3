"""The texts to search for in the reply of a model. Every problem is a ValueError that says what is wrong."""

from typing import Any

from rag.core.record_json import json_object, known

SHORTEST = 3
"""Characters of the shortest text that is searched for."""


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
