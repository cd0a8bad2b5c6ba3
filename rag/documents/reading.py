"""Files → their contents, by the parser of each suffix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag.core.errors import DataError
from rag.core.records import Parsed
from rag.core.roles import Parser, Redactor
from rag.documents.file_tree import CLOSED, NOT_TEXT
from rag.documents.files import read_bytes


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read: a short `reason`, and `detail`, one line for a person."""

    reason: str
    detail: str


def read_files(
    files: Mapping[str, Path], parsers: Mapping[str, Parser], redactor: Redactor
) -> Iterator[tuple[str, Parsed | Unreadable]]:
    """The content of every file by its name, in the order of `files`."""
    for name, path in files.items():
        parser = parsers[path.suffix.lower().removeprefix(".")]
        try:
            yield name, parser.parse(read_bytes(path), str(path))
        except DataError as error:
            reason = NOT_TEXT if isinstance(error.__cause__, UnicodeDecodeError) else CLOSED
            yield name, Unreadable(reason, error.what)
