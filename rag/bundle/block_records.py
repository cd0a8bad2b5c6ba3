"""Blocks and redactions of documents in a bundle: as JSON, and checked when they are read."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from rag.bundle.errors import refused
from rag.core.types import BLOCKS, Block, Document, Redaction

PLACES = ("blocks", "redactions")
"""Fields of a document that are left out where they are empty, so that bundles from before these fields stay the same."""
MOST_PAGES, MOST_BOXES, LONGEST = 1_000_000, 10_000, 1024
"""The highest page, most boxes of a block, and most characters of a name or a rule."""
BLOCK, REDACTION = ({field.name for field in fields(kind)} for kind in (Block, Redaction))


def record_of(document: Document) -> dict[str, Any]:
    """A document as a JSON value."""
    return {name: value for name, value in asdict(document).items() if value or name not in PLACES}


def places_of(line: Mapping[str, Any], size: int, where: str) -> tuple[tuple[Block, ...], tuple[Redaction, ...]]:
    """The blocks and redactions in the record of a document of `size` characters; BundleError for any that is not valid."""
    faults = {"blocks": _block_fault, "redactions": _redaction_fault}
    for name in PLACES:
        before, values = 0, line.get(name, ())
        if not isinstance(values, list | tuple):
            raise refused(where, f"has {name} that are no list")
        for number, value in enumerate(values, 1):
            if fault := faults[name](value, size) or ("begins before the one above it" if value["start"] < before else ""):
                raise refused(f"{where}: {name} {number}", fault)
            before = value["start"]
    blocks = (Block(**{**value, "boxes": tuple(map(tuple, value["boxes"]))}) for value in line.get("blocks", ()))
    return tuple(blocks), tuple(Redaction(**value) for value in line.get("redactions", ()))


def _block_fault(value: Any, size: int) -> str:
    if not isinstance(value, dict) or value.keys() != BLOCK:
        return f"is not an object with {', '.join(sorted(BLOCK))}"
    if value["kind"] not in BLOCKS:
        return f"is of the unknown kind {str(value['kind'])[:40]!r}"
    if not _within(value, size):
        return "lies outside of its text"
    if not _is_whole(value["page"], MOST_PAGES):
        return "has a page that is not a whole number from 0"
    boxes = value["boxes"]
    if not isinstance(boxes, list | tuple) or len(boxes) > MOST_BOXES or not all(map(_is_box, boxes)):
        return "has boxes that are not four shares of a page"
    if value["score"] is not None and not _is_share(value["score"]):
        return "has a score outside of 0 to 1"
    return "" if _is_short(value["name"]) else "has a name that is no short text"


def _redaction_fault(value: Any, size: int) -> str:
    if not isinstance(value, dict) or value.keys() != REDACTION:
        return f"is not an object with {', '.join(sorted(REDACTION))}"
    if not _within(value, size) or not _is_whole(value["length"], 1 << 40):
        return "lies outside of its text"
    return "" if _is_short(value["rule"]) else "has a rule that is no short text"


def _within(value: Mapping[str, Any], size: int) -> bool:
    return _is_whole(value["end"], size) and _is_whole(value["start"], value["end"])


def _is_whole(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_share(value: Any) -> bool:
    return type(value) is not bool and isinstance(value, int | float) and 0 <= value <= 1


def _is_box(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 4 or not all(map(_is_share, value)):
        return False
    return bool(value[0] <= value[2] and value[1] <= value[3])


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and not any("\ud800" <= char <= "\udfff" for char in value)
