"""The texts to search for in the reply of a model. Every problem is a ValueError that says what is wrong."""

from typing import Any

from rag.core.models.typed_reply import check_names, json_object

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


def search_texts(reply: str, name: str, longest: int) -> list[str]:
    """The texts of `{name: ["…"]}`."""
    found = json_object(reply)
    check_names(found, [name])
    if not isinstance(found.get(name), list):
        raise ValueError(f"has no list of {name}")
    return [search_text(text, longest) for text in found[name]]
