"""The table of formats: how golden questions are written in the format of another tool, and how a row in it is known.

A plug-in adds formats by a module `formats` with a mapping FORMATS from names to `Format`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from rag.authoring.candidates import Row
from rag.config.catalog import plugin_modules

DETAILS = ("id", "kind", "tags", "split", "cluster", "dialogue", "turn", "rewrite", "unanswerable", "expects", "evidence")
FLAT = ("question", "answers", "contexts", "documents", "history", *DETAILS)
"""The columns of a question in a table; `contexts` are the texts of its evidence, `documents` their names."""
Tables = Mapping[str, tuple[Sequence[Row], Sequence[str]]]
"""Names of files, each with its rows and columns."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `tables` are the files for questions as FLAT has them and for the texts of documents by name.

    `holds` is what it holds in addition to the question and the documents of its evidence, None for everything. A row with one
    of `columns` is in this format; `notes` then adds to the question what stands in columns of the tool, and yields notes.
    """

    tables: Callable[[Sequence[Row], Mapping[str, str]], Tables]
    holds: frozenset[str] | None = None
    columns: tuple[str, ...] = ()
    notes: Callable[[Mapping[str, Any], Row, str], Iterator[str]] = lambda fields, row, where: iter(())


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
