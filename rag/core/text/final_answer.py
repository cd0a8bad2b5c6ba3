"""Where the answer begins in a reply that was asked to reason first."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from rag.core.records import Finding, Reply
from rag.core.roles import Generator, Prompt

MARKS = " \t>#*_"
DECORATION = f"[{MARKS}]*"
"""What Markdown may put before the words that announce an answer; behind them it closes its emphasis."""

MANY = 200
"""Marks before an announcement from which on it is not waited for: it is found at the end of the reply."""


def concluded(replies: Sequence[Reply], final: str) -> tuple[list[Reply], list[list[Finding]]]:
    """Replies without what stands up to `final`, the words that announce the answer, and a finding for each that lacks them.

    The last line that begins with these words counts, in any case of letters: who re-reads an answer may announce it twice.
    A reply that never announces one is left as it is, for it may be an answer all the same. Empty words leave all as they are.
    """
    if not final:
        return list(replies), [[] for _ in replies]
    places = [_place(reply.text, final) for reply in replies]
    found = [[] if place or not reply.text else [_missing(final)] for reply, place in zip(replies, places, strict=True)]
    return [_cut(reply, place) for reply, place in zip(replies, places, strict=True)], found


def _place(text: str, final: str) -> int:
    """Where the answer begins, 0 where it is not announced."""
    return max((match.end() for match in _announcement(final).finditer(text)), default=0)


def _announcement(final: str) -> re.Pattern[str]:
    return re.compile(rf"^{DECORATION}{re.escape(final)}[*_]*", re.MULTILINE | re.IGNORECASE)


def _cut(reply: Reply, place: int) -> Reply:
    return replace(reply, text=reply.text[place:].strip()) if place else reply


def _missing(final: str) -> Finding:
    return Finding("prompt", f"no line begins with {final!r}, so the whole reply is taken for the answer")


def awaited(prompt: Prompt, generator: Generator) -> str:
    """The words that announce an answer where a prompt asks a model for them; what quotes passages was asked for nothing."""
    return str(getattr(prompt, "final", "")) if getattr(generator, "costly", False) else ""


class Announced:
    """Passes on what a reply says behind its first announcement, as it comes; joined it is the answer that `concluded` leaves.

    For all else an empty piece is passed on: the model writes. A second announcement makes what was passed on a draft: nothing
    more of the reply is passed on. With `early=False` nothing is.
    """

    def __init__(self, final: str, hear: Callable[[str], None], early: bool = True) -> None:
        self._announcement, self._longest = _announcement(final), len(final)
        self._hear, self._early = hear, early
        self._line, self._known = "", False  # The beginning of a line, until it is known whether it announces an answer.
        self._times = 0
        self._blank: str | None = None  # White space that the answer may end with; None before the answer begins.

    def __call__(self, piece: str) -> None:
        """Hear a piece of the reply."""
        self._pass_on("".join(map(self._behind, re.split(r"(?<=\n)", piece))))

    def end(self) -> bool:
        """Hear that the reply has ended; whether an answer was passed on."""
        self._pass_on(self._behind("", True))
        return self._early and self._times > 0

    def _behind(self, part: str, last: bool = False) -> str:
        """What of a line, or of a part of one, stands behind the first announcement, and before another one."""
        if not self._known:
            self._line += part
            # As many characters as announce an answer, and one more: emphasis may close behind them.
            weighed = len(self._line.strip(MARKS)) > self._longest or len(self._line) > self._longest + MANY
            if not (weighed or last or part.endswith("\n")):
                return ""
            part, self._line = self._line, ""
            if announced := self._announcement.match(part):
                self._times += 1
            self._known, part = True, part[announced.end() :] if announced else part
        self._known = not part.endswith("\n")
        return part if self._times == 1 and self._early else ""

    def _pass_on(self, text: str) -> None:
        text = text.lstrip() if self._blank is None else self._blank + text
        told = text.rstrip()
        if told or self._blank is not None:
            self._blank = text[len(told) :]
        self._hear(told)
