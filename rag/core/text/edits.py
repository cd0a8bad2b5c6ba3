"""Texts with pieces removed or replaced, and the new places of the rest."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate


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

    def places(self, places: Iterable[int]) -> list[int]:
        """The new offsets of places in the old text; a removed place moves to the start of its cut."""
        starts = [cut.start for cut in self.cuts]
        shifts = list(accumulate((len(cut.instead) - (cut.end - cut.start) for cut in self.cuts), initial=0))
        return [self._place(place, bisect_left(starts, place), shifts) for place in places]

    def _place(self, place: int, before: int, shifts: Sequence[int]) -> int:
        """The new offset of a place behind the starts of `before` cuts."""
        if before and place < self.cuts[before - 1].end:
            return self.cuts[before - 1].start + shifts[before - 1]
        return place + shifts[before]
