"""Office files (Office Open XML): limits of their archives before anything is read, and their properties."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from rag.components.parsers.refusals import kind_of, refusal, too_large
from rag.core.errors import DataError
from rag.core.records import Value

ENTRIES = 10_000
"""The most files in an archive."""
SIZE, XML_SIZE = 256 << 20, 48 << 20
"""The most bytes of all unpacked files, and of one of XML: its tree takes about ten times as much memory."""
RATIO, SMALL = 200, 8 << 20
"""The most bytes unpacked from a byte of the archive, and the size from which this counts."""
STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
"""The namespaces of Office Open XML in its strict form (ISO/IEC 29500)."""
NAMES = ("title", "author", "subject", "keywords", "category", "language", "last_modified_by", "version")


@contextmanager
def office_file(data: bytes, name: str, kind: str) -> Iterator[io.BytesIO]:
    """The file in its transitional form, and DataError for a fault of the block as `refusal` makes it."""
    archive = checked_zip(data, name, kind)
    with refusal(name, kind):
        yield io.BytesIO(transitional(archive, data))


def properties(core: Any) -> dict[str, Value | None]:
    """The properties of a document of python-docx or python-pptx (Dublin Core); dates in ISO 8601, UTC."""
    known: dict[str, Value | None] = {name: getattr(core, name) for name in NAMES}
    for name in ("created", "modified"):
        with suppress(ValueError):
            stamp = getattr(core, name)
            known[name] = stamp.replace(tzinfo=UTC).isoformat() if stamp else None
    return known


def checked_zip(data: bytes, name: str, kind: str) -> ZipFile:
    """An archive within the limits; DataError for another file, an encrypted one, and one that unpacks to too much.

    Sizes are those that the archive states: `zipfile` reads no further than these.
    """
    try:
        archive = ZipFile(io.BytesIO(data))
    except (BadZipFile, ValueError, OSError, NotImplementedError, UnicodeDecodeError) as error:
        found = kind_of(data)
        what = f"is not {kind} but {found}" if found and not found.startswith("a ZIP") else f"is not {kind}, or damaged"
        raise DataError(name, what, "give it the right suffix, remove its password, or leave it out") from error
    files = archive.infolist()
    total = sum(file.file_size for file in files)
    if len(files) > ENTRIES:
        raise too_large(name, f"{len(files):,} files in it", ENTRIES, "files")
    if any(file.flag_bits & 1 for file in files):
        raise DataError(name, "is encrypted", "remove its password, or leave it out")
    if total > SIZE or (total > SMALL and total > RATIO * len(data)):
        raise DataError(name, f"unpacks {len(data):,} bytes to {total:,}", "leave it out: such a file is made to fill memory")
    if large := [file for file in files if file.file_size > XML_SIZE and file.filename.endswith((".xml", ".rels"))]:
        raise too_large(name, f"{large[0].file_size:,} bytes of XML in {large[0].filename!r}", XML_SIZE, "bytes")
    return archive


def transitional(archive: ZipFile, data: bytes) -> bytes:
    """The bytes of an Office file with the namespaces that libraries know; files in the strict form have others."""
    if "_rels/.rels" not in archive.namelist() or not STRICT.search(archive.read("_rels/.rels")):
        return data
    copy = io.BytesIO()
    with ZipFile(copy, "w", ZIP_STORED) as target:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith((".xml", ".rels")):
                content = STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", content)
            target.writestr(name, content)
    return copy.getvalue()
