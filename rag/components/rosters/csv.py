"""Records joined with an authoritative table in a CSV file, by id: the table decides, and differences are listed."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from rag.core.checks import check_choice
from rag.core.errors import ConfigError, DataError, closest
from rag.core.models.pinned import sha256
from rag.core.records.sets import Cell, Field, Reconciled, Record, RecordSet, RecordTable
from rag.core.text.field_values import UnfitError, fitted, folded, shown
from rag.documents.metadata_table import table_rows

APART = re.compile(r"[\s\-‐-―−_]+")
"""White space, hyphens and dashes, which ids are written with and without."""
NEAR, LONGEST = 3, 32
"""Near ids that are reported, and characters of the longest id that they are looked for."""
Row = tuple[str, str, tuple[Cell, ...]]
"""The place of a row in the file, its id as it is written, and its values."""


class CsvRoster:
    """Fills fields of records from the columns of a CSV file.

    `key` is the field of the table `table` that holds ids, `column` the column of the file; ids are compared without regard to
    case, spaces and hyphens. `fields` maps fields to columns; a field that the table lacks becomes a text. After the join these
    fields have the values of the file, or None where the file does not have the id. A record whose document states another
    value is a mismatch. So is one whose id has several rows that differ, and then no row is taken.
    """

    def __init__(self, path: str | None, key: str, column: str, fields: Mapping[str, str], table: str = "documents") -> None:
        if not fields or key in fields:
            raise ConfigError("roster.fields", f"is {dict(fields)!r}", "map fields to columns, but not the key: {owner: Owner}")
        self.path, self.key, self.column, self.fields, self.table = Path(path or ""), key, column, dict(fields), table
        self.changes_nothing = path is None

    def fingerprint(self) -> str:
        """The sha256 of the file; ConfigError if there is none."""
        if self.changes_nothing:
            return ""
        if not self.path.is_file():
            raise ConfigError("roster.path", f"there is no file {str(self.path)!r}", "the path of a CSV file with a header")
        return f"sha256:{sha256(self.path)}"

    def join(self, records: RecordSet) -> RecordSet:
        """The records with the fields of the file; DataError for a table, field, column or cell that does not fit."""
        if self.changes_nothing:
            return records
        check_choice("roster.table", self.table, [table.name for table in records.tables])
        (table,) = (table for table in records.tables if table.name == self.table)
        names = [field.name for field in table.fields]
        check_choice("roster.key", self.key, names)
        fields = (*table.fields, *(Field(name, description=self.fields[name]) for name in self.fields if name not in names))
        filled = {field.name: field for field in fields if field.name in self.fields}
        rows, places = self._rows(filled), [place for place, field in enumerate(fields) if field.name in filled]
        letters = {letter for one in rows for letter in one}
        joined, reconciled = list[Record](), list[Reconciled]()
        for record in table.records:
            values = [*record.values, *[None] * (len(fields) - len(names))]
            known = values[names.index(self.key)]
            own = rows.get(normalised(known), [])
            if own:
                taken, said = _decided(record.record_id, own, [values[place] for place in places], [*filled])
            else:
                near = tuple(rows[one][0][1] for one in near_ids(normalised(known), rows, letters))
                taken = (None,) * len(places)
                said = Reconciled(record.record_id, "missing", near, f"{shown(known)} is not in the roster")
            for place, value in zip(places, taken, strict=True):
                values[place] = value
            joined.append(replace(record, values=tuple(values)))
            reconciled.append(said)
        made = RecordTable(table.name, fields, tuple(joined), table.title)
        failures = tuple(each for each in records.failures if each.field not in self.fields)
        tables = tuple(made if each is table else each for each in records.tables)
        return replace(records, tables=tables, failures=failures, reconciled=tuple(reconciled))

    def _rows(self, filled: Mapping[str, Field]) -> dict[str, list[Row]]:
        """The rows of the file by normalised id; DataError with the line for a value that its field cannot have."""
        rows = table_rows(self.path)
        header = [name.strip() for name in next(rows, ("", [""]))[1]]
        for column in (self.column, *self.fields.values()):
            if header.count(column) != 1:
                raise DataError(f"{self.path}:1", f"has {header.count(column)} columns {column!r}", closest(column, header))
        found: dict[str, list[Row]] = {}
        for where, cells in rows:
            row = dict(zip(header, cells, strict=False))
            if len(cells) != len(header) or not (one := normalised(row[self.column])):
                raise DataError(where, "has no id, or not one cell for each column", 'put commas in quotes: "a, b"')
            values = tuple(_cell(field, row[self.fields[name]], where) for name, field in filled.items())
            found.setdefault(one, []).append((where, row[self.column].strip(), values))
        return found


def _decided(
    record: str, rows: Sequence[Row], stated: Sequence[Cell], names: Sequence[str]
) -> tuple[tuple[Cell, ...], Reconciled]:
    """The values of a record by the rows with its id, and how they compare with what its document states."""
    where, _, values = rows[0]
    if other := next((row for row in rows if row[2] != values), None):
        detail = f"rows of the roster differ: {shown(values)} in {where} and {shown(other[2])} in {other[0]}"
        return (None,) * len(names), Reconciled(record, "mismatch", (), detail)
    wrong = [
        f"{name} is {shown(one)} in the document and {'empty' if true is None else shown(true)} in the roster"
        for name, one, true in zip(names, stated, values, strict=True)
        if one is not None and folded(one) != folded(true)
    ]
    return values, Reconciled(record, "mismatch" if wrong else "match", (), "; ".join(wrong))


def near_ids(wanted: str, known: Mapping[str, object], letters: set[str]) -> list[str]:
    """Up to NEAR known ids at edit distance 1 of `letters`, or with two neighbours or any two digits swapped."""
    if not 1 < len(wanted) <= LONGEST:
        return []
    pairs = [(one, two) for one, two in combinations(range(len(wanted)), 2)]
    swapped = [(a, b) for a, b in pairs if b == a + 1 or (wanted[a].isdecimal() and wanted[b].isdecimal())]
    tried = [wanted[:a] + wanted[b] + wanted[a + 1 : b] + wanted[a] + wanted[b + 1 :] for a, b in swapped]
    tried += [wanted[:at] + wanted[at + 1 :] for at in range(len(wanted))]
    tried += [wanted[:at] + each + wanted[at + cut :] for cut in (0, 1) for at in range(len(wanted) + 1) for each in letters]
    return sorted({one for one in tried if one in known and one != wanted})[:NEAR]


def normalised(written: Cell) -> str:
    """An id without regard to case, white space, hyphens, and compatible forms of characters; empty for None."""
    return "" if written is None else APART.sub("", unicodedata.normalize("NFKC", str(written))).casefold()


def _cell(field: Field, text: str, where: str) -> Cell:
    try:
        return fitted(field, text) if text.strip() else None
    except UnfitError as error:
        raise DataError(where, f"{field.name!r} {error}", f"write a {field.type}, or leave the cell empty") from error
