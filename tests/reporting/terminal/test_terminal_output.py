"""What documents and models say is shown in a terminal, and never played by it."""

from io import StringIO

from rich.table import Table
from rich.text import Text

from rag.reporting.terminal.output import LiteralConsole, err, out

HOSTILE = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\x9b31md\u202ee\r\x00\x7f"
CODES = ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\x07", "\x00", "\x7f", "\r")


def shown(*things: object, **settings: object) -> str:
    """What a terminal would be sent."""
    console = LiteralConsole(file=StringIO(), force_terminal=True, color_system="standard", width=100, highlight=False)
    for thing in things:
        console.print(thing, **settings)  # type: ignore[arg-type]
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_codes_in_a_text_are_not_played() -> None:
    table = Table("said")
    table.add_row(Text(HOSTILE))
    told = shown(HOSTILE, Text(HOSTILE), table, markup=False) + shown(HOSTILE, soft_wrap=True, end="")
    assert [code for code in CODES if code in told] == []
    assert told.count("b[2Jc31mde") == 4


def test_styles_and_every_writing_stay() -> None:
    assert shown("[bold]né[/bold] שלום 日本 👩‍🚀\nx") == "\x1b[1mné\x1b[0m שלום 日本 👩‍🚀\nx\n"


def test_all_that_people_see_goes_through_it() -> None:
    assert isinstance(out, LiteralConsole)
    assert isinstance(err, LiteralConsole)
