"""Quotes as people copy them from a rendered page, found in the Markdown source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import DataError
from rag.core.types import Document, Span
from rag.documents.anchors.quote_anchors import anchor
from rag.documents.anchors.rendered import rendered

SOURCES = [
    ("You may **carry up to** four _unused_ days.", "You may carry up to four unused days.", None),
    ("See [the *leave* guide](../leave.md#carry) first.", "See the leave guide first.", None),
    ('See [the guide][1] and ![a plan](x_(1).png "Plan") now.', "See the guide and a plan now.", None),
    ("It\u2019s \u201cfree\u201d \u2013 for now\u2026", 'It\'s "free" - for now...', None),
    ("Call `rag.load_all()`\nwith  care.", "Call rag.load_all() with care.", None),
    ("## Leave { #leave }\n\nText.", "Leave Text.", "Leave { #leave }\n\nText."),
    ("Needed:\n\n- one **day**\n  - two days\n\n1. Go.", "Needed:\none day\ntwo days\nGo.", None),
    ("| Fare | Price |\n|------|:-----:|\n| Dog | 2 |\n", "Fare Price Dog 2", "Fare | Price |\n|------|:-----:|\n| Dog | 2"),
    ("> It is said\n> that it\u00a0rains.", "It is said that it rains.", "It is said\n> that it\u00a0rains."),
    ("Use <abbr title='x'>HTML</abbr> &amp; 5 \\* 3<br>now", "Use HTML & 5 * 3 now", None),
    ("Install [*orjson*] or `x[fast]`, see [#425].", "Install orjson or x[fast], see #425.", None),
    ("/// tip\nMind <!-- not\nthis --> the gap.\n///", "Mind the gap.", "Mind <!-- not\nthis --> the gap."),
]


@pytest.mark.parametrize(("source", "copied", "quote"), SOURCES)
def test_a_quote_from_the_rendered_page_finds_its_source(source: str, copied: str, quote: str | None) -> None:
    text = f"Before it.\n\n{source}\n\nBehind it."
    span = anchor(Document("d", text), copied, None, "q")
    assert text[span.start : span.end] == (quote or source)


def test_an_exact_quote_comes_before_a_rendered_one() -> None:
    text = "*25* days, and 25 days"
    assert anchor(Document("d", text), "25 days", None, "q") == Span("d", 15, 22)


def test_a_quote_that_occurs_twice_on_the_page_needs_offsets() -> None:
    document = Document("d", "a *b c*\n\na **b c**")
    with pytest.raises(DataError, match=r"more than once in 'd': on lines 1 \(start 0\), 3 \(start 9\)"):
        anchor(document, "a b c", None, "q")
    assert anchor(document, "a b c", (9, 16), "q").start == 9


def test_words_that_differ_are_not_found() -> None:
    for text, quote in (("It is *not* free.", "It is free."), ("snake_case", "snakecase"), ("to get her", "together")):
        with pytest.raises(DataError, match="is not in 'd'"):
            anchor(Document("d", text), quote, None, "q")


@given(st.text(alphabet="ab *_`#>-|[]()<!{}.\\\n\u201c\u00a0&;", max_size=60))
def test_offsets_lead_back_to_the_source(text: str) -> None:
    found = rendered(text)
    assert len(found.text) <= len(found.starts) == len(found.ends)
    assert sorted(found.starts) == list(found.starts)
    for shown, start, end in zip(found.text, found.starts, found.ends, strict=False):
        assert 0 <= start < end <= len(text)
        assert shown == text[start:end] or shown in " \"&'" or text[start] in "\u201c&"


@given(st.lists(st.sampled_from(["one", "two", "**three**", "_four_", "[five](x)", "`six`"]), min_size=1, max_size=9))
def test_any_stretch_of_words_is_found_as_it_shows(words: list[str]) -> None:
    text = "  \n".join(["zero", *words, "end"])
    copied = " ".join(["zero", *(word.strip("*_`").removeprefix("[").removesuffix("](x)") for word in words), "end"])
    assert anchor(Document("d", text), copied, None, "q") == Span("d", 0, len(text))
