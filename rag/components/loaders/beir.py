"""The BEIR layout: corpus.jsonl, queries.jsonl, qrels/<split>.tsv (Thakur et al., 2021)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rag.core.errors import DataError, closest
from rag.core.types import Document, Evidence, Example, Query, Turn
from rag.documents.anchors.quote_anchors import closest_names, find_document
from rag.documents.folder.files import read_lines
from rag.documents.folder.json_rows import Row, read_rows

CONVERSATIONS = "conversations.jsonl"
"""The file of earlier turns that is read by default."""

Grades = dict[str, tuple[int, str]]
"""doc_id → (grade, `file:line` of the judgement)."""


class BeirLoader:
    """Documents of a BEIR collection: `_id` becomes the doc_id, the text is title + " " + text unless one of them is empty.

    `title=False` leaves the title out of the text: in some collections the text begins with it. Metadata `title` is set if
    there is a title. Documents without title and text are kept.
    """

    def __init__(self, path: str, title: bool = True) -> None:
        self.path = Path(path)
        self.title = title

    def load(self) -> Iterator[Document]:
        """Yield documents in file order; DataError with `file:line` for bad lines and repeated ids, and for an empty file."""
        places: dict[str, str] = {}
        for row in read_rows(self.path / "corpus.jsonl"):
            doc_id = row.name("_id")
            if doc_id in places:
                raise DataError(row.where, f"the document {doc_id!r} is also at {places[doc_id]}", "keep one of them")
            places[doc_id] = row.where
            yield self._document(doc_id, row)
        if not places:
            raise DataError(str(self.path / "corpus.jsonl"), "has no document", "check that the download is complete")

    def _document(self, doc_id: str, row: Row) -> Document:
        title, text = row.text("title", ""), row.text("text", "")
        joined = " ".join(part for part in (title, text) if part) if self.title else text
        return Document(doc_id, joined, {"title": title} if title else {})


class BeirQuestions:
    """Questions of a BEIR collection with judgements of whole documents.

    Every document with a score above 0 is an evidence group of its own with that grade; all judged documents are `judged`. As
    in trec_eval, questions without judgements are left out. A question whose judged documents all score 0 or less is kept
    without evidence, and so has no retrieval score, where trec_eval would count 0.

    `split` names the file in qrels/; None takes the only one. `queries` is the file of questions, for collections with
    several wordings. `conversations` names a JSONL file with the earlier turns of each question: `_id`, `conversation_id`,
    `history` of `speaker` and `text`, and optionally `rewrite`, the question as a person wrote it to be understood alone, and
    `collection`, a tag. The conversation is then the cluster, else the question is. None takes conversations.jsonl if it
    exists, "" takes none. A question has its `turn` but no `dialogue`: questions without judgements are missing in between.
    """

    def __init__(
        self, path: str, split: str | None = None, queries: str = "queries.jsonl", conversations: str | None = None
    ) -> None:
        self.path = Path(path)
        self.split = split
        self.queries = queries
        self.conversations = conversations

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield judged questions in the order of their file; DataError with `file:line` for invalid data."""
        judgements = read_judgements(self._qrels())
        conversations = self._conversations()
        places: dict[str, str] = {}
        for row in read_rows(self.path / self.queries):
            query_id = row.name("_id")
            if query_id in places:
                raise DataError(row.where, f"the question {query_id!r} is also at {places[query_id]}", "keep one of them")
            places[query_id] = row.where
            if query_id in judgements:
                yield _example(row, judgements[query_id], conversations.get(query_id), documents)
        for query_id in sorted(judgements.keys() - places.keys()):
            where = next(iter(judgements[query_id].values()))[1]
            what = f"judges the question {query_id!r}, which {self.queries} does not have"
            raise DataError(where, what, "check dataset.queries and dataset.split")

    def _qrels(self) -> Path:
        files = {file.stem: file for file in sorted((self.path / "qrels").glob("*.tsv"))}
        if self.split in files:
            return files[self.split]
        where = str(self.path / "qrels")
        if not files:
            raise DataError(where, "there are no judgements (*.tsv)", "set dataset.path to a folder in the BEIR layout")
        if self.split is not None:
            raise DataError(where, f"there is no split {self.split!r}", closest(self.split, files))
        if len(files) > 1:
            raise DataError(where, f"there are several splits: {', '.join(files)}", "choose one with dataset.split")
        return next(iter(files.values()))

    def _conversations(self) -> dict[str, Row]:
        path = self.path / (CONVERSATIONS if self.conversations is None else self.conversations)
        if self.conversations == "" or (self.conversations is None and not path.is_file()):
            return {}
        return {row.name("_id"): row for row in read_rows(path)}


def read_judgements(path: Path) -> dict[str, Grades]:
    """Judgements by question, from lines of query-id, corpus-id, score with tabs between; a header line is skipped."""
    judgements: dict[str, Grades] = {}
    for where, line in read_lines(path):
        fields = line.split("\t")
        if not judgements and fields[2:] == ["score"]:
            continue
        query_id, doc_id, grade = _judgement(fields, where)
        grades = judgements.setdefault(query_id, {})
        if grades.setdefault(doc_id, (grade, where))[0] != grade:
            what = f"gives {doc_id!r} the score {grade}, and {grades[doc_id][1]} gives it {grades[doc_id][0]}"
            raise DataError(where, what, "keep one of the two lines")
    if not judgements:
        raise DataError(str(path), "has no judgement", "check that the download is complete")
    return judgements


def _judgement(fields: list[str], where: str) -> tuple[str, str, int]:
    if len(fields) != 3:
        raise DataError(where, f"has {len(fields)} fields between tabs", "write query-id, corpus-id and score")
    try:
        return fields[0], fields[1], int(fields[2])
    except ValueError as error:
        raise DataError(where, f"the score is {fields[2]!r}", "write a whole number") from error


def _example(row: Row, grades: Grades, conversation: Row | None, documents: Mapping[str, Document]) -> Example:
    query_id = row.name("_id")
    relevant = {doc_id: (grade, where) for doc_id, (grade, where) in grades.items() if grade > 0}
    for doc_id, (_, where) in relevant.items():
        find_document(doc_id, documents, where)
    evidence = tuple(Evidence((doc_id,), grade) for doc_id, (grade, _) in relevant.items())
    example = Example(Query(query_id, row.name("text")), evidence, cluster=query_id, judged=frozenset(grades))
    return _in_conversation(example, conversation) if conversation else example


def _in_conversation(example: Example, conversation: Row) -> Example:
    history = tuple(_turn(turn) for turn in conversation.rows("history"))
    tag = conversation.text("collection", "")
    return replace(
        example,
        query=replace(example.query, history=history, rewrite=conversation.text("rewrite", "")),
        tags=(tag,) if tag else (),
        cluster=conversation.name("conversation_id"),
        turn=1 + sum(turn.role == "user" for turn in history),
    )


def _turn(row: Row) -> Turn:
    speakers: dict[str, Literal["user", "assistant"]] = {"user": "user"}
    speakers |= dict.fromkeys(("assistant", "agent", "system"), "assistant")
    speaker = row.text("speaker")
    if speaker not in speakers:
        raise DataError(row.where, f"the speaker is {speaker!r}", closest_names(speaker, speakers))
    return Turn(speakers[speaker], row.text("text"))
