"""Questions to records: a validated query, never SQL text, its result, and the route of a question."""

from dataclasses import dataclass
from typing import Literal, Optional

from rag.core.documents import Value
from rag.core.record_sets import Cell

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "in", "missing", "present"]
Intent = Literal["count", "list", "group_by", "top_n", "sum", "lookup", "exists"]
Joint = Literal["union", "intersection", "difference"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one field: `value` is a list for `in`, and None for `missing` and `present`."""

    field: str
    operator: Operator
    value: Value | tuple[Value, ...] | None = None


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """What is asked of one table: all conditions of `where` must hold.

    `fields` are what is listed, looked up or summed; `group` is the field of group_by; `top_n` orders by `order` and takes `n`.
    `joint` combines the records with those of `other`, which has the same table or another one with the first of `fields`.
    """

    intent: Intent
    table: str
    fields: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    group: str = ""
    order: str = ""
    descending: bool = True
    n: int = 0
    joint: Joint | None = None
    other: Optional["RecordQuery"] = None


def described(query: RecordQuery) -> str:
    """A query in one line, for people: `count of assets where price < 500 and status = open`."""
    tests = " and ".join(f"{test.field} {test.operator} {_shown(test.value)}".rstrip() for test in query.where)
    count = str(query.n) if query.n else ""
    fields = f"({', '.join(query.fields)})" if query.fields else ""
    order = f"by {query.order} {'descending' if query.descending else 'ascending'}" if query.order else ""
    group = f"by {query.group}" if query.group else ""
    parts = (query.intent.replace("_", " "), count, fields, f"of {query.table}", tests and f"where {tests}", group, order)
    words = " ".join(filter(None, parts))
    return f"{words}, {query.joint} with: {described(query.other)}" if query.joint and query.other else words


def _shown(value: Value | tuple[Value, ...] | None) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of a query by column, and the records that they come from, as places in the documents: (doc_id, start, end).

    `value` is the single value as a person writes it, `values` are those of a list; empty where the result is the other.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sources: tuple[tuple[str, int, int], ...]
    value: str = ""
    values: tuple[str, ...] = ()


ROUTES = ("semantic", "records", "both")
Mechanism = Literal["semantic", "records", "both"]


@dataclass(frozen=True, slots=True)
class Routed:
    """The mechanism that answers a question: passages, records, or passages of the documents that a query of records finds.

    `why` is the reason in a few words; `tokens` and `cost` (US dollars) are those of a model.
    """

    mechanism: Mechanism = "semantic"
    query: RecordQuery | None = None
    why: str = ""
    tokens: int = 0
    cost: float = 0.0
