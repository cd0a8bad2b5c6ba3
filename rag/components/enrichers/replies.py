"""Replies of a model to a request for fields: their JSON schema, and strict reading against the document."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rag.components.enrichers.fields import Draft
from rag.core.models.typed_reply import json_object
from rag.core.records.sets import Cell, Field
from rag.core.text.cells import DATE, date
from rag.core.text.field_values import UnfitError, fitted, shown
from rag.core.text.values.numbers import values

TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "text": ("string", (str,)),
    "date": ("string", (str,)),
    "number": ("number", (int, float)),
    "boolean": ("boolean", (bool,)),
    "list": ("array", (list,)),
}
"""Type of a field → its type in JSON schema and in Python."""
INFERRED = re.compile(r"[^\[\]<>{}|`]{1,300}"), re.compile(r"[\w&'’-]+(?: [\w&'’-]+){0,3}")
"""The form of inferred values: one line of text, and an item of a list, which is a word or a few."""


def schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON schema of a reply: an object with each field and no others, null for what a document does not state."""
    properties = {each.name: _property(each) for each in fields}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _property(each: Field) -> dict[str, Any]:
    made: dict[str, Any] = {"type": [TYPES[each.type][0], "null"]}
    if each.type == "list":
        made["items"] = {"enum": [*each.allowed]} if each.allowed else {"type": "string"}
    elif each.allowed:
        made["enum"] = [*each.allowed, None]
    said = " in ".join(filter(None, (each.description, each.unit)))
    return made | ({"description": said} if said else {})


def read(reply: str, fields: Sequence[Field], text: str, draft: Draft) -> tuple[set[str], dict[str, str]]:
    """Fill a draft with a reply about a text; return the fields that are null, and by field what is wrong.

    A value of another type, one that is not allowed, and a text, date or number that does not stand in the text are wrong.
    """
    try:
        content = json_object(reply)
    except ValueError as error:
        return set(), {each.name: f"the reply {error}"[:200] for each in fields}
    known = {each.name for each in fields}
    wrong = {name[:60]: "is in the reply, and is no field that was asked for" for name in content if name not in known}
    wrong |= {name: "is missing in the reply" for name in known - content.keys()}
    unstated = {name for name in known & content.keys() if content[name] in (None, "")}
    for each in fields:
        if each.name not in wrong and each.name not in unstated:
            try:
                place = _checked(each, content[each.name], text)
            except UnfitError as error:
                wrong[each.name] = str(error)
            else:
                draft.take(each, content[each.name], place)
    return unstated, wrong


def _checked(each: Field, value: Any, text: str) -> tuple[int, int] | None:
    """The characters of a text that state a value, where they are known; UnfitError for a value that is wrong."""
    items = value if isinstance(value, list) else [value]
    is_typed = isinstance(value, TYPES[each.type][1]) and (each.type == "boolean" or not isinstance(value, bool))
    if not is_typed or (each.type == "list" and any(not isinstance(item, str) for item in items)):
        raise UnfitError(f"is {shown(value)}, which is no {each.type}{' of texts' * (each.type == 'list')}")
    cell = fitted(each, value)
    found = cell if isinstance(cell, tuple) else (cell,)
    if each.inferred and not all(INFERRED[each.type == "list"].fullmatch(str(item)) for item in found):
        raise UnfitError(f"is {shown(value)}, which is too long, or holds other signs than a {each.type} has here")
    if each.allowed or each.type == "boolean" or each.inferred:
        return None
    places = [_place(each, item, text) for item in found]
    if None in places:
        raise UnfitError(f"is {shown(value)}, which does not stand in the document")
    return places[0] or None


def _place(each: Field, cell: Cell, text: str) -> tuple[int, int] | tuple[()] | None:
    """The characters of a text that state a value; () if they are not known, None if it does not stand there."""
    if each.type == "number":
        return () if f"{Decimal(str(cell)).copy_abs().normalize():f}" in values(text) else None
    if each.type == "date":
        stated = (match.span() for match in DATE.finditer(text) if (date(match[0]) or "").startswith(str(cell)))
        return next(stated, () if str(cell) in re.split(r"\W+", text) else None)
    words = r"\s+".join(map(re.escape, str(cell).split()))
    found = re.search(rf"(?:(?<!\w)|(?=\W)){words}(?:(?!\w)|(?<=\W))", text, re.IGNORECASE)
    return found.span() if found else None
