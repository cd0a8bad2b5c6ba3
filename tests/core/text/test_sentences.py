"""The ends of sentences and of blocks of lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.core.text.sentences import blocks, is_heading, sentences


def lines(text: str) -> list[str]:
    return [text[start:end] for start, end in blocks(text)]


def split(text: str) -> list[str]:
    return [text[start:end] for block in blocks(text) for start, end in sentences(text, block)]


@pytest.mark.parametrize(
    "text",
    [
        "One sentence. | Another one! | A third? | Yes… | \"Quoted.\" | (In brackets.) | **Bold.** | The end",
        "Dr. Ames met Mr. J. R. Hill at 9 a.m. on Monday. | They left.",
        "Sizes differ, e.g. Small or i.e. Large, cf. Table 2. | Done.",
        "See Fig. 3 and No. 12 on p. 7, Sept. 2024. | He said no. | Then he left.",
        "It weighs 3.5 kg. | It is 4.5 m. | Tall, then, at 9 a.m. Monday. | Version 2.0.1 is out. | 42 people came.",
        "She moved to the U.S. | They stayed in the U.S. Army. | She was born in the D.C. area.",
        "So do I. | Then again, not.",
        "Ames et al. Measured it for Hill Ltd. Staff. | They asked Hill & Co. | The sea was calm.",
        "It was late ... and dark. | Was it? | He asked \"why?\" and left.",
        "“First.” | “Second.” | – Third.",
        "Really?! | Yes... | Good.",
        "今日は晴れです。|明日は雨でしょうか？|「はい。」|終わり",
        "1. The first rule holds. | It is short.",
        "2.3. Scope of the policy. | It is wide.",
        "Q. Someone is ill. | What now?",
        "released in Japan in 2011 . | It sold well .",
    ],
)  # fmt: skip
def test_sentences_end_where_a_reader_would_end_them(text: str) -> None:
    expected = [part.strip() for part in text.split("|")]
    joined = "".join(expected) if "。" in text else " ".join(expected)
    assert split(joined) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "german",
            "Hr. Holm kam am 3. Mai, z. B. Montag, an. | Er blieb. | Siehe Nr. 5 und Ziff. 2, ca. 20 Mio. Euro. | Ende.",
        ),
        ("french", "Mme. Ames habite au chap. 3. | Elle part."),
        ("spanish", "La Sra. Hill lee la pág. 7. | Se va."),
        ("swedish", "Se t.ex. Holm, kap. 4. | Slut."),
        ("english", "She came on day 3. | May was warm. | See Nr. | 5 of them. | Ask Hr. | Holm."),
        ("other", "Dr. Ames came. | See Nr. | 5."),
    ],
)
def test_abbreviations_are_those_of_the_language(language: str, text: str) -> None:
    joined = text.replace(" | ", " ")
    assert [joined[start:end] for start, end in sentences(joined, (0, len(joined)), language)] == text.split(" | ")


def test_wrapped_lines_continue_in_small_letters() -> None:
    wrapped = "This line was broken by an editor because it\nwas too long, and again by the same one with\r\n  an indentation."
    assert lines(wrapped) == [wrapped]
    assert lines("flour\nsugar\neggs") == ["flour", "sugar", "eggs"]
    assert lines("one\u2028two\u2029three\ffour") == ["one", "two", "three", "four"]
    blank = "This line was broken by an editor because it\n \nwas too long"
    assert lines(blank) == ["This line was broken by an editor because it", "was too long"]
    item = "- an item that is so long that it had to be broken\n  into two lines"
    assert lines(item + "\n- next") == [item, "- next"]
    assert lines("A line that is long enough to have been wrapped\nBut this one begins anew") == [
        "A line that is long enough to have been wrapped",
        "But this one begins anew",
    ]


def test_headings_items_rows_and_rules_are_blocks() -> None:
    text = (
        "# A heading that is long enough to have been wrapped\nbody text\n"
        "- item one. Still item one\n* item two\n1) item three\n"
        "| a row of a table that is wide enough to be wrapped |\nafter\n"
        "------------------------------------------------\nend\n"
    )
    assert lines(text) == text.splitlines()
    assert split("- item one. Still item one\n- two") == ["- item one.", "Still item one", "- two"]


def test_every_line_of_fenced_code_is_a_block() -> None:
    code = "```python\nvalue = function_with_a_long_name(argument_one, argument_two)\nother = 1\n\n```"
    assert lines(f"Before.\n{code}\nafter") == ["Before.", *[line for line in code.split("\n") if line], "after"]
    assert lines("``` unclosed\na\nb") == ["``` unclosed", "a", "b"]
    assert lines("```inline``` code in a line that is long enough to wrap\nand goes on") == [
        "```inline``` code in a line that is long enough to wrap\nand goes on"
    ]


def test_headings_are_known_by_their_marks() -> None:
    assert is_heading("x\n## Title", 2)
    assert not is_heading("#hashtag", 0)
    assert not is_heading("####### seven", 0)


ENDS = (". ", "! ", "?", "…", '." ', "\n", "\r\n", "\n\n", " ")
MARKS = st.sampled_from([*ENDS, "```\n", "# ", "| ", "- ", "。", "Dr", "U.S", "word", "Word", "x" * 45])


@given(st.one_of(st.text(max_size=80), st.lists(MARKS, max_size=40).map("".join)))
@settings(max_examples=120)
def test_sentences_hold_every_character_once_and_have_no_margins(text: str) -> None:
    at = 0
    for block in blocks(text):
        for start, end in sentences(text, block):
            assert at <= start < end
            assert not text[at:start].strip()
            assert text[start:end] == text[start:end].strip()
            at = end
        assert at == block[1]
    assert not text[at:].strip()
