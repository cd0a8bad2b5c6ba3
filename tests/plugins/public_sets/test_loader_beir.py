import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Turn
from rag.plugins.public_sets.loaders.beir import BeirLoader, BeirQuestions

Collection = Callable[[str], Path]


def read(path: Path, **parameters: Any) -> list[Example]:
    documents = {document.doc_id: document for document in BeirLoader(str(path)).load()}
    return list(BeirQuestions(str(path), **parameters).read(documents))


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


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("qrels/test.tsv", "a d1 1", r"test\.tsv:6: has 1 fields"),
        ("qrels/test.tsv", "a\td1\thigh", r"test\.tsv:6: the score is 'high'"),
        ("qrels/test.tsv", "a\td1\t1", r"test\.tsv:6: gives 'd1' the score 1, and .*:2 gives it 2"),
        ("qrels/test.tsv", "a\td9\t1", r"test\.tsv:6: the corpus has no document 'd9'"),
        ("qrels/test.tsv", "z\td1\t1", r"test\.tsv:6: judges the question 'z'"),
        ("queries.jsonl", '{"_id": "b", "text": "B"}', r"queries\.jsonl:4: the question 'b' is also at .*:1"),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}', r"corpus\.jsonl:4: the document 'd1' is also at .*:2"),
    ],
)
def test_mistakes_are_named_by_file_and_line(collection: Collection, file: str, line: str, said: str) -> None:
    path = collection("beir")
    with (path / file).open("a", encoding="utf-8") as opened:
        opened.write(line + "\n")
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
    with pytest.raises(DataError, match=r"corpus\.jsonl: there is no such file"):
        read(tmp_path)
