"""Texts with pieces removed or replaced, and the new places of the rest."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from rag.core.types import Block, Redaction

Part = TypeVar("Part", Block, Redaction)


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """Replace the characters [start, end) of a text by `instead`."""

    start: int
    end: int
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after `cuts`, which are in order and do not overlap."""

    text: str
    cuts: tuple[Cut, ...]

    @classmethod
    def of(cls, text: str, cuts: Sequence[Cut]) -> "Edited":
        """Make several cuts at once, all at places of `text`; overlapping cuts become one with nothing instead."""
        apart: list[Cut] = []
        for cut in sorted(set(cuts)):
            if apart and cut.start < apart[-1].end:
                apart[-1] = Cut(apart[-1].start, max(apart[-1].end, cut.end))
            else:
                apart.append(cut)
        kept = zip([0, *(cut.end for cut in apart)], [*(cut.start for cut in apart), len(text)], strict=True)
        added = [*(cut.instead for cut in apart), ""]
        return cls("".join(text[start:end] + instead for (start, end), instead in zip(kept, added, strict=True)), tuple(apart))

    def stretches(self, stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """The new [start, end) of stretches of the old text; an edge inside a cut moves to that of what is there instead.

        Text that is added at an edge of a stretch stays outside of it.
        """
        starts, ends = [cut.start for cut in self.cuts], [cut.end for cut in self.cuts]
        shifts = list(accumulate((len(cut.instead) - (cut.end - cut.start) for cut in self.cuts), initial=0))
        found = []
        for start, end in stretches:
            gone, begun = bisect_right(ends, start), bisect_left(starts, end)
            first = min(start, starts[gone]) if gone < len(starts) else start
            last = max(end, ends[begun - 1]) if begun else end
            found.append((first + shifts[gone], last + shifts[begun]))
        return found

    def moved(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Blocks or redactions of the old text, at their `stretches` of the new one."""
        places = self.stretches((part.start, part.end) for part in parts)
        return tuple(replace(part, start=start, end=end) for part, (start, end) in zip(parts, places, strict=True))
