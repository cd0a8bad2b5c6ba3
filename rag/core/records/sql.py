"""Values and conditions of records in SQLite."""

import json
import re
from dataclasses import dataclass
from typing import Any

from rag.core.records.display import decimals
from rag.core.records.queries import Condition, RecordQuery
from rag.core.records.sets import Cell, Field, RecordTable

WORD = re.compile(r"\w+")
Sql = tuple[str, tuple[Any, ...]]
"""A statement, or a part of one, and its parameters."""


def folded(value: Cell) -> str | float | None:
    """A value as it is stored and compared: text without case and double spaces, a list as JSON of such texts."""
    if isinstance(value, str):
        return " ".join(value.casefold().split()).encode("utf-8", "replace").decode()
    if isinstance(value, tuple):
        return json.dumps([folded(each) for each in value])
    return None if value is None else float(value)


def has_words(text: str | None, words: str) -> bool:
    """True if the text has these words next to each other; signs alone may stand anywhere in it."""
    sought = " ".join(WORD.findall(words))
    return text is not None and (f" {sought} " in f" {' '.join(WORD.findall(text))} " if sought else words in text)


@dataclass(frozen=True)
class Opened:
    """A table in the database: its SQL name, and the column of each field."""

    table: RecordTable
    name: str

    def column(self, field: str) -> str:
        """The column of a field."""
        return f"c{self.table.column(field)}"

    def field(self, name: str) -> Field:
        """The field of a name."""
        return self.table.fields[self.table.column(name)]


def tested(test: Condition, opened: Opened) -> Sql:
    """The SQL of a condition."""
    column, field = opened.column(test.field), opened.field(test.field)
    if test.operator in ("missing", "present"):
        return f"{column} IS {'NOT ' if test.operator == 'present' else ''}NULL", ()
    held = test.value if isinstance(test.value, tuple) else (test.value,)
    values = [folded(value) for value in held]
    left = f"substr({column}, 1, {len(str(values[0]))})" if field.type == "date" else column
    if field.type == "list":
        match = "has_words(value, ?)" if test.operator == "contains" else "value IN (SELECT value FROM json_each(?))"
        sign = "NOT " if test.operator == "!=" else ""
        parameter = values[0] if test.operator == "contains" else json.dumps(values)
        return f"{column} IS NOT NULL AND {sign}EXISTS (SELECT 1 FROM json_each({column}) WHERE {match})", (parameter,)  # noqa: S608
    if test.operator == "contains":
        return f"has_words({column}, ?)", (values[0],)
    if test.operator != "in":
        return f"{left} {test.operator} ?", (values[0],)
    if field.type == "date":
        return "(" + " OR ".join(f"substr({column}, 1, {len(str(value))}) = ?" for value in values) + ")", tuple(values)
    return f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(values),)  # noqa: S608


def digits(query: RecordQuery, opened: Opened) -> int:
    """The most digits behind the point in the fields of a query."""
    places = [opened.table.column(name) for name in query.fields]
    values = (record.values[place] for record in opened.table.records for place in places)
    return max((decimals(value) for value in values if isinstance(value, float) and not value.is_integer()), default=0)
