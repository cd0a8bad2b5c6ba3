"""Scores by question, as this or another tool wrote them. docs/gate.md lists the tools and the versions of their fields.

A file is known by its content: long form has a metric and a value in each row, wide form a column for each metric.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rag.authoring.exchange import tables
from rag.core.errors import DataError
from rag.documents.folder.files import missing_file

NAMES = {
    "id": "id _id qid query_id question_id example_id task_id uid",
    "text": "question query user_input input prompt text utterance raw_utterance",
    "answers": "answers answer reference ground_truth ground_truths expected_output expected expected_answer reference_answer"
    " expected_response generation_gt target targets output outputs reference_outputs",
    "contexts": "evidence reference_contexts contexts context references passages",
    "document": "documents document doc doc_id doc_name document_id reference_context_ids corpus_id source file file_name",
    "kind": "kind synthesizer_name question_type query_type type category",
    "dialogue": "dialogue conversation_id dialogue_id",
    "rewrite": "rewrite manual_rewritten_utterance",
    "unanswerable": "unanswerable is_impossible answerability",
    "history": "history chat_history",
} | {name: name for name in ("split", "tags", "cluster", "expects", "route")}
"""Fields of a golden question and the usual names of their columns, the most specific first.

Not `retrieved_contexts` and `response`, which are what a system did.
"""
QUESTIONS = ("question_id", "query_id", "datasetItemId", *NAMES["text"].split(), "inputs", "request", "vars", "traceId", "id")
"""Columns that may name a question, the first that has a value; ids that each run makes anew come last."""
RUNS = {"promptIdx": ("promptIdx", "provider"), "datasetRunId": ("datasetRunId",)}
"""Columns of promptfoo and of Langfuse with more than one value where a file holds several runs."""
OTHERS = {*QUESTIONS, *" ".join(NAMES.values()).split(), "response", "retrieved_contexts", "query_style", "query_length"}
OTHERS |= {"index"}
"""Columns that are no metric, although a cell may look like a number."""


class Scored(NamedTuple):
    """The values of a row by metric, as the file has them. Of a `table` a column may hold texts, which is no metric then."""

    where: str
    question: str
    cluster: str
    run: str
    values: Mapping[str, Any]
    table: bool


def scored_rows(path: Path) -> Iterator[Scored]:
    """The rows of a file; DataError for a file that cannot be read and for a row without a question."""
    if not path.is_file():
        raise missing_file(path)
    container = tables.container_of(path)
    if container not in ("json", "jsonl", "csv"):
        raise DataError(str(path), f"is {container}", "export it as JSON, JSON lines or CSV")
    with path.open("rb") as file:
        for where, row in tables.rows_of(file, str(path), container, tables.codec_of(path)):
            if isinstance(row, DataError):
                raise row
            if not (question := asked(row)):
                raise DataError(where, f"names no question; its columns: {', '.join(map(str, row))}", "add a column question")
            run = next((json.dumps([row.get(name) for name in names]) for name, names in RUNS.items() if name in row), "")
            yield Scored(where, question, str(row.get("cluster") or ""), run, *_values(row))


def asked(row: Mapping[str, Any]) -> str:
    """The question that a row, or an object in it such as the `inputs` of MLflow, names."""
    found = [value for name in QUESTIONS if (value := row.get(name)) not in (None, "", {})]
    for value in found:
        if text := value if isinstance(value, str) else asked(value) if isinstance(value, Mapping) else str(value):
            return text.strip()
    return json.dumps(found[0], sort_keys=True, ensure_ascii=False) if found else ""


def _values(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The values of a row by metric, and whether each column of it may be one."""
    if "metric" in row or {"name", "value", "dataType"} <= row.keys():
        return {str(row.get("metric", row.get("name"))): row.get("value", row.get("score"))}, False
    if isinstance(listed := row.get("metricsData", row.get("metrics_data")), list):
        return {str(each["name"]): each.get("score") for each in listed if isinstance(each, dict) and "name" in each}, False
    if isinstance(named := row.get("namedScores"), dict):
        return {**named, **{name: row[name] for name in ("score", "latencyMs", "cost") if name in row}}, False
    ends = [name for name in row if name.endswith(("/value", "/score"))]
    return {
        name.removesuffix("/value").removesuffix("/score"): row[name]
        for name in ends or [name for name in row if name not in OTHERS]
    }, not ends
