from hypothesis import given
from hypothesis import strategies as st

from rag.records import Chunk, Span
from rag.serve.quotes import quoted

TEXT = (
    "## Carrying over\n\nUp to five days may be\ncarried over. They are taken by 31 March 2026. Unused days\nbeyond that lapse."
)


def chunk(text: str = TEXT) -> Chunk:
    return Chunk(Span("leave.md", 100, 100 + len(text)), text)


def words(sentence: str, text: str = TEXT) -> str:
    found = quoted(sentence, chunk(text))
    return text[found.start - 100 : found.end - 100]


def test_the_same_words_are_found_across_line_breaks() -> None:
    assert words("Up to five days may be carried over.") == "Up to five days may be\ncarried over"
    assert words("*“They are taken by 31 March 2026.”*") == "They are taken by 31 March 2026"


def test_other_words_lead_to_the_sentence_that_shares_most_of_them() -> None:
    assert words("You must have taken them by 31 March 2026, says the rule.") == "They are taken by 31 March 2026."
    assert words("Days that stay unused lapse beyond that.") == "Unused days\nbeyond that lapse."


def test_where_nothing_is_shared_it_is_the_whole_passage() -> None:
    assert words("Nobody knows the trouble seen.") == TEXT
    assert words("") == TEXT


@given(st.text(max_size=80), st.text(min_size=1, max_size=200))
def test_the_span_lies_within_the_passage(sentence: str, text: str) -> None:
    found = quoted(sentence, chunk(text))
    assert found.doc_id == "leave.md"
    assert 100 <= found.start < found.end <= 100 + len(text)
