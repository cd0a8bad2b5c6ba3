"""Replies of a model to a request for fields: their JSON schema, strict reading, and the places of values in a document."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rag.components.enrichers.drafts import Place
from rag.core.errors import DataError
from rag.core.field_values import UnfitError, fitted, shown
from rag.core.record_sets import Cell, Field
from rag.core.text.iso_dates import iso_dates
from rag.core.text.numerals import numbers
from rag.documents.json_rows import parse_json

LONGEST = 20_000
"""Characters of a reply that is read."""
FENCED = re.compile(r"\A```(?:json)?\s(.*)```\Z", re.DOTALL)
TEXT = {"type": ["string", "null"]}
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "text": TEXT,
    "date": TEXT,
    "number": {"type": ["number", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "list": {"type": ["array", "null"], "items": {"type": "string"}},
}
TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "date": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
}


def schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON schema of a reply: an object with each field and no others, null for what a document does not state."""
    names = [each.name for each in fields]
    properties = {each.name: _property(each) for each in fields}
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _property(each: Field) -> dict[str, Any]:
    made: dict[str, Any] = dict(SCHEMAS[each.type])
    if each.allowed:
        made |= {"items": {"enum": [*each.allowed]}} if each.type == "list" else {"enum": [*each.allowed, None]}
    said = " in ".join(filter(None, (each.description, each.unit)))
    return made | ({"description": said} if said else {})


@dataclass
class ReadReply:
    """The values of a reply with their places, the fields that it calls unknown, and by field what is wrong with it."""

    values: dict[str, tuple[Cell, Place | None]] = field(default_factory=dict)
    unstated: set[str] = field(default_factory=set)
    problems: dict[str, str] = field(default_factory=dict)


def read(reply: str, fields: Sequence[Field], text: str) -> ReadReply:
    """Read a reply about a text: a value of another type, not allowed, or not in the text is a problem and no value."""
    found = ReadReply()
    try:
        content = _object(reply)
    except DataError as error:
        found.problems = {each.name: f"the reply {error.what}"[:200] for each in fields}
        return found
    known = {each.name for each in fields}
    found.problems = {name[:60]: "is in the reply, and is no field that was asked for" for name in content if name not in known}
    for each in fields:
        if each.name not in content:
            found.problems[each.name] = "is missing in the reply"
        elif content[each.name] in (None, ""):
            found.unstated.add(each.name)
        else:
            try:
                found.values[each.name] = _value(each, content[each.name], text)
            except UnfitError as error:
                found.problems[each.name] = str(error)
    return found


def _object(reply: str) -> dict[str, Any]:
    """The JSON object that is all of a reply, apart from a code fence; DataError for every other reply."""
    if len(reply) > LONGEST:
        raise DataError("reply", f"has {len(reply):,} characters, and {LONGEST:,} is the most", "limit generator.max_tokens")
    fenced = FENCED.match(reply.strip())
    content = parse_json(fenced[1] if fenced else reply, "reply")
    if not isinstance(content, dict):
        raise DataError("reply", f"is {shown(content)}, which is no JSON object", "write {…}")
    return content


def _value(each: Field, value: Any, text: str) -> tuple[Cell, Place | None]:
    if not _is_typed(each, value):
        raise UnfitError(f"is {shown(value)}, which is no {'list of texts' if each.type == 'list' else each.type}")
    cell = fitted(each, value)
    if each.allowed or each.type == "boolean":
        return cell, None
    places = [_place(each, item, text) for item in (cell if isinstance(cell, tuple) else (cell,))]
    if any(place is None for place in places):
        raise UnfitError(f"is {shown(value)}, which does not stand in the document")
    return cell, places[0]


def _is_typed(each: Field, value: Any) -> bool:
    if isinstance(value, bool):
        return each.type == "boolean"
    return isinstance(value, TYPES[each.type]) and not (
        isinstance(value, list) and any(type(item) is not str for item in value)
    )


def _place(each: Field, cell: Cell, text: str) -> Place | None:
    """The characters of a text that state a value, None if there are none; texts are compared without case and white space."""
    if isinstance(cell, str) and each.type != "date":
        edges = r"(?<!\w)" if cell[0].isalnum() else "", r"(?!\w)" if cell[-1].isalnum() else ""
        words = r"\s+".join(map(re.escape, cell.split()))
        match = re.search(f"{edges[0]}{words}{edges[1]}", text, re.IGNORECASE)
        return match.span() if match else None
    stated = _dates(str(cell), text) if each.type == "date" else _numbers(Decimal(str(cell)), text)
    return next(stated, None)


def _dates(value: str, text: str) -> Iterator[Place]:
    return ((start, end) for start, end, iso in iso_dates(text) if iso.startswith(value))


def _numbers(value: Decimal, text: str) -> Iterator[Place]:
    for number in numbers(text):
        if any(len(reading) == 1 and _is(reading[0].rstrip("%"), abs(value)) for reading in number.readings):
            yield number.start, number.end


def _is(reading: str, value: Decimal) -> bool:
    return reading[:1].isdigit() and ":" not in reading and Decimal(reading) == value
