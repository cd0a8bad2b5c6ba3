"""Documents of a bundle as JSON: their blocks and redactions too, and checked when they are read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from rag.bundle.errors import misfit, refused
from rag.bundle.strict_parse import NAME_LENGTH, Text, is_name
from rag.core.types import Block, Document, Redaction

MOST_PAGES, MOST_BOXES, LONGEST = 1_000_000, 10_000, 1024
"""The highest page, most boxes of a block, and most characters of a name or a rule."""


def _named(doc_id: str) -> str:
    if not is_name(doc_id):
        raise ValueError(f"a doc_id has 1 to {NAME_LENGTH:,} printable characters")
    return doc_id


def _ordered(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    if box[0] > box[2] or box[1] > box[3]:
        raise ValueError("a box goes from left to right, and from top to bottom")
    return box


Whole = Annotated[int, Field(strict=True, ge=0)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Short = Annotated[str, StringConstraints(strict=True, max_length=LONGEST)]
Box = Annotated[tuple[Share, Share, Share, Share], AfterValidator(_ordered)]


@with_config(ConfigDict(extra="forbid"))
class TextBlock(TypedDict):
    """The characters [start, end) of a document and their place: `boxes` are shares of the page, from its top left."""

    kind: Literal["heading", "text", "list", "table", "cell", "figure", "code", "footnote", "marginalia", "logo", "attestation"]
    start: Whole
    end: Whole
    page: Annotated[Whole, Field(le=MOST_PAGES)]
    boxes: Annotated[list[Box], Field(max_length=MOST_BOXES)]
    score: Share | None
    name: Short


@with_config(ConfigDict(extra="forbid"))
class Replaced(TypedDict):
    """A placeholder at the characters [start, end) of a document, and the `length` of what `rule` found there."""

    start: Whole
    end: Whole
    rule: Short
    length: Annotated[Whole, Field(le=1 << 40)]


@with_config(ConfigDict(extra="forbid"))
class Line(TypedDict):
    """A document."""

    doc_id: Annotated[str, AfterValidator(_named)]
    text: Text
    metadata: dict[Text, Text | int | float | bool]
    blocks: list[TextBlock]
    redactions: list[Replaced]


SCHEMA = TypeAdapter(Line)


def document_of(line: Any, where: str) -> Document:
    """The document of a JSON value; BundleError for one with other fields, and for places outside of its text."""
    try:
        known: Mapping[str, Any] = SCHEMA.validate_python(line)
    except ValidationError as error:
        raise misfit(where, error) from error
    blocks = tuple(Block(**{**value, "boxes": tuple(value["boxes"])}) for value in known["blocks"])
    redactions = tuple(Redaction(**value) for value in known["redactions"])
    listed: Mapping[str, Sequence[Block | Redaction]] = {"blocks": blocks, "redactions": redactions}
    for name, places in listed.items():
        before = 0
        for number, place in enumerate(places):
            if not before <= place.start <= place.end <= len(known["text"]):
                raise refused(f"{where}: {name}: {number}", "lies outside of its text, or begins before the one above it")
            before = place.start
    return Document(known["doc_id"], known["text"], known["metadata"], blocks, redactions)
