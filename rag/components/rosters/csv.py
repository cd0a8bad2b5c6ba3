"""Records joined with an authoritative table in a CSV file, by id: the table decides, and differences are listed."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rag.components.rosters.near_ids import NearIds
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, DataError, closest
from rag.core.field_values import UnfitError, fitted, same, shown
from rag.core.models.pinned import sha256
from rag.core.record_sets import Cell, Field, Reconciled, Record, RecordSet, RecordTable
from rag.documents.metadata import table_rows

WHERE = "roster"
APART = re.compile(r"[\s\-‐-―−_]+")
"""White space, hyphens and dashes, which ids are written with and without."""


@dataclass(frozen=True)
class Row:
    """A row of the file: its place, its id as it is written, and its values by field of the records."""

    where: str
    written: str
    values: Mapping[str, Cell]


class CsvRoster:
    """Fills fields of records from the columns of a CSV file.

    `key` is the field of the table `table` that holds ids, `column` the column of the file; ids are compared without regard to
    case, spaces and hyphens. `fields` maps fields to columns; a field that the table lacks becomes a text. After the join these
    fields have the values of the file, or None where the file does not have the id. A record whose document states another
    value is a mismatch. So is one whose id has several rows that differ, and then no row is taken.
    """

    def __init__(self, path: str, key: str, column: str, fields: Mapping[str, str], table: str = "documents") -> None:
        if not fields:
            raise ConfigError(f"{WHERE}.fields", "is empty", "map fields to columns: {owner: Owner}")
        if key in fields:
            raise ConfigError(f"{WHERE}.fields.{key}", "is the key", "join other fields: a key is compared, not filled")
        self.path, self.key, self.column, self.fields, self.table = Path(path), key, column, dict(fields), table

    def fingerprint(self) -> str:
        """The sha256 of the file; ConfigError if there is none."""
        if not self.path.is_file():
            raise ConfigError(f"{WHERE}.path", f"there is no file {str(self.path)!r}", "the path of a CSV file with a header")
        return f"sha256:{sha256(self.path)}"

    def join(self, records: RecordSet) -> RecordSet:
        """The records with the fields of the file; DataError for a table, field or column that is not there."""
        table = records.table(self.table)
        if table is None:
            known = [each.name for each in records.tables]
            raise DataError(f"{WHERE}.table", f"there is no table {self.table!r}", closest(self.table, known))
        names = [field.name for field in table.fields]
        check_choice(f"{WHERE}.key", self.key, names)
        added = tuple(Field(name, description=column) for name, column in self.fields.items() if name not in names)
        fields = (*table.fields, *added)
        join = _Join({field.name: field for field in fields}, self._read(fields), names.index(self.key), [*self.fields])
        joined = [join.of(record, len(added)) for record in table.records]
        made = RecordTable(table.name, fields, tuple(record for record, _ in joined), table.title)
        tables = tuple(made if each is table else each for each in records.tables)
        failures = tuple(each for each in records.failures if each.field not in self.fields)
        return replace(records, tables=tables, failures=failures, reconciled=tuple(said for _, said in joined))

    def _read(self, fields: tuple[Field, ...]) -> dict[str, list[Row]]:
        """The rows of the file by normalised id; DataError with the line for a value that its field cannot have."""
        self.fingerprint()
        rows = table_rows(self.path)
        _, header = next(rows, ("", []))
        names = [name.strip() for name in header]
        for column in (self.column, *self.fields.values()):
            if names.count(column) != 1:
                raise DataError(f"{self.path}:1", f"has {names.count(column)} columns {column!r}", closest(column, names))
        typed = {field.name: field for field in fields}
        found: dict[str, list[Row]] = {}
        for where, cells in rows:
            if len(cells) != len(names):
                raise DataError(
                    where, f"has {len(cells)} cells, and the header has {len(names)}", 'put commas in quotes: "a, b"'
                )
            row = dict(zip(names, cells, strict=True))
            values = {name: _cell(typed[name], row[column], where) for name, column in self.fields.items()}
            if not (one := normalised(row[self.column])):
                raise DataError(where, f"has no {self.column!r}", "write the id, or remove the row")
            found.setdefault(one, []).append(Row(where, row[self.column].strip(), values))
        return found


@dataclass
class _Join:
    """The join of one table: its fields by name, rows by id, the place of the key, and the fields that are filled."""

    fields: Mapping[str, Field]
    rows: Mapping[str, list[Row]]
    key: int
    filled: list[str]

    def of(self, record: Record, added: int) -> tuple[Record, Reconciled]:
        """A record with the values of its row, after `added` further fields, and how it was joined."""
        own = dict(zip(self.fields, (*record.values, *[None] * added), strict=True))
        known = record.values[self.key]
        written = "" if known is None else str(known)
        rows = self.rows.get(normalised(written), [])
        different = next((row for row in rows if row.values != rows[0].values), None)
        taken: Mapping[str, Cell] = rows[0].values if rows and not different else dict.fromkeys(self.filled)
        joined = replace(record, values=tuple({**own, **taken}.values()))
        if not rows:
            near = tuple(self.rows[one][0].written for one in self._near.of(normalised(written)))
            detail = f"{shown(written)} is not in the roster" if written else "the record has no id"
            return joined, Reconciled(record.record_id, "missing", near, detail)
        if different:
            detail = _difference(rows[0], different)
            return joined, Reconciled(record.record_id, "mismatch", (), f"two rows of the roster differ: {detail}")
        wrong = [name for name in self.filled if own[name] is not None and not same(self.fields[name], own[name], taken[name])]
        detail = "; ".join(
            f"{name} is {_said(own[name])} in the document and {_said(taken[name])} in the roster" for name in wrong
        )
        return joined, Reconciled(record.record_id, "mismatch" if wrong else "match", (), detail)

    @cached_property
    def _near(self) -> NearIds:
        return NearIds(self.rows)


def _difference(one: Row, other: Row) -> str:
    """The values in which two rows of one id differ, with their places."""
    names = [name for name, value in one.values.items() if other.values[name] != value]
    return "; ".join(f"{name} is {_said(row.values[name])} in {row.where}" for name in names for row in (one, other))


def _said(value: Cell) -> str:
    return "nothing" if value is None else shown(value)


def normalised(written: str) -> str:
    """An id without regard to case, white space, hyphens, and compatible forms of characters."""
    return APART.sub("", unicodedata.normalize("NFKC", written)).casefold()


def _cell(field: Field, text: str, where: str) -> Cell:
    if not text.strip():
        return None
    try:
        return fitted(field, text)
    except UnfitError as error:
        raise DataError(where, f"{field.name!r} {error}", f"write a {field.type}, or leave the cell empty") from error
