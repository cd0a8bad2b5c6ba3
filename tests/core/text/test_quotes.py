import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.corpus import Corpus
from rag.core.text.quotes import quoted, section_of
from rag.core.types import Chunk, Document, Span

TEXT = (
    "## Carrying over\n\nUp to five days may be\ncarried over. They are taken by 31 March 2026. Unused days\nbeyond that lapse."
)


def chunk(text: str = TEXT) -> Chunk:
    document = Document("leave.md", "x" * 98 + "\n\n" + text)
    return Corpus.of([document], [Span("leave.md", 100, 100 + len(text))]).chunk(0)


def words(sentence: str, text: str = TEXT) -> str:
    found = quoted(sentence, chunk(text))
    return text[found.start - 100 : found.end - 100]


def test_the_same_words_are_found_across_line_breaks() -> None:
    assert words("Up to five days may be carried over.") == "Up to five days may be\ncarried over."
    assert words("*“They are taken by 31 March 2026.”*") == "They are taken by 31 March 2026."


ENDS = "The rate is 5 %, and the fee £75. (Ask in “writing”!) Is it so? Read the *notes*… Grow by 40 %. Use form F-17 (b)."


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("The rate is 5 %", "The rate is 5 %"),
        ("The rate is 5 %.", "The rate is 5 %"),
        ("the fee £75.", "the fee £75."),
        ("£75.", "The rate is 5 %, and the fee £75."),  # One word alone is quoted with its sentence.
        ("the fee £75", "the fee £75."),
        ("(Ask in “writing”!)", "(Ask in “writing”!)"),
        *(("Ask in “writing”", "Ask in “writing”!)"), ("Is it so", "Is it so?")),
        *(("“Read the *notes*…”", "Read the *notes*…"), ("Grow by 40 %.", "Grow by 40 %.")),
        *(("Use form F-17 (b)", "Use form F-17 (b)."), ("rate is 5", "rate is 5")),
    ],
)
def test_a_quote_keeps_its_last_characters(sentence: str, quote: str) -> None:
    assert words(sentence, ENDS) == quote


def test_a_quote_begins_and_ends_with_whole_words() -> None:
    assert words("his 5 days", "This 5 days' notice. Of his 5 days two are left.") == "his 5 days"


def test_a_quote_has_the_section_of_its_first_character() -> None:
    text = "# Leave\nAsk first.\n\n## Carrying over\nUp to five days may be carried over."
    passage = chunk(text)
    assert section_of(quoted("Up to five days may be carried over.", passage), passage) == "Leave > Carrying over"
    assert section_of(quoted("You should ask first.", passage), passage) == "Leave"
    assert section_of(quoted("Unknown words without any match.", passage), passage) == "Leave > Carrying over", "most of it"


def test_other_words_lead_to_the_sentence_that_shares_most_of_them() -> None:
    assert words("You must have taken them by 31 March 2026, says the rule.") == "They are taken by 31 March 2026."
    assert words("Days that stay unused lapse beyond that.") == "Unused days\nbeyond that lapse."


def test_without_shared_words_the_quote_is_the_whole_passage() -> None:
    assert words("Unknown words without any match.") == TEXT
    assert words("") == TEXT


@given(st.text(max_size=80), st.text(min_size=1, max_size=200))
def test_the_span_lies_within_the_passage(sentence: str, text: str) -> None:
    found = quoted(sentence, chunk(text))
    assert found.doc_id == "leave.md"
    assert 100 <= found.start < found.end <= 100 + len(text)
