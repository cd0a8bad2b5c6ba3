"""Figures by row and period: the value of a line item in a year, with its unit; its change, and two subjects side by side.

They are read from Markdown tables with years above their columns, and from lines of text below a line of years, as readers of PDF
write tables. A label with two values for one subject and period is not asked about.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
NEAR, CLOSE, ROWS, PROSE = 500, 150, 60, 100
"""Characters above a line of years that name its unit, and those that say `fiscal`; lines below it that may be rows; characters of a line that is prose."""
LONGEST = 8
"""The most words of a label."""
PAIRS = 3
"""The most pairs of subjects that are compared by one label."""
SOONER = 7
"""A year that is asked about without an answer lies so long before the first one."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value: of what, which label, when, in which unit; `name` is the organisation, empty for a document by its title."""

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
            rows[figure.subject, figure.label][figure.when].append(figure)
    sure: dict[str, dict[str, Mapping[str, Sequence[Figure]]]] = defaultdict(dict)
    for (subject, label), by_time in rows.items():
        clear = {when: found for when, found in by_time.items() if len({(each.value, each.unit) for each in found}) == 1}
        if len(clear) == len(by_time):
            sure[label][subject] = clear
    for label, by_subject in sure.items():
        for by_when in by_subject.values():
            yield from _row(list(by_when.values()), passages, wording)
        yield from _between(label, list(by_subject.values()), wording)


def _row(periods: Sequence[Sequence[Figure]], passages: Passages, wording: Wording) -> Iterator[Candidate]:
    """Questions about a label of a subject: a value, a change, and a year that is not there."""
    found = periods[turn(periods[0][0].label, len(periods))]
    one = found[0]
    text, where = _text("figure", one, wording), one.page.cluster(one.span.start)
    yield Candidate(text, "table", "rule:figure", "", (_places(found),), (one.value,), cluster=where)
    last, before = (
        sorted((each[0] for each in periods), key=lambda each: each.year)[-1:-3:-1] if len(periods) > 1 else (one, one)
    )
    if last.span == before.span and last.amount != before.amount and "%" not in last.value:
        name = "increase" if last.amount > before.amount else "decrease"
        text, answer = (
            _text(name, last, wording, since=before.when.removeprefix("in ").removeprefix("at ")),
            f"{abs(last.amount - before.amount):,.10g}",
        )
        groups = (_places(next(each for each in periods if each[0] is last)),)
        yield Candidate(text, "comparison", "rule:change", "", groups, (answer,), {"value": answer}, cluster=where)
    year = min(each[0].year for each in periods) - SOONER
    if one.when == f"in {one.year}" and not passages.holding({*passages.stems(one.label), str(year)}):
        text = _text("figure", one, wording).replace(str(one.year), str(year))
        yield Candidate(text, "unanswerable", "rule:no-period", near=(one.span,), unanswerable=True, cluster=where)


def _between(label: str, subjects: Sequence[Mapping[str, Sequence[Figure]]], wording: Wording) -> Iterator[Candidate]:
    """Which of two organisations has the higher value in a period that both have."""
    for first, second in list(pairwise(subjects))[:PAIRS]:
        for when in sorted(first.keys() & second.keys(), reverse=True)[:1]:
            one, other = first[when][0], second[when][0]
            if one.unit == other.unit and one.amount != other.amount and _is_named(one) and _is_named(other):
                answer = max(one, other, key=lambda each: each.amount).subject
                text = _text("between", one, wording, other=other.subject)
                groups = _places(first[when]), _places(second[when])
                where = one.page.cluster(one.span.start)
                yield Candidate(text, "multi_hop", "rule:between", "", groups, (answer,), {"value": answer}, cluster=where)


def _text(name: str, figure: Figure, wording: Wording, **more: str) -> str:
    name = name if _is_named(figure) else f"{name}_in"
    is_many = re.search(r"[^su]s\Z", _head(figure.label, wording))
    verb = "were" if is_many else "was"
    values = {"subject": figure.subject, "label": figure.label, "when": figure.when, "unit": figure.unit, "verb": verb}
    values["year"] = figure.when.removeprefix("in ").removeprefix("at ")
    return wording.text(name, **values, **more)


def _is_named(figure: Figure) -> bool:
    return not figure.subject.startswith("“")


def _places(found: Sequence[Figure]) -> tuple[Span, ...]:
    """The rows that state a value, each once."""
    return tuple(dict.fromkeys(each.span for each in found))


def _figures(page: Page, wording: Wording) -> Iterator[Figure]:
    names = titles(page, wording)
    subject = next((name if organisation(page, wording) else f"“{name}”" for name in names[:1]), "")
    if subject:
        yield from _of_tables(page, subject, wording)
        yield from _of_lines(page, subject, wording)


def _of_tables(page: Page, subject: str, wording: Wording) -> Iterator[Figure]:
    for table in page.tables:
        names = [shown(name) for name in table.names]
        years = [YEAR.findall(name) for name in names]
        columns = [at for at, found in enumerate(years) if at and len(found) == 1]
        if len(columns) < 2 or len({years[at][0] for at in columns}) < len(columns):
            continue
        start = table.part.start
        above = f"{page.section(start).path} {page.document.text[max(0, start - NEAR) : start]}"
        if not _is_whole(subject, above, wording):
            continue
        above = f"{above} {' '.join(names)}"
        for row in table.rows:
            values = [row.cells[at].strip() if at < len(row.cells) else "" for at in columns]
            if row.cells and all(each and VALUE.fullmatch(each) for each in values):
                lead = [names[at].partition(years[at][0])[0] for at in columns]
                whens = [_when(each, int(years[at][0])) for each, at in zip(lead, columns, strict=True)]
                span = Span(page.document.doc_id, row.start, row.end)
                yield from _of_row(page, subject, shown(row.cells[0]), values, whens, above, span, wording)


def _of_lines(page: Page, subject: str, wording: Wording) -> Iterator[Figure]:
    text, whens, above, left, before = page.document.text, [("", 0)] * 0, "", 0, ""
    for line in re.finditer(r"[^\n]+", text):
        words = line[0].strip()
        header = YEARS.fullmatch(words)
        if header:
            years = header["years"].split()
            above = text[max(0, line.start() - NEAR) : line.end() + NEAR]
            lead = header["lead"] if len(header["lead"]) > 3 else before
            is_whole = _is_whole(subject, text[max(0, line.start() - NEAR) : line.start()], wording)
            lead = f"fiscal {lead}" if "iscal" in text[max(0, line.start() - CLOSE) : line.start()] else lead
            whens = [_when(lead, int(year)) for year in years] if is_whole and len(set(years)) == len(years) else []
            left = ROWS
        elif left and whens:
            left = 0 if len(words) > PROSE else left - 1
            start = next((found.start() for found in VALUE.finditer(words)), -1)
            values = [found[0].strip() for found in VALUE.finditer(words)] if start > 0 else []
            is_row = len(values) == len(whens) and not VALUE.sub("", words[start:]).strip(" $")
            is_new = before.endswith(":") or any(map(str.isdigit, before)) or words[:5].isupper()
            if is_row and is_new:
                span = Span(page.document.doc_id, line.start(), line.end())
                yield from _of_row(page, subject, words[:start], values, whens, above, span, wording)
        before = words


def _of_row(
    page: Page,
    subject: str,
    name: str,
    values: Sequence[str],
    whens: Sequence[tuple[str, int]],
    above: str,
    span: Span,
    wording: Wording,
) -> Iterator[Figure]:
    label = _label(name, wording)
    is_told = label and subject.partition(" ")[0] not in label
    for value, (when, year) in zip(values, whens, strict=True) if is_told else ():
        unit = _unit(label, " ".join(values), above)
        if unit is not None and when and AMOUNT.search(value) and "(" not in value:
            yield Figure(page, subject, label, when, year, unit, value.replace("$", "").strip(), span)


def _is_whole(subject: str, above: str, wording: Wording) -> bool:
    """True if a table with this text above it is about all of an organisation; always for a document by its title."""
    found = list(re.finditer(str(wording.texts["figure_whole"]), above))
    is_whole = bool(found) and not re.search(str(wording.texts["figure_part"]), above[found[-1].start() :])
    return is_whole or subject.startswith("“")


def _when(lead: str, year: int) -> tuple[str, int]:
    """The period of a column in words, by the line above its year; empty for one that is not known."""
    months = re.search(r"(?i)(three|six|nine|twelve) months ended ([a-z]+ \d{1,2})", lead)
    if months:
        return f"in the {months[1].lower()} months ended {months[2]}, {year}", year
    day = re.search(r"(?:^|[Aa]s of |[Aa]t )([A-Z][a-z]+ \d{1,2}),?\s*$", lead.strip())
    if re.search(r"(?i)weeks|quarter|months", lead) or len(DAY.findall(lead)) > 1:
        return "", year
    return (f"at {day[1]}, {year}" if day else f"in {'fiscal ' if 'iscal' in lead else ''}{year}"), year


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
    heads = "figures" if len(words) > 1 else "figures_alone"
    return label if _head(label, wording) in wording.words(heads) else ""


def _head(label: str, wording: Wording) -> str:
    """The noun that a label is about: the last word in front of a preposition or a participle."""
    return re.split(str(wording.texts["label_end"]), label)[0].rpartition(" ")[2].lower()


def _unit(label: str, values: str, above: str) -> str | None:
    """The unit as the end of a question, empty for a percentage or a plain number, None if it is not certain."""
    if "%" in values:
        return "" if values.count("%") == len(VALUE.findall(values)) else None
    if re.search(r"\b(?:rate|ratio|margin|percent\w*|shares)\b(?! of tax)", label) and "per share" not in label:
        return None
    scales = re.findall(r"(?i)\bin (million|thousand|billion)s", above)
    sign = next((sign for sign in "$€£" if sign in values + above), "")
    money = {"$": "dollars", "€": "euros", "£": "pounds", "": ""}[sign]
    if "per share" in label:
        return f", in {money}" if money else None
    if not scales:
        return "" if label.startswith("number of") else None
    return f", in {scales[-1].lower()}s of {money}" if money else f", in {scales[-1].lower()}s"
