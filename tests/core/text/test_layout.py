"""Blocks of Markdown texts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.core.text.layout import Part, cells, parts, rows

TEXT = """\
---
title: Leave
---
# Leave

Plain words
over two lines.

| band | days |
| --- | --- |
| A | 26 |
| B | a \\| b |

```
# no heading
| no | table |
```
> All is well.
> — Ames

1. one
   - nested
2. two

[^1]: A note.
"""
TRAPS = [
    *("# H\n", "H\n===\n", "| a | b |\n", "|--|--|\n", "```\n", "~~~\n", "> q\n", "- i\n", "1. TITLE\n", "    code\n"),
    *("\n", "w ", "\x00", "\u2028", "\r\n", "\r"),
]
TRAPS += ["[^1]: n\n", "[a]: b\n", "<div>\n", "---\n", "***\n", "\t", "ALL CAPS\n", "x" * 50, "\f"]


def test_every_kind() -> None:
    found = [(part.kind, TEXT[part.start : part.end].splitlines()[0]) for part in parts(TEXT)]
    assert found == [
        *(("text", "---"), ("heading", "# Leave"), ("text", "Plain words"), ("table", "| band | days |")),
        *(("code", "```"), ("quote", "> All is well."), ("list", "1. one"), ("footnote", "[^1]: A note.")),
    ]


def test_rows_of_a_table() -> None:
    (table,) = (part for part in parts(TEXT) if part.kind == "table")
    found = rows(TEXT, table)
    assert [row.cells for row in found] == [("band", "days"), ("A", "26"), ("B", "a | b")]
    assert [TEXT[row.start : row.end] for row in found][1] == "| A | 26 |"


def test_cells() -> None:
    assert cells("a | b") == cells("| a | b |") == ("a", "b")
    assert cells("|| x |") == ("", "x")
    assert cells("| a | |") == ("a", "")


def test_a_numbered_heading_is_no_list() -> None:
    text = "LEAVE\n\n1. WHEN IT CAN BE TAKEN\n\nAt any time of the year."
    assert [part.kind for part in parts(text)] == ["heading", "heading", "text"]


@given(st.lists(st.sampled_from(TRAPS), max_size=30).map("".join))
@settings(max_examples=300)
def test_parts_hold_every_character_but_white_space(text: str) -> None:
    last = 0
    for part in parts(text):
        assert isinstance(part, Part)
        assert last <= part.start < part.end
        assert not text[last : part.start].strip()
        last = part.end
        if part.kind == "table":
            assert all(part.start <= row.start <= row.end <= part.end for row in rows(text, part))
    assert not text[last:].strip()
