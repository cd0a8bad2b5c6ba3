"""Documents without the characters that a noise filter found."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rag.core.pages import page_at
from rag.core.records import Block, Document
from rag.core.roles import NoiseFilter, changes_nothing
from rag.documents.manifest import ManifestLine

BLANK = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A text that is not in a document any more: the rule that found it, and its page, 0 for a format without pages.

    It was in front of the character `at`, and `blank` is the white space between the two.
    """

    rule: str
    text: str
    page: int = 0
    at: int = 0
    blank: str = ""

    @property
    def size(self) -> int:
        """The number of characters that are gone."""
        return len(self.text) + len(self.blank)


def without_noise(
    rows: Iterable[tuple[ManifestLine, Document | None]], noise: NoiseFilter, dropped: dict[str, tuple[Dropped, ...]]
) -> Iterator[tuple[ManifestLine, Document | None]]:
    """The rows with documents without noise; what is dropped is added to `dropped` by doc_id.

    A filter compares the texts of a corpus, so all rows are read before the first one is returned.
    """
    if changes_nothing(noise):
        yield from rows
        return
    read = list(rows)
    found = iter(noise.find([document for _, document in read if document]))
    for line, document in read:
        if document:
            document, texts = cut(document, next(found))
            line = line.measured(document)
            if texts:
                dropped[document.doc_id] = texts
        yield line, document


def cut(document: Document, found: Sequence[tuple[int, int, str]]) -> tuple[Document, tuple[Dropped, ...]]:
    """The document without the characters [start, end) of each finding and the white space after it, and what was dropped.

    Blocks and redactions are moved; those inside a finding are dropped with it. Findings are in reading order and may be
    nested: the outer one counts.
    """
    cuts: list[tuple[int, int]] = []
    dropped: list[Dropped] = []
    text = document.text
    for start, end, rule in found:
        if cuts and start < cuts[-1][1] and end <= cuts[-1][1]:
            continue
        start, after = max(start, cuts[-1][1] if cuts else 0), _after_blank(text, end)
        at = start - sum(one.size for one in dropped)
        dropped.append(Dropped(rule, text[start:end], page_at(document.blocks, start), at, text[end:after]))
        cuts.append((start, after))
    if not cuts:
        return document, ()
    moved = _Places(cuts)
    kept = [text[end:start] for (_, end), (start, _) in zip([(0, 0), *cuts], [*cuts, (len(text), 0)], strict=True)]
    blocks = ((moved(block.start), moved(block.end), block) for block in document.blocks)
    redactions = ((moved(one.start), moved(one.end), one) for one in document.redactions)
    cleaned = replace(
        document,
        text="".join(kept),
        blocks=tuple(replace(block, start=start, end=end) for start, end, block in blocks if start < end),
        redactions=tuple(replace(one, start=start, end=end) for start, end, one in redactions if start < end),
    )
    return cleaned, tuple(dropped)


def _after_blank(text: str, place: int) -> int:
    match = BLANK.match(text, place)
    return match.end() if match else place


def with_noise(document: Document, dropped: Sequence[Dropped]) -> Document:
    """The document before `cut`, with a block for each text that was dropped."""
    pieces, blocks = [], []
    last = gone = 0
    for one in dropped:
        pieces += [document.text[last : one.at], one.text, one.blank]
        blocks.append(Block("marginalia", one.at + gone, one.at + gone + len(one.text), one.page))
        last, gone = one.at, gone + one.size
    moved = _Restored(dropped)
    blocks += [replace(block, start=moved(block.start), end=moved(block.end - 1) + 1) for block in document.blocks]
    return replace(
        document,
        text="".join([*pieces, document.text[last:]]),
        blocks=tuple(sorted(blocks, key=lambda block: (block.start, -block.end))),
        redactions=tuple(replace(one, start=moved(one.start), end=moved(one.end - 1) + 1) for one in document.redactions),
    )


def without_dropped(start: int, end: int, dropped: Sequence[Dropped]) -> tuple[list[tuple[int, int]], list[str]]:
    """The part of a stretch of `with_noise` that is in the document, as stretches of its text, and the rules of the rest."""
    kept: list[tuple[int, int]] = []
    rules: list[str] = []
    gone = last = 0
    for one in [*dropped, Dropped("", "", at=end)]:
        low, high = max(start - gone, last), min(end - gone, one.at)
        if low < high:
            kept.append((low, high))
        if start < one.at + gone + one.size and one.at + gone < end:
            rules.append(one.rule)
        last, gone = one.at, gone + one.size
    return kept, rules


class _Restored:
    """Maps characters of a document to their places in `with_noise`."""

    def __init__(self, dropped: Sequence[Dropped]) -> None:
        self.at = [one.at for one in dropped]
        self.gone = [0, *accumulate(one.size for one in dropped)]

    def __call__(self, place: int) -> int:
        return place + self.gone[bisect_right(self.at, place)]


class _Places:
    """Maps places before the cuts to places after them; a place inside a cut becomes its start."""

    def __init__(self, cuts: Sequence[tuple[int, int]]) -> None:
        self.starts = [start for start, _ in cuts]
        self.cuts, self.removed = cuts, [0, *accumulate(end - start for start, end in cuts)]

    def __call__(self, place: int) -> int:
        number = bisect_left(self.starts, place)
        inside = max(0, self.cuts[number - 1][1] - place) if number else 0
        return place - self.removed[number] + inside
