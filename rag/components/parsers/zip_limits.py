"""Limits for ZIP archives, before anything in them is read."""

import io
import re
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from rag.components.parsers.refusals import kind_of, too_large
from rag.core.errors import DataError

ENTRIES = 10_000
"""The most files in an archive."""
SIZE, XML_SIZE = 256 << 20, 48 << 20
"""The most bytes of all unpacked files, and of one of XML: its tree takes about ten times as much memory."""
RATIO, SMALL = 200, 8 << 20
"""The most bytes unpacked from a byte of the archive, and the size from which this counts."""
STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
"""The namespaces of Office Open XML in its strict form (ISO/IEC 29500)."""


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
