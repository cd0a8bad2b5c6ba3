"""Opening PDF files, and the properties that they state."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import groupby

from rag.core.errors import DISTRIBUTION, DataError, UserError
from rag.core.types import Value
from rag.documents.pages.lines import clean
from rag.documents.pages.markdown_text import one_line

HEADER = b"%PDF-"
REPAIR = "open it in a reader and save it again, or try another parser"
SEARCHED = 1024
"""Bytes in which the header of a PDF may begin."""
STAMP = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?")
UNLOCKS = "RAG_PDF_PASSWORD"
"""The variable of a parsing process that holds the password of encrypted files."""
PLACEHOLDERS = {"untitled", "(anonymous)", "(unspecified)", "unspecified", "anonymous"}


def password() -> str | None:
    """The password of encrypted files, in a parsing process that was given one."""
    return os.environ.get(UNLOCKS) or None


@contextmanager
def reading(data: bytes, name: str) -> Iterator[None]:
    """Turn every error of a library into a DataError of one line; bytes that are no PDF are refused at once."""
    if not data:
        raise DataError(name, "is empty", "leave it out, or copy it again")
    if HEADER not in data[:SEARCHED]:
        raise DataError(name, "is not a PDF: it has no header %PDF-", "give it the suffix of its format, or leave it out")
    try:
        yield
    except (UserError, MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:  # libraries raise errors of all kinds for damaged files
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        if "password" in reason.lower() or "decrypt" in reason.lower():
            what = "does not open with the password that was given" if password() else "needs a password"
            raise DataError(name, f"is encrypted, and {what}", "loader.runtime.password_env names its variable") from error
        raise DataError(name, f"is damaged: {reason}", REPAIR) from error


def check_pages(pages: int, most: int, name: str) -> None:
    """DataError for a file with more pages than `most`."""
    if pages > most:
        raise DataError(name, f"has {pages} pages, more than {most}", "split it, or raise most_pages of its parser")
    if not pages:
        raise DataError(name, "is damaged: it has no pages", REPAIR)


def properties(stated: Mapping[str, str | None]) -> dict[str, Value]:
    """`title`, `author` and `date` (day of creation, ISO 8601, or empty) that a file states, without placeholders of tools."""
    named = {key.lower(): one_line(clean(str(stated.get(key) or ""))) for key in ("Title", "Author")}
    known: dict[str, Value] = {key: value for key, value in named.items() if value.lower() not in PLACEHOLDERS}
    return {**known, "date": _day(str(stated.get("CreationDate") or stated.get("ModDate") or ""))}


def _day(stamp: str) -> str:
    """The day of `D:20200131…` as 2020-01-31, empty if there is none."""
    if not (parts := STAMP.match(stamp)):
        return ""
    try:
        return date(int(parts[1]), int(parts[2] or 1), int(parts[3] or 1)).isoformat()
    except ValueError:
        return ""


def scanned(pages: Sequence[int]) -> tuple[str, ...]:
    """A note about pages without text; several in one note."""
    if not pages:
        return ()
    runs = [[page for _, page in run] for _, run in groupby(enumerate(pages), lambda pair: pair[1] - pair[0])]
    listed = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    verb = f"page {listed} is a scanned image" if len(pages) == 1 else f"pages {listed} are scanned images"
    return (f"{verb}: no text; install {DISTRIBUTION}[ocr] and choose the parser pdfium_ocr",)
