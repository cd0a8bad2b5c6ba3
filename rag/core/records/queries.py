"""Questions to records: a validated query, never SQL text, its result, and the route of a question."""

from dataclasses import dataclass
from typing import Literal, Optional

from rag.core.documents import Value
from rag.core.records.sets import Cell

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "in", "missing", "present"]
Intent = Literal["count", "list", "group_by", "top_n", "sum", "average", "difference", "change", "lookup", "exists"]
Joint = Literal["union", "intersection", "difference"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one field: `value` is a list for `in`, and None for `missing` and `present`.

    Texts are compared without regard to case and white space; `contains` finds words in a row. A date is compared as precisely
    as `value` is: 2010-03-02 is in 2010, and is not after 2010. A missing value passes no test but `missing`.
    """

    field: str
    operator: Operator
    value: Value | tuple[Value, ...] | None = None


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """What is asked of one table: all conditions of `where` must hold.

    count       the number of records, or of different values of `fields`
    list        the different values of `fields` (all fields if empty), in the order of the table, or of `order`
    lookup      the values of `fields` of each record, those of total lines too
    top_n       `fields` of the `n` records that are first by `order`, and of those that are equal to the last of them;
                without `order` the last `n` of the table, or with `descending` False the first
    group_by    the number of records, or the sum of `fields`, for each value of `group`; with `n` only the highest
                groups, or with `descending` False the lowest
    sum         the sum of all numbers in `fields`; `average` their mean
    difference  the sum of the numbers in `fields` minus that of `other`; `change` is it in percent of that of `other`
    exists      if there is a record

    With `across`, `list` gives the values of its one field that stand with every value of `across` among the records.
    `shift` takes the records that many places after those of `where`, or before them if negative. `joint` combines the records
    with those of `other`, which has the same table, or another one with the first of `fields`.
    """

    intent: Intent
    table: str
    fields: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    group: str = ""
    order: str = ""
    descending: bool = True
    n: int = 0
    across: str = ""
    shift: int = 0
    joint: Joint | None = None
    other: Optional["RecordQuery"] = None


def described(query: RecordQuery) -> str:
    """A query in one line, for people: `count of assets where price < 500 and status = open`."""
    tests = " and ".join(f"{test.field} {test.operator} {_shown(test.value)}".rstrip() for test in query.where)
    count = str(query.n) if query.n else ""
    fields = f"({', '.join(query.fields)})" if query.fields else ""
    order = f"by {query.order} {'descending' if query.descending else 'ascending'}" if query.order else ""
    group = f"by {query.group}" if query.group else ""
    grouped = (group, query.across and f"with each {query.across}", order)
    parts = (query.intent.replace("_", " "), count, fields, f"of {query.table}", tests and f"where {tests}", *grouped)
    words = " ".join(filter(None, parts))
    return f"{words}, {query.joint} with: {described(query.other)}" if query.joint and query.other else words


def _shown(value: Value | tuple[Value, ...] | None) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of a query by column, and the records that they come from, as places in the documents: (doc_id, start, end).

    `value` is the single value as a person writes it, `values` are those of a list; empty where the result is the other.
    `left_out` is the number of rows beyond the limit.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sources: tuple[tuple[str, int, int], ...]
    value: str = ""
    values: tuple[str, ...] = ()
    left_out: int = 0


ROUTES = ("semantic", "records", "both")
BY_RULES = "by rules: the model's reply"
"""The beginning of the reason for a route where a model's reply could not be used."""
Mechanism = Literal["semantic", "records", "both"]


@dataclass(frozen=True, slots=True)
class Routed:
    """The mechanism that answers a question: passages, records, or passages of the documents that a query of records finds.

    `why` is the reason in a few words; `tokens` and `cost` (US dollars) are those of a model. `failure` is the error that left
    a question to passages, if any.
    """

    mechanism: Mechanism = "semantic"
    query: RecordQuery | None = None
    why: str = ""
    tokens: int = 0
    cost: float = 0.0
    failure: str = ""
