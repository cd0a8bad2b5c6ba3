"""Records: the typed facts of documents, in tables. All are immutable.

A record is one document, or one row of a table in a document, with a value per field. Records answer questions that need all
documents at once, such as counts and lists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from rag.core.adapters import records_from
from rag.core.documents import Value

Cell = Value | tuple[str, ...] | None
"""The value of a field: None where it is not known, several texts where the field is a list."""

FieldType = Literal["text", "number", "date", "boolean", "list"]


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table. Dates are text in ISO 8601; `allowed` are the only values, if there are any.

    `unit` is that of all its numbers, such as `£` or `days`. Values of a field that is `inferred` need not stand in documents.
    """

    name: str
    type: FieldType = "text"
    description: str = ""
    allowed: tuple[str, ...] = ()
    unit: str = ""
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """The values of the fields of its table, in their order, and the characters [start, end) that state them.

    `shown` are the values as the document writes them, such as `£1,022` for 1022.0; empty if they are written as they are.
    A record of `total` is the last line of a table, with the sums of its columns: it is looked up, never counted or summed.
    """

    record_id: str
    doc_id: str
    start: int
    end: int
    values: tuple[Cell, ...]
    shown: tuple[str, ...] = ()
    total: bool = False


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Records with the same fields; `title` are its caption and headings, for people and for linking questions to it."""

    name: str
    fields: tuple[Field, ...]
    records: tuple[Record, ...]
    title: str = ""

    def column(self, name: str) -> int:
        """The place of a field; KeyError if there is none."""
        for place, field in enumerate(self.fields):
            if field.name == name:
                return place
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class FieldFailure:
    """A field of a document that could not be filled, and the reason; its value is None."""

    doc_id: str
    field: str
    why: str

    @property
    def of_reply(self) -> bool:
        """Whether a model gave no reply, or one that could not be read at all."""
        return self.why.startswith(("the reply ", "the model gave no reply"))


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The result of joining a record with a roster: `near` are ids of the roster that are close to a missing one.

    A `mismatch` has a value in the documents that differs from the roster's: `detail` names field and both values.
    """

    record_id: str
    status: Literal["match", "mismatch", "missing"]
    near: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RecordSet:
    """All tables of a corpus, the fields that could not be filled, the joins with a roster, and what models took."""

    tables: tuple[RecordTable, ...] = ()
    failures: tuple[FieldFailure, ...] = ()
    reconciled: tuple[Reconciled, ...] = ()
    tokens: int = 0
    cost: float = 0.0

    def table(self, name: str) -> RecordTable | None:
        """The table of a name, None if there is none."""
        return next((table for table in self.tables if table.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "RecordSet":
        """From JSON values; ValueError for values that are no records."""
        return records_from(cls, values)


NO_RECORDS = RecordSet()


def united(sets: Sequence[RecordSet]) -> RecordSet:
    """Several sets that no roster has joined yet; a table with the name of an earlier one gets a number behind it."""
    used = set[str]()
    tables = tuple(replace(table, name=unused(table.name, used)) for each in sets for table in each.tables)
    failures = tuple(failure for each in sets for failure in each.failures)
    return RecordSet(tables, failures, (), sum(each.tokens for each in sets), sum(each.cost for each in sets))


def unused(name: str, used: set[str]) -> str:
    """A name that is not in `used`, with a number behind it if need be; it is added there."""
    number, free = 1, name
    while free.casefold() in used:
        number += 1
        free = f"{name} ({number})"
    used.add(free.casefold())
    return free
