"""Rows of files: the container of a file by its first bytes, its rows one after the other, and rows written."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.components.parsers.encodings import LAST, MARKS
from rag.components.parsers.office_files import checked_zip
from rag.components.parsers.refusals import refusal
from rag.components.parsers.xlsx import XlsxParser, shown
from rag.core.errors import DataError
from rag.documents.files import decode, read_bytes
from rag.documents.json_rows import parse_json

MOST, CELLS, DEPTH, ALIASES = 512 << 20, 20_000_000, 100, 1_000
"""Bytes of a file that is read whole and of a cell of CSV, cells of XLSX, levels of YAML and its aliases."""
CELL = 32_767
"""The most characters in a cell of XLSX (Excel specifications and limits)."""
LISTS = ("tests", "data", "examples", "items", "questions", "conversations", "rows")
"""Keys of a JSON or YAML object under which its rows may be."""
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""A cell that a spreadsheet would run, or one that is escaped already (OWASP, CSV injection)."""
Fields = Mapping[str, Any]


def container_of(path: Path) -> str:
    """The container of a file: parquet, arrow, xlsx, yaml, json, jsonl or csv."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if magic := next(
        (kind for mark, kind in {b"PAR1": "parquet", b"PK\3\4": "xlsx", b"ARROW1": "arrow"}.items() if head.startswith(mark)),
        "",
    ):
        return magic
    if path.suffix.lower() == ".arrow":
        return "arrow"
    if path.suffix.lower() in (".yaml", ".yml"):
        return "yaml"
    first = head.decode(_codec(path), "ignore").lstrip()[:1]
    return "jsonl" if first == "{" and _has_row(path) else "json" if first in ("{", "[") else "csv"


def read(path: Path, container: str = "") -> Iterator[tuple[str, Fields | DataError]]:
    """Pairs of `file:line`, or number of a row from 1, and the fields of the row or why it is none; DataError for the file."""
    kind = container or container_of(path)
    with refusal(str(path), f"a {kind} file"):
        if kind in ("parquet", "arrow"):
            yield from _numbered(path, _arrow_rows(path, kind))
        elif kind == "xlsx":
            yield from _table(path, _sheet(path))
        elif kind == "csv":
            with path.open(encoding=_codec(path), newline="") as file:
                yield from _table(path, _cells(file))
        elif kind == "jsonl":
            yield from _lines(path)
        else:
            yield from _numbered(path, _listed(path, kind))


def _codec(path: Path) -> str:
    """The encoding of a text file: by its byte order mark, UTF-8, UTF-16 by its zero bytes, or cp1252."""
    with path.open("rb") as file:
        head = file.read(4)
        if marked := next((codec for mark, codec in MARKS.items() if head.startswith(mark)), ""):
            return marked
        if head[:2].count(0) == 1:
            return "utf-16-le" if head[1] == 0 else "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(head)
            while block := file.read(1 << 20):
                decoder.decode(block)
        except UnicodeDecodeError:
            return LAST
    return "utf-8"


def _has_row(path: Path) -> bool:
    with path.open(encoding=_codec(path)) as file:
        try:
            return isinstance(json.loads(next((line for line in file if line.strip()), "")), dict)
        except (ValueError, RecursionError):
            return False


def _lines(path: Path) -> Iterator[tuple[str, Fields | DataError]]:
    with path.open(encoding=_codec(path), newline="\n") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield f"{path}:{number}", _object(parse_json(line, f"{path}:{number}"), f"{path}:{number}")
                except DataError as error:
                    yield f"{path}:{number}", error


def _object(value: Any, where: str) -> Fields | DataError:
    return (
        value if isinstance(value, dict) else DataError(where, "is not an object", "write one object with the columns as keys")
    )


def _numbered(path: Path, rows: Iterable[Any]) -> Iterator[tuple[str, Fields | DataError]]:
    for number, row in enumerate(rows, 1):
        yield f"{path} row {number}", _object(row, f"{path} row {number}")


def _cells(file: Iterable[str]) -> Iterator[list[str]]:
    """The cells of a CSV file; the separator is the one that divides the first line into most cells."""
    csv.field_size_limit(MOST)
    lines = iter(file)
    first = next((line for line in lines if line.strip()), "")
    separator = max(",;\t|", key=lambda each: len(next(csv.reader([first], delimiter=each), [])))
    for row in csv.reader((line for part in ([first], lines) for line in part), delimiter=separator):
        yield [cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell for cell in row]


def _sheet(path: Path) -> Iterator[list[str]]:
    """The cells of the first sheet with any; the values that the file keeps, no formula is run."""
    return _Sheets(CELLS).cells(read_bytes(path, MOST), str(path))


class _Sheets(XlsxParser):
    """The limits of the parser of Excel files, for rows."""

    def cells(self, data: bytes, name: str) -> Iterator[list[str]]:
        """The rows of the first sheet with more than one."""
        from python_calamine import CalamineWorkbook

        self._check(checked_zip(data, name, "an Excel file"), name)
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = (book.get_sheet_by_name(title) for title in book.sheet_names)
        sheet = next((sheet for sheet in sheets if sheet.height > 1), None)
        yield from ([shown(value) for value in row] for row in (sheet.iter_rows() if sheet else ()))


def _table(path: Path, rows: Iterator[list[str]]) -> Iterator[tuple[str, Fields | DataError]]:
    header = [name.strip() for name in next(rows, [])]
    named = [name for name in header if name]
    if repeated := sorted({name for name in named if named.count(name) > 1}):
        raise DataError(str(path), f"the header has {', '.join(map(repr, repeated))} more than once", "rename the columns")
    for number, row in enumerate(rows, 2):
        where = f"{path} row {number}"
        if any(row[len(header) :]):
            yield where, DataError(where, f"has {len(row)} cells, and the header {len(header)}", "quote cells with separators")
        elif any(row):
            yield where, {name: cell for name, cell in zip(header, row, strict=False) if name and cell}


def _arrow_rows(path: Path, kind: str) -> Iterator[Any]:
    """Rows of Parquet, or of Arrow as `datasets` writes it; extension types are read as the values that they are stored in."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    with pa.memory_map(str(path)) as file:
        if kind == "parquet":
            batches = parquet.ParquetFile(file).iter_batches(1024)
        else:
            opened = ipc.open_file(file) if file.read(6) == b"ARROW1" else ipc.open_stream(pa.memory_map(str(path)))
            batches = map(opened.get_batch, range(opened.num_record_batches)) if hasattr(opened, "get_batch") else opened
        for batch in batches:
            for start in range(0, batch.num_rows, 1024):
                yield from batch.slice(start, 1024).to_pylist()


def _listed(path: Path, kind: str) -> Sequence[Any]:
    """The rows of a JSON or YAML file, which is a list or has one."""
    text = decode(read_bytes(path, MOST).decode(_codec(path)).encode("utf-8"), str(path))
    value = parse_json(text, str(path)) if kind == "json" else _yaml(text, str(path))
    if isinstance(value, dict):
        value = next((value[key] for key in LISTS if key in value), [value])
    return value if isinstance(value, list) else [value]


def _yaml(text: str, where: str) -> Any:
    """The values of a YAML file; no tag makes an object."""
    import yaml

    depth = aliases = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > DEPTH or aliases > ALIASES:
            raise DataError(where, f"has more than {DEPTH} levels or {ALIASES} aliases", "flatten the file")
    return yaml.load(text, Loader=yaml.CSafeLoader)


def write(path: Path, rows: Iterable[Fields], columns: Sequence[str]) -> None:
    """Write rows in the container that the suffix of the path names; DataError for a cell that is too long for XLSX."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([_escaped(_cell(row.get(name))) for name in columns] for row in rows)
    elif path.suffix == ".xlsx":
        _write_sheet(path, rows, columns)
    elif path.suffix in (".parquet", ".arrow"):
        _write_arrow(path, rows, columns)
    elif path.suffix == ".yaml":
        import yaml

        path.write_text(yaml.safe_dump(list(rows), allow_unicode=True, sort_keys=False, width=1 << 20), "utf-8")
    else:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _cell(value: Any) -> str:
    """A value as a cell: text as it is, all else as JSON; so is text that could be taken for JSON."""
    is_plain = isinstance(value, str) and not value.lstrip().startswith(("[", "{"))
    return "" if value is None else value if is_plain else json.dumps(value, ensure_ascii=False)


def _escaped(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell


def _write_sheet(path: Path, rows: Iterable[Fields], columns: Sequence[str]) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {"constant_memory": True})
    sheet = book.add_worksheet("questions")
    with book:
        for number, cells in enumerate([list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]):
            for place, cell in enumerate(cells):
                if len(cell) > CELL:
                    raise DataError(
                        f"{columns[place]!r} of row {number}", f"has {len(cell):,} characters, and a cell {CELL:,}", "write csv"
                    )
                sheet.write_string(number, place, cell)


def _write_arrow(path: Path, rows: Iterable[Fields], columns: Sequence[str]) -> None:
    """Lists of texts stay lists, and other nested values become JSON."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pylist([{name: _value(row.get(name)) for name in columns} for row in rows])
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)


def _value(value: Any) -> Any:
    is_nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(part, dict) for part in value))
    return _cell(value) if is_nested else value
