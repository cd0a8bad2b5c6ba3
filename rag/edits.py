"""Texts with pieces cut out or replaced, and where what is left has come to stand."""

from collections.abc import Sequence
from dataclasses import dataclass


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
        for cut in reversed(apart):
            text = text[: cut.start] + cut.instead + text[cut.end :]
        return cls(text, tuple(apart))

    def place(self, place: int) -> int:
        """Where a place of the text before is now; what was cut out is where it stood."""
        shift = 0
        for cut in self.cuts:
            if place < cut.end or place <= cut.start:
                return min(place, cut.start) + shift
            shift += len(cut.instead) - (cut.end - cut.start)
        return place + shift
