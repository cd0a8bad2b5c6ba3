"""Rows of files: the container of a file by its first bytes, its rows one after the other, and rows written."""

import codecs
import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import yaml

from rag.components.parsers.encodings import LAST, MARKS
from rag.components.parsers.office_files import checked_zip
from rag.components.parsers.refusals import refusal
from rag.components.parsers.xlsx import XlsxParser, shown
from rag.core.errors import DataError
from rag.core.types import Parsed
from rag.documents.folder.json_rows import parse_json, shortened
from rag.documents.sandbox.child_process import ChildProcess, Unreadable
from rag.documents.sandbox.children import installation
from rag.documents.sandbox.limits import Limits

LIMITS, MOST, CELLS, COLUMNS, VALUES, BATCH, BLOCK = Limits(), 256 << 20, 10_000_000, 1_000, 10_000, 1024, 1 << 20
"""Limits of the process; characters of a cell of CSV, cells of XLSX, columns, values of YAML; rows, characters read at once."""
MAGIC = {b"PAR1": "parquet", b"PK\3\4": "xlsx", b"\xff\xff\xff\xff": "arrow"}
LISTS = """
tests data examples items questions conversations rows testRunData results test_results testCases test_cases runs traces
""".split()  # noqa: SIM905
"""Keys of a JSON or YAML object under which its rows may be, perhaps one within another."""
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""A cell that a spreadsheet would run, or one that is escaped already (OWASP, CSV injection)."""
Fields = Mapping[str, Any]
Rows = Iterator[tuple[str, Fields | DataError]]
"""Pairs of the place of a row and its fields, or why it has none."""


def container_of(path: Path) -> str:
    """The container of a file: parquet, arrow, xlsx, yaml, json, jsonl or csv."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
        head += b"" if b"\n" in head else file.readline() + file.read(1 << 10)
    if known := MAGIC.get(head[:4], "yaml" if path.suffix.lower() in (".yaml", ".yml") else ""):
        return known
    text = head.decode(codec_of(path), "ignore").lstrip()
    first, _, rest = text.partition("\n")
    is_row = text[:1] == "{" and first.rstrip()[-1:] == "}" and rest.lstrip()[:1] == "{"
    return "jsonl" if is_row else "json" if text[:1] in ("{", "[") else "csv"


def read(path: Path, container: str) -> Rows:
    """The rows of a file, which a confined process parses; DataError as `rows_of`, and for a file over a limit."""
    with refusal(str(path), f"a {container} file"), path.open("rb") as file:
        parameters = {"descriptor": file.fileno(), "name": str(path), "container": container, "codec": codec_of(path)}
        asked: dict[str, Any] = {"target": f"{__name__}.RowsParser", "parameters": parameters, "name": ""}
        asked |= {"seconds": LIMITS.seconds, "answer": LIMITS.answer}
        child = ChildProcess(installation([]), LIMITS, [file.fileno()])
        try:
            while (content := child.ask(json.dumps(asked).encode(), b"").content) != Parsed(""):
                if isinstance(content, Unreadable):
                    raise DataError(str(path), shortened(content.detail, 300), "split or repair the file, or leave columns out")
                for where, fields, fault in map(json.loads, content.text.split("\n")):
                    if fault and not where:
                        raise DataError(*fault)
                    yield where, DataError(*fault) if fault else fields
        finally:
            child.end()


class RowsParser:
    """The rows of an open file in the confined process, as lines of JSON: the place of a row, its fields, and its fault."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    in_process: ClassVar[bool] = False

    def __init__(self, descriptor: int, name: str, container: str, codec: str) -> None:
        self._container, self._rows = container, rows_of(open(descriptor, "rb"), name, container, codec)  # noqa: SIM115

    def parse(self, data: bytes, name: str) -> Parsed:
        """The next rows; no text at the end of the file."""
        lines, size = list[str](), 0
        try:
            while size < BLOCK and (row := next(self._rows, None)):
                lines.append(_line(*row, self._container))
                size += len(lines[-1])
        except DataError as error:  # one of the whole file has no place
            lines.append(json.dumps(["", {}, [error.where, error.what, error.remedy]]))
        return Parsed("\n".join(lines))


def _line(where: str, fields: Fields | DataError, container: str) -> str:
    """A row as JSON. A few lines of YAML can make billions of values, so these are counted."""
    if not isinstance(fields, DataError):
        encoder = json.JSONEncoder(default=str, skipkeys=True)
        pieces = [*islice(encoder.iterencode(fields), VALUES + 1)] if container == "yaml" else [encoder.encode(fields)]
        if len(pieces) <= VALUES:
            return f"[{json.dumps(where)}, {''.join(pieces)}, null]"
        fields = DataError(where, f"has more than {VALUES:,} values and keys", "split it")
    return json.dumps([where, {}, [fields.where, fields.what, fields.remedy]])


def rows_of(file: BinaryIO, name: str, container: str, codec: str) -> Rows:
    """The rows of an open file; DataError for one that is damaged or no such container."""
    with refusal(name, f"a {container} file"):
        if container in ("parquet", "arrow"):
            yield from _numbered(name, _arrow_rows(file, container, name))
        elif container == "xlsx":
            yield from _table(name, _Sheets(CELLS).cells(file.read(), name))
        elif container == "csv":
            yield from _table(name, _cells(io.TextIOWrapper(file, codec, newline="")))
        elif container == "jsonl":
            yield from _numbered(name, (line for line in io.TextIOWrapper(file, codec, newline="\n") if line.strip()))
        else:
            yield from _numbered(name, _listed(file.read().decode(codec), container, name))


def codec_of(path: Path) -> str:
    """The encoding of a text file: by its byte order mark, UTF-16 by its zero bytes, UTF-8, or cp1252."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        head = file.read(4)
        if marked := next((codec for mark, codec in MARKS.items() if head.startswith(mark)), ""):
            return marked
        if head[:2].count(0) == 1:
            return "utf-16-be" if head[0] == 0 else "utf-16-le"
        try:
            decoder.decode(head)
            while block := file.read(1 << 20):
                decoder.decode(block)
        except UnicodeDecodeError:
            return LAST
    return "utf-8"


def _narrow(columns: Any, where: str) -> Any:
    if len(columns) > COLUMNS:
        raise DataError(where, f"has {len(columns):,} columns", f"keep {COLUMNS:,} at most")
    return columns


def _numbered(path: str, rows: Iterable[Any]) -> Rows:
    for number, row in enumerate(rows, 1):
        where = f"{path} row {number}"
        try:
            value = parse_json(row, where) if isinstance(row, str) else row
            if not isinstance(value, dict):
                raise DataError(where, "is not an object", "write {…}, columns as keys")
            yield where, _narrow(value, where)
        except DataError as error:
            yield where, error


def _cells(file: Iterable[str]) -> Iterator[list[str]]:
    """The cells of a CSV file; the separator is the one that divides the first line into most cells."""
    csv.field_size_limit(MOST)
    lines = iter(file)
    first = next((line for line in lines if line.strip()), "")
    separator = max(",;\t|", key=lambda each: len(next(csv.reader([first], delimiter=each), [])))
    for row in csv.reader((line for part in ([first], lines) for line in part), delimiter=separator):
        yield [cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell for cell in row]


class _Sheets(XlsxParser):
    """Excel files within the limits of their parser."""

    def cells(self, data: bytes, name: str) -> Iterator[list[str]]:
        """The rows of the first sheet with more than one: the values that the file keeps, no formula is run."""
        from python_calamine import CalamineWorkbook

        self._check(checked_zip(data, name, "an Excel file"), name)
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [sheet for title in book.sheet_names if (sheet := book.get_sheet_by_name(title)).height > 1]
        yield from ([shown(value) for value in row] for sheet in sheets[:1] for row in sheet.iter_rows())


def _table(path: str, rows: Iterator[list[str]]) -> Rows:
    header = _narrow([name.strip() for name in next(rows, [])], path)
    if repeated := sorted(name for name, count in Counter(header).items() if name and count > 1):
        raise DataError(path, f"the header has {', '.join(map(repr, repeated))} more than once", "rename the columns")
    for number, row in enumerate(rows, 2):
        where = f"{path} row {number}"
        if any(row[len(header) :]):
            yield where, DataError(where, f"has {len(row)} cells, and the header {len(header)}", "quote cells with separators")
        elif any(row):
            yield where, {name: cell for name, cell in zip(header, row, strict=False) if name}


def _arrow_rows(file: BinaryIO, container: str, name: str) -> Iterator[Any]:
    """Rows of Parquet, or of a stream of Arrow; values of extension types are read as what they are stored in."""
    # The other pools take address space that this process does not have.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from pyarrow import ipc, parquet

    source = ipc.open_stream(file) if container == "arrow" else parquet.ParquetFile(file)
    _narrow(source.schema.names, name)
    for batch in source if container == "arrow" else source.iter_batches(BATCH, use_threads=False):
        for start in range(0, batch.num_rows, BATCH):
            yield from batch.slice(start, BATCH).to_pylist()


def _listed(text: str, container: str, where: str) -> Sequence[Any]:
    """The rows of a JSON or YAML file, which is a list or has one; no tag of YAML makes an object."""
    # The loader in C has no limit of depth.
    value = parse_json(text.removeprefix("\ufeff"), where) if container == "json" else yaml.safe_load(text)
    while isinstance(value, dict) and "info" not in value:  # one trace of MLflow, whose spans are in `data`
        if isinstance(columns := value.get("columns"), list) and isinstance(value.get("data"), list):
            return [dict(zip(columns, row, strict=False)) for row in value["data"]]  # a data frame of pandas, as is the next
        if value and all(isinstance(cells, dict) and "0" in cells for cells in value.values()):
            return [{name: cells.get(row) for name, cells in value.items()} for row in next(iter(value.values()))]
        value = next((value[key] for key in LISTS if isinstance(value.get(key), list | dict)), [value])
    return value if isinstance(value, list) else [value]
