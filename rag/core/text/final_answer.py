"""The answer in a reply of a model that was asked to reason first."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rag.core.roles import Generator, Prompt, is_costly
from rag.core.types import Finding, Reply

MARKS = " \t>#*_"
DECORATION = f"[{MARKS}]*"
"""Markdown before the words that announce an answer; behind them it may close its emphasis."""

MANY = 200
"""The most marks before an announcement in a stream; a later one is found at the end of the reply."""


def concluded(
    replies: Sequence[Reply], final: str, inputs: Mapping[str, str] | None = None
) -> tuple[list[Reply], list[list[Finding]]]:
    """Replies from behind `final`, the words that announce the answer, and a finding for each reply without these words.

    The last line that begins with these words counts, in any case of letters: a model may correct an answer. A reply without
    them is not changed, for it may be an answer all the same. If `final` is empty, no reply is changed.

    `inputs` are beginnings of lines before the answer that name the kind of the message, each with one of INPUTS; the last
    such line counts, and its kind is a finding unless it is `question`.
    """
    if not final:
        return list(replies), [[] for _ in replies]
    places = [_place(reply.text, final) for reply in replies]
    pairs = list(zip(replies, places, strict=True))
    absent = Finding("prompt", f"no line begins with {final!r}, so the whole reply is the answer")
    missing = [[] if place or not reply.text else [absent] for reply, place in pairs]
    kinds = [_kind(reply.text[:place], inputs or {}) for reply, place in pairs]
    answers = [replace(reply, text=reply.text[place:].strip()) if place else reply for reply, place in pairs]
    return answers, [[*first, *second] for first, second in zip(missing, kinds, strict=True)]


def _kind(before: str, inputs: Mapping[str, str]) -> list[Finding]:
    """The kind of the message that a model names before its answer."""
    lines = map(_letters, before.splitlines())
    named = [kind for line in lines for words, kind in inputs.items() if line.startswith(_letters(words))]
    known = [kind for kind in named[-1:] if kind != "question"]
    return [Finding("prompt", f"the model takes the message for: {kind}", input=kind) for kind in known]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _place(text: str, final: str) -> int:
    """The start of the answer, 0 if it is not announced."""
    return max((match.end() for match in _announcement(final).finditer(text)), default=0)


def _announcement(final: str) -> re.Pattern[str]:
    return re.compile(rf"^{DECORATION}{re.escape(final)}[*_]*", re.MULTILINE | re.IGNORECASE)


def awaited(prompt: Prompt, generator: Generator) -> str:
    """The words that announce an answer, if the prompt asks a model for them; empty for an extractive generator."""
    return str(getattr(prompt, "final", "")) if is_costly(generator) else ""


class Announced:
    """Passes on a streamed reply from behind its first announcement; joined it is the answer of `concluded`.

    For other text it passes on empty pieces, which show that the model writes. After a second announcement the passed text was
    a draft, and nothing more is passed on. With `early=False` nothing is.
    """

    def __init__(self, final: str, hear: Callable[[str], None], early: bool = True) -> None:
        self._announcement, self._longest = _announcement(final), len(final)
        self._hear, self._early = hear, early
        self._line, self._known = "", False  # The start of a line, and whether it is known to announce an answer or not.
        self._times = 0
        self._blank: str | None = None  # White space that may be the end of the answer; None before the answer begins.

    def __call__(self, piece: str) -> None:
        """Take a piece of the reply."""
        self._pass_on("".join(map(self._behind, re.split(r"(?<=\n)", piece))))

    def end(self) -> bool:
        """Take the end of the reply; True if an answer was passed on."""
        self._pass_on(self._behind("", True))
        return self._early and self._times > 0

    def _behind(self, part: str, last: bool = False) -> str:
        """The characters of a line, or of a part of one, between the first announcement and a second one."""
        if not self._known:
            self._line += part
            # The length of the announcement and one character more: emphasis may close behind it.
            decided = len(self._line.strip(MARKS)) > self._longest or len(self._line) > self._longest + MANY
            if not (decided or last or part.endswith("\n")):
                return ""
            part, self._line = self._line, ""
            if announced := self._announcement.match(part):
                self._times += 1
            self._known, part = True, part[announced.end() :] if announced else part
        self._known = not part.endswith("\n")
        return part if self._times == 1 and self._early else ""

    def _pass_on(self, text: str) -> None:
        text = text.lstrip() if self._blank is None else self._blank + text
        visible = text.rstrip()
        if visible or self._blank is not None:
            self._blank = text[len(visible) :]
        self._hear(visible)
