"""Documents without the characters that a noise filter found."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, repeat

from rag.core.pages import page_at
from rag.core.records import Document
from rag.core.roles import NoiseFilter, changes_nothing
from rag.documents.manifest import ManifestLine

BLANK = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A text that is not in a document: the rule that found it, and its page, 0 for a format without pages."""

    rule: str
    text: str
    page: int = 0


def without_noise(
    rows: Iterable[tuple[ManifestLine, Document | None]], noise: NoiseFilter, dropped: dict[str, tuple[Dropped, ...]]
) -> Iterator[tuple[ManifestLine, Document | None]]:
    """The rows with documents without noise, measured; what is dropped is added to `dropped` by doc_id.

    A filter compares the texts of a corpus, so all rows are read before the first one is returned.
    """
    found: Iterator[Sequence[tuple[int, int, str]]] = repeat(())
    if not changes_nothing(noise):
        rows = list(rows)
        found = iter(noise.find([document for _, document in rows if document]))
    for line, document in rows:
        if document:
            document, texts = cut(document, next(found))
            line = line.measured(document, (text.rule for text in texts))
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
        dropped.append(Dropped(rule, text[start:end], page_at(document.blocks, start)))
        after = BLANK.match(text, end)
        cuts.append((max(start, cuts[-1][1]) if cuts else start, after.end() if after else end))
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


class _Places:
    """Maps places before the cuts to places after them; a place inside a cut becomes its start."""

    def __init__(self, cuts: Sequence[tuple[int, int]]) -> None:
        self.starts = [start for start, _ in cuts]
        self.cuts, self.removed = cuts, [0, *accumulate(end - start for start, end in cuts)]

    def __call__(self, place: int) -> int:
        number = bisect_left(self.starts, place)
        inside = max(0, self.cuts[number - 1][1] - place) if number else 0
        return place - self.removed[number] + inside
