"""Where the answer begins in a reply that was asked to reason first."""

import re
from collections.abc import Sequence
from dataclasses import replace

from rag.records import Finding, Reply
from rag.roles import Generator, Prompt

DECORATION = r"[ \t>#*_]*"
"""What Markdown may put before the words that announce an answer; behind them it closes its emphasis."""


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
    announced = re.compile(rf"^{DECORATION}{re.escape(final)}[*_]*", re.MULTILINE | re.IGNORECASE)
    return max((match.end() for match in announced.finditer(text)), default=0)


def _cut(reply: Reply, place: int) -> Reply:
    return replace(reply, text=reply.text[place:].strip()) if place else reply


def _missing(final: str) -> Finding:
    return Finding("prompt", f"no line begins with {final!r}, so the whole reply is taken for the answer")


def awaited(prompt: Prompt, generator: Generator) -> str:
    """The words that announce an answer where a prompt asks a model for them; what quotes passages was asked for nothing."""
    return str(getattr(prompt, "final", "")) if getattr(generator, "costly", False) else ""
