"""Cells and objects as tools write them: lists in cells, values under usual names, passages that a system returned."""

import ast
import json
from collections.abc import Mapping
from typing import Any

from rag.core.errors import DataError
from rag.core.systems import SystemPassage
from rag.documents.folder.json_rows import shortened

TEXTS = "text page_content content contents chunk passage snippet"
PLACES = "doc_id document_id document doc chunk_id doc_uri file_name filename file source id"
"""The usual names of columns and keys, the most specific first."""
NESTED = ("outputs", "output", "response", "metadata", "meta", "usage", "tokenUsage", "document", "prompt", "vars")
"""Objects in which a column or key may be."""
AS_TEXT = "write a text, or an object with text and document"


def parsed_cell(value: Any) -> Any:
    """Parse a cell with a list or an object in the notation of JSON or Python; return any other value unchanged."""
    for read in (json.loads, ast.literal_eval) if isinstance(value, str) and value[:1] + value[-1:] in ("[]", "{}") else ():
        try:
            parsed = read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(parsed, dict) or all(isinstance(part, str | dict | list) for part in parsed):
            return parsed
    return value


def listed_cell(value: Any, where: str) -> list[Any]:
    """The list in a cell, or another value as a list; DataError for a part that is no text, object or list."""
    listed = parsed if isinstance(parsed := parsed_cell(value), list) else [] if parsed in (None, "") else [parsed]
    for number, part in enumerate(listed, 1):
        if not isinstance(part, str | Mapping | list):
            raise DataError(f"{where} passage {number}", f"is {shortened(repr(part))}", AS_TEXT)
    return listed


def first_value(row: Mapping[str, Any], names: str) -> Any:
    """The value under the first of some names, in a row or in an object in it; None without one."""
    known = names.split()
    for part in (row, *(row[name] for name in NESTED if isinstance(row.get(name), Mapping))):
        for name in known:
            if part.get(name) not in (None, "", {}) and not (name in NESTED and isinstance(part[name], Mapping)):
                return part[name]
    return None


def passage_of(part: Any, where: str) -> SystemPassage:
    """A passage: a text, or an object with text, document and perhaps its first and last character."""
    if isinstance(part, str):
        return SystemPassage(part)
    if not isinstance(part, Mapping):
        raise DataError(where, f"is {shortened(repr(part))}", AS_TEXT)
    text, place = first_value(part, TEXTS), first_value(part, PLACES)
    ends = [first_value(part, name) for name in ("start", "end")]
    if text is None and place is None:
        raise DataError(where, f"has the keys {', '.join(map(str, part))}", "add text, or document")
    start, end = (each if isinstance(each, int) else 0 for each in ends)
    return SystemPassage("" if text is None else str(text), "" if place is None else str(place), start, end)
