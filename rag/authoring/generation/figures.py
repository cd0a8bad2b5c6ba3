"""Figures by row and period: the value of a line item in a year, with its unit; its change.

They are read from Markdown tables with years above their columns, and from lines below a line of years, as readers of PDF write
tables. A label with two values for one subject and period is not asked about.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.authoring.candidates import Candidate
from rag.authoring.generation.filters import Passages
from rag.authoring.generation.pages import Page
from rag.authoring.generation.table_rules import shown
from rag.authoring.generation.titles import organisation, titles
from rag.authoring.generation.wording import Wording, turn
from rag.core.types import Span

YEAR = re.compile(r"\b(?:19|20)\d\d\b")
YEARS = re.compile(r"(?P<lead>(?:\D{0,60}?(?:\d{1,2},)?)?)\s*(?P<years>(?:(?:19|20)\d\d\s+){1,4}(?:19|20)\d\d)")
VALUE = re.compile(r"\$?\s*\(?[$€£]?\s*\d[\d,]*(?:\.\d+)?\)?\s?%?(?!\S)|[—–-](?!\S)")
AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")
DAY = re.compile(r"[A-Z][a-z]{2,8} \d{1,2}\b")
TITLED = "“"
SIGNS = {"$": "dollars", "€": "euros", "£": "pounds"}
NEAR, CLOSE = 500, 150
"""The characters around a line of years that name its unit and its table, and those above it that say `fiscal`."""
ROWS, PROSE, LONGEST = 60, 100, 8
"""Lines below a line of years that may be rows, the characters of a line that is prose, and the most words of a label."""
FISCAL, OFTEN = re.compile(r"\b[Ff]iscal (?:year )?20\d\d"), 3
"""A document that names years or a currency so often means them where it names none."""
SOONER = 7
"""A year that has no answer lies so long before the first one."""
Cells = tuple[str, Sequence[str], Sequence[tuple[str, int]], str, Span]
"""A row: its name, its values, the period and the year of each, the text around the line of years, and its place."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value: of what, which label, when, in which unit; a subject in quotation marks is the title of a document."""

    page: Page
    subject: str
    label: str
    when: str
    year: int
    unit: str
    value: str
    span: Span

    @property
    def amount(self) -> float:
        """The value as a number."""
        return float(AMOUNT.findall(self.value)[0].replace(",", ""))


def questions(pages: Sequence[Page], passages: Passages, wording: Wording) -> Iterator[Candidate]:
    """The candidates of a whole corpus, for a language with templates of figures."""
    rows: dict[tuple[str, str], dict[str, list[Figure]]] = defaultdict(lambda: defaultdict(list))
    for page in pages if wording.has("figure") else ():
        for figure in _figures(page, wording):
            rows[figure.label, figure.subject][figure.when].append(figure)
    for by_time in rows.values():
        if all(len({(each.value, each.unit) for each in found}) == 1 for found in by_time.values()):
            yield from _row(list(by_time.values()), passages, wording)


def _row(periods: Sequence[Sequence[Figure]], passages: Passages, wording: Wording) -> Iterator[Candidate]:
    """Questions about a label of a subject: a value, a change, and a year that is not there."""
    found = periods[turn(periods[0][0].label, len(periods))]
    one, where = found[0], found[0].page.cluster(found[0].span.start)
    text = _text("figure", one, wording)
    places = tuple(dict.fromkeys(each.span for each in found))  # the rows that state the value
    yield Candidate(text, "table", "rule:figure", "", (places,), (one.value,), cluster=where)
    before, last = (sorted(periods, key=lambda each: each[0].year) * 2)[-2:] if len(periods) > 1 else (found, found)
    change = last[0].amount - before[0].amount
    if last[0].span == before[0].span and change and "%" not in one.value:
        name, answer = "increase" if change > 0 else "decrease", f"{abs(change):,.10g}"
        text = _text(name, last[0], wording, since=before[0].when.split(" ", 1)[1])
        yield Candidate(text, "comparison", "rule:change", "", ((last[0].span,),), (answer,), {"value": answer}, cluster=where)
    year = str(min(each[0].year for each in periods) - SOONER)
    if re.fullmatch(r"in (?:fiscal )?\d{4}", one.when) and not passages.holding({*passages.stems(one.label), year}):
        text = _text("figure", one, wording).replace(str(one.year), year)
        yield Candidate(text, "unanswerable", "rule:no-period", near=(one.span,), unanswerable=True, cluster=where)


def _text(name: str, figure: Figure, wording: Wording, **more: str) -> str:
    verb = "were" if re.search(r"[^su]s\Z", _head(figure.label, wording)) else "was"
    values = {"subject": figure.subject, "label": figure.label, "when": figure.when, "unit": figure.unit, "verb": verb}
    return wording.text(
        f"{name}_in" if figure.subject.startswith(TITLED) else name, **values, year=figure.when.split(" ", 1)[1], **more
    )


def _figures(page: Page, wording: Wording) -> Iterator[Figure]:
    name = organisation(page, wording)
    subject = name or next((f"“{title}”" for title in titles(page, wording)), "")
    usual = max(SIGNS, key=page.document.text.count) * (sum(map(page.document.text.count, SIGNS)) >= OFTEN)
    for row in (*_of_tables(page, name, wording), *_of_lines(page, name, wording)) if subject else ():
        label, (_, values, whens, above, span) = _label(row[0], wording), row
        unit = _unit(label, " ".join(values), above + usual)
        is_told = label and unit is not None and subject.partition(" ")[0] not in label
        for value, (when, year) in zip(values, whens, strict=True) if is_told else ():
            is_stock = not wording.words("stocks").isdisjoint((_head(label, wording), label.partition(" ")[0]))
            if when and is_stock == when.startswith("at ") and AMOUNT.search(value) and "(" not in value:
                yield Figure(page, subject, label, when, year, unit or "", value.replace("$", "").strip(), span)


def _of_tables(page: Page, name: str, wording: Wording) -> Iterator[Cells]:
    for table in page.tables:
        names, start = [shown(name) for name in table.names], table.part.start
        years = {at: found[0] for at, each in enumerate(names) if at and len(found := YEAR.findall(each)) == 1}
        above = f"{page.section(start).path}\n{page.document.text[max(0, start - NEAR) : start]}"
        if len(years) > 1 and len(set(years.values())) == len(years) and _is_whole(name, above, wording):
            is_fiscal = len(FISCAL.findall(page.document.text)) >= OFTEN
            whens = [_when(names[at].partition(year)[0], int(year), is_fiscal) for at, year in years.items()]
            for row in table.rows:
                values = [row.cells[at].strip() for at in years if at < len(row.cells)]
                if len(values) == len(years) and all(map(VALUE.fullmatch, values)):
                    around = f"{above} {' '.join(names)}"
                    yield shown(row.cells[0]), values, whens, around, Span(page.document.doc_id, row.start, row.end)


def _of_lines(page: Page, name: str, wording: Wording) -> Iterator[Cells]:
    text, whens, around, left, before = page.document.text, list[tuple[str, int]](), "", 0, ""
    for line in re.finditer(r"[^\n]+", text):
        words = line[0].strip()
        if header := YEARS.fullmatch(words):
            years, above = header["years"].split(), text[max(0, line.start() - NEAR) : line.start()]
            lead = header["lead"] if len(header["lead"]) > 3 else before
            is_fiscal = "iscal" in above[-CLOSE:] or len(FISCAL.findall(text)) >= OFTEN
            is_clear = len(set(years)) == len(years) and _is_whole(name, above, wording)
            whens = [_when(lead, int(year), is_fiscal) for year in years] if is_clear else []
            around, left = text[max(0, line.start() - NEAR) : line.end() + NEAR], ROWS
        elif left and whens:
            left = 0 if len(words) > PROSE else left - 1
            found = list(VALUE.finditer(words))
            is_row = len(found) == len(whens) and not VALUE.sub("", words[found[0].start() :]).strip(" $")
            if is_row and (before.endswith(":") or any(map(str.isdigit, before)) or before[:5].isupper()):
                values, span = [each[0].strip() for each in found], Span(page.document.doc_id, line.start(), line.end())
                yield words[: found[0].start()], values, whens, around, span
        before = words


def _is_whole(name: str, above: str, wording: Wording) -> bool:
    """True if a table with this text above it is about all of an organisation; always for a document by its title."""
    found = list(re.finditer(str(wording.texts["figure_whole"]), above))
    return not name or (bool(found) and not re.search(str(wording.texts["figure_part"]), above[found[-1].start() :]))


def _when(lead: str, year: int, is_fiscal: bool) -> tuple[str, int]:
    """The period of a column in words, by the text in front of its year; empty for one that is not known."""
    if ended := re.search(r"(?i)(three months|six months|nine months|twelve months|year)s? ended ([a-z]+ \d{1,2}),?\s*$", lead):
        return f"in the {ended[1].lower()} ended {ended[2]}, {year}", year
    day = re.search(r"(?:^|[Aa]s of |[Aa]t )([A-Z][a-z]+ \d{1,2}),?\s*$", lead.strip())
    if re.search(r"(?i)weeks|quarter|months|ended", lead) or len(DAY.findall(lead)) > 1:
        return "", year
    return (f"at {day[1]}, {year}" if day else f"in {'fiscal ' if is_fiscal or 'iscal' in lead else ''}{year}"), year


def _label(name: str, wording: Wording) -> str:
    """The name of a row inside of a sentence; empty if it says little, or is no plain noun phrase."""
    name = re.sub(r"(?:\s*\(\d\)|\.{2,}|[\s:])+$", "", name)
    name = re.sub(r"^(.)(.+), net$", lambda found: f"Net {found[1].lower()}{found[2]}", name)
    words = name.split()
    if not words or len(words) > LONGEST or not re.fullmatch(str(wording.texts["label"]), name):
        return ""
    small = [word if re.search(r"[A-Z]{2}|[A-Z]\W", word) else word[:1].lower() + word[1:] for word in words]
    is_title = all(word[:1].isupper() or len(word) < 4 for word in words)
    label = " ".join(small) if is_title else " ".join([*small[:1], *words[1:]])
    return label if _head(label, wording) in wording.words("figures" if len(words) > 1 else "figures_alone") else ""


def _head(label: str, wording: Wording) -> str:
    """The noun that a label is about: the last word in front of a preposition or a participle."""
    return re.split(str(wording.texts["label_end"]), label)[0].rpartition(" ")[2].lower()


def _unit(label: str, values: str, around: str) -> str | None:
    """The unit as the end of a question, empty for a percentage or a plain number, None if it is not certain."""
    if "%" in values:
        return "" if values.count("%") == len(VALUE.findall(values)) else None
    is_share = "per share" in label
    scales = re.findall(r"(?i)\bin (million|thousand|billion)s", around)
    money = next((SIGNS[sign] for sign in values + around if sign in SIGNS), "")
    if is_share or re.search(r"\b(?:rate|ratio|margin|percent\w*|shares)\b", label):
        return f", in {money}" if money and is_share else None
    if not scales or not money:
        return "" if label.startswith("number of") and not scales else None
    return f", in {scales[-1].lower()}s of {money}"
