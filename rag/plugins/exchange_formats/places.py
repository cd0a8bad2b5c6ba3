"""The places of passages in a corpus: letter by letter, as rendered, or with tolerance."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from typing import Literal

from rag.authoring.candidates import Row, place_row
from rag.core.text.layout import parts
from rag.core.text.sentences import sentences
from rag.core.types import Document, Span
from rag.documents.anchors.quote_anchors import densest
from rag.documents.anchors.quote_windows import GRAM, windows
from rag.documents.anchors.quote_words import WORD
from rag.documents.anchors.reduced_text import plain, reduced
from rag.documents.anchors.rendered import occurrences, rendered

ALIKE = 0.9
"""The least share of letters and digits that a passage and its place must have in common; all numbers must be equal."""
FEW, RARE, TRIED, SHARED = 3, 16, 5, 0.75
"""A passage of fewer words has a place only in a document that is named. The RARE rarest words of another one lead to the TRIED
documents with most of them, which have SHARED of what the first one has.
"""
SHORT = 12
"""Words at an end of a passage that are compared one by one."""
How = Literal["exact", "rendered", "fuzzy"]


@dataclass(frozen=True, slots=True)
class Found:
    """The places of a passage in a corpus; without any, `nearest` is the text of `doc_id` that is most like it."""

    spans: tuple[Span, ...] = ()
    how: How = "exact"
    nearest: str = ""
    doc_id: str = ""


class Places:
    """Finds passages in the texts of a corpus, by the documents of each word."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents, self._names = documents, list(documents)
        self._rows: dict[str, list[int]] = {}
        for row, document in enumerate(documents.values()):
            for word in {*_spelled(document.text)}:
                self._rows.setdefault(word, []).append(row)

    def find(self, passage: str, doc_id: str = "", start: int = -1) -> Found:
        """All places of a passage of the best kind: exact, rendered, fuzzy; in `doc_id`, or at its `start`, if given."""
        quote = passage.strip()
        if doc_id and start >= 0 and self._documents[doc_id].text.startswith(quote, start):
            return Found((Span(doc_id, start, start + len(quote)),))
        near = list(self._windows(quote, doc_id))
        for how in ("exact", "rendered"):
            spans = [span for window in near for span in self._literal(quote, window, how == "exact")]
            if spans:
                return Found(tuple(dict.fromkeys(spans)), how)
        scored = [alike for window in near if (alike := self._alike(quote, self._dense(quote, window)))]
        best = max((share for share, _ in scored), default=0.0)
        if best >= ALIKE:
            return Found(tuple(dict.fromkeys(span for share, span in scored if share == best)), "fuzzy")
        if not near:
            return Found()
        return Found(nearest=self._text(self._dense(quote, near[0])), doc_id=near[0].doc_id)

    def _windows(self, quote: str, doc_id: str) -> Iterator[Span]:
        """Stretches of documents that share most with a quote; the whole document for a short one."""
        wanted, is_short = reduced(quote).text, len(_spelled(quote)) < FEW
        for name in [doc_id] if doc_id else [] if is_short else self._likely(quote):
            text, size = reduced(self._documents[name].text), len(self._documents[name].text)
            whole = is_short or len(wanted) < 2 * GRAM
            for low, high in [(0, len(text.text))] if whole else windows(wanted, text.text):
                low, high = low - len(wanted), high + len(wanted)
                yield Span(name, text.places[low] if low > 0 else 0, text.places[high] if high < len(text.text) else size)

    def _likely(self, quote: str) -> list[str]:
        """The documents that have most of the rarest words of a quote."""
        known = (self._rows[word] for word in dict.fromkeys(_spelled(quote)) if word in self._rows)
        best = Counter(chain.from_iterable(sorted(known, key=len)[:RARE])).most_common(TRIED)
        return [self._names[row] for row, shared in best if shared >= SHARED * best[0][1]]

    def _text(self, span: Span) -> str:
        return self._documents[span.doc_id].text[span.start : span.end]

    def _dense(self, quote: str, window: Span) -> Span:
        """The part of a window that shares most words with a quote, and some characters around it."""
        start, end = densest(self._text(window), quote) or (0, window.end - window.start)
        slack = 40 + len(quote) // 8
        return Span(window.doc_id, max(window.start + start - slack, window.start), min(window.start + end + slack, window.end))

    def _literal(self, quote: str, window: Span, is_exact: bool) -> Iterator[Span]:
        text = self._text(window)
        exact = [(at, at + len(quote)) for at in occurrences(text, quote, TRIED)] if is_exact else rendered(text).places(quote)
        for low, high in exact:
            # The numbers of a list are marks that a reader may have copied.
            same = is_exact or _numbers(quote) in (_numbers(text[low:high]), _numbers(rendered(text[low:high]).text))
            if same and not _cuts_number(text, low) and not _cuts_number(text, high):
                yield Span(window.doc_id, window.start + low, window.start + high)

    def _alike(self, quote: str, window: Span) -> tuple[float, Span] | None:
        """The stretch of a window that is most like a quote, with its share of common characters; None if numbers differ."""
        wanted, hits = _spelled(quote), list(_tokens(self._text(window)))
        words = [plain(hit[0]).lower() for hit in hits]
        matches = SequenceMatcher(None, words, wanted, autojunk=False).get_matching_blocks()[:-1]
        if 2 * sum(len("".join(words[match.a : match.a + match.size])) for match in matches) < sum(map(len, wanted)):
            return None
        solid = [match for match in matches if match.size > 1] or matches
        lows = {each.a - _edge(wanted[: each.b][::-1], words[: each.a][::-1]) for each in solid[:TRIED]}
        ends = [(each.a + each.size, each.b + each.size) for each in solid[-TRIED:]]
        highs = {end + _edge(wanted[after:], words[end:]) for end, after in ends}
        low = max(sorted(lows), key=lambda low: _share(wanted, words[low : max(highs)]))
        high = max(sorted(highs), key=lambda high: _share(wanted, words[low:high]))
        chosen = words[low:high]
        span = Span(window.doc_id, window.start + hits[low].start(), window.start + hits[high - 1].end())
        if _numbers(quote) != _numbers(self._text(span)):
            return None
        return _share(wanted, chosen), span


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return WORD.finditer(text)


def _spelled(text: str) -> list[str]:
    """The words and numbers of a text without case and accents."""
    return [plain(hit[0]).lower() for hit in _tokens(text)]


def _numbers(text: str) -> list[str]:
    return [word for word in _spelled(text) if word[0].isdigit()]


def _cuts_number(text: str, place: int) -> bool:
    first = max(place - 20, 0)
    hits = _tokens(text[first : place + 20])
    return any(hit.start() < place - first < hit.end() and hit[0][0].isdigit() for hit in hits)


def _edge(wanted: Sequence[str], words: Sequence[str]) -> int:
    """How many of the words, from the first on, are most like the wanted ones; as many as these if they are many."""
    if not 0 < len(wanted) <= SHORT:
        return min(len(wanted), len(words))
    sizes = range(max(len(wanted) - 2, 0), min(len(wanted) + 2, len(words)) + 1)
    return max(sizes, key=lambda size: _share(["".join(wanted)], ["".join(words[:size])]), default=0)


def _share(wanted: Sequence[str], words: Sequence[str]) -> float:
    """The share of the characters of the longer text that both have in common, in order."""
    common = 0
    for tag, low, high, start, end in SequenceMatcher(None, wanted, words, autojunk=False).get_opcodes():
        first, second = "".join(wanted[low:high]), "".join(words[start:end])
        if tag == "equal":
            common += len(first)
        elif tag == "replace":
            common += sum(block.size for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks())
    return common / max(sum(map(len, wanted)), sum(map(len, words)), 1)


def drafted_place(document: Document, answers: Sequence[str]) -> Row | None:
    """The sentence of a document that holds the only place of an answer; None for none, and for several."""
    text = document.text
    found = [place for answer in answers if answer and len(place := occurrences(text, answer, 2)) == 1]
    pieces = (piece for part in parts(text) for piece in sentences(text, (part.start, part.end)))
    own = next((piece for piece in pieces if found and piece[0] <= found[0][0] < piece[1]), None)
    return place_row(document, Span(document.doc_id, *own)) if own else None
