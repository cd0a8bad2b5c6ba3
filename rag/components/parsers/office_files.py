"""Office files (Office Open XML): limits of their archives before anything is read, and their properties."""

import io
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC
from html import unescape
from posixpath import dirname, join, normpath
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from rag.components.parsers.refusals import kind_of, refusal, too_large
from rag.core.errors import DataError
from rag.core.types import Value
from rag.documents.folder.json_rows import shortened

ENTRIES = 10_000
"""The most files in an archive."""
SIZE, XML_SIZE = 256 << 20, 48 << 20
"""The most bytes of all unpacked files, and of one of XML: its tree takes about ten times as much memory."""
RATIO, SMALL = 200, 8 << 20
"""The most bytes unpacked from a byte of the archive, and the size from which this counts."""
STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
"""The namespaces of Office Open XML in its strict form (ISO/IEC 29500)."""
LINK = re.compile(rb"""(<(?:\w+:)?Relationship)(?=\s)([^<>]*?\sTarget=["']([^"'<>]*)["'][^<>]*>)""")
MODE = re.compile(rb"""\sTargetMode=["']\w*["']""")
NAMES = ("title", "author", "subject", "keywords", "category", "language", "last_modified_by", "version")


@contextmanager
def office_file(data: bytes, name: str, kind: str) -> Iterator[tuple[io.BytesIO, list[str]]]:
    """The file as libraries can read it, and notes on parts that it lacks; DataError for a fault of the block as `refusal`."""
    archive = checked_zip(data, name, kind)
    with refusal(name, kind):
        parts, lost = dict.fromkeys(archive.namelist()), dict[str, None]()
        links = {part: _linked(part, archive.read(part), parts, lost) for part in parts if part.endswith(".rels")}
        is_changed = lost or STRICT.search(links.get("_rels/.rels", b""))
        notes = [f"parts that the file lacks: {shortened(', '.join(lost), 300)}"] if lost else []
        yield io.BytesIO(_rewritten(archive, parts, links) if is_changed else data), notes


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


def _rewritten(archive: ZipFile, parts: Iterable[str], links: Mapping[str, bytes]) -> bytes:
    """An Office file with other links, and with the namespaces that libraries know; files in the strict form have others."""
    copy = io.BytesIO()
    with ZipFile(copy, "w", ZIP_STORED) as target:
        for name in parts:
            content = links.get(name) or archive.read(name)
            if name.endswith((".xml", ".rels")):
                content = STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", content)
            target.writestr(name, content)
    return copy.getvalue()


def _linked(part: str, content: bytes, parts: Container[str], lost: dict[str, None]) -> bytes:
    """The links of a part; those to parts that the file lacks, which `lost` gets, leave the file: nothing follows them."""

    def kept(link: re.Match[bytes]) -> bytes:
        path = normpath(join("/", dirname(dirname(part)), unescape(link[3].decode("utf-8", "replace")))).lstrip("/")
        if path in parts or b"External" in link[0]:
            return link[0]
        lost[path] = None
        return link[1] + b' TargetMode="External"' + MODE.sub(b"", link[2])

    return LINK.sub(kept, content)
