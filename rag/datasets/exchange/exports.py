"""A golden set → files of other tools."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import ConfigError, DataError, closest
from rag.core.records import Document, Example, spans_of
from rag.core.roles import Questions
from rag.datasets.candidates import Row, place_row
from rag.datasets.exchange.tables import write
from rag.documents.json_rows import read_rows
from rag.evaluation.data.golden import Golden

FLAT = ("id", "question", "answers", "contexts", "documents", "kind", "tags", "split", "cluster", "dialogue", "turn", "history")
FLAT += ("rewrite", "unanswerable", "expects", "evidence")
REST = ("id", "kind", "tags", "split", "cluster", "dialogue", "turn", "rewrite", "unanswerable", "evidence")
FILES = {"csv": "questions.csv", "xlsx": "questions.xlsx", "jsonl": "questions.jsonl", "parquet": "questions.parquet"}
FILES |= {"ragas": "testset.jsonl", "langsmith": "examples.jsonl", "langfuse": "items.jsonl", "promptfoo": "tests.yaml"}
FILES |= {"huggingface": "data-00000-of-00001.arrow", "beir": "queries.jsonl", "autorag": "qa.parquet"}
"""Formats, and the file of the questions in each."""
HELD = {"ragas": ("history", "kind", "quote"), "beir": ("history", "dialogue", "turn", "rewrite", "grade"), "autorag": ("any",)}
"""What formats that do not hold every field hold besides the question; AutoRAG and ragas have answers, too."""


def rows_of(golden: Golden, questions: Questions) -> Iterator[Row]:
    """The questions of a set as lines of the native format, without provenance."""
    if isinstance(questions, NativeQuestions):
        for row in read_rows(questions.path / questions.questions):
            yield {name: value for name, value in row.fields.items() if name != "provenance"}
        return
    documents = {document.doc_id: document for document in golden.documents}
    yield from (_row(example, documents, not golden.dealt) for example in golden.examples)


def _row(example: Example, documents: Mapping[str, Document], with_split: bool) -> Row:
    row: Row = {"id": example.query.query_id, "text": example.query.text, "kind": example.kind, "tags": list(example.tags)}
    row |= {"split": example.split} if with_split else {}
    row |= {"cluster": example.cluster, "dialogue": example.dialogue, "turn": example.turn, "rewrite": example.query.rewrite}
    row["history"] = [{"role": turn.role, "text": turn.text} for turn in example.query.history]
    row |= {"answers": list(example.answers), "unanswerable": example.unanswerable or example.to_decline}
    row["evidence"] = [
        {"grade": group.grade, "any": [_place(place, documents) for place in group.alternatives]} for group in example.evidence
    ]
    return row


def _place(place: Any, documents: Mapping[str, Document]) -> Row:
    spans = spans_of(place)
    return (
        place_row(documents[spans[0].doc_id], spans[0])
        if len(spans) == 1
        else {"doc": place if isinstance(place, str) else place.doc_id}
    )


def export_set(rows: Sequence[Row], documents: Sequence[Document], format: str, to: Path) -> Counter[str]:
    """Write a set to the new folder `to`; the number of questions by each thing that the format does not hold.

    ConfigError for an unknown format, DataError for a folder that exists.
    """
    if format not in FILES:
        raise ConfigError("--format", f"there is no {format!r}", closest(format, FILES))
    if to.exists():
        raise DataError(str(to), "exists already", "name a new folder with --to")
    texts = {document.doc_id: document.text for document in documents}
    flat = [_flat(row, texts) for row in rows]
    makers: dict[str, Callable[[], None]] = {"ragas": lambda: _ragas(flat, to), "beir": lambda: _beir(flat, texts, to)}
    makers |= {"autorag": lambda: _autorag(flat, texts, to), "huggingface": lambda: _huggingface(flat, to)}
    shapes = {"langsmith": _langsmith, "langfuse": _langfuse, "promptfoo": _promptfoo}
    shape = shapes.get(format, dict)
    makers.get(format, lambda: write(to / FILES[format], [shape(row) for row in flat], FLAT))()
    return Counter(lost for row in rows for lost in _lost(row, format))


def _flat(row: Row, texts: Mapping[str, str]) -> Row:
    """A question with the texts of its evidence and their documents as columns; a whole document has its text."""
    places = [place for group in row.get("evidence", ()) for place in group["any"]]
    made = {name: row[name] for name in FLAT if row.get(name)} | {"question": row["text"], "answers": row.get("answers", [])}
    unanswerable = bool(row.get("unanswerable")) or not (places or row.get("answers"))
    contexts = [place.get("quote") or texts.get(place["doc"], "") for place in places]
    return made | {"contexts": contexts, "documents": [place["doc"] for place in places], "unanswerable": unanswerable}


def _lost(row: Row, format: str) -> Iterator[str]:
    """What a format does not hold of a question."""
    if format not in HELD:
        return
    held = {*HELD[format], "id", "text", "evidence", *(("answers",) if format != "beir" else ())} - (
        {"id"} if format == "ragas" else set()
    )
    yield from (name for name, value in row.items() if value and name not in held)
    groups = row.get("evidence", ())
    if any("quote" in place for group in groups for place in group["any"]) and "quote" not in held:
        yield "places of evidence (its whole documents are kept)"
    if any(len(group["any"]) > 1 for group in groups) and "any" not in held:
        yield "alternatives (all become needed)"
    if any(group.get("grade", 1) != 1 for group in groups) and "grade" not in held:
        yield "grades"


def _ragas(rows: Sequence[Row], to: Path) -> None:
    """Questions with earlier turns go to a file of their own: ragas refuses a set with both."""
    speakers = {"user": "human", "assistant": "ai"}
    single, several = list[Row](), list[Row]()
    for row in rows:
        made = {"reference": next(iter(row["answers"]), None), "synthesizer_name": row.get("kind") or "assay"}
        if history := row.get("history"):
            turns = [*history, {"role": "user", "text": row["question"]}]
            several.append({"user_input": [{"content": turn["text"], "type": speakers[turn["role"]]} for turn in turns]} | made)
        else:
            ids = {"reference_contexts": row["contexts"], "reference_context_ids": row["documents"]}
            single.append({"user_input": row["question"]} | ids | made)
    for name, part in (("testset.jsonl", single), ("testset-multi-turn.jsonl", several)):
        if part:
            write(to / name, part, ())


def _beir(rows: Sequence[Row], texts: Mapping[str, str], to: Path) -> None:
    write(to / "corpus.jsonl", ({"_id": name, "title": "", "text": text} for name, text in texts.items()), ())
    write(to / "queries.jsonl", ({"_id": row["id"], "text": row["question"]} for row in rows), ())
    judged = {
        (row["id"], place["doc"]): group.get("grade", 1)
        for row in rows
        for group in row.get("evidence", ())
        for place in group["any"]
    }
    names = ("query-id", "corpus-id", "score")
    write(to / "qrels" / "test.tsv", (dict(zip(names, (*pair, grade), strict=True)) for pair, grade in judged.items()), names)
    earlier = [
        {"_id": row["id"], "conversation_id": row.get("dialogue", row["id"]), "rewrite": row.get("rewrite", "")}
        | {"history": [{"speaker": turn["role"], "text": turn["text"]} for turn in row["history"]]}
        for row in rows
        if row.get("history")
    ]
    if earlier:
        write(to / "conversations.jsonl", earlier, ())


def _autorag(rows: Sequence[Row], texts: Mapping[str, str], to: Path) -> None:
    stamp = {"last_modified_datetime": datetime.now(UTC).replace(tzinfo=None)}
    corpus = [{"doc_id": name, "contents": text, "metadata": stamp} for name, text in texts.items()]
    asked = [
        {"qid": row["id"], "query": row["question"], "generation_gt": row["answers"]}
        | {"retrieval_gt": [list(dict.fromkeys(place["doc"] for place in group["any"])) for group in row.get("evidence", ())]}
        for row in rows
    ]
    write(to / "corpus.parquet", corpus, ("doc_id", "contents", "metadata"))
    write(to / "qa.parquet", asked, ("qid", "query", "retrieval_gt", "generation_gt"))


def _huggingface(rows: Sequence[Row], to: Path) -> None:
    write(to / FILES["huggingface"], rows, FLAT)
    state = {"_data_files": [{"filename": FILES["huggingface"]}], "_fingerprint": "assay", "_format_columns": None}
    state |= {"_format_kwargs": {}, "_format_type": None, "_output_all_columns": False, "_split": None}
    (to / "state.json").write_text(json.dumps(state), "utf-8")
    (to / "dataset_info.json").write_text("{}", "utf-8")


def _rest(row: Row) -> Row:
    return {name: row[name] for name in (*REST, "expects") if row.get(name)}


def _langsmith(row: Row) -> Row:
    inputs = {name: row[name] for name in ("question", "history") if row.get(name)}
    return {"inputs": inputs, "outputs": {"answers": row["answers"]}, "metadata": _rest(row)}


def _langfuse(row: Row) -> Row:
    asked = {name: row[name] for name in ("question", "history") if row.get(name)}
    return {"id": row["id"], "input": asked, "expectedOutput": row["answers"], "metadata": _rest(row)}


def _promptfoo(row: Row) -> Row:
    asked = {name: row[name] for name in ("question", "contexts", "history") if row.get(name)}
    asserts = [{"type": "icontains-any", "value": row["answers"]}] if row["answers"] else []
    values = row.get("expects", {}).get("values")
    asserts += [{"type": "icontains-all", "value": values}] if values else []
    return {"description": row["id"], "vars": asked, "assert": asserts, "metadata": _rest(row)}
