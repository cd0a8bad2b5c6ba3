"""A golden set → files of other tools."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rag.authoring.candidates import Row, place_row
from rag.authoring.exchange.format_table import DETAILS, FLAT, NOWHERE, formats
from rag.authoring.exchange.tables import FORMULA, Fields
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.checks import check_choice
from rag.core.errors import DataError
from rag.core.roles import Questions
from rag.core.types import Document, Place, document_of, spans_of
from rag.documents.folder.json_rows import read_rows
from rag.evaluation.data.golden import Golden


def write(path: Path, rows: Iterable[Fields], columns: Sequence[str] = ()) -> None:
    """Write rows in the container that the suffix of the path names: csv, tsv, parquet, arrow, yaml or jsonl."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".parquet", ".arrow"):
        _write_arrow(path, [{name: _nested(row.get(name)) for name in columns} for row in rows])
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix in (".csv", ".tsv"):
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
        elif path.suffix == ".yaml":
            yaml.safe_dump(list(rows), file, allow_unicode=True, sort_keys=False)
        else:
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _cell(value: Any) -> str:
    """A value as a cell: JSON unless it is text that cannot be taken for it; no spreadsheet runs it."""
    is_plain = isinstance(value, str) and value[:1] not in ("[", "{")
    cell = "" if value is None else value if is_plain else json.dumps(value, ensure_ascii=False)
    return f"'{cell}" if FORMULA.match(cell) else cell


def _nested(value: Any) -> Any:
    """A value as a cell of Arrow: lists of texts stay lists, lists of objects become JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) and value and isinstance(value[0], dict) else value


def _write_arrow(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    table = pa.Table.from_pylist(rows)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)


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
    written = {name: each.tables for name, each in formats().items() if each.tables}
    check_choice("--format", format, written)
    if to.exists():
        raise DataError(str(to), "exists already", "name a new folder with --to")
    texts = {document.doc_id: document.text for document in documents}
    flat = [_flat(row, texts) for row in rows]
    for name, (lines, columns) in written[format](flat, texts).items():
        write(to / name, lines, columns)
    holds = formats()[format].holds
    lost = [name for row in rows for name in NOWHERE if row.get(name)]
    return Counter(lost + [name for row in rows if holds is not None for name in sorted(_properties(row) - holds)])


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
