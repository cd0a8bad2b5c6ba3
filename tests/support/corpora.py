"""Loaders of folders, as the tests need them."""

from collections.abc import Sequence
from typing import Any

from rag.components.ingest.rules import FirstMatchRules
from rag.components.loaders.folder import FolderLoader
from rag.components.noise.none import NoNoiseFilter
from rag.components.parsers.text import TextParser
from rag.components.redactors.none import NoRedactor


def text_folder(path: str, patterns: Sequence[str] | None = None, **metadata: Any) -> FolderLoader:
    """A loader that reads Markdown and plain text as it is; `metadata` are its parameters of metadata."""
    return FolderLoader(
        path,
        dict.fromkeys(TextParser.suffixes, TextParser()),
        NoRedactor(),
        FirstMatchRules("All files.", []),
        NoNoiseFilter(),
        patterns,
        **metadata,
    )
