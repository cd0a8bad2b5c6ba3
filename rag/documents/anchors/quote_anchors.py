"""Placing gold in documents: a quote is found, or the error names the nearest text."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches

from rag.core.errors import DataError
from rag.core.roles import Redactor
from rag.core.text.sentences import blocks, sentences
from rag.core.types import Anchor, Document, Fate, Span
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.parsed_anchors import is_parsed, lost, resolve
from rag.documents.anchors.rendered import occurrences, rendered
from rag.documents.clean.noise import Dropped, with_noise, without_dropped
from rag.documents.folder.json_rows import shortened

WORD = re.compile(r"\w+")
KEPT = 0.5
"""The least share of the characters of a quote that must be left where the rest of it was dropped as noise."""


class Documents(dict[str, Document]):
    """The documents of a corpus by doc_id, the reason for every file that was not read, and what was dropped as noise.

    `unread` are the files that their parsers could not read; `redactor` put placeholders into the texts.
    """

    def __init__(
        self,
        documents: Iterable[Document],
        skipped: Mapping[str, str],
        dropped: Mapping[str, Sequence[Dropped]] | None = None,
        unread: Collection[str] = (),
        redactor: Redactor | None = None,
    ) -> None:
        super().__init__({document.doc_id: document for document in documents})
        self.skipped, self.dropped, self.unread, self.redactor = skipped, dropped or {}, unread, redactor


def find_document(doc_id: str, documents: Mapping[str, Document], where: str) -> Document:
    """The document of that name; DataError with the closest names, or with the reason why its file was not read."""
    reason = documents.skipped.get(doc_id) if isinstance(documents, Documents) else None
    if reason:
        remedy = "make it readable, change the rule that excludes it, or quote another"
        raise DataError(where, f"the file {doc_id!r} exists and was not read: {reason}", remedy)
    if doc_id not in documents:
        raise DataError(where, f"the corpus has no document {doc_id!r}", closest_names(doc_id, documents))
    return documents[doc_id]


def closest_names(name: str, known: Collection[str]) -> str:
    """Up to three names like `name`, or the first few of all: a corpus is too long to be listed."""
    near = get_close_matches(name, known, n=3)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    some = ", ".join(map(repr, sorted(known)[:5]))
    return f"none of its {len(known)} names comes close; the first are: {some}"


def anchor(
    document: Document, quote: str, place: tuple[int, int] | None, where: str, others: Mapping[str, Document] | None = None
) -> Span:
    """The span of `quote`: at `place` (start, end) if it is there, else its only occurrence.

    A quote that does not occur character by character is searched as a reader of the rendered page would copy it, see
    `rag.documents.anchors.rendered`. DataError if it occurs nowhere, or more than once while `place` does not decide: gold is
    never guessed. `others` are searched only so that the error can name another document.
    """
    if not quote:
        raise DataError(where, "the quote is empty", "quote the words that hold the evidence")
    if place and place[0] >= 0 and document.text[slice(*place)] == quote:
        return Span(document.doc_id, *place)
    places = quote_places(document.text, quote)
    chosen = [place] if place in places else places
    if len(chosen) == 1:
        return Span(document.doc_id, *chosen[0])
    starts = [start for start, _ in places]
    raise DataError(where, *(_ambiguous(document, quote, starts) if places else _missing(document, quote, others or {})))


def place_of(doc_id: str, quoted: Quoted, where: str, documents: Mapping[str, Document]) -> Span | Anchor:
    """A quote as gold: its span where the text is that of the file (see `anchor`), else its fate in the parsed text."""
    known = documents if isinstance(documents, Documents) else Documents((), {})
    if doc_id in known.unread and is_parsed(Document(doc_id, "")):
        return lost(doc_id, quoted, "parser", f"not read: {known.skipped[doc_id]}")
    document, dropped = find_document(doc_id, documents, where), known.dropped.get(doc_id, ())
    if dropped:
        return _among_noise(document, quoted, where, dropped, known.redactor)
    if is_parsed(document):
        return resolve(document, quoted, where, known.redactor)
    return anchor(document, quoted.text, quoted.place, where, documents)


def _among_noise(
    document: Document, quoted: Quoted, where: str, dropped: Sequence[Dropped], redactor: Redactor | None
) -> Anchor:
    """The fate of a quote that may hold texts that were dropped, such as the header of its page."""
    found = resolve(document, quoted, where, redactor)
    if found.spans:
        return found
    before = resolve(with_noise(document, dropped), quoted, where, redactor)
    if not before.spans:
        return before
    parts = [without_dropped(span.start, span.end, dropped) for span in before.spans]
    places = [place for kept, _ in parts for place in kept]
    if sum(end - start for start, end in places) < KEPT * sum(span.end - span.start for span in before.spans):
        rules = dict.fromkeys(rule for _, rules in parts for rule in rules)
        return lost(document.doc_id, quoted, "noise", ", ".join(rules))
    fate: Fate = "words" if before.fate == "words" else "pieced"
    return replace(before, spans=tuple(Span(document.doc_id, *place) for place in places), fate=fate)


def quote_places(text: str, quote: str) -> list[tuple[int, int]]:
    """The first four places [start, end) of a quote: as it is, or else as a reader of the rendered page would copy it."""
    exact = [(place, place + len(quote)) for place in occurrences(text, quote, 4)]
    return exact or rendered(text).places(quote)


def places_in(documents: Mapping[str, Document], quote: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The documents that hold a quote, and its places; documents without one of its words are not searched."""
    words = set(WORD.findall(quote))
    for doc_id, document in documents.items():
        if all(word in document.text for word in words) and (places := quote_places(document.text, quote)):
            yield doc_id, places


def nearest(text: str, quote: str) -> tuple[int, int, float] | None:
    """The stretch [start, end) of `text` that is `densest`, and its similarity to `quote` from 0 to 1."""
    found = densest(text, quote)
    return (*found, SequenceMatcher(None, quote, text[slice(*found)]).ratio()) if found else None


def densest(text: str, quote: str) -> tuple[int, int] | None:
    """The stretch [start, end) of `text` that shares most words with `quote`.

    A window not much longer than the quote slides over the words that the two have in common, so that the time grows with
    the length of the text only. None if they share no word.
    """
    wanted = Counter(word.lower() for word in WORD.findall(quote))
    hits = [(hit.start(), hit.end(), word) for hit in WORD.finditer(text) if (word := hit[0].lower()) in wanted]
    seen: Counter[str] = Counter()
    left, shared, best = 0, 0, (0, 0, 0)
    for start, end, word in hits:
        shared += seen[word] < wanted[word]
        seen[word] += 1
        while start > hits[left][0] and end - hits[left][0] > 1.2 * len(quote):
            seen[hits[left][2]] -= 1
            shared -= seen[hits[left][2]] < wanted[hits[left][2]]
            left += 1
        best = max(best, (shared, hits[left][0] - end, end))
    shared, length, end = best
    return (end + length, end) if shared else None


def line_of(text: str, place: int) -> int:
    """The number, from 1, of the line with the character at `place`."""
    return text.count("\n", 0, place) + 1


def _ambiguous(document: Document, quote: str, places: list[int]) -> tuple[str, str]:
    lines = ", ".join(f"{line_of(document.text, place)} (start {place})" for place in places[:3])
    more = ", …" if len(places) > 3 else ""
    what = f"the quote {shortened(quote)!r} occurs more than once in {document.doc_id!r}: on lines {lines}{more}"
    return what, "make the quote longer, or add the right 'start' and 'end'"


def _missing(document: Document, quote: str, others: Mapping[str, Document]) -> tuple[str, str]:
    what = f"the quote {shortened(quote)!r} is not in {document.doc_id!r}"
    elsewhere = [doc_id for doc_id, _ in places_in(others, quote)]
    if elsewhere:
        return what, f"it is in {', '.join(map(repr, elsewhere[:3]))}"
    near = nearest(document.text, quote)
    if near is None:
        return what, "none of its words is; check the document's name"
    start, end, alike = near
    start, end = whole_sentences(document.text, start, end)
    text = " ".join(document.text[start:end].split())
    return what, f"nearest is line {line_of(document.text, start)}, {min(99, int(100 * alike))} % alike: {text!r}"


def whole_sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch extended to whole sentences."""
    first = next((block for block in blocks(text) if block[1] > start), (start, end))
    last = next((block for block in blocks(text) if block[1] >= end), (start, end))
    begins = [piece[0] for piece in sentences(text, first) if piece[0] <= start]
    ends = [piece[1] for piece in sentences(text, last) if piece[1] >= end]
    return max(begins, default=start), min(ends, default=end)
