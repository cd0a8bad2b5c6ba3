"""Texts with pieces cut out or replaced, and where what is left has come to stand."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """The characters [start, end) of a text give way to `instead`."""

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
        """Make several cuts at once, all in places of `text`; cuts that overlap are one, and leave nothing."""
        apart: list[Cut] = []
        for cut in sorted(set(cuts)):
            if apart and cut.start < apart[-1].end:
                apart[-1] = Cut(apart[-1].start, max(apart[-1].end, cut.end))
            else:
                apart.append(cut)
        kept = zip([0, *(cut.end for cut in apart)], [*(cut.start for cut in apart), len(text)], strict=True)
        given = [*(cut.instead for cut in apart), ""]
        return cls("".join(text[start:end] + instead for (start, end), instead in zip(kept, given, strict=True)), tuple(apart))

    def places(self, places: Iterable[int]) -> list[int]:
        """Where places of the text before are now; what was cut out is where it stood."""
        starts = [cut.start for cut in self.cuts]
        shifts = list(accumulate((len(cut.instead) - (cut.end - cut.start) for cut in self.cuts), initial=0))
        return [self._place(place, bisect_left(starts, place), shifts) for place in places]

    def _place(self, place: int, before: int, shifts: Sequence[int]) -> int:
        """The place, given how many cuts begin before it."""
        if before and place < self.cuts[before - 1].end:
            return self.cuts[before - 1].start + shifts[before - 1]
        return place + shifts[before]
