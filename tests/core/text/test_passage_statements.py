"""What the extractive generator may quote."""

from hypothesis import given
from hypothesis import strategies as st

from rag.core.corpus import Corpus
from rag.core.text.passage_statements import Statement, statements
from rag.core.types import Document, Span


def read(text: str, before: str = "") -> list[Statement]:
    """What a passage says that stands behind some other text in its document."""
    whole = before + text
    return statements(Corpus.of([Document("d", whole)], [Span("d", len(before), len(whole))]).chunk(0)) if text else []


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in read(text)]


def test_a_term_stays_with_what_it_means() -> None:
    assert texts("**Dipper.** A rod. It is long.\n\n**Stop.**") == ["**Dipper.** A rod.", "It is long.", "**Stop.**"]


def test_wrapped_lines_are_joined_and_items_stand_alone() -> None:
    assert texts("One line\nand its end.\n- first item\n  goes on\n- second\n\n2) third\nAfter\n\n---\nLast") == [
        "One line and its end.",
        "first item goes on",
        "second",
        "third After",
        "Last",
    ]


def test_headings_and_table_headers_are_what_things_stand_under() -> None:
    text = "## Pay\nMonthly.\n### Rates\n| band | rate |\n|---|---|\n| A | 10 |\n| B | 12 |\n\n## Leave\nYearly."
    assert read(text, "# Handbook\n## Old\n") == [
        Statement("Monthly.", "Handbook > Pay"),
        Statement("A | 10", "Handbook > Pay > Rates", "band | rate"),
        Statement("B | 12", "Handbook > Pay > Rates", "band | rate"),
        Statement("Yearly.", "Handbook > Leave"),
    ]


def test_headings_of_plain_text_are_not_said() -> None:
    assert read("BOTTLES\nNutrients: white cap.\n\n1. LABELS\nPencil, not pen.", "SAMPLES\nA memo.\n\n") == [
        Statement("Nutrients: white cap.", "SAMPLES > BOTTLES"),
        Statement("Pencil, not pen.", "SAMPLES > 1. LABELS"),
    ]


@given(st.text(alphabet="aB1 .!?\n|#-*\"'(。é", max_size=200))
def test_nothing_is_invented_or_empty(text: str) -> None:
    for sentence in read(text):
        assert sentence.text.strip()
        assert all(word in text for word in sentence.text.replace("|", " ").split())


@given(st.lists(st.sampled_from(["Rain fell.", "Who came?", "Nobody did!", "It was 4.5 m."]), max_size=6))
def test_plain_prose_is_cut_without_loss(parts: list[str]) -> None:
    assert texts(" ".join(parts)) == parts
