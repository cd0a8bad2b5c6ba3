"""Loaders of folders, as the tests need them."""

from collections.abc import Sequence

from rag.components.ingest.rules import FirstMatchRules
from rag.components.loaders.folder import FolderLoader
from rag.components.parsers.text import TextParser
from rag.components.redactors.none import NoRedactor


def text_folder(path: str, patterns: Sequence[str] | None = None) -> FolderLoader:
    """A loader that reads Markdown and plain text as it is."""
    return FolderLoader(
        path, dict.fromkeys(TextParser.suffixes, TextParser()), NoRedactor(), FirstMatchRules("All files.", []), patterns
    )
