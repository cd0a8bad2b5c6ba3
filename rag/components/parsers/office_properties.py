"""The properties that an Office file states (Dublin Core, ECMA-376 part 2)."""

from contextlib import suppress
from datetime import UTC
from typing import Any

from rag.core.records import Value

NAMES = ("title", "author", "subject", "keywords", "category", "language", "last_modified_by", "version")


def properties(core: Any) -> dict[str, Value | None]:
    """The properties of a document of python-docx or python-pptx; dates in ISO 8601, UTC."""
    known: dict[str, Value | None] = {"title": None}
    for name in NAMES:
        known[name] = getattr(core, name)
    for name in ("created", "modified"):
        with suppress(ValueError):
            stamp = getattr(core, name)
            known[name] = stamp.replace(tzinfo=UTC).isoformat() if stamp else None
    return known
