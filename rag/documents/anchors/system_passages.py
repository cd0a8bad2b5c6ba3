"""The places of passages that another system returned, in the documents of a golden set."""

import re
from collections.abc import Mapping, Sequence

from rag.core.systems import SystemPassage
from rag.core.types import Document, Span, spans_of
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.parsed_anchors import resolve
from rag.documents.anchors.reduced_text import reduced

CHUNK = re.compile(r"(.+):(\d+)-(\d+)", re.DOTALL)
BETWEEN = "\x1e"
"""The mark between documents: no reduced text has it."""
HEADERS = 3
"""The most lines at the beginning that may be a title or names, which the documents do not have there."""
LEAST = 16
"""Letters and digits of a line that may name the document of a passage."""


def place_passages(wanted: Sequence[SystemPassage], documents: Sequence[Document]) -> list[Span | None]:
    """The place of each passage; None where it is not in the documents.

    A passage without a text is the place that it names. A text is compared by letters and digits, in the named document or in
    all; the first place counts. Then it is searched without its first lines, which may be a title, and at last as a quote in
    the document that is named or that has one of its lines.
    """
    search = _Search(documents)
    places = {passage: search.place(passage) for passage in dict.fromkeys(wanted)}
    return [places[passage] for passage in wanted]


class _Search:
    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents: Mapping[str, Document] = {document.doc_id: document for document in documents}
        self._starts: list[tuple[int, Document]] = []
        self._whole = ""

    def place(self, passage: SystemPassage) -> Span | None:
        """The place of one passage."""
        document, start, end = self.documents.get(passage.document), passage.start, passage.end
        if document is None and (chunk := CHUNK.fullmatch(passage.document)):
            document, start, end = self.documents.get(chunk[1]), int(chunk[2]), int(chunk[3])
        if document and 0 <= start < end <= len(document.text):
            found = document.text[start:end]
            if not passage.text or reduced(found).text == reduced(passage.text).text:
                return Span(document.doc_id, start, end)
        if not passage.text.strip():
            return Span(document.doc_id, 0, len(document.text)) if document and not end else None
        lines = passage.text.strip().splitlines()
        headed = ("\n".join(lines[cut:]) for cut in range(1, min(HEADERS, len(lines) - 1) + 1))
        places = (self._found(text, document) for text in (passage.text, *headed))
        return next(filter(None, places), None) or self._quoted(passage.text, document)

    def _found(self, text: str, document: Document | None) -> Span | None:
        """The first place of a text, in one document or in all."""
        words = reduced(text).text
        if not words:
            return None
        if document:
            at = reduced(document.text).text.find(words)
        else:
            document, at = self._among_all(words)
        if document is None or at < 0:
            return None
        start, end = reduced(document.text).offsets(at, at + len(words))
        own = start - reduced(text).offsets(0, len(words))[0]
        same = own >= 0 and document.text.startswith(text, own)  # with the marks around its letters
        return Span(document.doc_id, *((own, own + len(text)) if same else (start, end)))

    def _among_all(self, words: str) -> tuple[Document | None, int]:
        """The document that has reduced words, and their place in its reduced text; -1 without one."""
        if not self._starts:
            texts, at = [], 0
            for document in self.documents.values():
                texts.append(reduced(document.text).text)
                self._starts.append((at, document))
                at += len(texts[-1]) + len(BETWEEN)
            self._whole = BETWEEN.join(texts)
        at = self._whole.find(words)
        if at < 0:
            return None, -1
        first, document = max((each for each in self._starts if each[0] <= at), key=lambda each: each[0])
        return document, at - first

    def _quoted(self, text: str, document: Document | None) -> Span | None:
        """The place of a text that differs in a part of its characters."""
        if document is None:
            lines = sorted(text.splitlines(), key=len, reverse=True)
            known = (self._among_all(words)[0] for line in lines[:3] if len(words := reduced(line).text) >= LEAST)
            document = next(filter(None, known), None)
        if document is None:
            return None
        pieces = spans_of(resolve(document, Quoted(text), document.doc_id))
        return Span(document.doc_id, pieces[0].start, pieces[-1].end) if pieces else None
