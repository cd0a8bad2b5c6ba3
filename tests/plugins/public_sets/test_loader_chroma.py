from collections.abc import Callable
from pathlib import Path

import pytest

from rag.core.errors import DataError
from rag.core.types import Evidence, Example, Query, Span
from rag.plugins.public_sets.loaders.chroma import ChromaLoader, ChromaQuestions

Collection = Callable[[str], Path]


def read(path: Path) -> list[Example]:
    documents = {document.doc_id: document for document in ChromaLoader(str(path)).load()}
    return list(ChromaQuestions(str(path)).read(documents))


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


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Salt is salty.", "Salt was salty.", r"questions\.csv:2 references\[0\]: the quote 'Salt was salty\.'"),
        ("question,", "query,", r"questions\.csv:1: there is no column question"),
        ('""start_index"": 14', '""start_index"": ""x""', "'start_index' is"),
        (",wiki", "", "there is no 'corpus_id'"),
        ('salt?",', 'salt?"x,', r"questions\.csv:2: is not valid CSV"),
    ],
)
def test_mistakes_are_named_by_file_and_line(collection: Collection, old: str, new: str, said: str) -> None:
    path = collection("chroma")
    table = (path / "questions.csv").read_text(encoding="utf-8")
    assert old in table
    (path / "questions.csv").write_text(table.replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read(path)


def test_missing_files_are_named(collection: Collection, tmp_path: Path) -> None:
    path = collection("chroma")
    (path / "questions.csv").unlink()
    with pytest.raises(DataError, match=r"questions\.csv: there is no such file"):
        read(path)
    with pytest.raises(DataError, match=r"corpora: there is no document"):
        read(tmp_path)
