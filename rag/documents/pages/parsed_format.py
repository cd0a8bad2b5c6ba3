"""Parsed contents as JSON: blocks as columns, which is compact and fast to read, and every value is checked."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from rag.core.types import BLOCKS, Block, Parsed, Redaction

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
    text, pages, columns, redactions = value["text"], value["pages"], value["blocks"], value["redactions"]
    starts = [*columns["start"], *(each[0] for each in redactions)]
    ends = [*columns["end"], *(each[1] for each in redactions)]
    _check_types(int, pages, *starts, *ends, *columns["page"])
    _check(pages >= 0 and all(0 <= page <= pages for page in columns["page"]))
    _check(all(0 <= start <= end <= len(text) for start, end in zip(starts, ends, strict=True)))
    _check_types(str, text, *columns["name"], *value["notes"], *value["metadata"])
    _check(set(columns["kind"]) <= set(BLOCKS))
    boxes = [tuple(map(tuple, each)) if each else () for each in columns["boxes"]]
    sides = [side for each in boxes for box in each for side in box]
    _check(all(len(box) == 4 for each in boxes for box in each))
    numbers = [*sides, *(score for score in columns["score"] if score is not None)]
    numbers += [each for each in value["metadata"].values() if not isinstance(each, str | bool)]
    _check({*map(type, numbers)} <= {int, float} and all(map(isfinite, numbers)))
    rows = zip(*(boxes if column == "boxes" else columns[column] for column in COLUMNS), strict=True)
    found = tuple(Redaction(start, end, str(rule), int(length)) for start, end, rule, length in redactions)
    return Parsed(text, tuple(Block(*row) for row in rows), value["metadata"], pages, tuple(value["notes"]), found)


def _check_types(wanted: type, *values: object) -> None:
    _check({*map(type, values)} <= {wanted})


def _check(is_valid: bool) -> None:
    if not is_valid:
        raise ValueError("a parsed content with values of wrong types, or places outside of its text")
