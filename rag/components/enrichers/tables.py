"""The rows of tables in documents as records."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from rag.core import headings
from rag.core.checks import check_whole
from rag.core.editions import editions_of
from rag.core.records.sets import Cell, Field, FieldFailure, Record, RecordSet, RecordTable, unused
from rag.core.text.cells import Words, column, number
from rag.core.text.layout import Row
from rag.core.text.tables import Table, caption_of, names_of, tables
from rag.core.types import Document

MOST, YEAR = 2, re.compile(r"(?:FY ?)?(?:19|20)\d\d", re.IGNORECASE)
"""The most rows below a header that name columns."""
SOURCE, SECTION, SUPERSEDED = "source", "section", "superseded"
"""Fields that are added: where several tables have one header, where lines without values divide a table, and for editions."""


@dataclass(frozen=True)
class _Source:
    """A table of a document with the names of its fields, its rows, title and section."""

    document: Document
    rows: Sequence[Row]
    names: tuple[str, ...]
    title: str
    section: str


@dataclass(frozen=True)
class TableRows:
    """Makes a record of each row of each table, with the types of `rag.core.text.cells`.

    Tables with the same header are one table, in whichever documents they stand: then the field `source` has the title of each,
    and `superseded` says which are in old editions, if any: by `statuses` in the metadata `status`, or `supersedes` of another
    document. A line with only its first cell divides a table, and is the `section` of the rows below. A row that begins with
    one of `totals` and has numbers else is a total line. Tables of more than `columns` or `rows` are left out and listed.
    """

    totals: Sequence[str]
    true_words: Sequence[str] = ()
    false_words: Sequence[str] = ()
    statuses: Sequence[str] = ("superseded",)
    columns: int = 500
    rows: int = 200_000

    def __post_init__(self) -> None:
        check_whole("enrich.tables.columns", self.columns, 1)
        check_whole("enrich.tables.rows", self.rows, 1)

    def enrich(self, documents: Sequence[Document]) -> RecordSet:
        """The tables of all documents; those that are too large are in `failures`."""
        alike: dict[tuple[str, ...], list[_Source]] = {}
        failures = []
        for document in documents:
            for source in _sources(document):
                if len(source.names) > self.columns or len(source.rows) > self.rows:
                    size = f"{len(source.rows):,} rows and {len(source.names):,} columns are too many"
                    failures.append(FieldFailure(document.doc_id, source.section or source.title, size))
                elif source.rows:
                    alike.setdefault(tuple(name.casefold() for name in source.names), []).append(source)
        old = self._old(documents)
        made, names = list[RecordTable](), set[str]()
        for sources in alike.values():
            name = unused(" ".join(filter(None, (_stem(sources[0].document), sources[0].section))), names)
            made.append(self._table(name, sources, old))
        return RecordSet(tuple(made), tuple(failures))

    def _old(self, documents: Sequence[Document]) -> set[str]:
        """The documents that are old editions."""
        found = editions_of(documents, statuses={str(status).casefold() for status in self.statuses})
        return {documents[row].doc_id for row in found.marked | found.successors.keys()}

    def _table(self, name: str, sources: Sequence[_Source], old: set[str]) -> RecordTable:
        rows = [(source, section, row) for source in sources for section, row in _divided(source.rows)]
        several, divided = len(sources) > 1, any(section for _, section, _ in rows)
        texts = [
            [row.cells[place] if place < len(row.cells) else "" for _, _, row in rows] for place in range(len(sources[0].names))
        ]
        used = set[str]()
        words = Words(frozenset(map(str.casefold, self.true_words)), frozenset(map(str.casefold, self.false_words)))
        typed = [column(unused(label, used), cells, words) for label, cells in zip(sources[0].names, texts, strict=True)]
        extra: list[tuple[Field, list[Cell]]] = []
        if divided:
            extra.append((Field(unused(SECTION, used)), [section or None for _, section, _ in rows]))
        if several:
            extra.append((Field(unused(SOURCE, used)), [source.title for source, _, _ in rows]))
            if any(source.document.doc_id in old for source in sources):
                flags: list[Cell] = [source.document.doc_id in old for source, _, _ in rows]
                extra.append((Field(unused(SUPERSEDED, used), "boolean"), flags))
        records = []
        for place, (source, _, row) in enumerate(rows):
            values = tuple(cells[place] for _, cells in (*typed, *extra))
            shown = (*(cells[place] for cells in texts), *("" for _ in extra))
            span = source.document.doc_id, row.start, row.end
            records.append(Record(f"{name} {place + 1}", *span, values, shown, self._is_total(row.cells)))
        title = " | ".join(dict.fromkeys(source.title for source in sources))
        return RecordTable(name, tuple(field for field, _ in (*typed, *extra)), tuple(records), title)

    def _is_total(self, cells: Sequence[str]) -> bool:
        first, *others = cells if cells[0] else (*cells[1:], "")
        begin = " ".join(first.strip("*_: ").casefold().split())
        totals = tuple(str(word).casefold() for word in self.totals)
        if begin in totals or not begin.startswith(tuple(f"{word} " for word in totals)):
            return begin in totals
        filled = [cell for cell in others if cell.strip()]
        return bool(filled) and all(number(cell) for cell in filled)


def _sources(document: Document) -> Iterator[_Source]:
    sections = headings.sections(document.text)
    for table in tables(document.text):
        path = headings.above(sections, table.part.start).path if sections else ""
        caption = caption_of(document.text, table)
        below = _continued(table)
        labels = names_of((*table.head, *below)) if below else table.names
        names = tuple(" ".join(label.split()) or f"column {place}" for place, label in enumerate(labels, 1))
        section = caption or path.rpartition(" > ")[2]
        yield _Source(
            document, table.rows[len(below) :], names, " > ".join(filter(None, (path or _stem(document), caption))), section
        )


def _continued(table: Table) -> list[Row]:
    """The first rows that name columns of numbers: labels or years below columns without a name, and labels behind nothing."""
    found = list[Row]()
    for row in table.rows[:MOST]:
        filled = [place for place, cell in enumerate(row.cells) if place and cell]
        is_label = all(YEAR.fullmatch(row.cells[place]) or number(row.cells[place]) is None for place in filled)
        if not filled or not is_label or (all(table.names[1:]) if not found else row.cells[0]):
            break
        found.append(row)
    cells = [row.cells[place] for row in table.rows[len(found) :] for place in range(1, len(row.cells))]
    digits = [cell for cell in cells if any(map(str.isdecimal, cell))]
    are_numbers = 2 * sum(number(cell) is not None for cell in digits) > len([cell for cell in cells if cell])
    return found if are_numbers else []


def _divided(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """The rows with values, each with the last line above it that has only a first cell."""
    section = ""
    for row in rows:
        if row.cells and row.cells[0] and len(row.cells) > 2 and not any(row.cells[1:]):
            section = row.cells[0]
        elif any(row.cells):
            yield section, row


def _stem(document: Document) -> str:
    return PurePosixPath(document.doc_id).stem
