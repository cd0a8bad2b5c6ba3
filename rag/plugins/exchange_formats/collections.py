"""Formats of tools with a corpus: BEIR and AutoRAG; `datasets` of Hugging Face on disk."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rag.authoring.candidates import Row
from rag.authoring.exchange.format_table import Tables, one_file


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
