"""Standard output and standard error, and tables."""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table as Table

from rag.core.assessments import Spent

CODES = dict.fromkeys([*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x202D, 0x202E])
"""Characters that control a terminal: control characters except tab and newline, and the two overrides of writing direction.

They are left out. A tab is shown as spaces in markup, and printed unchanged by `stream`.
"""


class LiteralConsole(Console):
    """Prints texts of documents and models character by character, without CODES, emoji codes and highlighting.

    Strings may contain Rich markup; `escape` a text from a document, a model or a user before putting it into one.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"emoji": False, "highlight": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render without CODES; segments with Rich's own control codes stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


class Output(LiteralConsole):
    """Standard output. When its reader closes the pipe, as `head` does, the work continues and further output is dropped."""

    def on_broken_pipe(self) -> None:
        """Send further output to the null device."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


out = Output()
err = LiteralConsole(stderr=True)


def table(*columns: str, words: int = 1, breaks: bool = False, **settings: Any) -> Table:
    """A table without lines. The first `words` columns hold text, which breaks where a column has no room.

    The others hold figures: right-justified, and kept on one line unless `breaks`. `settings` go to Rich's Table.
    """
    columned = Table(box=None, pad_edge=False, header_style="bold", **settings)
    for place, column in enumerate(columns):
        if place < words:
            columned.add_column(escape(column), overflow="fold")
        else:
            columned.add_column(escape(column), justify="right", no_wrap=not breaks, overflow="fold" if breaks else "ellipsis")
    return columned


def print_table(
    heads: Iterable[str], rows: Iterable[Iterable[RenderableType]], words: int = 1, breaks: bool = False, **settings: Any
) -> None:
    """Print a table with these rows; the cells are markup."""
    shown = table(*heads, words=words, breaks=breaks, **settings)
    for row in rows:
        shown.add_row(*row)
    out.print(shown)


def print_pairs(rows: Iterable[tuple[str, ...]]) -> None:
    """Print rows of names and what belongs to them; the cells are markup, and the names stay on one line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    for column in grid.columns[1:]:
        column.overflow = "fold"
    out.print(grid)


def visible(text: str) -> str:
    """A text without CODES."""
    return text.translate(CODES)


def escape(text: str) -> str:
    r"""Escape a text for Rich markup: all of its brackets and backslashes are shown, CODES are left out.

    Rich's own `escape` leaves `\[1]` and a backslash at the end wrong, and two escaped texts can make a tag between them.
    """
    # A backslash before a bracket is written as two before an empty tag: Rich then reads neither of them as an escape.
    return re.sub(r"(?<!\\)(\\*)(\[|\Z)", _escaped, visible(text).expandtabs())


def _escaped(match: re.Match[str]) -> str:
    slashes, bracket = match.groups()
    return (f"{2 * slashes}[none][/none]" if slashes else "") + ("\\[" if bracket else "")


def shortened(text: str, longest: int) -> str:
    """A text of at most `longest` characters, with an ellipsis where it was cut."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output."""
    ascii_only = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    text = json.dumps(content, indent=1, ensure_ascii=ascii_only, allow_nan=False)
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        out.on_broken_pipe()


def print_line(text: str, to: Console = out) -> None:
    """Print a text, markup shown as it is, on one line however long."""
    to.print(visible(text), markup=False, soft_wrap=True)


def stream(piece: str) -> None:
    """Print a piece of an answer at once and unchanged, but for CODES."""
    out.print(Segments([Segment(piece)]), soft_wrap=True)


def next_commands(commands: Iterable[str]) -> None:
    """Print commands that can follow, one a line, the first behind `Next:`; nothing if there are none."""
    for place, command in enumerate(commands):
        print_line(f"{'' if place else 'Next:':<7}{command}")


def ask_command(question: str, trial_id: str) -> str:
    """The shell command that asks a trial a question; dashes at its beginning are left out, since they begin an option."""
    return f"rag ask {shlex.quote(' '.join(question.split()).lstrip('-'))} trial={trial_id}"


def tokens(spent: Spent) -> str:
    """Tokens with their price: `12,300 tokens, 0.0042 US dollars`."""
    cost = spent.cost
    price = "at an unknown price" if cost != cost else "at no charge" if not cost else f"{cost:.4f} US dollars"
    return f"{spent.tokens:,.0f} tokens{' ' if price[0] == 'a' else ', '}{price}"


def dimmed(text: str) -> str:
    """Text as markup, with a dim interval at its end."""
    figure, bracket, ends = text.rpartition(" [")
    return f"{escape(figure)} [dim]{escape('[' + ends)}[/dim]" if bracket and ends.endswith("]") else escape(text)
