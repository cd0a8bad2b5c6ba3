"""The layout of chunking_evaluation (Smith and Troynikov, 2024): corpora/*.md and questions.csv with character spans."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from rag.core.errors import DataError
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.documents.anchors.quote_anchors import anchor, find_document
from rag.documents.folder.file_tree import refuse_escape
from rag.documents.folder.files import missing_file, read_text
from rag.documents.folder.json_rows import Row, as_row, parse_json

COLUMNS = ("question", "references", "corpus_id")


class ChromaLoader:
    r"""Documents `path`/corpora/*.md; the doc_id is the file name without `.md`. Line ends become `\n`, see `read_text`."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def load(self) -> Iterator[Document]:
        """Yield documents by name; DataError if there is none, for a link out of the folder, or text that is not UTF-8."""
        files = sorted((self.path / "corpora").glob("*.md"))
        if not files:
            where = str(self.path / "corpora")
            raise DataError(where, "there is no document (*.md)", "set dataset.path to the folder above it")
        for file in files:
            refuse_escape(file, file.parent)
            yield Document(file.stem, read_text(file), {"title": file.stem.replace("_", " ")})


class ChromaQuestions:
    """Questions of `path`/questions.csv: every reference is an evidence group with one span, and all of them are needed.

    Questions get ids by corpus and place, `wikitexts-0001`; `kind` is the corpus; every question is a cluster of its own.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield questions in file order; DataError with `file:line` for a reference that is not in its text."""
        seen: Counter[str] = Counter()
        for row in _records(self.path / "questions.csv"):
            corpus_id = row.name("corpus_id")
            document = find_document(corpus_id, documents, row.where)
            seen[corpus_id] += 1
            query_id = f"{corpus_id}-{seen[corpus_id]:04d}"
            evidence = tuple(Evidence((_span(reference, document),)) for reference in _references(row))
            yield Example(Query(query_id, row.name("question")), evidence, kind=corpus_id, cluster=query_id)


def _records(path: Path) -> Iterator[Row]:
    if not path.is_file():
        raise missing_file(path)
    records = csv.DictReader(StringIO(read_text(path), newline=""), restkey="more", strict=True)
    try:
        absent = [column for column in COLUMNS if column not in (records.fieldnames or ())]
        if absent:
            raise DataError(f"{path}:1", f"there is no column {', '.join(absent)}", f"name the columns {', '.join(COLUMNS)}")
        for record in records:
            yield Row(f"{path}:{records.reader.line_num}", record)
    except csv.Error as error:
        raise DataError(
            f"{path}:{records.reader.line_num}", f"is not valid CSV: {error}", "check the quotation marks"
        ) from error


def _references(row: Row) -> list[Row]:
    values = parse_json(row.text("references"), f"{row.where} references")
    if not isinstance(values, list):
        raise DataError(f"{row.where} references", "is not a list", "write [{content, start_index, end_index}, …]")
    return [as_row(value, f"{row.where} references[{number}]") for number, value in enumerate(values)]


def _span(row: Row, document: Document) -> Span:
    return anchor(document, row.text("content"), (row.whole("start_index"), row.whole("end_index")), row.where)
