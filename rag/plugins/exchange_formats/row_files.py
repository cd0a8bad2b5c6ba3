"""Rows written as a file: CSV, Parquet, Arrow, YAML or JSON lines."""

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from rag.authoring.exchange.tables import FORMULA, Fields


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
