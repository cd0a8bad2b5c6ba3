"""Questions about tables: cells, follow-ups, comparisons, the highest and lowest value, and values that are missing."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.core.records import Span, Turn
from rag.core.text.layout import Row
from rag.core.text.tables import Table
from rag.datasets.candidates import Candidate
from rag.datasets.generation.pages import Page
from rag.datasets.generation.wording import Wording

FEWEST, MOST = 3, 60
"""Rows of a table that are asked about; a longer table is asked about by its first MOST rows."""
MOST_ROWS = 12
"""The most rows that are evidence together."""
CELL, KEY = 60, 40
"""The most characters of a value, and of the name of a row or a column."""
NUMBER = re.compile(r"([£$€]?)\s?(-?\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)\s?(%|[A-Za-z°/³²]{1,6}(?: [a-z]{1,5})?)?")
EMPTY = re.compile(r"\W*|n/?a|none|nil|tbc|tbd|unknown|as above|ditto|see .*", re.IGNORECASE)
NO_NOUN = re.compile(
    r"day|week|month|year|hour|yes|no|name|note|notes|remarks?|comments?|what.*|when.*|how.*|where.*|if.*|total|number|no\.?|id|code"
    r"|.*\b(?:is|are|was|by|to|in|on|at|of|for|from|per|with|after|before|under|over)|.*ed|#|x|y",
    re.IGNORECASE,
)
"""Headers that make no noun phrase after an article."""
PERSON = re.compile(
    r"(?:owner|holder|contact|manager|leader|author|reviewer|responsible|head|deputy|keeper|coach|director)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table that can be asked about: the first column names its rows, and `columns` are the numbers of the others."""

    page: Page
    table: Table
    rows: Sequence[Row]
    columns: Sequence[int]
    cluster: str

    def span(self, row: Row) -> Span:
        """The place of a row."""
        return Span(self.page.document.doc_id, row.start, row.end)

    def key(self, row: Row) -> str:
        """The name of a row; a short code with the name of its column, as in `band D`."""
        name, head = shown(row.cells[0]), shown(self.table.names[0])
        is_code = len(name) <= 3 or (any(map(str.isdigit, name)) and " " not in name)
        is_kind = re.fullmatch(r"[A-Za-z]{3,12}", head) and not NO_NOUN.fullmatch(head) and head.lower() not in name.lower()
        return f"{_inside(head)} {name}" if is_code and is_kind else name

    def column(self, number: int) -> str:
        """The name of a column, as words in a sentence."""
        return _inside(shown(self.table.names[number]))

    @property
    def whole(self) -> Span:
        """The place of all rows."""
        return Span(self.page.document.doc_id, self.table.head[0].start, self.rows[-1].end)


def grids(page: Page) -> list[Grid]:
    """The tables of a document that can be asked about."""
    return [found for table in page.tables if (found := grid(page, table))]


def grid(page: Page, table: Table) -> Grid | None:
    """A table with names for rows and columns, None if it has none: every first cell is there once, and holds a letter."""
    rows = [row for row in table.rows[:MOST] if row.cells]
    keys = Counter(shown(row.cells[0]).casefold() for row in rows)
    rows = [row for row in rows if keys[shown(row.cells[0]).casefold()] == 1 and _is_name(shown(row.cells[0]))]
    names = Counter(name.casefold() for name in table.names)
    columns = [n for n, name in enumerate(table.names) if n and _is_name(shown(name)) and names[name.casefold()] == 1]
    section = page.section(table.part.start)
    if len(rows) < FEWEST or not columns or (not table.names[0] and len(columns) < 2):
        return None
    return Grid(page, table, rows, columns, f"{page.document.doc_id}#{section.path}")


def questions(grid: Grid, wording: Wording) -> Iterator[Candidate]:
    """The candidates of one table."""
    yield from _cells(grid, wording)
    for number in grid.columns:
        yield from _numbers(grid, number, wording)


def _cells(grid: Grid, wording: Wording) -> Iterator[Candidate]:
    """One question for each row, about another column each time, its follow-up, and one for a cell that is empty."""
    for place, row in enumerate(grid.rows):
        at = _turn(grid.key(row), len(grid.columns))
        order = [*grid.columns[at:], *grid.columns[:at]]
        filled = [number for number in order if number < len(row.cells) and is_value(shown(row.cells[number]))]
        if not filled:
            continue
        first = _cell(grid, row, filled[0], wording)
        yield first
        turns = (Turn("user", first.text), Turn("assistant", first.answers[0]))
        following = grid.rows[(place + 1) % len(grid.rows)]
        if len(filled) > 1 and place % 2:
            name = (
                "another_column" if not wording.has("cell_who") or is_noun(grid.column(filled[1]), wording) else "another_any"
            )
            text = wording.text(name, column=grid.column(filled[1]))
            answer = shown(row.cells[filled[1]])
            yield _candidate(grid, text, "follow_up", "rule:follow-up", [row], answer, turns)
        elif filled[0] < len(following.cells) and is_value(answer := shown(following.cells[filled[0]])):
            text = wording.text("another_row", row=grid.key(following))
            yield _candidate(grid, text, "follow_up", "rule:follow-up", [following], answer, turns)


def _cell(grid: Grid, row: Row, number: int, wording: Wording) -> Candidate:
    answer = shown(row.cells[number])
    text = cell_text(grid.key(row), grid.column(number), wording)
    return _candidate(grid, text, "table", "rule:cell", [row], answer)


def cell_text(key: str, column: str, wording: Wording) -> str:
    """The question about the value of a row in a column."""
    if not wording.has("cell_who") or not is_noun(column, wording):
        return wording.text("cell_any" if wording.has("cell_who") else "cell", row=key, column=column)
    name = "cell_who" if PERSON.fullmatch(column) else "cell"
    text = wording.text(name, row=key, column=column)
    if re.search(r"[^s]s\Z", column):
        text = (
            text.replace("What is the", "What are the")
            .replace("what's the", "what are the")
            .replace("what is the", "what are the")
        )
    return text


def is_noun(column: str, wording: Wording) -> bool:
    """True if the name of a column is certain to follow an article: its last word is in the list of measures, or a role."""
    return not NO_NOUN.fullmatch(column) and (
        column.split()[-1].lower() in wording.words("measures") or bool(PERSON.fullmatch(column))
    )


def _numbers(grid: Grid, number: int, wording: Wording) -> Iterator[Candidate]:
    """Highest, lowest and a difference in a column in which most values are numbers of one unit."""
    values = [(row, value) for row in grid.rows if number < len(row.cells) and (value := amount(shown(row.cells[number])))]
    units = {value[1] for _, value in values}
    if len(values) < max(FEWEST, 0.8 * len(grid.rows)) or len(units) != 1 or not is_noun(grid.column(number), wording):
        return
    (unit,) = units
    ordered = sorted(values, key=lambda pair: pair[1][0])
    column, key = grid.column(number), _inside(shown(grid.table.names[0])) or ""
    for name, (row, value), (_, other) in (("highest", ordered[-1], ordered[-2]), ("lowest", ordered[0], ordered[1])):
        if (
            wording.has(name)
            and value[0] != other[0]
            and grid.whole.end - grid.whole.start <= 1500
            and key
            and len(values) == len(grid.rows)
        ):
            text = wording.text(name, key=key, column=column)
            yield _candidate(
                grid, text, "aggregation", f"rule:{name}", grid.rows, grid.key(row), expects={"value": grid.key(row)}
            )
    (low, one), (high, two) = ordered[0], ordered[len(ordered) // 2]
    if wording.has("difference") and two[0] > one[0]:
        text = wording.text("difference", first=grid.key(low), second=grid.key(high), column=column)
        answer = _with_unit(two[0] - one[0], unit)
        yield _candidate(grid, text, "comparison", "rule:difference", [low, high], answer, expects={"value": answer})


def amount(text: str) -> tuple[float, str] | None:
    """The number of a cell and its unit, None if the cell is no single number."""
    found = NUMBER.fullmatch(text)
    return (float(re.sub("[, ]", "", found[2])), found[1] or found[3] or "") if found else None


def _with_unit(value: float, unit: str) -> str:
    text = f"{round(value, 6):,.10g}"
    return f"{unit}{text}" if unit in ("£", "$", "€") else f"{text} {unit}".strip()


def _candidate(
    grid: Grid,
    text: str,
    kind: str,
    method: str,
    rows: Sequence[Row],
    answer: str,
    history: tuple[Turn, ...] = (),
    expects: dict[str, str] | None = None,
) -> Candidate:
    """A question with a group for each row, or one group with the whole table."""
    spans = [grid.span(row) for row in rows] or [grid.whole]
    groups = tuple((span,) for span in spans)
    return Candidate(text, kind, method, "", groups, (answer,), expects or {}, history, cluster=grid.cluster)


def _turn(text: str, size: int) -> int:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[0] % size


def shown(cell: str) -> str:
    """The words of a cell without marks."""
    return " ".join(re.sub(r"[*_`]+|<br ?/?>|\[([^\]]*)\]\([^)]*\)", r" \1", cell).split())


def _inside(name: str) -> str:
    """The name of a column inside of a sentence: a capital becomes small unless the word is a code or a name."""
    first = name.split(" ")[0]
    return name[:1].lower() + name[1:] if first[1:].islower() else name


def _is_name(text: str) -> bool:
    return 0 < len(text) <= KEY and any(map(str.isalpha, text)) and not re.search(r"[|<>{}\\]|\.\.|\?\Z", text)


def is_value(text: str) -> bool:
    return 0 < len(text) <= CELL and not EMPTY.fullmatch(text)
