"""The places of passages in a corpus: letter by letter, as rendered, or with tolerance."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag.authoring.candidates import Row, place_row
from rag.core.text.layout import parts
from rag.core.text.sentences import sentences
from rag.core.types import Document, Span
from rag.documents.anchors.reduced_text import plain
from rag.documents.anchors.rendered import occurrences, rendered

ALIKE = 0.9
"""The least share of letters and digits that a passage and its place must have in common; all numbers must be equal."""
GRAM, COMMON, TRIED = 3, 100, 5
"""Words in a row by which places are found; a row of words in more places is common; the most places that are tried."""
SHORT = 12
"""Words at an end of a passage that are compared one by one."""
TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
STEP = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio: multiples of it are spread evenly (Knuth, The Art of Computer Programming, 6.4)."""
How = Literal["exact", "rendered", "fuzzy"]


@dataclass(frozen=True, slots=True)
class Found:
    """The places of a passage in a corpus; without any, `nearest` is the text of `doc_id` that is most like it."""

    spans: tuple[Span, ...] = ()
    how: How = "exact"
    nearest: str = ""
    doc_id: str = ""


class Places:
    """Finds passages in the texts of a corpus. It keeps about 30 bytes for each word; the time grows with the words."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents, self._names = documents, list(documents)
        self._numbers = {name: number for number, name in enumerate(documents)}
        self._words: dict[str, int] = {}
        numbers, bounds, self._firsts = list[NDArray[np.int64]](), list[NDArray[np.int64]](), [0]
        for document in documents.values():
            tokens = [
                (self._words.setdefault(plain(hit[0]).lower(), len(self._words)), *hit.span()) for hit in _tokens(document.text)
            ]
            table = np.array(tokens or np.empty((0, 3)), np.int64)
            numbers.append(table[:, 0])
            bounds.append(table[:, 1:])
            self._firsts.append(self._firsts[-1] + len(tokens))
        self._bounds = np.concatenate(bounds or [np.empty((0, 2), np.int64)]).astype(np.int32)
        hashes = _hashes(np.concatenate(numbers or [np.empty(0, np.int64)]))
        self._order = np.argsort(hashes, kind="stable").astype(np.int32)
        self._hashes = hashes[self._order]

    def find(self, passage: str, doc_id: str = "", start: int = -1) -> Found:
        """All places of a passage of the best kind: exact, rendered, fuzzy; in `doc_id`, or at its `start`, if given."""
        quote = passage.strip()
        if doc_id and start >= 0 and self._documents[doc_id].text.startswith(quote, start):
            return Found((Span(doc_id, start, start + len(quote)),))
        windows = list(self._windows(quote, doc_id))
        for how in ("exact", "rendered"):
            spans = [span for window in windows for span in self._literal(quote, window, how == "exact")]
            if spans:
                return Found(tuple(dict.fromkeys(spans)), how)
        scored = [alike for window in windows if (alike := self._alike(quote, window))]
        best = max((share for share, _ in scored), default=0.0)
        if best >= ALIKE:
            return Found(tuple(dict.fromkeys(span for share, span in scored if share == best)), "fuzzy")
        return Found(nearest=self._text(windows[0]), doc_id=windows[0].doc_id) if windows else Found()

    def _windows(self, quote: str, doc_id: str) -> Iterator[Span]:
        """Stretches of documents that share most rows of words with a quote; the whole document for a quote without any."""
        words = [self._words.get(plain(hit[0]).lower(), -1) for hit in _tokens(quote)]
        if len(words) < GRAM:
            if doc_id and words:
                yield Span(doc_id, 0, len(self._documents[doc_id].text))
            return
        hashes = _hashes(np.array(words, np.int64))
        lows, highs = (np.searchsorted(self._hashes, hashes, side) for side in ("left", "right"))
        counts = highs - lows
        most = max(COMMON, int(counts[counts > 0].min())) if counts.any() else 0
        rare = np.flatnonzero((counts > 0) & (counts <= most))
        hits = [self._order[lows[row] : highs[row]] for row in rare]
        begins = np.concatenate([places - row for row, places in zip(rare, hits, strict=True)] or [np.empty(0, np.int32)])
        texts = np.searchsorted(self._firsts, np.concatenate(hits or [np.empty(0, np.int32)]), "right") - 1
        if doc_id:
            begins, texts = begins[texts == self._numbers[doc_id]], texts[texts == self._numbers[doc_id]]
        width = max(8, len(words) // 8)
        _, chosen, votes = np.unique(np.stack([texts, begins // width]), axis=1, return_index=True, return_counts=True)
        for place in np.argsort(-votes, kind="stable")[:TRIED]:
            if 2 * votes[place] < votes.max():
                return
            slack = width + len(words) // 10
            begin, text = int(begins[chosen[place]]), int(texts[chosen[place]])
            yield self._window(text, begin - slack, begin + len(words) + slack)

    def _window(self, place: int, low: int, high: int) -> Span:
        """The text from word `low` of the corpus to word `high`, as far as they are in a document."""
        doc_id, first, last = self._names[place], self._firsts[place], self._firsts[place + 1]
        start = 0 if low <= first else int(self._bounds[low, 0])
        return Span(doc_id, start, len(self._documents[doc_id].text) if high >= last else int(self._bounds[high - 1, 1]))

    def _text(self, span: Span) -> str:
        return self._documents[span.doc_id].text[span.start : span.end]

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
    return TOKEN.finditer(text)


def _spelled(text: str) -> list[str]:
    """The words and numbers of a text without case and accents."""
    return [plain(hit[0]).lower() for hit in _tokens(text)]


def _numbers(text: str) -> list[str]:
    return [word for word in _spelled(text) if word[0].isdigit()]


def _cuts_number(text: str, place: int) -> bool:
    first = max(place - 20, 0)
    hits = _tokens(text[first : place + 20])
    return any(hit.start() < place - first < hit.end() and hit[0][0].isdigit() for hit in hits)


def _hashes(words: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of each GRAM words in a row."""
    numbers, size = words.astype(np.uint64) + np.uint64(1), max(len(words) - GRAM + 1, 0)
    total = np.zeros(size, np.uint64)
    for place in range(GRAM):
        total = (total ^ numbers[place : place + size]) * STEP
        total ^= total >> np.uint64(29)
    return total


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
