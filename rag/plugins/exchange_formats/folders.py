"""Folders of tables: a corpus with questions in the layouts of BEIR, MTEB and AutoRAG; `datasets` of Hugging Face on disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.authoring.exchange.tables import Fields, Rows, container_of, read
from rag.core.errors import DataError


def layout_of(folder: Path) -> str:
    """The layout of a folder: autorag, beir or huggingface; DataError for another one."""
    if _files(folder, "corpus"):
        return "autorag" if _files(folder, "qa") else "beir"
    if _files(folder, "*.arrow"):
        return "huggingface"
    listed = ", ".join(sorted(path.name for path in folder.iterdir())[:10]) or "nothing"
    raise DataError(str(folder), f"is no folder of BEIR, MTEB, AutoRAG or `datasets`; it has: {listed}", "name a file in it")


def corpus(folder: Path) -> Iterator[tuple[str, str]]:
    """Pairs of the id and the text of each document; a title is in front of its text, as `loader=beir` reads it."""
    for where, fields in _rows(folder, "corpus"):
        name = next((str(fields[key]) for key in ("_id", "id", "doc_id") if fields.get(key) is not None), "")
        if not name:
            raise DataError(where, "the document has no id", "name its column _id, id or doc_id")
        yield name, " ".join(str(fields[key]) for key in ("title", "text", "contents") if fields.get(key))


def questions_of(folder: Path) -> Rows:
    """The rows of questions, with their judged documents as groups of `evidence` and earlier turns as `history`.

    Of AutoRAG's `retrieval_gt` all lists are needed, and one document of each is enough. The split of a dataset of Hugging Face
    becomes a tag.
    """
    if layout_of(folder) == "huggingface":
        for path in _files(folder, "*.arrow"):
            split = {"split": path.parent.name} if path.parent != folder else {}
            yield from ((where, row if isinstance(row, DataError) else split | {**row}) for where, row in read(path, "arrow"))
        return
    relevant: dict[str, list[dict[str, Any]]] = {}
    for where, row in _rows(folder, "qrels"):
        if not {"query-id", "corpus-id", "score"} <= row.keys():
            raise DataError(where, "is no judgement", "name the columns query-id, corpus-id and score")
        if (grade := round(float(row["score"]))) > 0:
            relevant.setdefault(str(row["query-id"]), []).append({"grade": grade, "any": [{"doc": str(row["corpus-id"])}]})
    earlier = {row.get("_id"): row for _, row in _rows(folder, "conversations")}
    for where, row in _rows(folder, "qa" if _files(folder, "qa") else "queries"):
        name = row.get("_id", row.get("id"))
        gold = row.get("retrieval_gt") or ()
        lists = [[each] if isinstance(each, str) else each for each in ([gold] if isinstance(gold, str) else gold)]
        groups = [{"any": [{"doc": doc_id} for doc_id in each]} for each in lists] or relevant.get(str(name), [])
        yield where, {**row, **earlier.get(name, {}), "evidence": groups}


def _rows(folder: Path, name: str) -> Iterator[tuple[str, Fields]]:
    for path in _files(folder, name):
        for where, row in read(path, container_of(path)):
            if isinstance(row, DataError):
                raise row
            yield where, row


def _files(folder: Path, name: str) -> list[Path]:
    """The tables of a name: corpus.jsonl, or the files in corpus/; of a pattern the files in the folder and its folders."""
    patterns = (name, f"*/{name}") if "*" in name else (f"{name}.*", f"{name}/*.*")
    found = [path for pattern in patterns for path in folder.glob(pattern) if path.is_file()]
    return sorted(path for path in found if "*" in name or path.parent != folder or path.stem == name)
