"""The text of files whose encoding is not agreed on, as CSV and HTML files."""

import codecs

from rag.components.parsers.refusals import refuse_other
from rag.core.errors import DataError

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Byte order marks, the longer ones first, and their encodings."""
LAST = "cp1252"
"""The encoding of files from Windows programs that state none."""


def decoded(data: bytes, name: str, kind: str, declared: str = "") -> tuple[str, str]:
    """The text of a file, and a note if it is not UTF-8.

    The encoding is that of the byte order mark, UTF-8, the declared one, UTF-16 by its zero bytes, or cp1252. DataError for a
    binary file.
    """
    refuse_other(data, name, kind)
    marked = next((codec for mark, codec in MARKS.items() if data.startswith(mark)), "")
    wide = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be" if data[:1] == b"\0" else ""
    for codec in [marked] if marked else filter(None, [wide or "utf-8", declared, LAST]):
        try:
            text = data.decode(codec)
        except (UnicodeError, LookupError):
            continue
        if "\0" not in text:
            return text, "" if codec.startswith("utf") else f"read as {codec}: the bytes are not UTF-8"
    raise DataError(name, f"is not {kind}, or its encoding is unknown", "save it as UTF-8, or leave it out")
