"""Loaders of folders, as the tests need them."""

from collections.abc import Sequence
from typing import Any

from rag.components.ingest.rules import FirstMatchRules
from rag.components.loaders.folder import FolderLoader
from rag.components.noise.none import NoNoiseFilter
from rag.components.parsers.text import TextParser
from rag.components.redactors.none import NoRedactor
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings


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


def document_rankings(rankings: Rankings, corpus: Corpus) -> list[list[tuple[str, float]]]:
    """Rankings of (doc_id, score), best first: each document has the place and the score of its first chunk."""
    names, ranked = [document.doc_id for document in corpus.documents], []
    for question in range(len(rankings)):
        best: dict[str, float] = {}
        for position, value in rankings.row(question):
            best.setdefault(names[int(corpus.doc[position])], value)
        ranked.append(list(best.items()))
    return ranked
