"""Parsed contents as JSON: blocks as columns, which is compact and fast to read, and every value is checked."""

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from rag.core.records import BLOCKS, Block, Parsed, Redaction

SURROGATE = re.compile("[\ud800-\udfff]")
COLUMNS = ("kind", "start", "end", "page", "boxes", "score", "name")


def to_json(parsed: Parsed) -> dict[str, Any]:
    """The content as JSON values."""
    return {
        "text": parsed.text,
        "blocks": {column: [getattr(block, column) for block in parsed.blocks] for column in COLUMNS},
        "metadata": dict(parsed.metadata),
        "pages": parsed.pages,
        "notes": list(parsed.notes),
        "redactions": [[each.start, each.end, each.rule, each.length] for each in parsed.redactions],
    }


def encode(value: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return SURROGATE.sub("\ufffd", text).encode("utf-8")


def from_json(value: Mapping[str, Any]) -> Parsed:
    """The content of `to_json`; ValueError for anything else: the process that wrote it may be under foreign control."""
    text, pages, columns = value["text"], value["pages"], value["blocks"]
    _check(isinstance(text, str) and type(pages) is int and pages >= 0)
    spans = [(columns["start"], columns["end"])]
    spans += [([each[0] for each in value["redactions"]], [each[1] for each in value["redactions"]])]
    for starts, ends in spans:
        _check(all(type(place) is int for place in (*starts, *ends)))
        _check(all(0 <= start <= end <= len(text) for start, end in zip(starts, ends, strict=True)))
    _check(set(columns["kind"]) <= set(BLOCKS) and all(isinstance(name, str) for name in columns["name"]))
    _check(all(type(page) is int and 0 <= page <= pages for page in columns["page"]))
    _check(all(score is None or _is_number(score) for score in columns["score"]))
    boxes = [tuple(map(_box, each)) if each else () for each in columns["boxes"]]
    rows = zip(*(boxes if column == "boxes" else columns[column] for column in COLUMNS), strict=True)
    _check(all(isinstance(note, str) for note in value["notes"]))
    for key, content in value["metadata"].items():
        _check(isinstance(key, str) and (isinstance(content, str | bool) or _is_number(content)))
    redactions = tuple(Redaction(start, end, str(rule), int(length)) for start, end, rule, length in value["redactions"])
    return Parsed(text, tuple(Block(*row) for row in rows), value["metadata"], pages, tuple(value["notes"]), redactions)


def _box(values: Sequence[Any]) -> tuple[float, float, float, float]:
    left, top, right, bottom = values
    _check(_is_number(left) and _is_number(top) and _is_number(right) and _is_number(bottom))
    return left, top, right, bottom


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _check(is_valid: bool) -> None:
    if not is_valid:
        raise ValueError("a parsed content with values of wrong types, or places outside of its text")
