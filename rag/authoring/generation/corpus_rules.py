"""Questions that need several documents or tables: sections, editions, values that are missing, comparisons."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from rag.authoring.candidates import Candidate, touches
from rag.authoring.generation import table_rules
from rag.authoring.generation.filters import Passages
from rag.authoring.generation.pages import Page, unnumbered
from rag.authoring.generation.table_rules import NO_NOUN, Grid, is_noun
from rag.authoring.generation.titles import is_bad_title
from rag.authoring.generation.wording import Wording, short_title
from rag.core.types import Span

EDITION = re.compile(
    r"\([^()]*\)|\W+(?:superseded|expired|archived|old)\b|\b(?:19|20)\d\d(?:[-/]\d{2,4})?\b"
    r"|\b(?:v|version|edition|rev(?:ision)?|issue)\.? ?\d+(?:\.\d+)*\b",
    re.IGNORECASE,
)
"""The words of a title that name an edition."""
OLD = re.compile(r"\b(?:superseded|expired|archived|withdrawn|obsolete|replaced|old)\b", re.IGNORECASE)
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
MARKUP = re.compile(r"\||```|<!--")
NO_TOPIC = re.compile(r"(?:who|what|when|where|how|why|if|any|other)\b|.*\?$", re.IGNORECASE)
"""Headings that are no topic."""
LONGEST = 900
"""The most characters of a section that is evidence as a whole."""
SAME = 0.4
"""The share of common words of two sections from which they say the same, unless their numbers differ."""
MOST_SHARED = 6
"""A name that more tables or sections have is no link between two of them."""


def questions(pages: Sequence[Page], grids: Sequence[Grid], passages: Passages, wording: Wording) -> Iterator[Candidate]:
    """The candidates of a whole corpus."""
    yield from _sections(pages, passages, wording)
    told: dict[str, list[Candidate]] = defaultdict(list)
    for page in pages:
        for candidate in table_rules.attributes(page, wording):
            told[candidate.text.casefold()].append(candidate)
    yield from (found[0] for found in told.values() if len(found) == 1)
    by_shape: dict[tuple[str, ...], list[Grid]] = defaultdict(list)
    for grid in grids:
        by_shape[tuple(name.casefold() for name in grid.table.names)].append(grid)
    for shape, group in by_shape.items():
        for first, second in combinations(group[:MOST_SHARED], 2) if len(shape) > 1 else ():
            if first.page is not second.page:
                yield from _editions(first, second, wording)


def _sections(pages: Sequence[Page], passages: Passages, wording: Wording) -> Iterator[Candidate]:
    """Two documents with a common word in their titles, and a section of the same name, which no third one has."""
    found: dict[str, list[tuple[Page, Span, str]]] = defaultdict(list)
    for page in pages:
        for section, end in page.stretches():
            heading = unnumbered(page.heading(section))
            text = page.document.text[section.body : end]
            start, stop = section.body + len(text) - len(text.lstrip()), section.body + len(text.rstrip())
            if heading and 40 <= stop - start <= LONGEST and not MARKUP.search(text) and len(found[heading.casefold()]) < 3:
                found[heading.casefold()].append((page, Span(page.document.doc_id, start, stop), heading))
    for name, places in found.items():
        if len(places) != 2 or places[0][0] is places[1][0] or name in wording.words("general") or not wording.has("differ"):
            continue
        (first, one, heading), (second, other, _) = places
        names = [short_title(first.title), short_title(second.title)]
        names = [first.title, second.title] if names[0].casefold() == names[1].casefold() else names
        is_bad = names[0] == names[1] or any(is_bad_title(each, wording) for each in (*names, heading))
        are_alike = not passages.stems(short_title(first.title)).isdisjoint(passages.stems(short_title(second.title)))
        are_editions = is_older(first, second) or is_older(second, first)
        spoken = (passages.spans[number] for number in passages.holding(passages.stems(heading)))
        outside = {span.doc_id for span in spoken if not touches(span, one) and not touches(span, other)}
        told = [passages.stems(passages.text(span)) for span in (one, other)]
        values = any(stem[:1].isdigit() for stem in told[0] ^ told[1])
        are_alike = are_alike and (values or len(told[0] & told[1]) < SAME * len(told[0] | told[1]))
        is_whole = outside.isdisjoint((one.doc_id, other.doc_id))
        if is_bad or max(map(len, names)) > 60 or NO_TOPIC.match(heading) or are_editions or not are_alike or not is_whole:
            continue
        answers = tuple(" ".join(page.document.text[span.start : span.end].split()) for page, span, _ in places)
        heading = heading.capitalize() if heading.isupper() else heading
        text = wording.text("differ", first=names[0], second=names[1], heading=heading)
        where = first.cluster(one.start)
        yield Candidate(text, "multi_hop", "rule:sections", "", ((one,), (other,)), (" / ".join(answers),), cluster=where)


def _editions(first: Grid, second: Grid, wording: Wording) -> Iterator[Candidate]:
    """A value that an older edition of the same table states otherwise: the newer one is right."""
    old, new = (first, second) if is_older(first.page, second.page) else (second, first)
    if not is_older(old.page, new.page) or not wording.has("current"):
        return
    before = {old.key(row).casefold(): row for row in old.rows}
    for row in new.rows:
        other = before.get(new.key(row).casefold())
        for number in new.columns if other else ():
            value, past = new.value(row, number), old.value(other, number) if other else ""
            column = new.column(number)
            is_clear = is_noun(column, wording) and column not in wording.words("bare") and "," not in new.key(row)
            if value and past and value != past and is_clear and not NO_NOUN.fullmatch(new.key(row)):
                text = wording.text("current", row=new.key(row), column=column)
                yield Candidate(text, "adversarial", "rule:edition", "", ((new.span(row),),), (value,), cluster=new.cluster)
                break


def is_older(page: Page, other: Page) -> bool:
    """True if two documents are editions of one, and the first is the older one by its status, date or title."""
    if series(page) != series(other):
        name = page.document.metadata.get("series")
        if name is None or name != other.document.metadata.get("series"):
            return False
    marked = [bool(OLD.search(f"{each.title} {each.document.metadata.get('status', '')}")) for each in (page, other)]
    if marked[0] != marked[1]:
        return marked[0]
    dates = [str(each.document.metadata.get("date", "")) or max(YEAR.findall(each.title), default="") for each in (page, other)]
    return bool(dates[0] and dates[1] and dates[0] < dates[1])


def series(page: Page) -> list[str]:
    """The words of a title that the editions of a document share."""
    return re.findall(r"\w+", EDITION.sub(" ", page.title).casefold())
