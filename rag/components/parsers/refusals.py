"""Errors for files that cannot be read: one clear line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rag.core.errors import DataError
from rag.documents.folder.files import decode

MAGIC = {b"%PDF-": "a PDF file", b"PK\x03\x04": "a ZIP archive, as Office files are", b"{\\rtf": "an RTF file"}
MAGIC |= {b"\xd0\xcf\x11\xe0": "an encrypted Office file, or one of before 2007"}
MAGIC |= dict.fromkeys((b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), "a picture") | dict.fromkeys((b"\x7fELF", b"MZ"), "a program")
MAGIC |= dict.fromkeys((b"\x1f\x8b", b"Rar!", b"7z\xbc\xaf"), "an archive")
"""First bytes → kind of file."""

ADDRESS = re.compile(r"(?:file )?'?<[^<>]* at 0x[0-9a-f]+>'?")
"""A Python object in a message."""
LONGEST = 1000
"""Characters of a message. The parent of the process that parses shows fewer, without secrets."""


def kind_of(data: bytes) -> str:
    """The kind of a file by its first bytes; empty if they say nothing."""
    return next((kind for magic, kind in MAGIC.items() if data.startswith(magic)), "" if data else "an empty file")


@contextmanager
def refusal(name: str, kind: str) -> Iterator[None]:
    """Turn every fault of the block into a DataError that the file is no readable `kind`.

    Libraries raise errors of all types for damaged files; running out of memory and a missing library are none of them.
    """
    try:
        yield
    except (DataError, MemoryError, ModuleNotFoundError):
        raise
    except RecursionError as error:
        raise DataError(name, f"is nested too deeply for {kind}", "flatten the file, or leave it out") from error
    except Exception as error:
        if type(error).__name__ == "XMLSyntaxError" and "unknown error" in str(error):
            raise MemoryError from error  # libxml2 has no other message for this.
        what = ADDRESS.sub("the file", " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST])
        raise DataError(name, f"is not readable as {kind} ({what})", "open and save it again, or leave it out") from error


def refuse_other(data: bytes, name: str, kind: str) -> None:
    """DataError for a file of text that is a binary file by its first bytes."""
    if data and (found := kind_of(data)):
        raise DataError(name, f"is not {kind} but {found}", "give it the right suffix, or leave it out")


def utf8(data: bytes, name: str, kind: str) -> str:
    """The text of a file; DataError for a binary file and another encoding."""
    refuse_other(data, name, kind)
    return decode(data, name)


def too_large(name: str, what: str, limit: int, unit: str) -> DataError:
    """The error for a file that has `what`, more than `limit` of a `unit`."""
    return DataError(name, f"has {what}, more than {limit:,} {unit}", "split the file, or leave it out")
