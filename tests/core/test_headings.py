"""Headings in Markdown and in plain text, and lines that only look like headings."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growing_texts import HEADED, calls, growth

from rag.core.headings import sections, title, words


def paths(text: str) -> list[str]:
    """The headings of all sections but the first."""
    return [section.path for section in sections(text)[1:]]


def test_markdown_has_its_marks_and_underlines() -> None:
    text = "# Leave ##\nx\n\nPay\n---\ny\n### Rates\nz\n\nOther\n=====\n  ## Late\nw\nNOTES\n\n1. One\n\n    # code\n"
    assert paths(text) == ["Leave", "Leave > Pay", "Leave > Pay > Rates", "Other", "Other > Late"]


@pytest.mark.parametrize(
    ("heading", "shown"),
    [
        ("Leave { #leave }", "Leave"),
        ("9.0 Notes {: #\\9.0}", "9.0 Notes"),
        ("Set-up {#set-up .new data-x='1'}", "Set-up"),
        ("[1.33.0](https://x.example/a_(b)) - 2026 ## {: #v1 }", "1.33.0 - 2026"),
        ("**[The *new* way][1]** &amp; `<div> { #x }`", "The new way & <div> { #x }"),
        ('<a id="top"></a>Press <kbd>Ctrl</kbd> <!-- twice -->', "Press Ctrl"),
        ("Gone \\& :material-bug: forgotten :octicons-heart-16:{: .x }", "Gone & forgotten"),
        ("![A logo](logo.svg)", "A logo"),
        ("List<String> {key: 1} snake_case 2 * 3 * 4 [x] C:\\dir", "List<String> {key: 1} snake_case 2 * 3 * 4 [x] C:\\dir"),
    ],
)
def test_titles_are_words_without_markup(heading: str, shown: str) -> None:
    assert words(heading) == shown
    assert paths(f"## {heading}\nText.") == [shown]


@given(st.text(alphabet='ab *_`#[]()<!{}:.\\&;"', max_size=80))
def test_any_title_can_be_read(heading: str) -> None:
    assert words("*_" * 150 + heading) is not None
    assert len(words(heading)) <= len(heading)


def test_the_title_of_a_document_is_in_its_metadata_or_its_first_heading() -> None:
    front = '---\ntags: [a]\ntitle: "The `guide`"\n---\n'
    assert title(f"{front}# Else\n") == "The guide"
    assert title("---\ntags: x\n---\n```\n# no\n```\n<!--\n# no\n-->\n# ![](x.png)\n## Fares { #fares }\n") == "Fares"
    assert title("Text.\n") == ""


PLAIN = """\
HB-112 ANNUAL LEAVE: WARDENS
In force from 1 April.

1. WHO THEY ARE
Wardens.

3. PANELS

20 W facing south.

3.1 Cleaning
At every visit.

3.2 Cutting ivy

Not the hedge.

4 STOCK
12 cells.

NOTES

Underlined by hand
------------------
Text.

MERCURY (HALL 2)
Tell the fire officer.
"""


def test_plain_text_has_numbers_capitals_and_underlines() -> None:
    title = "HB-112 ANNUAL LEAVE: WARDENS"
    below = ["1. WHO THEY ARE", "3. PANELS", "3. PANELS > 3.1 Cleaning", "3. PANELS > 3.2 Cutting ivy", "4 STOCK", "NOTES"]
    below += ["Underlined by hand", "MERCURY (HALL 2)"]
    assert paths(PLAIN) == [title, *(f"{title} > {path}" for path in below)]


def test_numbered_titles_nest_by_their_numbers() -> None:
    text = "Preface.\n\n1. Scope\nText.\n\n1.1 Terms\nText.\n\n1.1.1 Days\nText.\n\n1.2 Title\nText.\n\n2. What is it?\nText.\n"
    assert paths(text) == [
        *("1. Scope", "1. Scope > 1.1 Terms", "1. Scope > 1.1 Terms > 1.1.1 Days", "1. Scope > 1.2 Title"),
        "2. What is it?",
    ]
    assert paths("Preface.\n\nPART ONE\n\n1. Scope\nText.\n\nPART TWO\n\n1. Costs\nText.\n") == [
        "PART ONE",
        "PART ONE > 1. Scope",
        "PART TWO",
        "PART TWO > 1. Costs",
    ]


NO_HEADINGS = {
    "markdown": [
        *("```\n# a comment\n```\nx", "~~~sh\n# a comment\nTITLE\n~~~\nx"),
        *("---\ntitle: A page\nTHE DATE: TODAY\n---\nx", "#no heading\n\n####### none either\nx", "- item\n---\nx"),
        *("| a | b |\n--- | ---\nx", "a  b\n-----\nx", "The end of a sentence.\n---\nx"),
        *("A line of a paragraph\nand its last line\n---\nx", "> quoted\n---\nx", "1. milk\n---\nx", "\n---\n---\nx"),
        *("<!--\n# a comment\n-->\nx", "# <a id='top'></a>\nx"),
    ],
    "items of lists": [
        *("Buy:\n1. Milk\n2. Bread\n3. Tea", "Buy:\n\n1. Milk\n\n2. Bread\n\n3. Tea\n\nThen go home."),
        *("1. WASH\n2. DRY\n3. GO\nThat is all.", "1. Milk\n1. Bread\n1. Tea\nText."),
        *("1. Turn off the pump\n   with the red switch.\n\nText.", "1. Turn off the pump\nand wait.\n\nText."),
        *("1. Nobody from the Trust works on mains wiring.\nText.", "1. You need:\n- a pump", "- FIRE\n- FLOOD\nText."),
        *("* FIRE\nText.", "Text above.\n3. Title\nText.", "It was said on\n\n3 March 2025\n\nthat it rains."),
        *("4.5 m of rope\nText.", "2.5 litres of water\nText.", "12 Smith Street\nMarket Ostrey"),
    ],
    "sentences and codes": [
        *("DO NOT ENTER.\nText.", "DO NOT ENTER THE POOL WITHOUT\nA LIFEGUARD\n\nText."),
        *("THE SOFTWARE IS PROVIDED\nAS IS, WITHOUT WARRANTY\nOF ANY KIND\n", "Text above.\nNOT ALONE\nText."),
        *("Text.\n\nJOHN SMITH\n", "Text.\n\nHB-112\nText.", "Text.\n\nF-17\nText.", "Text.\n\n£75\nText."),
        *("Text.\n\n2025-04-01\nText.", "Text.\n\nA\nText.", "中文 IT 部门\n正文。", "    INDENTED AS CODE\nText."),
    ],
    "rows of tables": [
        f"Text.\n\n{row}\nText."
        for row in ("ID\tNAME", "ID   NAME   QTY", "| ID | NAME |", "ID,NAME,QTY", "1. ID  NAME", "ID |")
    ],
}


@pytest.mark.parametrize("text", [text for texts in NO_HEADINGS.values() for text in texts])
def test_lines_that_only_look_like_headings(text: str) -> None:
    assert paths(text) == []


LINES = ["TITLE", "1. Milk", "2. Bread", "1.1 Tea", "text", "", "---", "===", "# A", "## B", "```", "- x", "| A |", "A. B", "§"]


@given(st.lists(st.sampled_from(LINES), max_size=14), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=120)
def test_sections_hold_every_character_once_and_bodies_follow_headings(lines: list[str], end: str) -> None:
    text = end.join(lines)
    parts = sections(text)
    assert [part.start for part in parts] == sorted({part.start for part in parts} | {0}) or parts[1].start == 0
    assert all(first.body <= second.start for first, second in pairwise(parts))
    for part in parts[1:]:
        assert part.start < part.body <= len(text)
        assert part.path == part.path.strip() != ""
        assert part.path.split(" > ")[-1] in " ".join(text[part.start : part.body].split())


@given(st.text(alphabet="A1.# \n-=`|a", max_size=200))
def test_any_text_has_sections(text: str) -> None:
    assert sections(text)[0].path == ""


@pytest.mark.parametrize("piece", HEADED)
def test_four_times_the_text_takes_four_times_the_calls(piece: str) -> None:
    assert growth(sections, piece, 10_000, calls) < 4.5
