import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.corpora import text_folder

from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Span, Turn

DOCUMENTS = {"a.md": Document("a.md", "You have 25 days. Crew have 28 days."), "b.md": Document("b.md", "Pay day is the 25th.")}


def load(path: Path, **parameters: Any) -> dict[str, Document]:
    return {document.doc_id: document for document in text_folder(str(path), **parameters).load()}


def read(path: Path, *rows: object) -> list[Example]:
    text = "".join((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)
    (path / "questions.jsonl").write_text(text, encoding="utf-8")
    return list(NativeQuestions(str(path)).read(DOCUMENTS))


def test_documents_are_named_by_their_path_and_titled_by_their_first_heading(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "folder.md").mkdir()
    (tmp_path / ".hidden.md").touch()
    (tmp_path / "deep" / "er" / "a.md").write_text("intro\n\n##  Annual leave ## \n# Other", encoding="utf-8")
    (tmp_path / "b.txt").write_text("#hashtag", encoding="utf-8")
    (tmp_path / "c.html").write_text("<p>", encoding="utf-8")
    site = "<!--\n# no\n-->\n# [Fares](fares.md) { #fares }\n/// tip\nMind.\n///\n"
    (tmp_path / "site.md").write_text(site, encoding="utf-8")
    documents = load(tmp_path)
    assert list(documents) == ["b.txt", "deep/er/a.md", "site.md"]
    assert documents["site.md"].metadata == {"title": "Fares"}
    assert documents["site.md"].text == site, "gold and citations are places in it"
    assert documents["deep/er/a.md"].metadata == {"title": "Annual leave"}
    assert documents["b.txt"].metadata == {}


def test_line_ends_do_not_change_offsets_and_empty_documents_are_kept(tmp_path: Path) -> None:
    (tmp_path / "unix.md").write_bytes(b"# A\n\nSome text.\n")
    (tmp_path / "dos.md").write_bytes(b"# A\r\n\r\nSome text.\r\n")
    (tmp_path / "empty.md").touch()
    documents = load(tmp_path)
    assert documents["dos.md"].text == documents["unix.md"].text == "# A\n\nSome text.\n"
    assert documents["dos.md"].metadata == {"title": "A"}
    assert documents["empty.md"].text == ""


def test_one_line_of_twenty_megabytes_is_a_document(tmp_path: Path) -> None:
    size = 20_000_000
    (tmp_path / "long.txt").write_bytes(b"# " + b"word " * (size // 5))
    document = load(tmp_path)["long.txt"]
    assert len(document.text) == size + 2
    assert len(str(document.metadata["title"])) <= 200


def test_names_do_not_depend_on_how_a_system_writes_accents(tmp_path: Path) -> None:
    (tmp_path / unicodedata.normalize("NFD", "Süß.md")).write_text("x", encoding="utf-8")
    assert list(load(tmp_path)) == [unicodedata.normalize("NFC", "Süß.md")]
    (tmp_path / unicodedata.normalize("NFC", "Süß.md")).write_text("y", encoding="utf-8")
    if len(list(tmp_path.iterdir())) == 2:  # some systems hold the two for one name
        loader = text_folder(str(tmp_path))
        assert [document.text for document in loader.load()] == ["x"]
        assert [(file.reason, file.wanted) for file in loader.skipped] == [("name of another file", True)]


def test_a_folder_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is an empty folder"):
        load(tmp_path)
    (tmp_path / "a.png").touch()
    with pytest.raises(DataError, match=r"no file matches \*\*/\*\.md, \*\*/\*\.txt"):
        load(tmp_path)
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"no file can be read: latin\.md: is not UTF-8: byte 0xe9 at byte offset 3"):
        load(tmp_path)


def test_a_question_needs_an_id_and_a_text_only(tmp_path: Path) -> None:
    assert read(tmp_path, {"id": "q1", "text": "Why\u2028so?"}) == [Example(Query("q1", "Why\u2028so?"), cluster="q1")]


def test_a_full_question_is_read(tmp_path: Path) -> None:
    row = {
        "id": "q1",
        "text": "And for crew?",
        "kind": "follow-up",
        "tags": ["leave"],
        "split": "holdout",
        "cluster": "leave",
        "history": [{"role": "user", "text": "How many days?"}, {"role": "assistant", "text": "25."}],
        "answers": ["28", "28 days"],
        "evidence": [
            {"grade": 2, "any": [{"doc": "a.md", "quote": "28 days"}, {"doc": "b.md"}]},
            {"any": [{"doc": "a.md", "quote": "days", "start": 12, "end": 16}]},
        ],
    }
    assert read(tmp_path, row) == [
        Example(
            query=Query("q1", "And for crew?", (Turn("user", "How many days?"), Turn("assistant", "25."))),
            evidence=(Evidence((Span("a.md", 28, 35), "b.md"), 2), Evidence((Span("a.md", 12, 16),))),
            answers=("28", "28 days"),
            kind="follow-up",
            tags=("leave",),
            split="holdout",
            cluster="leave",
        )
    ]


def evidence(**place: object) -> dict[str, object]:
    return {"id": "q", "text": "t", "evidence": [{"any": [place]}]}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("not json", "is not valid JSON"),
        ({"text": "t"}, "there is no 'id'"),
        ({"id": "q", "text": "t", "split": "test"}, "'split' is 'test'"),
        ({"id": "q", "text": "t", "history": [{"role": "system", "text": "x"}]}, r"history\[0\]: 'role' is 'system'"),
        ({"id": "q", "text": "t", "evidence": [{"any": []}]}, r"evidence\[0\]: 'any' names no place"),
        ({"id": "q", "text": "t", "evidence": [{"grade": 0, "any": [{"doc": "a.md"}]}]}, "'grade' is 0"),
        (evidence(doc="c.md"), "no document 'c.md'"),
        (evidence(doc="a.md", qoute="x"), "did you mean 'quote'"),
        (evidence(doc="a.md", start=1, end=3), "without a 'quote'"),
        (evidence(doc="a.md", quote="25 days", start=1), "there is no 'end'"),
        (evidence(doc="a.md", quote="26 days"), r"any\[0\]: the quote '26 days' is not in"),
        (evidence(doc="a.md", quote="days"), "more than once"),
        (evidence(doc="a.md", quote="days", start=0, end=4), "more than once"),
        (evidence(doc="a.md", quote=""), "empty"),
    ],
)
def test_mistakes_are_named_by_file_and_line(tmp_path: Path, row: object, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read(tmp_path, {"id": "fine", "text": "t"}, row)
    assert caught.value.where.startswith(f"{tmp_path / 'questions.jsonl'}:2")


TURNS: list[dict[str, object]] = [
    {"id": "d-1", "text": "When does it leave?", "dialogue": "d", "turn": 1},
    {
        "id": "d-2",
        "text": "And on Sunday?",
        "dialogue": "d",
        "turn": 2,
        "rewrite": "When does the ferry leave on Sunday?",
        "history": [{"role": "user", "text": "When does it leave?"}, {"role": "assistant", "text": "At seven."}],
    },
]


def test_a_dialogue_is_a_cluster_of_turns(tmp_path: Path) -> None:
    first, second = read(tmp_path, *TURNS)
    assert (first.dialogue, first.turn, first.cluster, first.query.rewrite) == ("d", 1, "d", "")
    assert (second.turn, second.query.rewrite) == (2, "When does the ferry leave on Sunday?")
    (tmp_path / "questions.jsonl").rename(tmp_path / "talks.jsonl")
    assert len(list(NativeQuestions(str(tmp_path), "talks.jsonl").read(DOCUMENTS))) == 2


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"turn": 3}, "by its history it is question 2"),
        ({"turn": None}, "belong together"),
        ({"dialogue": None}, "belong together"),
        ({"turn": 1, "history": []}, "is also at"),
    ],
)
def test_turns_that_make_no_dialogue_are_refused(tmp_path: Path, changed: dict[str, object], says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        read(tmp_path, TURNS[0], TURNS[1] | changed)
    assert caught.value.where.endswith("questions.jsonl:2")
