from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import DataError
from rag.core.types import Document, Span
from rag.documents.anchors import quote_anchors
from rag.documents.anchors.quote_anchors import anchor, closest_names, find_document, nearest
from rag.documents.anchors.rendered import occurrences

LEAVE = Document("leave.md", "Leave\n\nYou have 25 days.\nWardens have 28 days.\n")


@given(st.text(min_size=1), st.data())
def test_any_quote_is_found_at_its_place(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    span = anchor(Document("d", text), text[start:end], (start, end), "here")
    assert span == Span("d", start, end)


@given(st.text(alphabet="ab", max_size=30), st.text(alphabet="ab", min_size=1, max_size=3))
def test_occurrences_agree_with_trying_every_place(text: str, quote: str) -> None:
    assert occurrences(text, quote, 99) == [place for place in range(len(text)) if text.startswith(quote, place)]


def test_a_unique_quote_needs_no_offsets_and_follows_a_changed_document() -> None:
    assert anchor(LEAVE, "28 days", None, "q") == Span("leave.md", 38, 45)
    assert anchor(LEAVE, "28 days", (3, 10), "q") == Span("leave.md", 38, 45)
    # Python would read these from the end of the text; they are no offsets.
    assert anchor(LEAVE, "28 days", (-9, -2), "q") == Span("leave.md", 38, 45)


def test_an_ambiguous_quote_needs_offsets() -> None:
    assert anchor(LEAVE, "days", (19, 23), "q") == Span("leave.md", 19, 23)
    for offsets in (None, (0, 4)):
        with pytest.raises(DataError, match=r"more than once.*lines 3 \(start 19\), 4 \(start 41\)"):
            anchor(LEAVE, "days", offsets, "q.jsonl:3")


def test_a_missing_quote_shows_the_nearest_text() -> None:
    with pytest.raises(
        DataError, match=r"q\.jsonl:3: the quote 'Wardens had 28 days' .*\n.*line 4, \d\d % alike: 'Wardens have 28 d"
    ):
        anchor(LEAVE, "Wardens had 28 days", None, "q.jsonl:3")


def test_a_missing_quote_names_another_document_that_has_it() -> None:
    with pytest.raises(DataError, match=r"it is in 'pay\.md'"):
        anchor(LEAVE, "25th", None, "q", {"pay.md": Document("pay.md", "On the 25th.")})


def test_impossible_quotes_are_refused() -> None:
    with pytest.raises(DataError, match="empty"):
        anchor(LEAVE, "", None, "q")
    for document in (LEAVE, Document("empty.md", "")):
        with pytest.raises(DataError, match="none of its words"):
            anchor(document, "zebra", None, "q")


def test_nearest_finds_a_reworded_line_among_many() -> None:
    text = "".join(f"Line {number} says something about leave and pay.\n" for number in range(2000))
    text += "Crew who work on a bank holiday get a day in lieu.\n" + text
    found = nearest(text, "Crew that work on bank holidays get one day in lieu.")
    assert found is not None
    start, end, alike = found
    assert text[start:end].startswith("Crew who work")
    assert alike > 0.7


@given(st.text(alphabet="ab c.", max_size=60), st.text(alphabet="ab c.", max_size=12))
def test_nearest_stays_inside_the_text(text: str, quote: str) -> None:
    found = nearest(text, quote)
    if found is not None:
        start, end, alike = found
        assert 0 <= start < end <= len(text)
        assert 0 <= alike <= 1


def test_nearest_compares_one_window_of_one_long_line(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def matcher(junk: None, quote: str, text: str) -> SequenceMatcher[str]:
        compared.append(text)
        return SequenceMatcher(junk, quote, text)

    monkeypatch.setattr(quote_anchors, "SequenceMatcher", matcher)
    assert nearest("some words without end " * 50_000, "words at the end") is not None
    assert [len(text) <= 1.2 * len("words at the end") for text in compared] == [True], "minutes instead of seconds"


def test_missing_documents_name_the_closest() -> None:
    with pytest.raises(DataError, match=r"did you mean 'leave\.md'"):
        find_document("leaves.md", {"leave.md": LEAVE}, "q.jsonl:1")
    assert closest_names("zzz", {f"doc{n}" for n in range(9000)}).startswith("none of its 9000 names")


def test_nearest_forgets_words_that_the_window_has_left() -> None:
    assert nearest("alpha beta gamma" + " filler" * 20 + " alpha", "alpha beta gamma") == (0, 16, 1.0)
