"""Markdown and plain text, as they are in the file."""

from typing import ClassVar

from rag.core import headings
from rag.core.types import Parsed
from rag.documents.folder.files import decode


class TextParser:
    """UTF-8 text; a byte order mark is dropped and line ends become line feeds. `title` is the title or first heading."""

    suffixes: ClassVar[tuple[str, ...]] = ("md", "txt")
    in_process: ClassVar[bool] = True

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text of a file; DataError if it is not UTF-8."""
        text = decode(data, name)
        title = headings.title(text)
        return Parsed(text, metadata={"title": title} if title else {})
