"""A golden set → files of other tools."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rag.authoring.candidates import Row, place_row
from rag.authoring.exchange.tables import write
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import ConfigError, DataError, closest
from rag.core.roles import Questions
from rag.core.types import Document, Place, document_of, spans_of
from rag.documents.folder.json_rows import read_rows
from rag.evaluation.data.golden import Golden

DETAILS = ("id", "kind", "tags", "split", "cluster", "dialogue", "turn", "rewrite", "unanswerable", "expects", "evidence")
FLAT = ("question", "answers", "contexts", "documents", "history", *DETAILS)
WHOLE = {"csv": "questions.csv", "jsonl": "questions.jsonl", "parquet": "questions.parquet", "langsmith": "examples.jsonl"}
WHOLE |= {"langfuse": "items.jsonl", "promptfoo": "tests.yaml", "huggingface": "data-00000-of-00001.arrow"}
"""Formats that hold every field, and the file that is written."""
PARTIAL = {
    "ragas": {"answers", "history", "kind", "quotes"},
    "beir": {"id", "history", "dialogue", "turn", "rewrite", "grades"},
    "autorag": {"id", "answers", "several answers", "alternatives"},
}
"""Other formats, and what each holds in addition to the question and the documents of its evidence."""
Tables = Mapping[str, tuple[Sequence[Row], Sequence[str]]]


def rows_of(golden: Golden, questions: Questions) -> Iterator[Row]:
    """The questions of a set as lines of the native format, without provenance."""
    if isinstance(questions, NativeQuestions) and not questions.several:
        for line in read_rows(questions.file):
            yield {name: value for name, value in line.fields.items() if name != "provenance"}
        return
    documents = {document.doc_id: document for document in golden.documents}
    for example in golden.examples:
        query, split = example.query, "" if golden.dealt else example.split
        row: Row = {"id": query.query_id, "text": query.text, "kind": example.kind, "tags": [*example.tags], "split": split}
        row |= {"cluster": example.cluster, "dialogue": example.dialogue, "turn": example.turn, "rewrite": query.rewrite}
        row |= {"history": [{"role": turn.role, "text": turn.text} for turn in query.history], "answers": [*example.answers]}
        groups = [(group.grade, [_place(place, documents) for place in group.alternatives]) for group in example.evidence]
        row |= {"evidence": [{"grade": grade, "any": places} for grade, places in groups], "unanswerable": example.unanswerable}
        yield {name: value for name, value in row.items() if value}


def _place(place: Place, documents: Mapping[str, Document]) -> Row:
    spans = spans_of(place)
    return place_row(documents[spans[0].doc_id], spans[0]) if len(spans) == 1 else {"doc": document_of(place)}


def export_set(rows: Sequence[Row], documents: Sequence[Document], format: str, to: Path) -> Counter[str]:
    """Write a set to the new folder `to`; the number of questions by each thing that the format does not hold.

    ConfigError for an unknown format, DataError for a folder that exists.
    """
    if format not in WHOLE.keys() | PARTIAL.keys():
        raise ConfigError("--format", f"there is no {format!r}", closest(format, WHOLE.keys() | PARTIAL.keys()))
    if to.exists():
        raise DataError(str(to), "exists already", "name a new folder with --to")
    texts = {document.doc_id: document.text for document in documents}
    flat = [_flat(row, texts) for row in rows]
    for name, (written, columns) in _tables(format, flat, texts).items():
        write(to / name, written, columns)
    if format == "huggingface":  # what `datasets.load_from_disk` wants, 5.2
        state: Row = dict.fromkeys(("_format_columns", "_format_type", "_split"))
        state |= {"_format_kwargs": {}, "_output_all_columns": False}
        state |= {"_fingerprint": "assay", "_data_files": [{"filename": WHOLE[format]}]}
        (to / "state.json").write_text(json.dumps(state), "utf-8")
        (to / "dataset_info.json").write_text("{}", "utf-8")
    return Counter(name for row in rows if format in PARTIAL for name in sorted(_properties(row) - PARTIAL[format]))


def _flat(row: Row, texts: Mapping[str, str]) -> Row:
    """A question with the texts of its evidence and their documents as columns; a whole document has its text."""
    places = [place for group in row.get("evidence", ()) for place in group["any"]]
    made = {name: row[name] for name in FLAT if row.get(name)} | {"question": row["text"], "answers": row.get("answers", [])}
    made |= {} if places or row.get("answers") else {"unanswerable": True}
    contexts = [place.get("quote") or texts.get(place["doc"], "") for place in places]
    return made | {"contexts": contexts, "documents": [place["doc"] for place in places]}


def _properties(row: Row) -> set[str]:
    """What a format must hold to hold a question, in addition to its text and the documents of its evidence."""
    groups = row.get("evidence") or ()
    found = {name for name in (*DETAILS, "answers", "history") if row.get(name) and name != "evidence"}
    found |= {"several answers"} if len(row.get("answers") or ()) > 1 else set()
    found |= set() if groups or row.get("answers") else {"unanswerable"}
    found |= {"quotes"} if any("quote" in place for group in groups for place in group["any"]) else set()
    found |= {"alternatives"} if any(len(group["any"]) > 1 for group in groups) else set()
    return found | ({"grades"} if any(group.get("grade", 1) != 1 for group in groups) else set())


def _tables(format: str, rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
    """The files of a format, with their rows and columns."""
    if format == "ragas":
        return _ragas(rows)
    if format in PARTIAL:
        return _beir(rows, texts) if format == "beir" else _autorag(rows, texts)
    return {WHOLE[format]: ([_shaped(format, row) for row in rows], FLAT)}


def _shaped(format: str, row: Row) -> Row:
    """A question as a row of a format that holds every field."""
    asked = {name: row[name] for name in ("question", "history") if row.get(name)}
    details = {"metadata": {name: row[name] for name in DETAILS if row.get(name)}}
    if format == "langsmith":
        return {"inputs": asked, "outputs": {"answers": row["answers"]}} | details
    if format == "langfuse":
        return {"id": row["id"], "input": asked, "expectedOutput": row["answers"]} | details
    if format == "promptfoo":
        asserts = [{"type": "icontains-any", "value": row["answers"]}] if row["answers"] else []
        return {"description": row["id"], "vars": asked | {"contexts": row["contexts"]}, "assert": asserts} | details
    return row


def _ragas(rows: Sequence[Row]) -> Tables:
    """Questions with earlier turns are in a file of their own: ragas refuses a set with both."""
    files: dict[str, list[Row]] = {}
    for row in rows:
        made = {"reference": next(iter(row["answers"]), None), "synthesizer_name": row.get("kind", "assay")}
        turns = [*row.get("history", ()), {"role": "user", "text": row["question"]}]
        messages = [{"content": turn["text"], "type": "human" if turn["role"] == "user" else "ai"} for turn in turns]
        found = {"reference_contexts": row["contexts"], "reference_context_ids": row["documents"]}
        single = {"user_input": row["question"]} | found
        name = "multi-turn.jsonl" if messages[1:] else "single-turn.jsonl"
        files.setdefault(name, []).append(({"user_input": messages} if messages[1:] else single) | made)
    return {name: (part, ()) for name, part in files.items()}


def _beir(rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
    groups = [(row["id"], group) for row in rows for group in row.get("evidence", ())]
    judged = {(query, place["doc"]): group.get("grade", 1) for query, group in groups for place in group["any"]}
    qrels = [{"query-id": query, "corpus-id": doc_id, "score": grade} for (query, doc_id), grade in judged.items()]
    earlier = [
        {"_id": row["id"], "conversation_id": row.get("dialogue", row["id"]), "rewrite": row.get("rewrite", "")}
        | {"history": [{"speaker": turn["role"], "text": turn["text"]} for turn in row["history"]]}
        for row in rows
        if row.get("history")
    ]
    return {
        "corpus.jsonl": ([{"_id": name, "title": "", "text": text} for name, text in texts.items()], ()),
        "queries.jsonl": ([{"_id": row["id"], "text": row["question"]} for row in rows], ()),
        "qrels/test.tsv": (qrels, ("query-id", "corpus-id", "score")),
    } | ({"conversations.jsonl": (earlier, ())} if earlier else {})


def _autorag(rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
    stamp = {"last_modified_datetime": datetime.now(UTC).replace(tzinfo=None)}
    corpus = [{"doc_id": name, "contents": text, "metadata": stamp} for name, text in texts.items()]
    gold = [[[*dict.fromkeys(place["doc"] for place in group["any"])] for group in row.get("evidence", ())] for row in rows]
    columns = ("qid", "query", "retrieval_gt", "generation_gt")
    cells = ((row["id"], row["question"], groups, row["answers"]) for row, groups in zip(rows, gold, strict=True))
    asked = [dict(zip(columns, each, strict=True)) for each in cells]
    return {"corpus.parquet": (corpus, ("doc_id", "contents", "metadata")), "qa.parquet": (asked, columns)}
