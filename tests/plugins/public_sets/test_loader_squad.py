from collections.abc import Callable
from pathlib import Path

import pytest

from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.plugins.public_sets.loaders.squad import SquadLoader, SquadQuestions

Collection = Callable[[str], Path]
TITLE = "Ann_and_Bob"


def read(path: Path) -> list[Example]:
    documents = {document.doc_id: document for document in SquadLoader(str(path)).load()}
    return list(SquadQuestions(str(path)).read(documents))


def test_paragraphs_become_one_document(collection: Collection) -> None:
    expected = [Document(TITLE, "Ann came.\n\nBob B went.", {"title": "Ann and Bob"})]
    assert list(SquadLoader(str(collection("squad"))).load()) == expected


def test_distinct_answers_are_alternatives_and_paragraphs_are_clusters(collection: Collection) -> None:
    assert read(collection("squad")) == [
        Example(Query("s1", "Who?"), (Evidence((Span(TITLE, 0, 3),)),), ("Ann",), "answerable", cluster=f"{TITLE}#0"),
        Example(Query("s2", "Why?"), kind="unanswerable", cluster=f"{TITLE}#0"),
        Example(
            Query("s3", "Who else?"),
            (Evidence((Span(TITLE, 11, 14), Span(TITLE, 11, 16))),),
            ("Bob", "Bob B"),
            "answerable",
            cluster=f"{TITLE}#1",
        ),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"text": "Ann"', '"text": "Anna"', r"squad2\.json data\[0\] paragraphs\[0\] qas\[0\] answers\[0\]: the quote 'Anna'"),
        ('"is_impossible": true', '"is_impossible": false', r"qas\[1\]: 'is_impossible' does not fit 0 answers"),
        ('"id": "s1", ', "", "there is no 'id'"),
        ('"data"', '"date"', "'data' has no article"),
        ("{", "", "is not valid JSON"),
    ],
)
def test_mistakes_are_named_by_their_place(collection: Collection, old: str, new: str, said: str) -> None:
    path = collection("squad")
    text = (path / "squad2.json").read_text(encoding="utf-8")
    assert old in text
    (path / "squad2.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read(path)


def test_squad_1_needs_no_flag(collection: Collection) -> None:
    path = collection("squad")
    text = (path / "squad2.json").read_text(encoding="utf-8")
    text = text.replace('"is_impossible": false, ', "").replace('"is_impossible": true, ', "")
    (path / "squad2.json").write_text(text, encoding="utf-8")
    assert [example.kind for example in read(path)] == ["answerable", "unanswerable", "answerable"]


def test_documents_of_another_loader_are_refused(collection: Collection) -> None:
    questions = SquadQuestions(str(collection("squad")))
    with pytest.raises(DataError, match=r"paragraphs\[1\]: is not the text of 'Ann_and_Bob' at 11"):
        list(questions.read({TITLE: Document(TITLE, "Ann came.\nBob B went.")}))
