"""SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016 and 2018), the paragraphs of an article joined to one long document."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.documents.anchors.quote_anchors import anchor, find_document
from rag.documents.folder.files import read_text
from rag.documents.folder.json_rows import Row, parse_row

BETWEEN = "\n\n"
"""The text between two paragraphs of a document."""


class SquadLoader:
    """One document per article of `path`/squad2.json: doc_id is its title, text its paragraphs with blank lines between."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def load(self) -> Iterator[Document]:
        """Yield documents in file order; DataError for invalid data, repeated titles, or no article."""
        seen: set[str] = set()
        for article in _articles(self.path):
            title = article.name("title")
            if title in seen:
                raise DataError(article.where, f"the title {title!r} occurs twice", "give the articles titles of their own")
            seen.add(title)
            text = BETWEEN.join(paragraph.text("context") for paragraph in article.rows("paragraphs"))
            yield Document(title, text, {"title": title.replace("_", " ")})


class SquadQuestions:
    """Questions of `path`/squad2.json, `kind` answerable or unanswerable, clustered by paragraph.

    The distinct places of a question's answers are the alternatives of one evidence group. Unanswerable questions have no
    evidence; a question that its own paragraph does not answer may by chance be answered by another one of the article.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield questions in file order; DataError for an answer that is not in its paragraph."""
        for article in _articles(self.path):
            document = find_document(article.name("title"), documents, article.where)
            offset = 0
            for number, paragraph in enumerate(article.rows("paragraphs")):
                context = paragraph.text("context")
                if not document.text.startswith(context, offset):
                    raise DataError(paragraph.where, f"is not the text of {document.doc_id!r} at {offset}", "set loader=squad")
                for question in paragraph.rows("qas"):
                    yield _example(question, Document(document.doc_id, context), offset, f"{document.doc_id}#{number}")
                offset += len(context) + len(BETWEEN)


def _articles(path: Path) -> list[Row]:
    file = path / "squad2.json"
    articles = parse_row(read_text(file), str(file)).rows("data")
    if not articles:
        raise DataError(str(file), "'data' has no article", "check that the download is complete")
    return articles


def _example(row: Row, paragraph: Document, offset: int, cluster: str) -> Example:
    answers = row.rows("answers")
    if row.truth("is_impossible", not answers) == bool(answers):
        raise DataError(row.where, f"'is_impossible' does not fit {len(answers)} answers", "fix one of them")
    # dict keeps the first of equal entries, in order: several annotators often give the same answer.
    spans = dict.fromkeys(_span(answer, paragraph, offset) for answer in answers)
    return Example(
        query=Query(row.name("id"), row.name("question")),
        evidence=(Evidence(tuple(spans)),) if spans else (),
        answers=tuple(dict.fromkeys(answer.text("text") for answer in answers)),
        kind="answerable" if answers else "unanswerable",
        cluster=cluster,
    )


def _span(row: Row, paragraph: Document, offset: int) -> Span:
    text, start = row.text("text"), row.whole("answer_start")
    span = anchor(paragraph, text, (start, start + len(text)), row.where)
    return Span(span.doc_id, span.start + offset, span.end + offset)
