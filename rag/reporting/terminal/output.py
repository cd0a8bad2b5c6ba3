"""Standard output and standard error, and how figures are written."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table as Columns

from rag.core.assessments import Spent

CODES = dict.fromkeys([*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x202D, 0x202E])
"""Characters that steer a terminal instead of being seen: control characters but for tab and newline, and the two overrides of
the direction of writing. They are left out. A tab is shown as the blanks that it stands for, but streamed as it is."""


class LiteralHighlighter(Console):
    """Shows texts of documents and models character by character, but for CODES: no emoji for `:100:`, no colours for figures.

    Rich's markup is read in strings; a text from elsewhere stands in one through `escape`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"emoji": False, "highlight": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """What is shown; Rich's own codes are no text, and stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


class Output(LiteralHighlighter):
    """Standard output; when its reader goes, as `head` does, the work goes on and what is still to be said is not."""

    def on_broken_pipe(self) -> None:
        """Write the rest to nobody."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


out = Output()
err = LiteralHighlighter(stderr=True)


class Table(Columns):
    """A table that breaks a long word where its column has no room, instead of cutting it; `no_wrap` is for figures."""

    def add_row(self, *cells: RenderableType | None, **settings: Any) -> None:
        """Add a row."""
        super().add_row(*cells, **settings)
        for column in self.columns:
            column.overflow = "ellipsis" if column.no_wrap else "fold"


def visible(text: str) -> str:
    """A text from elsewhere without CODES."""
    return text.translate(CODES)


def escape(text: str) -> str:
    r"""A text from elsewhere within Rich's markup: all of its brackets and backslashes are shown.

    Rich's own `escape` leaves `\[1]` and a backslash at the end wrong, and two escaped texts can make a tag between them.
    """
    # A backslash before a bracket is written as two before an empty tag: Rich then reads neither of them as an escape.
    return re.sub(r"(?<!\\)(\\*)(\[|\Z)", _escaped, visible(text).expandtabs())


def _escaped(found: re.Match[str]) -> str:
    slashes, bracket = found.groups()
    return (f"{2 * slashes}[none][/none]" if slashes else "") + ("\\[" if bracket else "")


def print_json(content: Mapping[str, Any]) -> None:
    """One object on standard output, nothing else there."""
    ascii_only = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    text = json.dumps(content, indent=1, ensure_ascii=ascii_only, allow_nan=False)
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        out.on_broken_pipe()


def number(value: float | None, digits: int = 3) -> str:
    """A figure without its leading zero, as leaderboards write them; a dash for none."""
    if value is None or value != value:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def tokens(spent: Spent) -> str:
    """What models take: `12,300 tokens, 0.0042 US dollars`."""
    cost = spent.cost
    price = "at an unknown price" if cost != cost else "for nothing" if not cost else f"{cost:.4f} US dollars"
    return f"{spent.tokens:,.0f} tokens{' ' if price[0] in 'af' else ', '}{price}"


def interval(found: Mapping[str, Any]) -> str:
    """A mean with its 95 % interval."""
    low, high = found.get("low"), found.get("high")
    shown = "" if low is None or high is None or low != low else f" [dim]\\[{number(low)}, {number(high)}][/dim]"
    return number(found["mean"]) + shown


def stream(piece: str) -> None:
    """A piece of an answer, as soon as it is there and as it is."""
    out.print(Segments([Segment(piece)]), soft_wrap=True)
