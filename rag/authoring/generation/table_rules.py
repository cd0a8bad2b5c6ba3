"""Questions about tables: cells, follow-ups, differences, and the highest and lowest value."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise

from rag.authoring.candidates import Candidate
from rag.authoring.generation.pages import Page
from rag.authoring.generation.wording import Wording, turn
from rag.core.records.display import SIGNS
from rag.core.text import cells
from rag.core.text.layout import Row
from rag.core.text.tables import Table
from rag.core.text.templates import fill
from rag.core.types import Span, Turn

FEWEST, MOST, TOGETHER = 3, 60, 12
"""The rows of a table: the fewest, those that are asked about, and the most that are evidence together."""
MARKED = re.compile(r"[\[?*†°]")
"""Values with a note, a doubt or a place on the globe."""
PER_COLUMN = 4
"""The most things of a table that a column is asked about."""
CELL, KEY = 60, 40
"""The most characters of a value, and of the name of a row or a column."""
EMPTY = re.compile(r"\W*|n/?a|none|nil|tbc|tbd|unknown|as above|ditto|see .*|[a-z]", re.IGNORECASE)
MARKS = re.compile(r"`+|\*+(?=\w)|(?<=\w)\*+|(?<!\w)_+|_+(?!\w)|<br ?/?>|\[([^\]]*)\]\([^)]*\)")
NO_NOUN = re.compile(
    r"(?i)day|week|month|year|hour|yes|no|name|notes?|remarks?|comments?|descriptions?|what.*|when.*|how.*|where.*|if.*|total"
    r"|number|no\.?|id|code|.*\b(?:is|are|was|by|to|in|on|at|of|for|from|per|with|after|before|under|over|beyond)|.*[^e]ed|#|x|y"
)
"""Headers that make no noun phrase behind an article."""
NOUN = re.compile(r"\w{2,}(?:tion|sion|ment|ness|ance|ence|ship|ature)")
"""Words that are nouns by their ends."""
NO_KEY = re.compile(
    r"(?i)(?:above|below|under|over|up to|from|between|until|after|before|at (?:least|most)|[^a-z]*\d[^a-z]* (?:to|bis|[-–]) )"
    r".*|.*\b(?:more|less|\w+er) than\b.*|.*,.*,.*|[a-z]?\d{1,2}|first|second|third|\w+th|\d+(?:st|nd|rd)"
    r"|(?:ab|über|unter|bis|mindestens) \d.*|.*\(.*|.*\d, .*"
    r"|.*:|(?:.* )?totals?(?: .*)?|averages?|others?|overall"
    r"|\d{1,2}(?:[–-]\d{1,2})? [A-Z][a-z]+(?: \d{4})?|[A-Z][a-z]+ \d{1,2}(?:, \d{4})?"
)
"""Names of rows that make no name of a thing: ranges, conditions, lists, short codes, ordinals, sums, days."""
CAPITAL = r"[A-ZÀ-Ž](?:(?!\d)[\w.'’&-])*"
THING = re.compile(
    r"(?=.{3,50}\Z)(?!(?:[A-Z][a-z]+day|(?:Grand )?[Tt]otal|Other|None|Unknown|Various)\b)"
    rf"(?:{CAPITAL}|(?:19|20)\d\d)(?: (?:{CAPITAL}|of|the|and|de|la|du|van|von|in|at|on|for|&|(?:19|20)\d\d))*"
)
"""A name: words with a capital, years, and small words between them."""
PLAIN = re.compile(r"[A-Z][a-z]+ [a-z][^A-Z]*")
"""The name of a row in small words: it has a capital at its head, which a word of the text has not."""
ASKS = re.compile(r"(?:what|when|where|how) to \w|who \w+s |(?:was|wer|wie|wo|wann|qué|quién|cómo|dónde) ", re.IGNORECASE)
ZONE = re.compile(r"\b[A-Z](?:\+[A-Z])*$")
"""Columns of classes and zones: what they hold stands above them."""
PERSON = re.compile(r"owner|holder|contact|manager|leader|author|reviewer|head|deputy|keeper|coach|director", re.IGNORECASE)


@dataclass(frozen=True)
class Grid:
    """A table that can be asked about: the first column names its rows, and `columns` are the numbers of the others."""

    page: Page
    table: Table
    rows: Sequence[Row]
    columns: Sequence[int]

    @cached_property
    def cluster(self) -> str:
        """The unit of resampling: the section of the table."""
        return self.page.cluster(self.table.part.start)

    def span(self, row: Row) -> Span:
        """The place of a row."""
        return Span(self.page.document.doc_id, row.start, row.end)

    def value(self, row: Row, number: int) -> str:
        """The words of a cell; empty if it holds no value."""
        words = shown(row.cells[number]) if number < len(row.cells) else ""
        return words if len(words) <= CELL and not re.search(r"°|\]\[", words) and not EMPTY.fullmatch(words) else ""

    def key(self, row: Row) -> str:
        """The name of a row; in English, a short code with the name of its column, as in `band D`."""
        name, head = shown(row.cells[0]), shown(self.table.names[0])
        is_code = len(name) <= 3 or (any(map(str.isdigit, name)) and " " not in name)
        is_kind = re.fullmatch(r"[A-Za-z]{3,12}", head) and not NO_NOUN.fullmatch(head) and head.lower() not in name.lower()
        is_plain = PLAIN.fullmatch(name) and f" {name.lower().partition(' ')[0]} " in self.page.document.text
        name = name[0].lower() + name[1:] if is_plain and self.page.language == "english" else name
        return f"{self.column(0)} {name}" if is_code and is_kind and self.page.language == "english" else name

    def column(self, number: int) -> str:
        """The name of a column inside of a sentence: English writes words without a figure or an inner capital small."""
        name = shown(self.table.names[number])
        is_small = self.page.language == "english" and not re.search(r"\d|\S[A-Z]", name)
        return name.lower() if is_small else name


def grids(page: Page) -> Iterator[Grid]:
    """The tables with names for rows and columns, each there once."""
    for table in page.tables:
        rows = [row for row in table.rows[:MOST] if row.cells]
        keys = Counter(shown(row.cells[0]).casefold() for row in rows)
        merged = {id(row) for row, below in pairwise(rows) if not below.cells[0].strip()}
        named = ((row, shown(row.cells[0])) for row in rows if id(row) not in merged)
        rows = [row for row, key in named if _is_name(key) and keys[key.casefold()] == 1]
        names = Counter(map(str.casefold, table.names))
        columns = [n for n, name in enumerate(table.names) if n and _is_name(shown(name)) and names[name.casefold()] == 1]
        if len(rows) >= FEWEST and columns and (table.names[0] or len(columns) > 1):
            grid = Grid(page, table, rows, columns)
            yield replace(grid, rows=[row for row in rows if not NO_KEY.fullmatch(grid.key(row))])


def questions(grid: Grid, wording: Wording) -> Iterator[Candidate]:
    """One question for each row, about another column each time, with its follow-up; and those about columns of numbers."""
    often = Counter[int]()
    for place, row in enumerate(grid.rows):
        at = turn(grid.key(row), len(grid.columns))
        columns = (*grid.columns[at:], *grid.columns[:at])
        filled = [number for number in columns if asks(grid.column(number), grid.value(row, number), wording)]
        filled.sort(key=often.__getitem__)
        if not filled or often[filled[0]] >= PER_COLUMN:
            continue
        often[filled[0]] += 1
        column, answer = grid.column(filled[0]), grid.value(row, filled[0])
        first = cell_text(grid.key(row), column, answer, wording)
        yield _candidate(grid, first, "table", "cell", [row], answer)
        turns, following = (Turn("user", first), Turn("assistant", answer)), grid.rows[(place + 1) % len(grid.rows)]
        if len(filled) > 1 and place % 2 and is_noun(grid.column(filled[1]), wording):
            text = wording.text("another_column", column=grid.column(filled[1]))
            yield _candidate(grid, text, "follow_up", "follow-up", [row], grid.value(row, filled[1]), turns)
        elif following is not row and asks(column, answer := grid.value(following, filled[0]), wording):
            text = wording.text("another_row", row=grid.key(following))
            yield _candidate(grid, text, "follow_up", "follow-up", [following], answer, turns)
    for number in grid.columns if wording.has("difference") else ():
        yield from _numbers(grid, number, wording)


def attributes(page: Page, wording: Wording) -> Iterator[Candidate]:
    """Questions about named things that need no title: a column that says something of a thing, whatever its table is about."""
    for table in page.tables if wording.has("attributes") else ():
        whole = [row for row in table.rows[:MOST] if '",' not in "".join(row.cells)]  # No cell was cut before its end.
        grid = Grid(page, table, whole, range(len(table.names)))
        cells = [[grid.value(row, at).strip('\\"') for row in whole] for at in grid.columns]
        lead = next((at for at, own in enumerate(cells) if sum(cell[:1].isalpha() for cell in own) * 2 > len(own)), 0)
        things = Counter(cells[lead])
        if sum(map(bool, map(THING.fullmatch, things))) < max(FEWEST, 0.8 * len(things)):
            continue
        names = [shown(name) for name in table.names]
        for at in (*range(lead), *range(lead + 1, len(names))):
            told = ((thing, value, row) for thing, value, row in zip(cells[lead], cells[at], whole, strict=True) if value)
            clear = ((*each, _attribute(names[lead].lower(), names[at], *each[:2], wording)) for each in told)
            asked = (each for each in clear if each[3] and things[each[0]] == 1 and not MARKED.search(each[1]))
            for _, value, row, text in islice(asked, PER_COLUMN):
                yield _candidate(grid, text, "table", "attribute", [row], value)


def _attribute(key: str, column: str, thing: str, value: str, wording: Wording) -> str:
    """The question about a thing, of which its column says that it is a `key`; empty if these say too little alone."""
    found = re.fullmatch(str(wording.texts["attribute_column"]), column)
    say = next((each["say"] for each in wording.texts["things"] if re.fullmatch(each["key"], key)), "")
    if not found or not THING.fullmatch(thing) or thing == value or not (say or " " in thing):
        return ""
    said = fill(say, {"key": key, "row": thing}) if say and key not in thing.lower() else thing
    parts = {"column": found["name"].strip().lower(), "unit": found["unit"] or found["in"] or "", "row": thing}
    parts |= {"key": key, "value": value, "year": found["year"] or ""}
    for rule in wording.texts["attributes"]:
        if all(re.fullmatch(rule.get(part, "" if part == "year" else ".*"), text) for part, text in parts.items()):
            return fill(rule["ask"], {**parts, "row": said, "unit": parts["unit"] and f", in {parts['unit']}"})
    return ""


def asks(column: str, value: str, wording: Wording) -> str:
    """The templates that ask for a value of a column; empty for no value, and if the column's name makes no question."""
    if not value or is_noun(column, wording):
        is_person = PERSON.fullmatch(column) and wording.has("cell_who")
        return value and ("cell_who" if is_person else f"cell{_of(column, wording)}")
    if value.isdecimal() and value not in "01" and re.fullmatch(r"(?!number)[a-z ]{3,}[a-rtv-z]s", column):
        return "cell_many"
    return "cell_any" if ASKS.match(column) and wording.has("cell_any") else ""


def cell_text(key: str, column: str, value: str, wording: Wording) -> str:
    """The question about the value of a row in a column."""
    text = wording.text(asks(column, value, wording), row=key, column=column)
    return re.sub(r"(?i)(what)(?: is|'s) the", r"\1 are the", text) if re.search(r"[^su]s\Z", column) else text


def is_noun(column: str, wording: Wording) -> bool:
    """True if the name of a column may follow an article: its last word is a measure or a role; in other languages always."""
    if not wording.has("cell_who"):
        return not ASKS.match(column) and bool(re.search(r"[^\W\d_]{3}", column)) and not ZONE.search(column)
    last = column.split()[-1].lower()
    is_measure = last in wording.words("measures") or bool(NOUN.fullmatch(last))
    is_short = column.count(" ") < 2 and " and " not in column
    return is_short and not NO_NOUN.fullmatch(column) and (is_measure or bool(PERSON.fullmatch(column)))


def _of(column: str, wording: Wording) -> str:
    """The ending of the names of templates for what a thing has, such as its length."""
    return "_of" if column.split()[-1].lower() in wording.words("owned") else ""


def _numbers(grid: Grid, number: int, wording: Wording) -> Iterator[Candidate]:
    """Highest, lowest and a difference in a column of numbers of one unit."""
    read = [(amount(grid.value(row, number)), row) for row in grid.rows]
    values = sorted(((value, row) for value, row in read if value), key=lambda pair: pair[0][0])
    units = {value[1] for value, _ in values}
    if len(values) < max(FEWEST, 0.8 * len(grid.rows)) or len(units) != 1 or not is_noun(grid.column(number), wording):
        return
    column, key = grid.column(number), grid.column(0)
    if key and len(values) == len(grid.table.rows) <= TOGETHER and key not in wording.words("vague"):
        for name, best, next_ in (("highest", values[-1], values[-2]), ("lowest", values[0], values[1])):
            if best[0][0] != next_[0][0] and wording.has(name):
                text, answer = wording.text(f"{name}{_of(column, wording)}", key=key, column=column), grid.key(best[1])
                yield _candidate(grid, text, "aggregation", name, grid.rows, answer, expects=answer)
    plain = [each for each in values if not re.search(r",| and | or |(?: \S+){3}", grid.key(each[1]))]
    (low, first), (high, second) = (plain[0], plain[len(plain) // 2]) if plain else (values[0], values[0])
    if high[0] > low[0]:
        text = wording.text("difference", first=grid.key(first), second=grid.key(second), column=column)
        answer = _with_unit(high[0] - low[0], low[1])
        yield _candidate(grid, text, "comparison", "difference", [first, second], answer, expects=answer)


def amount(text: str) -> tuple[float, str] | None:
    """The number of a cell and its unit, None if the cell is no single number."""
    found = cells.number(text)
    is_rate = re.search(r"\d(?:st|nd|rd|th)\b", text) or (found and found[1][:1] in SIGNS and found[1][1:])
    return None if is_rate else found  # `£8 a month` is no amount to compare with `£12 a day`


def _with_unit(value: float, unit: str) -> str:
    is_money = unit in [*SIGNS]
    text = f"{value:,.2f}" if is_money and round(value % 1, 6) else f"{round(value, 6):,.10g}"
    return f"{unit}{text}" if is_money else f"{text} {unit}".strip()


def _candidate(
    grid: Grid, text: str, kind: str, rule: str, rows: Sequence[Row], answer: str, turns: Sequence[Turn] = (), expects: str = ""
) -> Candidate:
    """A question with a group for each row."""
    groups = tuple((grid.span(row),) for row in rows)
    value = {"value": expects} if expects else {}
    return Candidate(text, kind, f"rule:{rule}", "", groups, (answer,), value, tuple(turns), cluster=grid.cluster)


def shown(cell: str) -> str:
    """The words of a cell without marks."""
    return " ".join(MARKS.sub(r" \1", cell).split()).replace(" ,", ",")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= KEY and any(map(str.isalpha, text)) and not re.search(r"[|<>{}\\]|\.\.|\?\Z", text)
