"""Documents without the characters that a noise filter found."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from rag.core.pages import page_at
from rag.core.text.edits import Cut, Edited
from rag.core.types import Block, Document

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


def cut(document: Document, found: Sequence[tuple[int, int, str]]) -> tuple[Document, tuple[Dropped, ...]]:
    """The document without the characters [start, end) of each finding and the white space after it, and what was dropped.

    Blocks and redactions are moved; those inside a finding are dropped with it. Findings are in reading order and may be
    nested: the outer one counts.
    """
    cuts: list[Cut] = []
    dropped: list[Dropped] = []
    text = document.text
    for start, end, rule in found:
        last = cuts[-1].end if cuts else 0
        if start < last and end <= last:
            continue
        start, after = max(start, last), _after_blank(text, end)
        at = start - sum(one.size for one in dropped)
        dropped.append(Dropped(rule, text[start:end], page_at(document.blocks, start), at, text[end:after]))
        cuts.append(Cut(start, after))
    if not cuts:
        return document, ()
    edited = Edited.of(text, cuts)
    blocks = tuple(block for block in edited.moved(document.blocks) if block.start < block.end)
    redactions = tuple(each for each in edited.moved(document.redactions) if each.start < each.end)
    return replace(document, text=edited.text, blocks=blocks, redactions=redactions), tuple(dropped)


def _after_blank(text: str, place: int) -> int:
    match = BLANK.match(text, place)
    return match.end() if match else place


def with_noise(document: Document, dropped: Sequence[Dropped]) -> Document:
    """The document before `cut`, with a block for each text that was dropped."""
    added = groupby(dropped, lambda one: one.at)
    edited = Edited.of(document.text, [Cut(at, at, "".join(one.text + one.blank for one in ones)) for at, ones in added])
    starts = accumulate((one.size for one in dropped), initial=0)
    places = [(one, one.at + gone) for one, gone in zip(dropped, starts, strict=False)]
    blocks = [Block("marginalia", start, start + len(one.text), one.page) for one, start in places]
    blocks += edited.moved(document.blocks)
    return replace(
        document,
        text=edited.text,
        blocks=tuple(sorted(blocks, key=lambda block: (block.start, -block.end))),
        redactions=edited.moved(document.redactions),
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
