"""Retrieved passages with their provenance; known gold is marked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.padding import Padding

from rag.reporting.terminal.output import escape, out, visible

EXCERPT = 400
BEFORE = 80
"""Characters that are shown before the first mark if an excerpt does not begin at the text's start."""


def passages(found: Sequence[Mapping[str, Any]]) -> None:
    """Print passages with their rank and score in every index, after fusion and after reranking."""
    for number, passage in enumerate(found):
        neighbour = number > 0 and passage.get("rank") is not None and passage.get("rank") == found[number - 1].get("rank")
        out.print(heading(passage, neighbour), soft_wrap=True)
        if passage["section"]:
            out.print(Padding(f"[dim]{escape(passage['section'])}[/dim]", (0, 4), expand=False))
        out.print(Padding(excerpt(passage), (0, 4, 1, 4), expand=False))


def heading(passage: Mapping[str, Any], neighbour: bool = False) -> str:
    """Number, span and provenance of a passage in one line, and the evidence in it.

    With an answer the number is that of a citation, or a dash for a passage that was not read; without one it is the rank.
    A `neighbour` of a hit has the rank of the hit.
    """
    rank = f"beside {passage.get('rank')}" if neighbour else passage.get("rank")
    number = passage["number"] or "–" if "number" in passage else rank
    steps = ", ".join(f"{name} #{place['rank']} ({place['score']:.4g})" for name, place in passage["steps"].items())
    groups = sorted({mark["group"] + 1 for mark in passage.get("gold", ())})
    holds = f"  [bold green]evidence {', '.join(map(str, groups))}[/bold green]" if groups else ""
    holds += "  [bold]cited[/bold]" if passage.get("cited") else ""
    return f"[bold]\\[{number}][/bold] {escape(passage['chunk'])}  [cyan]{escape(steps)}[/cyan]{holds}"


def excerpt(passage: Mapping[str, Any], most: int = EXCERPT) -> str:
    """About `most` characters of the text on one line: from its beginning, or from shortly before its first mark.

    Gold, and words that an answer cites, are put between » and «, which shows without colours too.
    """
    marked = (*passage.get("gold", ()), *passage.get("quoted", ()))
    text, marks = passage["text"], joined_ranges((mark["start"], mark["end"]) for mark in marked)
    first = min((start for start, _ in marks), default=0)
    begin = 0 if first <= most // 2 else first - BEFORE
    end = min(len(text), begin + most)
    shown, at = "… " if begin else "", begin
    for start, stop in marks:
        if start < end:
            quote = _flat(text[start : min(stop, end)])
            shown += f"{escape(_flat(text[at:start]))}[bold green]»{escape(quote)}«[/bold green]"
            at = min(stop, end)
    shown += escape(_flat(text[at:end]))
    return shown.strip() + (" …" if end < len(text) else "")


def joined_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, with those that touch or overlap joined and empty ones left out."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif end > start:
            joined.append((start, end))
    return joined


def _flat(text: str) -> str:
    return visible(re.sub(r"\s+", " ", text))
