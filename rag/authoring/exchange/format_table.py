"""The table of formats: how golden questions are written in the format of another tool, and how a row in it is known.

A plug-in adds formats by a module `formats` with a mapping FORMATS from names to `Format`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import chain, islice
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.exchange.tables import Rows
from rag.config.catalog import plugin_modules

DETAILS: tuple[str, ...] = ("id", "kind", "tags", "split", "cluster", "dialogue", "turn", "rewrite")
DETAILS += ("unanswerable", "expects", "route", "evidence")
NOWHERE = ("input", "judged")
"""Fields that no format has."""
FLAT = ("question", "answers", "contexts", "documents", "history", *DETAILS)
"""The columns of a question in a table; `contexts` are the texts of its evidence, `documents` their names."""
Tables = Mapping[str, tuple[Sequence[Row], Sequence[str]]]
"""Names of files, each with its rows and columns."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `tables` are the files for questions as FLAT has them and for the texts of documents by name.

    `holds` is what it holds in addition to the question and the documents of its evidence, None for everything. A row with one
    of `columns` (with both of `a+b`) is in this format; `notes` then adds to the question what stands in columns of the tool,
    and yields notes. A format without `tables` is only read: of its rows `rows` makes one for each question, with the usual
    names (`question`, and as of a system `retrieved_contexts`, `response`, `seconds`).
    """

    tables: Callable[[Sequence[Row], Mapping[str, str]], Tables] | None = None
    holds: frozenset[str] | None = None
    columns: tuple[str, ...] = ()
    notes: Callable[[Mapping[str, Any], Row, str], Iterator[str]] = lambda fields, row, where: iter(())
    rows: Callable[[Rows], Rows] | None = None


def one_file(name: str, shaped: Callable[[Row], Row] = lambda row: row) -> Callable[[Sequence[Row], Mapping[str, str]], Tables]:
    """The tables of a format with one file, and a row for each question."""
    return lambda rows, texts: {name: ([shaped(row) for row in rows], FLAT)}


@lru_cache(maxsize=1)
def formats() -> Mapping[str, Format]:
    """All formats by name."""
    found = {name: Format(one_file(f"questions.{name}")) for name in ("csv", "jsonl", "parquet")}
    for module in plugin_modules("formats"):
        found |= import_module(module).FORMATS
    return found


def format_of(fields: Mapping[str, Any]) -> str:
    """The format of a row by its columns; empty for none."""
    known = sorted(formats().items(), key=lambda pair: pair[1].rows is None)  # a run of LangSmith has the columns of an example
    columns = ((name, column) for name, format in known for column in format.columns)
    return next((name for name, column in columns if all(part in fields for part in column.split("+"))), "")


def by_question(rows: Rows) -> tuple[str, Rows]:
    """The format of rows by the first one, and the rows: of a format with traces one for each question."""
    first = [*islice(rows, 1)]
    name = next((format_of(fields) for _, fields in first if isinstance(fields, Mapping)), "")
    shaped = formats()[name].rows if name else None
    rows = chain(first, rows)
    return name, shaped(rows) if shaped else rows
