"""Metadata of documents from a table in their folder, and values of metadata by their shape."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag.core.errors import DataError, closest
from rag.core.types import Value
from rag.documents.anchors.quote_anchors import closest_names
from rag.documents.folder.file_tree import WILD, Names
from rag.documents.folder.files import decode, read_bytes
from rag.documents.sandbox.limits import Limits

WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})\.\d{1,17}")
TRUTH = {"true": True, "false": False}
DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ].*)?)?)?")
"""A date in ISO 8601, from a year alone to a time."""
TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "text": ("text", (str,)),
    "number": ("a number such as 12 or 0.5", (int, float)),
    "boolean": ("true or false", (bool,)),
    "date": ("a date such as 2025-04-01", (str,)),
}
"""Types that a column of a table may name, each with its description and its Python types."""
LONG, WORK = 1_000, 1_000_000_000
"""Characters of a path in a table, and of all names that its patterns are compared with."""
PATH = "path"
"""The column of a table that names files."""


def typed(text: str) -> Value:
    """The value that a text states."""
    text = text.strip()
    if WHOLE.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text):
        return float(text)
    return TRUTH.get(text.lower(), text)


@dataclass(frozen=True)
class _Column:
    """A column of a table: its name, and the type that its header states, empty for none."""

    name: str
    type: str

    def value(self, cell: str, where: str) -> Value:
        """The value of a cell; DataError if it is not of the stated type."""
        value: Value = cell.strip() if self.type == "text" else typed(cell)
        if not self.type:
            return value
        what, types = TYPES[self.type]
        is_date = self.type != "date" or bool(DATE.fullmatch(cell.strip()))
        value = cell.strip() if self.type == "date" else value
        if not is_date or not isinstance(value, types) or (self.type == "number" and isinstance(value, bool)):
            raise DataError(where, f"{self.name!r} is {cell!r}", f"write {what}, or leave the cell empty")
        return value


def read_table(path: Path, names: Collection[str], others: Collection[str] = ()) -> dict[str, dict[str, Value]]:
    """The metadata of files by their names, from a CSV file with a column `path` of paths or glob patterns.

    A header may state the type of its column: `year:number`, `valid:date`, `open:boolean`, `code:text`. An empty cell states
    nothing. Later rows overrule earlier ones. DataError with file and line for a row with too many or too few cells, a value
    that is not of its type, and a path that matches neither `names` nor `others`, files that are no documents.
    """
    rows = table_rows(path)
    where, header = next(rows, (f"{path}:1", []))
    columns = _columns(header, where)
    place = [column.name for column in columns].index(PATH)
    found: dict[str, dict[str, Value]] = {}
    known, rest, work = Names(names), Names(others), 0
    for where, cells in rows:
        if len(cells) != len(columns):
            raise DataError(where, f"has {len(cells)} cells, and the header has {len(columns)}", 'put commas in quotes: "a, b"')
        pattern = cells[place].strip()
        work += (known.size + rest.size) * bool(WILD.search(pattern))
        if len(pattern) > LONG or work > WORK:
            what = f"has a path of {len(pattern):,} characters" if len(pattern) > LONG else "has too many patterns before it"
            raise DataError(where, what, f"write paths of at most {LONG:,} characters, whole ones rather than patterns")
        chosen = known.matching(pattern)
        if not chosen and not rest.matching(pattern):
            raise DataError(where, f"no file matches {pattern!r}", closest_names(pattern, names))
        pairs = zip(columns, cells, strict=True)
        values = {column.name: column.value(cell, where) for column, cell in pairs if column.name != PATH and cell.strip()}
        for name in chosen:
            found.setdefault(name, {}).update(values)
    return found


def table_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The rows of a CSV file that are not empty, each with its place."""
    reader = csv.reader(io.StringIO(decode(read_bytes(path, Limits().file), str(path)), newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}:{line}", f"is no row of CSV: {error}", "put texts with commas in quotes") from error
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield f"{path}:{line}", row


def _columns(header: Iterable[str], where: str) -> list[_Column]:
    parts = [cell.strip().partition(":") for cell in header]
    columns = [_Column(name.strip(), kind.strip()) for name, _, kind in parts]
    names = Counter(column.name for column in columns)
    if PATH not in names:
        remedy = "name a column path, or set loader.metadata_table=null if this is another table"
        raise DataError(where, f"there is no column {PATH!r}, but {', '.join(map(repr, [*names][:5])) or 'nothing'}", remedy)
    for column in columns:
        if not column.name or names[column.name] > 1:
            raise DataError(where, f"the column {column.name!r} has no name or occurs twice", "give each column its own name")
        if column.type and column.type not in TYPES:
            raise DataError(where, f"{column.name!r} has the unknown type {column.type!r}", closest(column.type, TYPES))
    return columns
