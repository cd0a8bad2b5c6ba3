"""All candidates of a corpus that rules make, document by document."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rag.core.records import Span
from rag.datasets.candidates import Candidate
from rag.datasets.generation import table_rules
from rag.datasets.generation.english import English
from rag.datasets.generation.pages import Page, Statement
from rag.datasets.generation.wording import Wording

ACRONYM = re.compile(r"(?<![\w/-])\(([A-Z][A-Za-z]?[A-Z]{1,4})s?\)")
TERM = re.compile(r"\*\*(?P<bold>[^*\n]{2,50}?)[:.]?\*\*[:.]?\s*(?:[–—:-]\s*)?(?=[\w\"“])")
ENTRY = re.compile(r"(?:[-*+•]\s+)?(?P<term>[^\W\d_][^\n:.;,|*]{1,38}?)\s*(?::|\s[–—]|\s-)\s+(?P<meaning>[^\s|].{15,})")
GLOSSARY = re.compile(
    r"glossar|abbreviat|definition|terms used|begriff|abkürzung|glosario|definicion|siglas|vocabular", re.IGNORECASE
)
PLURAL = re.compile(r"(?:[A-Za-z]+ ){0,4}[A-Za-z]{3,}[^s\W]s\Z")


def questions(page: Page, wording: Wording, english: English | None) -> Iterator[Candidate]:
    """The candidates of one document, in reading order within each rule."""
    for grid in table_rules.grids(page):
        yield from table_rules.questions(grid, wording)
    yield from _lists(page, wording)
    yield from _entries(page, wording)
    for statement in page.statements:
        yield from _acronyms(page, statement, wording)
        if english:
            yield from _statements(page, statement, english)


def common_words(pages: Sequence[Page]) -> frozenset[str]:
    """The words that the documents write in lower case."""
    return frozenset(word for page in pages for word in re.findall(r"(?<![\w.-])[a-z]+(?![\w.-]*\w)", page.document.text))


def cluster(page: Page, place: int) -> str:
    """The unit of resampling: the section of a document."""
    return f"{page.document.doc_id}#{page.section(place).path}"


def _statements(page: Page, statement: Statement, english: English) -> Iterator[Candidate]:
    where = cluster(page, statement.span.start)
    for asked in english.questions(statement.text):
        kind = "definition" if asked.rule == "definition" else "factoid"
        yield Candidate(asked.text, kind, f"rule:{asked.rule}", "", ((statement.span,),), (asked.answer,), cluster=where)


def _acronyms(page: Page, statement: Statement, wording: Wording) -> Iterator[Candidate]:
    """An abbreviation in brackets behind words that begin with its letters."""
    for found in ACRONYM.finditer(statement.text):
        letters = found[1].lower()
        before = statement.text[: found.start()].split()[-2 * len(letters) :]
        for size in range(len(letters), len(letters) + 3):
            words = [part for word in before[-size:] for part in word.split("-")]
            if size <= len(before) and _initials(words, letters):
                text = wording.text("acronym", term=found[1])
                where = cluster(page, statement.span.start)
                meaning = " ".join(before[-size:]).strip("\"'“”‘’(),")
                yield Candidate(text, "definition", "rule:abbreviation", "", ((statement.span,),), (meaning,), cluster=where)
                break


def _initials(words: Sequence[str], letters: str) -> bool:
    """True if the words that are not small words begin with the letters, the first one with the first letter."""
    full = "".join(word[:1].lower() for word in words if word.lower() not in ("of", "the", "and", "for", "in", "to", "on"))
    return full == letters


def _lists(page: Page, wording: Wording) -> Iterator[Candidate]:
    """A list directly under its heading, or the only list of its section."""
    in_section: dict[int, int] = defaultdict(int)
    for each in page.lists:
        in_section[each.section.start] += 1
    for each in page.lists:
        heading = page.heading(each.section)
        items = tuple(item.rstrip(".;, ") for item in each.items)
        if not heading or in_section[each.section.start] > 1 or not 3 <= len(items) <= 12 or max(map(len, items)) > 120:
            continue
        if each.span.end - each.span.start > 900 or len(heading) > 60 or heading.endswith("?"):
            continue
        text = wording.text("list", heading=_unnumbered(heading))
        where = cluster(page, each.span.start)
        yield Candidate(
            text, "list", "rule:list", "", ((each.span,),), ("; ".join(items),), {"values": list(items)}, cluster=where
        )


def _entries(page: Page, wording: Wording) -> Iterator[Candidate]:
    """The entries of a glossary: `term: meaning`, in a document or a section that is named so."""
    text = page.document.text
    for section, end in zip(page.sections, [*(each.start for each in page.sections[1:]), len(text)], strict=True):
        if not GLOSSARY.search(section.path or page.title):
            continue
        for line in re.finditer(r"^[^\n]+$", text[section.body : end], re.MULTILINE):
            plain = page.shown((section.body + line.start(), section.body + line.end()))
            if found := ENTRY.match(plain):
                span = Span(page.document.doc_id, section.body + line.start(), section.body + line.end())
                asked = wording.text("definition", term=_inside(found["term"]))
                where = cluster(page, span.start)
                yield Candidate(asked, "definition", "rule:glossary", "", ((span,),), (found["meaning"],), cluster=where)


def _unnumbered(heading: str) -> str:
    return re.sub(r"^(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.)\s+", "", heading)


def _inside(term: str) -> str:
    first = term.split(" ")[0]
    return (
        term[:1].lower() + term[1:] if first[1:].islower() and " " in term and term[term.index(" ") + 1 :].islower() else term
    )
