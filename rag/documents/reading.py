"""Files → their contents, by the parser of each suffix."""

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag.core.errors import DataError
from rag.core.records import Parsed
from rag.core.roles import Parser, Redactor
from rag.documents.file_tree import CLOSED, NOT_TEXT
from rag.documents.files import read_bytes
from rag.documents.redact import redact


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read: a short `reason`, and `detail`, one line for a person."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class FileRead:
    """The result for one file.

    `name` is relative to its folder, `parser` the class of the parser, `seconds` the time of parsing. `is_stored`: the content
    was in the store, and nothing was parsed.
    """

    name: str
    sha256: str
    parser: str
    content: Parsed | Unreadable
    seconds: float = 0.0
    is_stored: bool = False


def read_files(files: Mapping[str, Path], parsers: Mapping[str, Parser], redactor: Redactor) -> Iterator[FileRead]:
    """The content of every file, redacted, in the order of `files`."""
    for name, path in files.items():
        parser = parsers[path.suffix.lower().removeprefix(".")]
        began, digest = time.perf_counter(), ""
        content: Parsed | Unreadable
        try:
            data = read_bytes(path)
            digest = hashlib.sha256(data).hexdigest()
            content = redact(parser.parse(data, str(path)), redactor)
        except DataError as error:
            reason = NOT_TEXT if isinstance(error.__cause__, UnicodeDecodeError) else CLOSED
            content = Unreadable(reason, error.what)
        yield FileRead(name, digest, type(parser).__name__, content, time.perf_counter() - began)
