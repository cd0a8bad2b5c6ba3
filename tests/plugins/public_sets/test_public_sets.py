"""Public sets: BEIR, Chroma's tables and SQuAD become documents and questions; mistakes are named by their place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Span, Turn
from rag.plugins.public_sets.loaders.beir import BeirLoader, BeirQuestions
from rag.plugins.public_sets.loaders.chroma import ChromaLoader, ChromaQuestions
from rag.plugins.public_sets.loaders.squad import SquadLoader, SquadQuestions

Collection = Callable[[str], Path]
PARTS = {"beir": (BeirLoader, BeirQuestions), "chroma": (ChromaLoader, ChromaQuestions), "squad": (SquadLoader, SquadQuestions)}
TITLE = "Ann_and_Bob"


def read(path: Path, **parameters: Any) -> list[Example]:
    """The questions of a collection in a folder that is named by its format."""
    loader, questions = PARTS[path.name]
    documents = {document.doc_id: document for document in loader(str(path)).load()}
    return list(questions(str(path), **parameters).read(documents))


def test_text_is_title_and_text(collection: Collection) -> None:
    path = collection("beir")
    assert list(BeirLoader(str(path)).load()) == [
        Document("d2", "Two second", {"title": "Two"}),
        Document("d1", "first"),
        Document("d0", ""),
    ]
    assert next(iter(BeirLoader(str(path), title=False).load())) == Document("d2", "second", {"title": "Two"})


def test_judged_questions_are_read_in_the_order_of_their_file(collection: Collection) -> None:
    assert read(collection("beir")) == [
        Example(Query("b", "B?"), (Evidence(("d2",)), Evidence(("d1",))), cluster="b", judged=frozenset({"d1", "d2"})),
        Example(Query("a", "A?"), (Evidence(("d1",), 2),), cluster="a", judged=frozenset({"d1", "d2"})),
    ]


def test_a_question_judged_without_success_is_kept_without_evidence(collection: Collection) -> None:
    path = collection("beir")
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nx\tgone\t0\nx\td1\t-1\n", encoding="utf-8")
    assert read(path) == [Example(Query("x", "X?"), cluster="x", judged=frozenset({"gone", "d1"}))]


def test_the_only_split_needs_no_name_and_others_are_listed(collection: Collection) -> None:
    path = collection("beir")
    (path / "qrels" / "dev.tsv").write_text("a\td2\t1\n", encoding="utf-8")
    assert [example.query.query_id for example in read(path, split="dev")] == ["a"]
    with pytest.raises(DataError, match="several splits: dev, test"):
        read(path)
    with pytest.raises(DataError, match="did you mean 'test'"):
        read(path, split="tests")


def test_earlier_turns_come_from_the_conversations(collection: Collection) -> None:
    path = collection("beir")
    history = [{"speaker": "user", "text": "Hm?"}, {"speaker": "agent", "text": "Well."}]
    row = json.dumps({"_id": "a", "conversation_id": "c", "history": history, "rewrite": "All of A?", "collection": "x"})
    (path / "conversations.jsonl").write_text(row, encoding="utf-8")
    b, a = read(path)
    assert (b.query, b.turn, b.tags, b.cluster) == (Query("b", "B?"), 0, (), "b")
    assert a.query == Query("a", "A?", (Turn("user", "Hm?"), Turn("assistant", "Well.")), "All of A?")
    assert (a.turn, a.tags, a.dialogue, a.cluster) == (2, ("x",), "", "c")
    assert read(path, conversations="conversations.jsonl") == [b, a]
    assert [example.query for example in read(path, conversations="")] == [Query("b", "B?"), Query("a", "A?")]
    (path / "conversations.jsonl").write_text(row.replace("agent", "system"), encoding="utf-8")
    assert read(path) == [b, a]
    with pytest.raises(DataError, match="talks"):
        read(path, conversations="talks.jsonl")
    (path / "conversations.jsonl").write_text(row.replace("agent", "usr"), encoding="utf-8")
    with pytest.raises(DataError, match=r"conversations\.jsonl:1 history\[1\]: the speaker is 'usr'"):
        read(path)


MISTAKES: dict[tuple[str, str], list[tuple[str, str, str]]] = {
    ("chroma", "questions.csv"): [
        ("Salt is salty.", "Salt was salty.", r"questions\.csv:2 references\[0\]: the quote 'Salt was salty\.'"),
        (",wiki", ",wikki", r"questions\.csv:2: the corpus has no document 'wikki'"),
        ("[{", "{", r"questions\.csv:2 references: is not valid JSON"),
        ("question,", "query,", r"questions\.csv:1: there is no column question"),
        ('""start_index"": 14', '""start_index"": ""x""', "'start_index' is"),
        (",wiki", "", "there is no 'corpus_id'"),
        ('salt?",', 'salt?"x,', r"questions\.csv:2: is not valid CSV"),
    ],
    ("squad", "squad2.json"): [
        ('"text": "Ann"', '"text": "Anna"', r"squad2\.json data\[0\] paragraphs\[0\] qas\[0\] answers\[0\]: the quote 'Anna'"),
        ('"is_impossible": true', '"is_impossible": false', r"qas\[1\]: 'is_impossible' does not fit 0 answers"),
        ('"id": "s1", ', "", "there is no 'id'"),
        ('"data"', '"date"', "'data' has no article"),
        ("{", "", "is not valid JSON"),
    ],
    ("beir", "qrels/test.tsv"): [
        ("b\td1\t1\n", "b\td1\t1\na d1 1\n", r"test\.tsv:6: has 1 fields"),
        ("b\td1\t1", "query-id\tcorpus-id\tscore", r"test\.tsv:5: the score is 'score'"),
        ("b\td1\t1", "b\td1\thigh", r"test\.tsv:5: the score is 'high'"),
        ("b\td1\t1", "a\td1\t1", r"test\.tsv:5: gives 'd1' the score 1, and .*:2 gives it 2"),
        ("b\td1", "b\td9", r"test\.tsv:5: the corpus has no document 'd9'"),
        ("b\td1", "z\td1", r"test\.tsv:5: judges the question 'z'"),
    ],
    ("beir", "queries.jsonl"): [('"_id": "x"', '"_id": "b"', r"queries\.jsonl:3: the question 'b' is also at .*:1")],
    ("beir", "corpus.jsonl"): [('"_id": "d0"', '"_id": "d1"', r"corpus\.jsonl:3: the document 'd1' is also at .*:2")],
}


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "said"), [(*place, *case) for place, cases in MISTAKES.items() for case in cases]
)
def test_mistakes_are_named_by_their_place(collection: Collection, name: str, file: str, old: str, new: str, said: str) -> None:
    path = collection(name)
    text = (path / file).read_text(encoding="utf-8")
    assert old in text
    (path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read(path)


def test_a_judgement_given_twice_alike_counts_once(collection: Collection) -> None:
    path = collection("beir")
    with (path / "qrels" / "test.tsv").open("a", encoding="utf-8") as opened:
        opened.write("a\td1\t2\n")
    assert [len(example.evidence) for example in read(path)] == [2, 1]


def test_empty_collections_are_refused(collection: Collection, tmp_path: Path) -> None:
    path = collection("beir")
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    with pytest.raises(DataError, match="no judgement"):
        read(path)
    (path / "qrels" / "test.tsv").unlink()
    with pytest.raises(DataError, match=r"there are no judgements"):
        read(path)
    (path / "corpus.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="has no document"):
        read(path)
    (path / "corpus.jsonl").unlink()
    with pytest.raises(DataError, match=r"corpus\.jsonl: there is no such file"):
        read(path)
    with pytest.raises(DataError, match=r"corpora: there is no document"):
        list(ChromaLoader(str(tmp_path)).load())


def test_references_are_spans_that_count_characters(collection: Collection) -> None:
    evidence = (Evidence((Span("wiki", 14, 28),)),)
    query = Query("wiki-0001", "What, then, is salt?")
    assert read(collection("chroma")) == [Example(query, evidence, kind="wiki", cluster="wiki-0001")]


def test_a_moved_reference_is_found_again_by_its_quote(collection: Collection) -> None:
    path = collection("chroma")
    (path / "corpora" / "wiki.md").write_bytes("Sugar is süß.\r\nSalt is salty.".encode())
    (example,) = read(path)
    assert example.evidence == (Evidence((Span("wiki", 14, 28),)),)
    (path / "corpora" / "wiki.md").write_text("New. Sugar. Salt is salty.", encoding="utf-8")
    (example,) = read(path)
    assert example.evidence == (Evidence((Span("wiki", 12, 26),)),)


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
