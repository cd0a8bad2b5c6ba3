import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Span, Turn
from rag.evaluation.data.golden import Golden, dealt_split, load

A, B = Document("a.md", "Leave is 25 days.", {"title": "Leave"}), Document("b.md", "Pay day is the 25th.")
LEAVE = Example(Query("q1", "How long?"), (Evidence((Span("a.md", 9, 16),)),), split="tune", cluster="leave")
PAY = Example(Query("q2", "When?"), (Evidence(("b.md",)),), split="holdout", cluster="pay")


class Given:
    """A loader and a reader of questions with fixed values."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def load(self) -> Iterator[Document]:
        return iter(self.values)

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        return iter(self.values)


def golden(*examples: Example, documents: tuple[Document, ...] = (A, B)) -> Golden:
    return load(Given(*documents), Given(*examples))


def test_documents_are_sorted_and_questions_keep_their_order() -> None:
    loaded = golden(PAY, LEAVE, documents=(B, A))
    assert loaded == Golden((A, B), (PAY, LEAVE))
    assert loaded.sizes == {"holdout": 1, "tune": 1}


@pytest.mark.parametrize(
    ("documents", "examples", "error"),
    [
        ((), (LEAVE,), "the corpus is empty"),
        ((A, B), (), "there is no question"),
        ((A, B, replace(A, text="other")), (LEAVE,), r"two documents are named 'a\.md'"),
        ((A, B), (LEAVE, replace(PAY, query=LEAVE.query)), "several questions have the id 'q1'"),
        ((A,), (LEAVE, PAY), r"question 'q2': the corpus has no document 'b\.md'.*\n.*did you mean 'a\.md'"),
        ((A, B), (LEAVE, replace(PAY, split="")), "1 of 2 questions have no split, the first is 'q2'"),
        ((A, B), (replace(LEAVE, evidence=(Evidence(()),)),), "0 places"),
        ((A, B), (replace(LEAVE, evidence=(Evidence(("a.md",), 0),)),), "grade 0"),
        ((A, B), (replace(LEAVE, evidence=(Evidence((Span("a.md", 9, 18),)),)),), "9 to 18 lies outside .*17 characters"),
        ((A, B), (replace(LEAVE, evidence=(Evidence((Span("a.md", -1, 3),)),)),), "-1 to 3 lies outside"),
        ((A, B), (replace(LEAVE, evidence=(Evidence((Span("a.md", 3, 3),)),)),), "3 to 3 lies outside"),
    ],
)
def test_invalid_sets_are_refused(documents: tuple[Document, ...], examples: tuple[Example, ...], error: str) -> None:
    with pytest.raises(DataError, match=error):
        golden(*examples, documents=documents)


def test_named_splits_are_kept() -> None:
    loaded = golden(LEAVE, PAY)
    assert not loaded.dealt
    assert loaded.split("all") is loaded
    assert loaded.split("tune").examples == (LEAVE,)
    assert loaded.split("holdout").split("holdout").examples == (PAY,)
    assert loaded.split("tune").documents == loaded.documents
    with pytest.raises(DataError, match=r"did you mean 'holdout'.*holdout \(1 questions\), tune \(1 questions\)"):
        golden(LEAVE, PAY).split("holdut")
    with pytest.raises(DataError, match="no question is in 'holdout'"):
        golden(LEAVE).split("holdout")


def test_questions_without_splits_are_dealt_by_cluster() -> None:
    examples = [Example(Query(f"q{n}", "t"), cluster=f"c{n // 3}") for n in range(600)]
    loaded = golden(*examples)
    assert sum(loaded.dealt.values()) == 600
    assert f"The 600 questions name no split: {loaded.dealt['tune']} were dealt to tune" in loaded.dealing
    tune, holdout = loaded.split("tune").examples, loaded.split("holdout").examples
    assert not {example.cluster for example in tune} & {example.cluster for example in holdout}
    assert len(tune) + len(holdout) == 600
    assert 240 < len(tune) < 360
    # The hash must not change: published splits must stay.
    assert [dealt_split(name) for name in ("leave", "pay", "1", "Süß")] == ["holdout", "holdout", "holdout", "tune"]
    loaded = golden(*(Example(Query(f"q{n}", "t")) for n in range(100)))
    assert [(each.cluster, each.split) for each in loaded.examples] == [(f"q{n}", dealt_split(f"q{n}")) for n in range(100)]


@pytest.mark.parametrize(("questions", "clusters"), [(28, 28), (99, 99), (200, 19)])
def test_few_questions_without_splits_are_all_tune(questions: int, clusters: int) -> None:
    loaded = golden(*(Example(Query(f"q{n}", "t"), cluster=f"c{n % clusters}") for n in range(questions)))
    assert len(loaded.split("tune").examples) == questions
    assert f"The {questions} questions name no split" in loaded.dealing
    with pytest.raises(DataError, match=r"(?s)too few for a holdout.*split=all, in a gate split: all"):
        loaded.split("holdout")


@pytest.mark.parametrize(
    "document",
    [
        replace(A, doc_id="c.md"),
        replace(A, text="Leave is 26 days."),
        replace(A, metadata={}),
        replace(A, metadata={"title": "x"}),
    ],
)
def test_every_part_of_a_document_is_in_the_corpus_digest(document: Document) -> None:
    before, after = Golden((A, B), (PAY,)), Golden((document, B), (PAY,))
    assert before.corpus_digest != after.corpus_digest
    assert before.golden_digest == after.golden_digest


@pytest.mark.parametrize(
    ("example", "query_differs"),
    [
        (replace(LEAVE, query=Query("q1", "How long now?")), True),
        (replace(LEAVE, query=Query("q1", "How long?", (Turn("user", "Hi"),))), True),
        (replace(LEAVE, query=Query("q3", "How long?")), True),
        (replace(LEAVE, evidence=(Evidence((Span("a.md", 9, 15),)),)), False),
        (replace(LEAVE, evidence=(Evidence((Span("a.md", 9, 16),), 2),)), False),
        (replace(LEAVE, evidence=()), False),
        (replace(LEAVE, answers=("25",)), False),
        (replace(LEAVE, kind="x"), False),
        (replace(LEAVE, tags=("x",)), False),
        (replace(LEAVE, split="holdout"), False),
        (replace(LEAVE, cluster="x"), False),
        (replace(LEAVE, judged=frozenset({"a.md"})), False),
    ],
)
def test_every_part_of_a_question_is_in_the_golden_digest(example: Example, query_differs: bool) -> None:
    before, after = Golden((A, B), (LEAVE, PAY)), Golden((A, B), (example, PAY))
    assert before.golden_digest != after.golden_digest
    assert (before.queries_digest != after.queries_digest) == query_differs
    assert before.corpus_digest == after.corpus_digest


def test_the_order_of_questions_is_in_the_digests() -> None:
    one, other = golden(LEAVE, PAY), golden(PAY, LEAVE)
    assert one.golden_digest != other.golden_digest
    assert one.queries_digest != other.queries_digest


@given(st.lists(st.text(string.ascii_letters + " \u2028ß"), min_size=2, max_size=2, unique=True))
def test_names_and_texts_are_separated_in_digests(texts: list[str]) -> None:
    one, other = texts
    first = Golden((Document(one, other),), (PAY,))
    assert first.corpus_digest != Golden((Document(other, one),), (PAY,)).corpus_digest
    assert first.corpus_digest != Golden((Document(one + other, ""),), (PAY,)).corpus_digest or not other


def test_the_order_of_judged_documents_does_not_matter() -> None:
    names = [f"d{n}" for n in range(50)]
    one = Golden((A,), (replace(PAY, judged=frozenset(names)),))
    other = Golden((A,), (replace(PAY, judged=frozenset(reversed(names))),))
    assert one.golden_digest == other.golden_digest
