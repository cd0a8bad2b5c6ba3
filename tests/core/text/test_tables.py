"""Tables of Markdown texts: captions, headers, rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.core.text.tables import LABELLED, caption_of, tables, within

TABLE = "| band | days |\n| --- | --- |\n| A | 26 |\n"
TRAPS = [
    *("| a | b |\n", "|--|--|\n", "|\n", "||||\n", "a\\|b|", "\n", "Table 1. T\n", "**T**\n", "\r\n", "- i\n", "```\n"),
    "# H\n",
]


def captions(text: str) -> list[str]:
    return [caption_of(text, table) for table in tables(text)]


@pytest.mark.parametrize(
    "line",
    [
        *("Table 3. Marks", "**Table 3.** Marks.", "Tabelle 2: Pegel", "Tableau IV – débits", "表1 水位", "图表1：水。"),
        "Таблица 1. Уровни",
    ],
)
def test_labels_of_many_languages(line: str) -> None:
    assert LABELLED.match(line)
    assert captions(f"Text.\n\n{line}\n\n{TABLE}") == [line.replace("*", "")]


@pytest.mark.parametrize(
    "line", ["On 12 May the marks rose.", "In 2019 it was 3.", "HB-601 says more.", "---", "<!-- x -->", "x" * 121]
)
def test_other_lines_are_no_captions(line: str) -> None:
    assert captions(f"{line}\n\n{TABLE}") == [""]


def test_a_caption_is_a_short_line_or_the_last_line_above() -> None:
    assert captions(f"The days of each band:\n\n{TABLE}") == ["The days of each band:"]
    assert captions(f"*Days by band*\n{TABLE}") == ["Days by band"]
    text = f"{'Long words. ' * 40}\nTable 1: Days.\n{TABLE}"
    (table,) = tables(text)
    assert table.caption
    assert text[slice(*table.caption)] == "Table 1: Days."


def test_captions_above_and_below() -> None:
    assert captions(f"Table 1: a.\n\n{TABLE}\nTable 2: b.\n\n{TABLE}") == ["Table 1: a.", "Table 2: b."]
    assert captions(f"{TABLE}\nTable 1: a.\n\n{TABLE}\nTable 2: b.\n\nText.") == ["Table 1: a.", "Table 2: b."]


def test_ragged_rows_and_empty_headers() -> None:
    (table,) = tables("| a | |\n|--|--|\n| 1 |\n| 1 | 2 | 3 |\n")
    assert table.names == ("a", "", "")
    assert [row.cells for row in table.rows] == [("1", ""), ("1", "2", "3")]


def test_a_header_of_several_rows() -> None:
    text = "| | Years ended | | Change |\n|--|--|--|--|\n| | 2019 | 2018 | % |\n| Revenue | 1 | 2 | 3 |\n"
    (table,) = tables(text)
    assert table.names == ("", "Years ended 2019", "Years ended 2018", "Change %")
    assert [row.cells[0] for row in table.head] == ["", ""]
    assert [row.cells[0] for row in table.rows] == ["Revenue"]


def test_a_table_with_an_empty_first_column_has_one_header_row() -> None:
    (table,) = tables("| | a |\n|--|--|\n" + "| | 1 |\n" * 9)
    assert (len(table.head), len(table.rows)) == (1, 9)


def test_within() -> None:
    text = f"Words.\n\n{TABLE}\nWords.\n\n{TABLE}"
    first, second = tables(text)
    assert within(text, 0, first.part.start) == ()
    assert within(text, first.part.end - 1, second.part.start + 1) == (first, second)
    assert within(text, first.part.end, len(text)) == (second,)


def test_a_wide_header_and_many_short_rows() -> None:
    text = f"|{'a|' * 2_000}\n|{'-|' * 2_000}\n" + "|1|\n" * 2_000
    assert sum(len(row.cells) for table in tables(text) for row in (*table.head, *table.rows)) < 100_000


@given(st.lists(st.sampled_from(TRAPS), max_size=30).map("".join))
@settings(max_examples=150)
def test_laws(text: str) -> None:
    for table in tables(text):
        assert table.head
        assert all(len(table.head[0].cells) <= len(row.cells) <= len(table.names) for row in table.rows)
        for row in (*table.head, *table.rows):
            assert table.part.start <= row.start <= row.end <= table.part.end
            shown = [text[slice(*place)].strip().replace(r"\|", "|") for place in row.places]
            assert [*shown, *[""] * (len(row.cells) - len(shown))] == list(row.cells)
        if table.caption:
            assert table.caption[1] <= table.part.start or table.caption[0] >= table.part.end
