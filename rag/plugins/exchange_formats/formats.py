"""The formats of other tools, by name; those with a file for questions are LangSmith, Langfuse, MLflow, promptfoo, ragas."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.exchange.format_table import DETAILS, Format, Tables, one_file
from rag.plugins.exchange_formats.columns import one_text, texts_of


def beir(rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
    """Corpus, questions, judgements, and earlier turns in a file of their own."""
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


def autorag(rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
    """A corpus, and questions with lists of documents."""
    stamp = {"last_modified_datetime": datetime.now(UTC).replace(tzinfo=None)}
    corpus = [{"doc_id": name, "contents": text, "metadata": stamp} for name, text in texts.items()]
    gold = [[[*dict.fromkeys(place["doc"] for place in group["any"])] for group in row.get("evidence", ())] for row in rows]
    columns = ("qid", "query", "retrieval_gt", "generation_gt")
    cells = ((row["id"], row["question"], groups, row["answers"]) for row, groups in zip(rows, gold, strict=True))
    asked = [dict(zip(columns, each, strict=True)) for each in cells]
    return {"corpus.parquet": (corpus, ("doc_id", "contents", "metadata")), "qa.parquet": (asked, columns)}


def huggingface(rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
    """The files that `datasets.load_from_disk` wants, 5.2."""
    file = "data-00000-of-00001.arrow"
    state: Row = dict.fromkeys(("_format_columns", "_format_type", "_split"))
    state |= {"_format_kwargs": {}, "_output_all_columns": False, "_fingerprint": "assay", "_data_files": [{"filename": file}]}
    return {**one_file(file)(rows, texts), "state.json": ([state], ()), "dataset_info.json": ([{}], ())}


ASSERTED = re.compile(r"i?(?:contains|equals)(?:-any|-all)?|factuality|similar")
"""Assertions of promptfoo that hold right answers; all others run code or ask a model."""
CODE = "[a-z]+-[a-z-]+|javascript|python|fn|eval|grade|regex|cost|latency"
TYPED = re.compile(rf"(?s)({ASSERTED.pattern}|{CODE})(?:\([\d.]+\))?:(.*)")
"""A cell of promptfoo with the type of its assertion; any other cell is an equality."""


def _langsmith(row: Row) -> Row:
    return {"inputs": _asked(row), "outputs": {"answers": row["answers"]}, **_details(row)}


def _langfuse(row: Row) -> Row:
    return {"id": row["id"], "input": _asked(row), "expectedOutput": row["answers"], **_details(row)}


def _mlflow(row: Row) -> Row:
    """A record of `EvaluationDataset.merge_records`, MLflow 3.17; its `expected_response` is what MLflow's own judges read."""
    expected = {"expected_response": row["answers"][0]} if row["answers"] else {}
    return {"inputs": _asked(row), "expectations": {**expected, "answers": row["answers"], **_details(row)["metadata"]}}


def _promptfoo(row: Row) -> Row:
    asserts = [{"type": "icontains-any", "value": row["answers"]}] if row["answers"] else []
    return {"description": row["id"], "vars": _asked(row) | {"contexts": row["contexts"]}, "assert": asserts, **_details(row)}


def _asked(row: Row) -> Row:
    return {name: row[name] for name in ("question", "history") if row.get(name)}


def _details(row: Row) -> Row:
    return {"metadata": {name: row[name] for name in DETAILS if row.get(name)}}


def _ragas(rows: Sequence[Row], texts: Mapping[str, str]) -> Tables:
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


def _asserted(flat: Mapping[str, Any], row: Row, where: str) -> Iterator[str]:
    """Add the right answers in assertions of promptfoo to a question, and yield notes on the other assertions."""
    given = flat.get("assert")
    asserts = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    for value in (one_text(value) for column, value in flat.items() if column.startswith("__expected")):
        kind, text = match.groups() if (match := TYPED.match(value)) else ("equals", value)
        asserts.append({"type": kind, "value": text.split(",") if kind.endswith(("-any", "-all")) else text})
    for each in asserts:
        kind, values = str(each.get("type")), texts_of(each.get("value"), where)
        if not ASSERTED.fullmatch(kind) or any("{{" in value or value.startswith("file://") for value in values):
            yield f"{where}: the assertion {kind!r} is not read: it runs code, reads a file or asks a model"
        elif kind.endswith("-all"):
            row["expects"] = {"values": values}
        else:
            row["answers"] = [*dict.fromkeys([*row["answers"], *values])]


FORMATS = {
    "promptfoo": Format(one_file("tests.yaml", _promptfoo), None, ("vars", "__expected", "__expected1"), _asserted),
    "mlflow": Format(one_file("records.jsonl", _mlflow), columns=("expectations",)),
    "langsmith": Format(one_file("examples.jsonl", _langsmith), columns=("inputs",)),
    "langfuse": Format(one_file("items.jsonl", _langfuse), columns=("expectedOutput",)),
    "ragas": Format(_ragas, frozenset(("answers", "history", "kind", "quotes")), ("user_input",)),
    "beir": Format(beir, frozenset(("id", "history", "dialogue", "turn", "rewrite", "grades"))),
    "autorag": Format(autorag, frozenset(("id", "answers", "several answers", "alternatives"))),
    "huggingface": Format(huggingface),
}
