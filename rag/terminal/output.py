"""Standard output and standard error, and how figures are written."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from rag.claims import Spent

CODES = dict.fromkeys([*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x202D, 0x202E])
"""Characters by which a text could play with the terminal that shows it: they take no room, and are left out."""


class Plain(Console):
    """Shows texts of documents and models as texts: codes in them that move a cursor or fill a clipboard are not played."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """What is shown; Rich's own codes are no text, and stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(segment.text.translate(CODES), segment.style)


class Output(Plain):
    """Standard output; when its reader goes, as `head` does, the work goes on and what is still to be said is not."""

    def on_broken_pipe(self) -> None:
        """Write the rest to nobody."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


out = Output(soft_wrap=False, highlight=False)
err = Plain(stderr=True, highlight=False)


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


CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Characters that steer a terminal instead of being seen; documents and models may hold any."""


def visible(text: str) -> str:
    """A text from elsewhere without what would steer the terminal."""
    return text.translate(CONTROLS)


def stream(piece: str) -> None:
    """A piece of an answer, as soon as it is there."""
    out.print(escape(visible(piece)), end="", soft_wrap=True)
