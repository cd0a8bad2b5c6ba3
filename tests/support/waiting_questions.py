"""The small golden set with questions that wait for a review."""

import json
from pathlib import Path
from typing import Any

from support.corpora import text_folder
from support.small_set import write_golden

from rag.authoring.candidates import digests
from rag.authoring.review.question_file import QuestionFile
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.types import Document


def documents_of(golden: Path) -> dict[str, Document]:
    """The documents by name."""
    return {document.doc_id: document for document in text_folder(str(golden / "documents")).load()}


def rows_of(golden: Path) -> list[dict[str, Any]]:
    """The questions of the file."""
    return [json.loads(line) for line in (golden / "questions.jsonl").read_text("utf-8").splitlines()]


def write_rows(golden: Path, rows: list[dict[str, Any]]) -> None:
    """Write the questions."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (golden / "questions.jsonl").write_text(text, "utf-8")


def write_waiting(folder: Path, times: int = 1) -> Path:
    """A set of `6 * times` questions, all of which wait; the folder."""
    golden = write_golden(folder)
    known, rows = documents_of(golden), rows_of(golden)
    for row in rows:
        names = sorted({place["doc"] for group in row["evidence"] for place in group["any"]})
        row["provenance"] = {"method": "rule:definition", "at": "2026-11-20", "documents": digests(names, known)}
    more = [row | {"id": f"{row['id']}-{time}", "text": f"{row['text']} ({time})"} for time in range(1, times) for row in rows]
    write_rows(golden, rows + more)
    return golden


def file_of(golden: Path) -> QuestionFile:
    """The file of questions with the documents."""
    return QuestionFile(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))
