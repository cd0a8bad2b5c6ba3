"""The laws of passages, for every choice in conf/passage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import asks_model, build, choices

from rag.core.corpus import Corpus
from rag.core.roles import PassageText
from rag.core.types import Document, Span
from rag.testing import check_passage

CHOICES = [choice for choice in choices("passage") if not asks_model("passage", choice)]
TRAPS = [
    *("# Leave\n", "## Days\n", "| a | b |\n", "| --- | --- |\n", "| 1 | \\| |\n", "||||\n", "word ", "[^1] "),
    *("[^1]: note\n", "\n"),
]
TRAPS += ["```\n", "> ", "- ", "---\n", "é", "\r\n", "\u2028", "。", "Table 1. Bands\n"]


@pytest.fixture(scope="module", params=CHOICES)
def passage(request: pytest.FixtureRequest) -> PassageText:
    passage: PassageText = build("passage", request.param)
    return passage


def test_laws(passage: PassageText) -> None:
    check_passage(passage)


@given(
    texts=st.lists(st.lists(st.sampled_from(TRAPS), min_size=1, max_size=25).map("".join), min_size=1, max_size=3),
    size=st.integers(1, 40),
)
@settings(max_examples=60)
def test_drawn_documents(passage: PassageText, texts: list[str], size: int) -> None:
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    cuts = [
        Span(each.doc_id, at, min(at + size, len(each.text))) for each in documents for at in range(0, len(each.text), size)
    ]
    corpus = Corpus.of(documents, cuts)
    written = list(passage.texts(corpus))
    assert len(written) == len(corpus)
    assert all(isinstance(text, str) and text.encode("utf-8") for text in written)
    whole = Corpus.of(documents, cuts[::-1])
    assert list(passage.texts(whole)) == written, "the order of the spans plays no part"


def test_a_corpus_without_chunks(passage: PassageText) -> None:
    assert list(passage.texts(Corpus.of([Document("d", "")], []))) == []
