"""Folders with a corpus and questions: BEIR, MTEB and AutoRAG; and datasets of Hugging Face on disk."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag.core.errors import DataError
from rag.datasets.exchange.tables import Fields, read

Rows = Iterator[tuple[str, Fields | DataError]]


def format_of(folder: Path) -> str:
    """The format of a folder: autorag, beir or huggingface; DataError for another one."""
    if _files(folder, "corpus"):
        return "autorag" if _files(folder, "qa") else "beir"
    if (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file():
        return "huggingface"
    listed = ", ".join(sorted(path.name for path in folder.iterdir())[:10]) or "nothing"
    raise DataError(str(folder), f"is no folder of BEIR, MTEB, AutoRAG or `datasets`; it has {listed}", "name a file in it")


def corpus(folder: Path) -> Iterator[tuple[str, str]]:
    """Pairs of the id and the text of each document; the title of BEIR is before its text, as `loader=beir` reads it."""
    for where, row in _rows(folder, "corpus"):
        fields = _checked(row)
        name = next((str(fields[key]) for key in ("_id", "id", "doc_id") if key in fields), "")
        if not name:
            raise DataError(where, "the document has no id", "name its column _id, id or doc_id")
        texts = (fields.get(key) for key in ("title", "text", "contents"))
        yield name, " ".join(str(text) for text in texts if text)


def rows(folder: Path) -> Rows:
    """The questions with their judged documents as groups of `evidence`, and the earlier turns of conversations.jsonl."""
    if format_of(folder) == "huggingface":
        yield from _rows(folder, "*")
        return
    relevant: dict[str, list[dict[str, Any]]] = {}
    for where, row in _rows(folder, "qrels"):
        query, doc_id, score = (_checked(row).get(key) for key in ("query-id", "corpus-id", "score"))
        if query is None or doc_id is None or score is None:
            raise DataError(where, "is no judgement", "name the columns query-id, corpus-id and score")
        if float(score) > 0:
            relevant.setdefault(str(query), []).append({"grade": max(round(float(score)), 1), "any": [{"doc": str(doc_id)}]})
    earlier = {str(_checked(row).get("_id")): _checked(row) for _, row in _rows(folder, "conversations")}
    for where, row in _rows(folder, "qa" if _files(folder, "qa") else "queries"):
        if isinstance(row, DataError):
            yield where, row
            continue
        fields = {**row, **earlier.get(str(row.get("_id")), {})}
        groups = relevant.get(str(row.get("_id", row.get("id"))), [])
        yield where, fields | ({"evidence": _required(row["retrieval_gt"])} if "retrieval_gt" in row else {"evidence": groups})


def _required(ids: Any) -> list[dict[str, Any]]:
    """The groups of `retrieval_gt`: a text, a list (all needed), or a list of lists (any of each)."""
    groups = [ids] if isinstance(ids, str) else ids or []
    return [{"any": [{"doc": str(each)} for each in ([group] if isinstance(group, str) else group)]} for group in groups]


def _checked(row: Fields | DataError) -> Mapping[str, Any]:
    if isinstance(row, DataError):
        raise row
    return row


def _rows(folder: Path, name: str) -> Rows:
    for path in _files(folder, name):
        split = path.parent.name if name == "*" and path.parent != folder else ""
        for where, row in read(path):
            yield where, {**row, "split": row.get("split", split)} if split and not isinstance(row, DataError) else row


def _files(folder: Path, name: str) -> list[Path]:
    """The tables of a name: `corpus.jsonl`, or those in the folder `corpus`; of `*` all files of Arrow."""
    found = (
        [*folder.glob("*.arrow"), *folder.glob("*/*.arrow")]
        if name == "*"
        else [*folder.glob(f"{name}.*"), *folder.glob(f"{name}/*.*")]
    )
    return sorted(path for path in found if path.is_file() and not path.name.startswith("."))
