"""Claims and clauses of a text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.judges.passages import clauses
from rag.core.text.citations import without_markers
from rag.core.text.refusals import claims

REFUSING = (re.compile("i do not know", re.IGNORECASE),)


def claim_texts(text: str) -> list[str]:
    return [without_markers(text[start:end]) for start, end in claims(text, REFUSING)[0]]


def test_claims_are_sentences_without_markers() -> None:
    text = "# Leave\n\n- There are 25 days [1].\n- Ask your lead [2, 3]. Is that all? Yes, it is."
    assert claim_texts(text) == ["There are 25 days.", "Ask your lead.", "Yes, it is."]


@pytest.mark.parametrize("text", ["", "  \n", "[1]", "I do not know.", "I do not know. Sorry?", "…"])
def test_abstentions(text: str) -> None:
    assert claims(text, REFUSING) == ([], text != "[1]")


def test_a_refusal_with_a_claim_is_no_abstention() -> None:
    text = "I do not know the price. The colour is red."
    assert claim_texts(text) == ["The colour is red."]
    assert not claims(text, REFUSING)[1]


@given(st.text(alphabet="ab ,;.and\n"))
def test_clauses_are_all_of_a_sentence(text: str) -> None:
    assert "".join(text[start:end] for start, end in clauses(text)) == text
